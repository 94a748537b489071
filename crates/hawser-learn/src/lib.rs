//! Estimators and bandits: learners over numbers.
//!
//! Nothing here knows what a packet or a path is: a controller or a scheduler turns what it sees into numbers, and asks. Time
//! and randomness are arguments, all arithmetic is in `f64` (networks: `f32`) and in a fixed order, and nothing allocates once
//! it is made: the same inputs give the same outputs on every machine. ([`nearest_pairs`] makes lists and [`BoostedTrees::read`]
//! a model; they are for once in a while.)
//!
//! | what | for |
//! |---|---|
//! | [`Adwin`] | noticing that a mean changed |
//! | [`BoostedTrees`] | what a model that was trained elsewhere predicts |
//! | [`Ewma`] | a moving average |
//! | [`GradientDescent`] | a minimum between 0 and 1, of values seen one by one |
//! | [`IntervalFtrl`], [`SimplexFtrl`] | the same with a barrier, for one share or several |
//! | [`IntervalStatistics`] | whether series have a common cause: their skewness, deviation and swings |
//! | [`Kalman`] | following a value that drifts |
//! | [`LinUcb`] | choosing an arm in a context |
//! | [`Mahalanobis`], [`nearest_pairs`] | comparing what was observed in like circumstances |
//! | [`Mlp`] | inference of a small neural network that was trained elsewhere |
//! | [`Random`] | exploring, from a seed |
//! | [`Ucb1`] | choosing an arm without context |

mod adwin;
mod boosted_trees;
mod ewma;
mod ftrl;
mod gradient_descent;
mod interval_statistics;
mod kalman;
mod lin_ucb;
mod linear;
mod mahalanobis;
mod mlp;
mod random;
mod simplex_ftrl;
mod ucb1;

pub use adwin::{Adwin, Change, CutTest};
pub use boosted_trees::{BoostedTrees, BoostedTreesError};
pub use ewma::Ewma;
pub use ftrl::{Accumulation, IntervalFtrl, Play, curvature, minimiser, radius, step_size};
pub use gradient_descent::GradientDescent;
pub use interval_statistics::{IntervalStatistics, Recent, Weights};
pub use kalman::{DifferenceKalman, InnovationKalman, Kalman, Noise};
pub use lin_ucb::{LinUcb, LinUcbArm};
pub use mahalanobis::{Mahalanobis, nearest_pairs};
pub use mlp::{Mlp, MlpError};
pub use random::Random;
pub use simplex_ftrl::{MAX_SHARES, SimplexFtrl, SimplexPlay};
pub use ucb1::{Ucb1, upper_confidence};
