//! What a run of an experiment measured.

use serde::{Deserialize, Serialize};

use super::arrivals::slowest_interval;

/// Who carried the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Hawser over one link.
    Single {
        /// Index of the link in the scenario.
        link: usize,
    },
    /// The kernel's MPTCP over all links.
    Mptcp,
    /// Hawser over all links.
    Hawser,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// For people: `wifi0 alone`.
    pub label: String,
    /// Who carried the file.
    pub carrier: Carrier,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes that the links had delivered to the client, every 100 ms or so.
    pub samples: Vec<LinkSample>,
    /// How late the emulator wrote packets in this run, in ms: the largest value. When it is more than a few
    /// milliseconds the host stood still, and stalls of that length are the host's.
    pub emulator_late_ms: f64,
}

/// How a run ended.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole file arrived.
    Finished(Transfer),
    /// It took too long and was stopped.
    Stopped {
        /// When, in seconds.
        after_seconds: f64,
        /// Bytes of the file that had arrived.
        bytes: u64,
    },
    /// It failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was not tried.
    LeftOut {
        /// Why.
        reason: String,
    },
}

/// A transfer that came to its end. See [`super::arrivals`] for the definitions.
#[derive(Debug, Clone, Serialize)]
pub struct Transfer {
    /// Seconds from the start of connecting to the last byte.
    pub seconds: f64,
    /// Bit/s.
    pub goodput_bps: f64,
    /// Longest time between two arrivals.
    pub longest_stall_ms: f64,
    /// When it began, seconds.
    pub longest_stall_at_seconds: f64,
    /// Goodput that 99 % of the intervals of 100 ms reach, bit/s.
    pub slowest_100ms_bps: Option<f64>,
    /// Goodput over the mean rate of all links of the scenario together, outages counted as zero, from the
    /// start to the end of this run; `None` when a link is unlimited.
    pub share_of_sum: Option<f64>,
    /// SHA-256 of the file on the client's disk, in hex.
    pub sha256: String,
    /// Whether that is the SHA-256 of the original.
    pub intact: bool,
    /// Subflows (MPTCP only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subflows: Option<u32>,
    /// Bytes in each 100 ms since the start.
    pub bins: Vec<u64>,
    /// What the client says about its paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<serde_json::Value>,
}

/// Counters of the links at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSample {
    /// Seconds since the schedules started.
    pub seconds: f64,
    /// Bytes of IP packets delivered to the client so far, per link.
    pub delivered: Vec<u64>,
}

/// What a client program prints: `hawser get --json --bins` and our MPTCP client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientReport {
    /// Bytes of the file.
    pub bytes: u64,
    /// See [`Transfer::seconds`].
    pub seconds: f64,
    /// See [`Transfer::longest_stall_ms`].
    pub longest_stall_ms: f64,
    /// See [`Transfer::longest_stall_at_seconds`].
    pub longest_stall_at_seconds: f64,
    /// See [`Transfer::bins`].
    pub bins: Vec<u64>,
    /// See [`Transfer::subflows`].
    #[serde(default)]
    pub subflows: Option<u32>,
    /// See [`Transfer::paths`].
    #[serde(default)]
    pub paths: Vec<serde_json::Value>,
}

impl ClientReport {
    /// The result, with what the client cannot know: the digest of the file on its disk, the one it should
    /// have, and what the links could have carried in that time in bit/s.
    pub fn into_transfer(self, sha256: String, expected: &str, links_bps: Option<u64>) -> Transfer {
        let goodput_bps = if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 };
        Transfer {
            seconds: self.seconds,
            goodput_bps,
            longest_stall_ms: self.longest_stall_ms,
            longest_stall_at_seconds: self.longest_stall_at_seconds,
            slowest_100ms_bps: slowest_interval(&self.bins),
            share_of_sum: links_bps.filter(|&rate| rate > 0).map(|rate| goodput_bps / rate as f64),
            intact: sha256 == expected,
            sha256,
            subflows: self.subflows,
            bins: self.bins,
            paths: self.paths,
        }
    }
}

impl Run {
    /// The transfer, if it came to its end.
    pub fn transfer(&self) -> Option<&Transfer> {
        match &self.outcome {
            Outcome::Finished(transfer) => Some(transfer),
            _ => None,
        }
    }

    /// Bit/s of the whole run, or of what there was of it.
    pub fn goodput_bps(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Finished(transfer) => Some(transfer.goodput_bps),
            Outcome::Stopped { after_seconds, bytes } => Some(*bytes as f64 * 8.0 / after_seconds.max(0.001)),
            Outcome::Failed { .. } | Outcome::LeftOut { .. } => None,
        }
    }

    /// How long it ran, seconds.
    pub fn seconds(&self) -> f64 {
        match &self.outcome {
            Outcome::Finished(transfer) => transfer.seconds,
            Outcome::Stopped { after_seconds, .. } => *after_seconds,
            Outcome::Failed { .. } | Outcome::LeftOut { .. } => 0.0,
        }
    }
}
