//! Processes besides the server: programs that an attack needs, or that are attacked themselves.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Error;

/// A program that ends with this.
pub(crate) struct Program {
    process: Child,
    output: Option<BufReader<ChildStdout>>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Error> {
        let mut process = command
            .env("HAWSER_CONTROL", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = process.stdout.take().map(BufReader::new);
        Ok(Program { process, output })
    }

    /// The next line that it prints, which is JSON.
    pub(crate) fn line(&mut self) -> Result<serde_json::Value, Error> {
        let mut line = String::new();
        self.output.as_mut().ok_or("no output")?.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    pub(crate) fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(self.process.try_wait()?.is_some())
    }

    /// Waits until it has ended, but not for longer than this.
    pub(crate) fn ends(&mut self, within: Duration) -> Result<Ending, Error> {
        let (began, mut memory) = (Instant::now(), 0);
        loop {
            let ended = self.process.try_wait()?;
            memory = memory.max(peak(self.process.id()));
            if ended.is_some() || began.elapsed() > within {
                let succeeded = ended.map(|status| status.success());
                return Ok(Ending { succeeded, memory, took: began.elapsed() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What became of a program.
pub(crate) struct Ending {
    /// Whether it ended well; `None` if it has not ended.
    pub(crate) succeeded: Option<bool>,
    /// The most that was resident, in bytes.
    pub(crate) memory: u64,
    pub(crate) took: Duration,
}

/// The most memory that a process had so far; zero if it is gone.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = kibibytes.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
