//! What the list of 4D-MAP (`lab/reproductions/4d-map.toml`) computes and watches, and how its models are learnt (`docs/4d-map-learning.md`).

mod computations;
pub mod prelearning;
pub mod q_training;
mod traces;
mod watched;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new("4d-map-vectors", computations::vectors, &["{bandit|reward|bytes}_off_by"]),
    Program::new("4d-map-bandit", computations::bandit, &["best_arm_share"]),
    Program::new(
        "4d-map-copies",
        watched::watched,
        &["{copied|copies_lost|copied_again|acked_sent}_bytes", "decisions", "frame_us"],
    ),
];

#[cfg(test)]
mod tests;
