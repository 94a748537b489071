//! Experiments: scenarios played with real programs, and reports about what happened.
//!
//! A scenario file says which links there are; an experiment says what is sent over them and by whom; the
//! report says what came out, with enough about the circumstances that somebody else can repeat it. Nothing
//! here knows the protocol: programs are started, watched from outside, and asked for their own account.
//!
//! So far there is one experiment, the demonstration ([`demo`], `make demo`): the same file travels over
//! every link of a scenario alone, over kernel MPTCP, and over all links with Hawser.
//!
//! * [`agree`] runs a scenario in the simulator and in the emulator and compares.
//! * [`arrivals`] defines the figures that are compared: goodput, longest stall, slowest 100 ms.
//! * [`outcome`] holds what a run measured, [`verdict`] compares runs.
//! * [`conditions`] draws from a scenario what its links could have carried, and when.
//! * [`fit`] compares the generators of links with measured facts.
//! * [`guarantee`] asks whether all links are ever worse than the best one.
//! * [`record`] keeps what a simulation tells while it runs.
//! * [`sweep`] runs the cells of a plan on all cores, keeps what is done, and merges it.
//! * [`statistics`] says what repeated runs tell: means, medians, differences, and how sure they are.
//! * [`trace`] measures and draws recorded links, and makes scenarios of them; `hawser-trace` reads them.
//! * [`table`] writes and reads columns of measurements: Parquet, JSON lines, CSV.
//! * [`sim_report`] makes pages of sweeps and of single runs in the simulator.
//! * [`report`] makes a page of the demonstration that stands alone: HTML with inline SVG.

pub mod agree;
pub mod arrivals;
pub mod conditions;
pub mod demo;
pub mod environment;
pub mod fit;
pub mod guarantee;
pub mod outcome;
pub mod record;
pub mod report;
pub mod sim_report;
pub mod statistics;
pub mod sweep;
pub mod table;
pub mod text;
pub mod trace;
pub mod verdict;
