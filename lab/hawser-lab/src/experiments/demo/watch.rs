//! A client process from its start to its end, and the links meanwhile.

use std::fs::{self, File};
use std::io::{IsTerminal, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::DemoError;
use super::interrupt::Interrupt;
use super::live::Live;
use super::run_result::{ClientReport, LinkSample};
use super::stage::Stage;

/// Between two looks at the process.
const POLL: Duration = Duration::from_millis(10);
/// Between two samples of the links.
const SAMPLE: Duration = Duration::from_millis(100);
/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A client to run.
#[derive(Debug)]
pub(crate) struct Task {
    /// Prints one [`ClientReport`] on standard output.
    pub(crate) command: Command,
    /// Longest time.
    pub(crate) limit: Duration,
    /// Whether it shows its progress on a terminal itself.
    pub(crate) draws: bool,
    /// Where its messages go when there is no terminal.
    pub(crate) errors: PathBuf,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) ended: Ended,
    pub(crate) samples: Vec<LinkSample>,
}

/// How the client ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a report.
    Reported(ClientReport),
    /// We stopped it.
    Stopped { after_seconds: f64 },
    /// Without one.
    Failed { reason: String },
}

/// Runs the client. `bytes` is the size of the file, for the progress.
pub(crate) fn watch(
    mut task: Task,
    stage: &Stage,
    bytes: u64,
    interrupt: &Interrupt,
) -> Result<Seen, DemoError> {
    let terminal = std::io::stderr().is_terminal();
    let errors = if terminal {
        Stdio::inherit()
    } else {
        File::create(&task.errors).map_err(DemoError::write(&task.errors))?.into()
    };
    task.command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    let began = Instant::now();
    let mut child = task.command.spawn().map_err(DemoError::io("starting a client"))?;
    let mut live = (terminal && !task.draws).then(|| Live::new(stage, bytes));
    let mut samples = vec![stage.sample()];
    let status = loop {
        if let Some(status) = child.try_wait().map_err(DemoError::io("waiting for a client"))? {
            break Some(status);
        }
        if interrupt.is_raised() {
            stop(&mut child);
            return Err(DemoError::Interrupted);
        }
        if began.elapsed() >= task.limit {
            stop(&mut child);
            break None;
        }
        if began.elapsed() >= SAMPLE * samples.len() as u32 {
            samples.push(stage.sample());
            if let Some(live) = &mut live {
                live.draw(&samples);
            }
        }
        thread::sleep(POLL);
    };
    samples.push(stage.sample());
    drop(live);
    let ended = match status {
        None => Ended::Stopped { after_seconds: began.elapsed().as_secs_f64() },
        Some(status) => {
            let mut output = String::new();
            if let Some(mut stdout) = child.stdout.take() {
                stdout.read_to_string(&mut output).map_err(DemoError::io("reading a client's report"))?;
            }
            match serde_json::from_str(&output) {
                Ok(report) if status.success() => Ended::Reported(report),
                Err(error) if status.success() => {
                    Ended::Failed { reason: format!("its report cannot be read: {error}") }
                }
                _ => {
                    let said = last_words(&fs::read_to_string(&task.errors).unwrap_or_default());
                    let reason = if terminal { status.to_string() } else { format!("{status}: {said}") };
                    Ended::Failed { reason }
                }
            }
        }
    };
    Ok(Seen { ended, samples })
}

/// Asks a process to end, and kills it if it does not.
pub(crate) fn stop(child: &mut Child) {
    if let (Ok(None), Ok(pid)) = (child.try_wait(), i32::try_from(child.id())) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let asked = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < GRACE {
            thread::sleep(POLL);
        }
    }
    let _ = (child.kill(), child.wait());
}

/// The end of what a program said.
pub(crate) fn last_words(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    if last.is_empty() { "it said nothing".to_owned() } else { last }
}
