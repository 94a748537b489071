//! Packet schedulers, one file each.
//!
//! A scheduler answers one question of the core, again and again: *given these paths and this queue, which path
//! sends what next, or is it better to wait?* It sees copies of numbers and returns a small value; it can be tested
//! with a handful of [`PathView`](hawser_policy::PathView)s.

mod choose;
mod min_rtt;
mod round_robin;

use hawser_policy::Registry;

pub use min_rtt::MinRtt;
pub use round_robin::RoundRobin;

/// Adds every scheduler of this crate under its name.
pub fn register(registry: &mut Registry) {
    registry.add_scheduler(MinRtt::NAME, |_| Box::new(MinRtt));
    registry.add_scheduler(RoundRobin::NAME, |_| Box::<RoundRobin>::default());
}
