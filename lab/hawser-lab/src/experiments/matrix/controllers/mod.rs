//! Every congestion controller over every link: `hawser lab matrix controllers`.
//!
//! A [`Cell`] is one simulation: a controller on a link with a buffer and a rate of random loss, alone, beside a second flow of its
//! own, beside CUBIC, or, for coupled ones, with two paths through the bottleneck beside a flow of NewReno or CUBIC. Links, buffers
//! and losses are those of a [`Plan`]; what is measured of a run is in `measure`.

mod grid;
mod markdown;
mod measure;
mod page;
mod plan;
mod report;
mod rows;

pub use grid::{Against, Cell, Settings};
pub use plan::{Link, Plan};
pub use rows::{Controllers, Outlier, Row, Shared};

#[cfg(test)]
mod tests;
