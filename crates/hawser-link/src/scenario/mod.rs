//! The scenario file: which links exist and how they behave.
//!
//! TOML, versioned. Two hosts, `client` and `server`, are joined by any number of links:
//!
//! ```toml
//! version = 1                 # of this format
//! name = "drive"              # optional
//! description = "..."         # optional
//! seed = 1                    # optional, 1: for everything random
//! duration = "120 s"          # optional: longest time a run may take
//! mptcp = true                # optional, false: configure the kernel's MPTCP over all links
//!
//! [[link]]
//! name = "wifi0"              # also the interface name: 1 to 15 letters, digits, - and _
//! between = ["client", "server"]   # optional; the only pair so far
//! rate = "40 Mbit/s"          # or "unlimited"
//! delay = "15 ms"             # optional, 0: one way
//! jitter = { model = "gamma", mean = "4 ms", deviation = "3 ms" }
//! loss = "0.1 %"              # or 0.001
//! queue = "200 kB"            # or "100 ms" at the highest rate; default "100 ms"
//! mtu = 1500                  # optional; bytes of the IP packet
//! outage = [{ from = "20 s", to = "30 s" }, { from = "90 s" }]
//! on_outage = "drop"          # or "hold": packets wait for the end of the outage
//!
//! [link.up]                   # client to server: overrides any of rate ... on_outage, except mtu
//! rate = "10 Mbit/s"
//! [link.down]                 # server to client
//! loss = { model = "gilbert-elliott", loss = "1 %", mean_burst = 8 }
//! ```
//!
//! Other forms:
//!
//! | field | form | meaning |
//! |---|---|---|
//! | `rate`, `delay` | `{ steps = [["0 s", V], ["20 s", V]], interpolate = "linear", repeat = "60 s" }` | schedule; `interpolate` is `"step"` unless given; `repeat` is the period |
//! | `rate`, `delay` | `{ series = "file", interval = "500 ms", repeat = "60 s" }` | lines of `seconds value`, or with `interval` lines of `value`; Mbit/s and ms |
//! | `rate` | `{ trace = "file" }` | mahimahi trace: one line = one chance of 1500 bytes, in ms, repeats |
//! | `jitter` | `{ model = "walk", maximum = "10 ms", step = "1 ms", interval = "10 ms" }` | bounded random walk |
//! | `loss` | `{ model = "gilbert-elliott", good_to_bad, bad_to_good, loss_good, loss_bad }` | all four probabilities |
//! | `outage` | `{ every = "15 s", duration = "300 ms", offset = "12 s" }` | a gap that comes back |

mod error;
mod fields;
mod read;

use std::time::Duration;

pub use error::ScenarioError;

use crate::config::DirectionConfig;
use crate::random::derive_seed;
use crate::time::nanos;

/// A scenario, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name, or that of its file.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Longest time a run may take.
    pub duration: Option<Duration>,
    /// Whether the kernel's MPTCP is set up over all links.
    pub mptcp: bool,
    /// The links, in the order of the file; at least one.
    pub links: Vec<ScenarioLink>,
}

/// A link between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioLink {
    /// Name, unique, also of the interface.
    pub name: String,
    /// The hosts at its ends; `up` leads from the first to the second.
    pub between: [Host; 2],
    /// From the first host to the second.
    pub up: DirectionConfig,
    /// From the second host to the first.
    pub down: DirectionConfig,
}

/// A host of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// Has all links.
    Client,
    /// Is reached over all links.
    Server,
}

impl Host {
    /// `client` or `server`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl Scenario {
    /// Reads a scenario. `file` is its name for messages; `read_file` returns the text of a trace or series
    /// named in the scenario, or a sentence that says why it cannot.
    ///
    /// # Errors
    /// Fails on the first mistake, naming line, field and what is allowed there.
    pub fn parse(
        text: &str,
        file: &str,
        read_file: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        read::scenario(text, file, read_file)
    }

    /// Capacity of all links together in one direction from the start until `until`, bit/s, outages counted
    /// as zero; `None` if a link is unlimited.
    pub fn mean_rate(&self, direction: Direction, until: Duration) -> Option<u64> {
        self.links.iter().map(|link| link.direction(direction).mean_rate(nanos(until))).sum()
    }

    /// Seed of one direction of a link.
    pub fn seed_of(&self, link: &ScenarioLink, direction: Direction) -> u64 {
        derive_seed(self.seed, &format!("{}/{}", link.name, direction.name()))
    }
}

impl ScenarioLink {
    /// The parameters of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionConfig {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

#[cfg(test)]
mod tests;
