//! Was the machine otherwise idle during the measurement?
//!
//! `/proc/stat` knows how much CPU time everybody used, `getrusage` how much of it the benchmark used. What is left over
//! belongs to others, and a run in which that is more than a few % is repeated. Interrupt time is left
//! out: on loopback most of it is caused by what is measured.

use std::thread;
use std::time::{Duration, Instant};

use bench_harness::Error;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};

/// Share of all CPUs that others may use during a run.
const TOLERATED: f64 = 0.03;
/// How long is looked before a run begins.
const GLANCE: Duration = Duration::from_millis(300);

/// CPU seconds since boot, of everybody and of ourselves.
#[derive(Debug, Clone, Copy)]
struct Usage {
    at: Instant,
    everybody: f64,
    ours: f64,
}

impl Usage {
    fn now() -> Result<Self, Error> {
        Ok(Usage { at: Instant::now(), everybody: everybody()?, ours: ours()? })
    }

    /// Share of the machine that others used since `self`, 0 to 1.
    fn foreign_share(&self) -> Result<f64, Error> {
        let now = Usage::now()?;
        let cpus = thread::available_parallelism()?.get() as f64;
        let foreign = (now.everybody - self.everybody) - (now.ours - self.ours);
        Ok((foreign / (cpus * (now.at - self.at).as_secs_f64())).max(0.0))
    }
}

/// User, nice and system time of all CPUs.
fn everybody() -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().ok_or("/proc/stat is empty")?;
    let ticks: u64 =
        line.split_whitespace().skip(1).take(3).map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    let per_second = sysconf(SysconfVar::CLK_TCK)?.ok_or("no clock tick")?;
    Ok(ticks as f64 / per_second as f64)
}

/// User and system time of this process and of its children that have ended.
fn ours() -> Result<f64, Error> {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].into_iter().try_fold(0.0, |sum, who| {
        let usage = getrusage(who)?;
        Ok(sum + seconds(usage.user_time()) + seconds(usage.system_time()))
    })
}

/// A measurement and what disturbed it.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Measured<T> {
    /// What was measured.
    #[serde(flatten)]
    pub(crate) value: T,
    /// Share of the machine that others used meanwhile, 0 to 1.
    pub(crate) foreign_share: f64,
    /// Whether that was more than tolerated, and patience had run out.
    pub(crate) noisy: bool,
}

/// Patience for a whole series of measurements.
pub(crate) struct Quiet {
    patience: Duration,
}

impl Quiet {
    /// Waits at most this long in total; after that noisy runs are accepted, and marked.
    pub(crate) fn new(patience: Duration) -> Self {
        Quiet { patience }
    }

    /// Measures, again if others used the CPU meanwhile.
    pub(crate) fn measure<T>(
        &mut self,
        mut run: impl FnMut() -> Result<T, Error>,
    ) -> Result<Measured<T>, Error> {
        loop {
            self.wait()?;
            let before = Usage::now()?;
            let value = run()?;
            let foreign_share = before.foreign_share()?;
            let noisy = foreign_share > TOLERATED;
            if !noisy || self.patience.is_zero() {
                return Ok(Measured { value, foreign_share, noisy });
            }
            self.patience = self.patience.saturating_sub(before.at.elapsed());
        }
    }

    fn wait(&mut self) -> Result<(), Error> {
        while !self.patience.is_zero() {
            let before = Usage::now()?;
            thread::sleep(GLANCE);
            if before.foreign_share()? <= TOLERATED {
                break;
            }
            self.patience = self.patience.saturating_sub(GLANCE);
        }
        Ok(())
    }
}
