//! On what was measured.

use serde::Serialize;

/// The machine, as far as numbers depend on it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    kernel: String,
    processor: String,
    cpus: usize,
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        Machine {
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            processor: model.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown").trim().to_owned(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
        }
    }
}
