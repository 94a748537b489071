//! The result of a transfer, for programs.

use serde::Serialize;

use super::Goodput;
use crate::caps::CapReport;
use crate::paths::PathReport;
use crate::server_scheduler::ServerScheduler;
use crate::session::Status;

/// The result of `get` and `put` with `--json`: one line per URL.
#[derive(Clone, Debug, Serialize)]
pub struct TransferReport {
    /// The resource.
    pub url: String,
    /// The local file; `-` is standard output or input.
    pub file: String,
    /// Status of the last response.
    pub status: u16,
    /// Of the whole file, in hex.
    pub sha256: String,
    /// Whether the server confirmed it.
    pub verified: bool,
    /// Bytes that were there from an earlier attempt.
    pub resumed_from: u64,
    /// Attempts that failed before.
    pub retries: u32,
    /// How long the name look-up and the handshake took.
    pub connect_seconds: f64,
    /// What was transferred, and when.
    #[serde(flatten)]
    pub goodput: Goodput,
    /// Every path that the connection had.
    pub paths: Vec<PathReport>,
    /// The connection at the end, in the words of `hawser ctl status --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Status>,
    /// With `--session-file`: whether the connection went on from an earlier session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    /// With `get --early-data`: whether the file was asked for by 0-RTT, and whether the server took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_data: Option<&'static str>,
    /// With `get --scheduler`: what the server said to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_scheduler: Option<ServerScheduler>,
    /// With `--cap`: what is left of each budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<CapReport>,
}
