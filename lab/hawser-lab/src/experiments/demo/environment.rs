//! Where and when an experiment ran.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::SystemTime;

use serde::Serialize;

use super::text;

/// What somebody needs to know to judge or repeat a measurement.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// When it began.
    pub date: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Cores that may be used.
    pub cores: usize,
    /// Name of the processor.
    pub processor: String,
    /// Processes that wanted to run before it began (mean of the last minute).
    pub load: String,
    /// Version of Hawser.
    pub version: &'static str,
    /// Commit of the working copy, `+` when files differ from it; empty outside one.
    pub commit: String,
}

impl Environment {
    /// Looks around.
    pub fn look() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            date: text::date(SystemTime::now()),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            cores: thread::available_parallelism().map_or(0, usize::from),
            processor: model.map(|(_, name)| name.trim().to_owned()).unwrap_or_default(),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            commit: commit().unwrap_or_default(),
        }
    }

    /// Names and values, for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let processor = format!("{} cores, {}", self.cores, self.processor);
        let hawser = format!("{} {}", self.version, self.commit);
        let rows = vec![
            ("Date", self.date.clone()),
            ("Kernel", self.kernel.clone()),
            ("Processor", processor.trim_end_matches(", ").to_owned()),
            ("Load before", self.load.clone()),
            ("Hawser", hawser.trim_end().to_owned()),
        ];
        rows.into_iter().filter(|row| !row.1.is_empty()).collect()
    }
}

fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    Some(if changed { commit + "+" } else { commit })
}
