//! Every scheduler over links with several paths: `hawser lab matrix schedulers`.
//!
//! A [`Cell`] is one simulation: a scheduler with a controller over the links of a scenario, with a workload in the place of the
//! scenario's first connection; what else the scenario has running stays as it is. Links and workloads are those of a [`Plan`]; what is
//! measured of a run is in `measure`. Among the schedulers is the one that knows the links' future
//! ([`OracleEdpf`](hawser_sim::oracle::OracleEdpf)): everybody is given as a share of it, and nobody loses against it.

mod grid;
mod markdown;
mod measure;
mod page;
mod plan;
mod report;
mod rows;

pub use grid::{Cell, Settings};
pub use plan::{Extent, Judged, Plan, Workload};
pub use rows::{Contest, Row, Schedulers};

#[cfg(test)]
mod tests;
