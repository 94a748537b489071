//! The 4-tuple under a path, and what a change of it means for recovery (RFC 9000 section 9.4).
//!
//! Every packet carries the generation of the 4-tuple it left on, and only packets of the present one count: towards
//! bytes in flight, round-trip time, loss and ECN signals. Recovery must therefore know the present one *before* the
//! first packet leaves on it. Otherwise that packet counts for nothing, and congestion control is off.

use std::time::Duration;

use hawser_policy::{Rate, Snapshot, Time};

use super::PathRecovery;
use super::delivery::DeliveryRateEstimator;
use super::ecn::EcnValidator;
use super::outage::Silences;
use super::pacer::Pacer;
use super::reordering::ReorderingTolerance;
use super::rtt::RttEstimator;
use super::statistics::RecentLoss;

#[cfg(test)]
mod tests;

/// The 4-tuples that a path knows. Generations differ where more than a port does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TupleGenerations {
    /// Of the one in use.
    pub(crate) current: u32,
    /// Of the one to return to if the present one cannot be validated.
    pub(crate) previous: Option<u32>,
}

/// What was known of a 4-tuple when the path left it.
#[derive(Debug)]
pub(super) struct FormerTuple {
    pub(super) generation: u32,
    /// Of packets that left on it, less those acknowledged or lost since.
    pub(super) bytes_in_flight: u64,
    rtt: RttEstimator,
    reordering: ReorderingTolerance,
    delivery: DeliveryRateEstimator,
    ecn: EcnValidator,
    recent_loss: RecentLoss,
    one_way_delay: Option<Duration>,
    congestion: Snapshot,
}

impl PathRecovery {
    /// Which 4-tuple of the path packets leave on.
    pub(crate) fn tuple_generation(&self) -> u32 {
        self.tuple_generation
    }

    /// Packets leave on `tuples.current` from now on. To be called after everything that may change the 4-tuple,
    /// before the next packet; without a change it does nothing.
    ///
    /// RFC 9000 section 9.4 asks for a reset of window and round-trip time when the new address is validated. They are
    /// reset earlier, with the first packet, since until then there is no estimate of the new path at all; and
    /// an address that fails its validation brings back what was known of the one before, so that a forged packet
    /// costs a round trip and not the window. Another port of the same hosts is the same generation: most likely a NAT
    /// forgot, so estimates and packets in flight stay.
    //= rfc9000-9.4-1: packets of the old address say nothing about the new one
    pub(crate) fn follow_tuple(&mut self, now: Time, tuples: TupleGenerations) {
        let TupleGenerations { current, previous } = tuples;
        let returned = self.former.take_if(|former| former.generation == current);
        self.former.take_if(|former| Some(former.generation) != previous);
        if current == self.tuple_generation {
            return;
        }
        let left = self.begin_tuple(now, current);
        if previous == Some(left.generation) {
            self.former = Some(Box::new(left));
        }
        if let Some(former) = returned {
            self.restore(*former);
        }
        self.pacer = Pacer::new(now, Rate::ZERO, self.max_datagram_size);
        self.refresh_limits(now);
    }

    /// Starts on a 4-tuple of which nothing is known; returns what was known of the one before.
    //= rfc9000-9.4-2: another host: window and round-trip time are reset; another port: both stay
    fn begin_tuple(&mut self, now: Time, generation: u32) -> FormerTuple {
        let congestion = self.snapshot(now);
        let rtt = RttEstimator::new(self.rtt.own(), self.initial_rtt, self.rtt.max_ack_delay())
            .with_least_timeout(self.rtt.least_timeout());
        let forgotten = self.reordering.forgotten();
        let left = FormerTuple {
            generation: std::mem::replace(&mut self.tuple_generation, generation),
            bytes_in_flight: std::mem::take(&mut self.bytes_in_flight),
            rtt: std::mem::replace(&mut self.rtt, rtt),
            reordering: std::mem::replace(&mut self.reordering, forgotten),
            delivery: std::mem::replace(&mut self.delivery, DeliveryRateEstimator::new(now)),
            ecn: std::mem::replace(&mut self.ecn, EcnValidator::new(self.ecn_enabled)),
            recent_loss: std::mem::take(&mut self.recent_loss),
            one_way_delay: self.one_way_delay.take(),
            congestion,
        };
        self.pto_count = 0;
        self.silences = Silences::default();
        // The next loss is one of another network path: neither part of this epoch nor a reason to undo it.
        self.epoch.leave();
        self.pipe_full = false;
        self.controller.on_path_reset(now);
        left
    }

    fn restore(&mut self, former: FormerTuple) {
        self.bytes_in_flight = former.bytes_in_flight;
        self.rtt = former.rtt;
        self.reordering = former.reordering;
        self.delivery = former.delivery;
        self.ecn = former.ecn;
        self.recent_loss = former.recent_loss;
        self.one_way_delay = former.one_way_delay;
        self.pipe_full = former.congestion.pipe_full;
        self.controller.on_path_return(&former.congestion);
    }
}
