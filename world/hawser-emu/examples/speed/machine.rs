//! How much of the machine a measurement takes.

use std::fmt;
use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::DURATION;

/// CPU time from its start to when it is printed, as a share of the length of a measurement.
pub(crate) struct Busy {
    forwarder: f64,
    process: f64,
}

impl Busy {
    pub(crate) fn start() -> Self {
        Busy { forwarder: forwarder_seconds(), process: process_seconds() }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forwarder = (forwarder_seconds() - self.forwarder) / DURATION.as_secs_f64();
        let process = (process_seconds() - self.process) / DURATION.as_secs_f64();
        write!(f, "{process:.2} cores with sender and receiver")?;
        if forwarder > 0.0 { write!(f, ", the forwarder {forwarder:.2}") } else { Ok(()) }
    }
}

/// CPU seconds used so far by the forwarding thread; 0 without one.
fn forwarder_seconds() -> f64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let cpu = |path: std::path::PathBuf| {
        let name = fs::read_to_string(path.join("comm")).ok()?;
        // The first number of schedstat is the time on a CPU, in nanoseconds.
        let spent: f64 =
            fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()?;
        (name.trim() == "hawser-emu").then_some(spent / 1e9)
    };
    tasks.filter_map(|task| cpu(task.ok()?.path())).sum()
}

/// CPU seconds used so far by all threads of this process, with what the kernel does in their name.
fn process_seconds() -> f64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0.0, |time| Duration::from(time).as_secs_f64())
}
