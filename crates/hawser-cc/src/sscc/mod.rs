//! SSCC: the controller of each path chosen by data (F. Yang, dissertation, Sorbonne/UCAS 2022, chapter 5).

mod detector;
mod grouping;
mod vote;

pub use detector::{Detector, DetectorSettings};
pub use grouping::Measure;
pub use vote::Vote;
