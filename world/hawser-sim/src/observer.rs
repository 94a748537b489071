use hawser_link::{Arrival, Failure};

use crate::Packet;

/// Sees every packet at the end of its way.
pub(crate) trait Observer {
    /// A packet arrived.
    fn arrived(&mut self, _arrival: &Arrival<Packet>) {}

    /// A packet was dropped. Only told when the simulation keeps failures.
    fn failed(&mut self, _failure: &Failure<Packet>) {}
}

/// Sees nothing.
pub(crate) struct Blind;

impl Observer for Blind {}
