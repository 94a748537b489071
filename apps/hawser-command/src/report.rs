//! Results for programs.

use serde::Serialize;

use crate::exit::{Exit, Failure, Measured};
use crate::output::Output;

pub use crate::terminal::{draw, lost_output, note_lost, print, remark, wipe};

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
pub struct FailureDetails {
    exit_code: u8,
    kind: Exit,
    message: String,
}

impl FailureDetails {
    /// Of this failure.
    pub fn of(failure: &Failure) -> Self {
        FailureDetails { exit_code: failure.exit as u8, kind: failure.exit, message: failure.message.clone() }
    }
}

/// Where results for programs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Stdout,
    /// Standard output is taken: the file goes there.
    Stderr,
}

impl Channel {
    /// Prints a result as one line of JSON.
    pub fn print(self, result: &impl Serialize) {
        match self {
            Channel::Stdout => print(to_json(result)),
            Channel::Stderr => remark(to_json(result)),
        }
    }

    /// Says what went wrong: in words, and to programs that asked for JSON as such.
    pub fn tell(self, failure: &Failure, output: Output) {
        remark(format_args!("hawser: {failure}"));
        if output.json {
            self.print_failure(failure);
        }
    }

    /// Prints a failure as one line of JSON.
    pub fn print_failure(self, failure: &Failure) {
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

/// One line of JSON.
pub fn to_json(value: &impl Serialize) -> String {
    // Our types have only string keys: this can not fail.
    serde_json::to_string(value).unwrap_or_default()
}
