//! What is asked, and how it is answered: one module per experiment.
//!
//! * [`sim_vs_emulator`] runs a scenario in the simulator and in the emulator and compares.
//! * [`fit`] compares the generators of links with measured facts.
//! * [`guarantee`] asks whether all links are ever worse than the best one.
//! * [`verify`] judges acceptance lists ([`lists`]: files in `lab/reproductions`, or modules here): [`bbrv2plus`], [`defaults`], [`four_d_map`], [`ftrl_wrr`], [`maco`],
//!   [`mams`], [`qc_mab`], [`ride`], [`seam`], [`sscc`], [`xfi`].
//! * [`matrix`] runs every congestion controller over every link, and every scheduler over links with several paths.
//! * [`demo`] is the demonstration (`make demo`): the same file travels over every link of a scenario alone, over kernel
//!   MPTCP, and over all links with Hawser.

pub mod bbrv2plus;
pub mod defaults;
pub mod demo;
mod error;
pub mod fit;
pub mod four_d_map;
pub mod ftrl_wrr;
pub mod guarantee;
pub mod lists;
pub mod maco;
pub mod mams;
pub mod matrix;
mod plans;
mod process;
pub mod qc_mab;
pub mod ride;
pub mod seam;
pub mod sim_vs_emulator;
pub mod sscc;
pub mod verify;
pub mod xfi;

pub use error::ExperimentError;
