//! What the operating system knows about this process.

use std::ops::Sub;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Keeps this thread, and those it starts from now on, on one CPU.
///
/// # Errors
/// Fails when there is no such CPU.
pub fn pin_to_core(core: usize) -> Result<(), Error> {
    let mut cpus = CpuSet::new();
    cpus.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &cpus)
        .map_err(|error| format!("cannot stay on CPU {core}: {error}").into())
}

/// CPU time of this process, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// Used so far.
    pub fn now() -> Self {
        let seconds = |time: TimeVal| {
            (Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64))
                .as_secs_f64()
        };
        getrusage(UsageWho::RUSAGE_SELF).map_or_else(
            |_| Self::default(),
            |usage| Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) },
        )
    }

    /// User and system together.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// Largest resident set so far, in KiB.
pub fn max_rss_kib() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64)
}
