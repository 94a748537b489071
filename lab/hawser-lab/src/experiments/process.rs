//! Processes that an experiment starts.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The command, where it is what runs.
pub(crate) fn hawser() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    match program.file_name().is_some_and(|name| name == "hawser") {
        true => Ok(program),
        false => Err("only the command `hawser` can run itself".to_owned()),
    }
}

/// A process that ends with this value.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Starts it, without input.
    pub(crate) fn start(command: &mut Command) -> Result<Running, String> {
        let child = command.stdin(Stdio::null()).spawn();
        child.map(Running).map_err(|error| format!("{}: {error}", command.get_program().display()))
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        let pid = i32::try_from(self.0.id()).map_err(|error| error.to_string())?;
        kill(Pid::from_raw(pid), Signal::SIGINT).map_err(|error| error.to_string())?;
        let status = self.0.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) }
    }

    /// What its threads have spent on processors so far, those that have ended left out: other work on the machine does not count.
    pub(crate) fn processor_time(&self) -> Result<Duration, String> {
        let folder = format!("/proc/{}/task", self.0.id());
        let threads = std::fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
        // A thread may end meanwhile.
        let times = threads.flatten().filter_map(|thread| time_of(&thread.path().join("schedstat")).ok());
        Ok(times.sum())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What this thread has spent on a processor so far.
pub(crate) fn processor_time() -> Result<Duration, String> {
    time_of("/proc/thread-self/schedstat".as_ref())
}

fn time_of(file: &std::path::Path) -> Result<Duration, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| format!("{}: expected nanoseconds", file.display()))
}
