//! Estimators and bandits: learners over numbers.
//!
//! Nothing here knows what a packet or a path is: a controller or a scheduler turns what it sees into numbers, and asks. Time
//! and randomness are arguments, all arithmetic is in `f64` and in a fixed order, and nothing allocates once it is made: the
//! same inputs give the same outputs on every machine.

mod ewma;
mod kalman;

pub use ewma::Ewma;
pub use kalman::{DifferenceKalman, InnovationKalman, Kalman, Noise};
