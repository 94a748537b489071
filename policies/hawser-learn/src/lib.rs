//! Estimators and bandits: learners over numbers.
//!
//! Nothing here knows what a packet or a path is: a controller or a scheduler turns what it sees into numbers, and asks. Time
//! and randomness are arguments, all arithmetic is in `f64` (networks: `f32`) and in a fixed order, and nothing allocates once
//! it is made: the same inputs give the same outputs on every machine. ([`nearest_pairs`] makes lists, [`BoostedTrees::read`]
//! a model and [`TrainedMlp::write`] a file; they are for once in a while. A [`ReplayBuffer`] grows until it is full.)
//!
//! | what | for |
//! |---|---|
//! | [`Adam`] | steps against a gradient, with a rate for each parameter |
//! | [`Adwin`] | noticing that a mean changed |
//! | [`BoostedTrees`] | what a model that was trained elsewhere predicts |
//! | [`Dqn`], [`ReplayBuffer`] | learning what actions are worth, from what followed them |
//! | [`Ewma`] | a moving average |
//! | [`GradientDescent`] | a minimum between 0 and 1, of values seen one by one |
//! | [`IntervalFtrl`], [`SimplexFtrl`] | the same with a barrier, for one share or several |
//! | [`IntervalStatistics`] | whether series have a common cause: their skewness, deviation and swings |
//! | [`Kalman`] | following a value that drifts |
//! | [`LinUcb`] | choosing an arm in a context |
//! | [`Mahalanobis`], [`nearest_pairs`] | comparing what was observed in like circumstances |
//! | [`Mlp`] | inference of a small neural network that was trained elsewhere |
//! | [`PairedArms`] | trying two arms in turns, and trusting a bandit as far as pairs of trials say |
//! | [`Random`] | exploring, from a seed |
//! | [`TrainedMlp`] | a small neural network that is trained here |
//! | [`Ucb1`] | choosing an arm without context |

mod adam;
mod adwin;
mod boosted_trees;
mod dqn;
mod ewma;
mod ftrl;
mod gradient_descent;
mod interval_statistics;
mod kalman;
mod lin_ucb;
mod linear;
mod mahalanobis;
mod mlp;
mod paired_arms;
mod replay_buffer;
mod simplex_ftrl;
mod trained_mlp;
mod ucb1;

pub use hawser_numbers::SplitMix64 as Random;

pub use adam::Adam;
pub use adwin::{Adwin, Change, CutTest};
pub use boosted_trees::{BoostedTrees, BoostedTreesError};
pub use dqn::{Dqn, DqnSettings};
pub use ewma::Ewma;
pub use ftrl::{Accumulation, IntervalFtrl, Play, curvature, minimiser, radius, step_size};
pub use gradient_descent::GradientDescent;
pub use interval_statistics::{IntervalStatistics, Recent, Weights};
pub use kalman::{DifferenceKalman, InnovationKalman, Kalman, Noise};
pub use lin_ucb::{LinUcb, LinUcbArm};
pub use mahalanobis::{Mahalanobis, nearest_pairs};
pub use mlp::{Mlp, MlpError};
pub use paired_arms::{Deployment, PairedArms};
pub use replay_buffer::{ReplayBuffer, Transition};
pub use simplex_ftrl::{MAX_SHARES, SimplexFtrl, SimplexPlay};
pub use trained_mlp::TrainedMlp;
pub use ucb1::{Ucb1, upper_confidence};
