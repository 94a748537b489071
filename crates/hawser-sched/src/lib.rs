//! Packet schedulers, one file each.
//!
//! A scheduler answers one question of the core, again and again: *given these paths and this queue, which path
//! sends what next, or is it better to wait?* It sees copies of numbers and returns a small value; it can be tested
//! with a handful of [`PathView`](hawser_policy::PathView)s.
//!
//! | name | type | idea |
//! |---|---|---|
//! | `default`, `earliestarrival` | [`EarliestArrival`] | every byte where it arrives first; no path idle while work lasts |
//! | `minrtt` | [`MinRtt`] | lowest round-trip time that can send; never waits |
//! | `roundrobin` | [`RoundRobin`] | in turns |
//! | `ecf` | [`Ecf`] | may wait for the fast path when that finishes the queue sooner |
//! | `stms` | [`Stms`] | later bytes on the slower path, so that all arrive in order |
//! | `redundant` | [`Redundant`] | everything everywhere, cancelled when one copy arrives |
//!
//! What is common to all: only active paths of the preferred status are used; a path without a round-trip sample is
//! tried with two datagrams, copied to the best known path, before it is compared (not by `roundrobin` and `redundant`, which do not compare); ties go to
//! the lower path id. All are deterministic.

mod arrival;
mod choose;
mod earliest_arrival;
mod ecf;
mod min_rtt;
mod redundant;
mod round_robin;
mod stms;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use hawser_policy::Registry;

pub use earliest_arrival::{EarliestArrival, EarliestArrivalParameters};
pub use ecf::Ecf;
pub use min_rtt::MinRtt;
pub use redundant::Redundant;
pub use round_robin::RoundRobin;
pub use stms::Stms;

/// The entry that stands for the scheduler to use when the user names none.
pub const DEFAULT: &str = "default";

/// Adds every scheduler of this crate under its name, and [`EarliestArrival`] also as [`DEFAULT`].
pub fn register(registry: &mut Registry) {
    registry.add_scheduler_with(EarliestArrival::info(), |_, parameters| {
        Box::new(EarliestArrival::with_parameters(EarliestArrivalParameters::read(parameters)))
    });
    registry.add_scheduler_with(MinRtt::info(), |_, _| Box::new(MinRtt));
    registry.add_scheduler_with(RoundRobin::info(), |_, parameters| {
        Box::new(RoundRobin::with_quantum(parameters.integer("quantum")))
    });
    registry
        .add_scheduler_with(Ecf::info(), |_, parameters| Box::new(Ecf::with_beta(parameters.number("beta"))));
    registry.add_scheduler_with(Stms::info(), |_, parameters| {
        Box::new(Stms::with_gap_factor(parameters.number("gap_factor")))
    });
    registry.add_scheduler_with(Redundant::info(), |_, parameters| {
        Box::new(Redundant::with_copies(usize::try_from(parameters.integer("copies")).unwrap_or(usize::MAX)))
    });
}
