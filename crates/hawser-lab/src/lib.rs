//! Experiments: scenarios played with real programs, and reports about what happened.
//!
//! A scenario file says which links there are; an experiment says what is sent over them and by whom; the
//! report says what came out, with enough about the circumstances that somebody else can repeat it. Nothing
//! here knows the protocol: programs are started, watched from outside, and asked for their own account.
//!
//! So far there is one experiment, the demonstration ([`demo`], `make demo`): the same file travels over
//! every link of a scenario alone, over kernel MPTCP, and over all links with Hawser.
//!
//! * [`arrivals`] defines the figures that are compared: goodput, longest stall, slowest 100 ms.
//! * [`outcome`] holds what a run measured, [`verdict`] compares runs.
//! * [`conditions`] draws from a scenario what its links could have carried, and when.
//! * [`report`] makes a page of it that stands alone: HTML with inline SVG.

pub mod arrivals;
pub mod conditions;
pub mod demo;
pub mod environment;
pub mod outcome;
pub mod report;
pub mod text;
pub mod verdict;
