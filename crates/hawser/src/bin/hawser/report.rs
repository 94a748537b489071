//! Results for programs.

use serde::Serialize;

use crate::paths::PathReport;
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
}

/// One line of JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    // Our types have only string keys: this can not fail.
    serde_json::to_string(value).unwrap_or_default()
}
