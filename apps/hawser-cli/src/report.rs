//! Results for programs.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;

use crate::caps::CapReport;
use crate::exit::{Exit, Failure, Measured};
use crate::options::Output;
use crate::paths::PathReport;
use crate::server_scheduler::ServerScheduler;
use crate::transfer::Goodput;

/// The result of `get` and `put` with `--json`: one line per URL.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TransferReport {
    /// The resource.
    pub(crate) url: String,
    /// The local file; `-` is standard output or input.
    pub(crate) file: String,
    /// Status of the last response.
    pub(crate) status: u16,
    /// Of the whole file, in hex.
    pub(crate) sha256: String,
    /// Whether the server confirmed it.
    pub(crate) verified: bool,
    /// Bytes that were there from an earlier attempt.
    pub(crate) resumed_from: u64,
    /// Attempts that failed before.
    pub(crate) retries: u32,
    /// How long the name look-up and the handshake took.
    pub(crate) connect_seconds: f64,
    /// What was transferred, and when.
    #[serde(flatten)]
    pub(crate) goodput: Goodput,
    /// Every path that the connection had.
    pub(crate) paths: Vec<PathReport>,
    /// With `--session-file`: whether the connection went on from an earlier session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumed: Option<bool>,
    /// With `get --early-data`: whether the file was asked for by 0-RTT, and whether the server took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) early_data: Option<&'static str>,
    /// With `get --scheduler`: what the server said to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_scheduler: Option<ServerScheduler>,
    /// With `--cap`: what is left of each budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) caps: Vec<CapReport>,
}

/// What `--json` prints when there is no result.
#[derive(Debug, Serialize)]
struct FailureReport<'a> {
    error: FailureDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    /// Whether Ctrl-C ended it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    /// What was measured until then.
    #[serde(flatten)]
    measured: Option<&'a Measured>,
}

/// What is said of a failure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FailureDetails {
    exit_code: u8,
    kind: Exit,
    message: String,
}

impl FailureDetails {
    /// Of this failure.
    pub(crate) fn of(failure: &Failure) -> Self {
        FailureDetails { exit_code: failure.exit as u8, kind: failure.exit, message: failure.message.clone() }
    }
}

/// Where results for programs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Stdout,
    /// Standard output is taken: the file goes there.
    Stderr,
}

impl Channel {
    /// Prints a result as one line of JSON.
    pub(crate) fn print(self, result: &impl Serialize) {
        match self {
            Channel::Stdout => print(to_json(result)),
            Channel::Stderr => remark(to_json(result)),
        }
    }

    /// Says what went wrong: in words, and to programs that asked for JSON as such.
    pub(crate) fn tell(self, failure: &Failure, output: Output) {
        remark(format_args!("hawser: {failure}"));
        if output.json {
            self.print_failure(failure);
        }
    }

    /// Prints a failure as one line of JSON.
    pub(crate) fn print_failure(self, failure: &Failure) {
        let Failure { exit, url, measured, .. } = failure;
        let error = FailureDetails::of(failure);
        self.print(&FailureReport {
            error,
            url: url.as_deref(),
            interrupted: *exit == Exit::Signal,
            measured: measured.as_deref(),
        });
    }
}

/// Why standard output lost something, if it did.
static LOST_OUTPUT: OnceLock<io::Error> = OnceLock::new();

/// Lines of a progress that are on the terminal, below everything else: whatever is printed takes their place, and they are
/// drawn again below it.
static DRAWN: Mutex<usize> = Mutex::new(0);

/// What erases them.
fn erase(drawn: &mut usize) -> String {
    let lines = std::mem::take(drawn);
    // The cursor may have left the first column: terminals echo `^C`.
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A\x1b[J") }
}

/// Draws a progress of so many lines in the place of what was drawn before.
pub(crate) fn draw(text: &str, lines: usize) {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = erase(&mut drawn) + text;
    let _ = io::stderr().lock().write_all(text.as_bytes());
    *drawn = lines;
}

/// Erases the progress.
pub(crate) fn wipe() {
    draw("", 0);
}

/// Prints a line that was asked for. What is lost is told at the end, by [`all_printed`].
pub(crate) fn print(line: impl Display) {
    wipe();
    note_lost(writeln!(io::stdout(), "{line}"));
}

/// Takes note of a failure of standard output. A reader that has gone (`| head`) is none.
pub(crate) fn note_lost(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = LOST_OUTPUT.set(error);
    }
}

/// Fails if something that was printed did not arrive.
pub(crate) fn all_printed() -> Result<(), Failure> {
    note_lost(io::stdout().flush());
    LOST_OUTPUT.get().map_or(Ok(()), |error| Err(Failure::write(Path::new("standard output"), error)))
}

/// Prints a line that accompanies what was asked for.
pub(crate) fn remark(line: impl Display) {
    draw(&format!("{line}\n"), 0);
}

/// One line of JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    // Our types have only string keys: this can not fail.
    serde_json::to_string(value).unwrap_or_default()
}
