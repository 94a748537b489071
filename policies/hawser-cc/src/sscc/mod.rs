//! SSCC: the controller of each path chosen by data (F. Yang, dissertation, Sorbonne/UCAS 2022, chapter 5).
//!
//! Paths that share a bottleneck are coupled and together take the share of one flow; on every other path runs the single-path
//! controller of which a model expects most. What worked for a destination is what a new path to it begins with.
//!
//! | part | does |
//! |---|---|
//! | [`Detector`], `grouping`, `vote` | which paths share a bottleneck, from one-way delays and losses (section 5.3.2) |
//! | `units`, [`reward()`] | what a path did during some twenty acknowledgements, and what that is worth (5.3.4, 5.3.5) |
//! | [`Models`] | what each candidate is expected to be worth (5.3.6) |
//! | [`PrefixMemory`] | what worked for a destination network (5.3.7) |
//! | `state` | the decisions of a connection, with hysteresis |
//! | `steered`, `set` | how they reach the paths: the policy set `sscc` |
//!
//! It notes what it decides, on the trace of the connection and to its parameter `log`: `sscc.controller` (and `from`, if there was one
//! before) and `sscc.group` when a path gets another one, `sscc.unit` for each [`DataUnit`], and `sscc.reward` (`controller`,
//! `reward`) when a unit shows what came of the choice that the one before it had led to; never of coupled paths.
//!
//! The acknowledgements of a path close its Data Units; a unit chooses; the next acknowledgement exchanges the controller
//! ([`hawser_policy::Command::ReplaceController`]), which takes over the estimates of its predecessor. `docs/sscc.md` says what
//! differs from the dissertation, and what was measured.

mod choice;
pub(crate) mod detection;
mod detector;
mod detector_settings;
mod grouping;
mod models;
mod prefixes;
mod reward;
mod set;
mod settings;
mod state;
mod steered;
#[cfg(test)]
mod testing;
#[cfg(test)]
pub(crate) mod tests;
mod units;
mod vote;

pub use hawser_learn::Weights;

pub use choice::{CANDIDATES, Candidate, Choice};
pub use detector::Detector;
pub use detector_settings::{DetectorSettings, Vote};
pub use grouping::Measure;
pub use models::{Models, ModelsError};
pub use prefixes::{PrefixFileError, PrefixKey, PrefixMemory};
pub use reward::{RewardForm, reward};
pub use set::{SsccParts, register};
pub use units::{DataUnit, FEATURES};

/// Name of the policy set in the registry.
pub const NAME: &str = "sscc";
