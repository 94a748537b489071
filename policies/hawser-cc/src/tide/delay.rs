//! How long packets wait in the queue of the path, and how long they take without it.
//!
//! Where the peer reports when packets arrived, the queue is judged by the forward delay alone: what acknowledgements wait for in an uplink
//! belongs to the round trip that has to be filled, not to the queue that this sender makes. Elsewhere the round trip has to do.

use std::time::Duration;

use hawser_policy::{Ack, Snapshot, Time};

use crate::return_path::RttSample;
use crate::two_buckets::TwoBuckets;

/// A least delay holds for this long (as BBR's RTprop), and for [`LEAST_ROUNDS`] round trips.
const LEAST_WINDOW: Duration = Duration::from_secs(10);
const LEAST_ROUNDS: u32 = 50;
/// Next to others that fill the queue, since it may not be empty for as long (BBRv2+'s dual mode).
const SHARED_WINDOW: Duration = Duration::from_secs(120);
/// Forward delays that did not come for this long do not come any more.
const FORWARD_STALE: Duration = Duration::from_secs(1);
/// A queue stands if it is there for half a round trip without queue, and at least for so long: a late acknowledgement adds less.
const STANDING: f64 = 0.5;
const SHORTEST: Duration = Duration::from_millis(10);
/// A queue below this, or below a tenth of the round trip, is none: timers and bursts of a sender make as much.
const EMPTY: f64 = 0.002;
const EMPTY_SHARE: f64 = 0.1;
/// The least delay fell if it is shorter by this share, or by [`EMPTY`].
const FALLEN: f64 = 0.05;
/// The round trip without queue is the least of so long: what acknowledgements wait for in an uplink's standing queue is in it, and a
/// pause of the way back is not.
const BACK_WINDOW: Duration = Duration::from_secs(1);

/// Delays of a path, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    forward: TwoBuckets,
    round_trip: TwoBuckets,
    standing: TwoBuckets,
    /// Round trip without the queue of this direction.
    whole: TwoBuckets,
    forward_at: Option<Time>,
    base: Option<f64>,
    queue: f64,
    emptied_at: Time,
    /// The least delay fell since this was asked.
    fallen: bool,
}

impl Delay {
    pub(crate) fn new(now: Time) -> Delay {
        Delay {
            forward: TwoBuckets::EMPTY,
            round_trip: TwoBuckets::EMPTY,
            standing: TwoBuckets::EMPTY,
            whole: TwoBuckets::EMPTY,
            forward_at: None,
            base: None,
            queue: 0.0,
            emptied_at: now,
            fallen: false,
        }
    }

    /// What a predecessor knew of the path.
    pub(crate) fn seed(&mut self, from: &Snapshot) {
        if !from.min_rtt.is_zero() {
            let least = from.min_rtt.as_secs_f64();
            self.round_trip = TwoBuckets::seeded(from.now, least);
            self.base = Some(least);
        }
    }

    /// Takes in an acknowledgement; true if it had a sample. `shared`: others keep the queue filled.
    pub(crate) fn on_ack(&mut self, ack: &Ack, rtt: Option<RttSample>, shared: bool) -> bool {
        let least = if shared { SHARED_WINDOW } else { LEAST_WINDOW };
        let window = least.max(ack.min_rtt.saturating_mul(LEAST_ROUNDS).min(6 * LEAST_WINDOW));
        if rtt.is_some_and(|sample| sample.changed) {
            (self.round_trip, self.standing) = (TwoBuckets::EMPTY, TwoBuckets::EMPTY);
        }
        let forward = ack.one_way_delay.zip(ack.latest_rtt);
        let by_forward = self.forward_at.is_some_and(|at| ack.now.since(at) < FORWARD_STALE);
        let least_before = if by_forward { self.forward.get() } else { self.round_trip.get() };
        let (queue, base) = match (forward, rtt) {
            (Some((forward, rtt)), _) => {
                if !by_forward {
                    (self.forward, self.standing) = (TwoBuckets::EMPTY, TwoBuckets::EMPTY);
                }
                self.forward_at = Some(ack.now);
                let forward = forward.as_secs_f64();
                let queue = forward - self.forward.on_sample(ack.now, forward, window);
                (queue, (rtt.as_secs_f64() - queue).max(1e-6))
            }
            (None, Some(sample)) if !by_forward => {
                let rtt = sample.adjusted.as_secs_f64();
                let least = self.round_trip.on_sample(ack.now, rtt, window);
                (rtt - least, least)
            }
            _ => return false,
        };
        let least = if forward.is_some() { self.forward.get() } else { self.round_trip.get() };
        self.fallen |= least_before.is_finite() && least_before - least > EMPTY.max(FALLEN * base);
        self.base = Some(if forward.is_none() {
            base
        } else {
            if !by_forward {
                self.whole = TwoBuckets::EMPTY;
            }
            self.whole.on_sample(ack.now, base, BACK_WINDOW)
        });
        self.queue = queue;
        let span = Duration::try_from_secs_f64(STANDING * base).unwrap_or(LEAST_WINDOW).max(SHORTEST);
        let present = self.standing.on_sample(ack.now, queue, span);
        if present < EMPTY.max(EMPTY_SHARE * base) {
            self.emptied_at = ack.now;
        }
        true
    }

    /// So much of the queue stays whatever this sender does: from now on it belongs to the path.
    pub(crate) fn adopt(&mut self, now: Time, queue: f64) {
        for least in [&mut self.forward, &mut self.round_trip] {
            let value = least.get();
            if value.is_finite() {
                *least = TwoBuckets::seeded(now, value + queue);
            }
        }
        self.standing = TwoBuckets::EMPTY;
    }

    /// The path changed under its addresses: what it takes without queue is learned again.
    pub(crate) fn forget_least(&mut self) {
        (self.forward, self.round_trip, self.standing) =
            (TwoBuckets::EMPTY, TwoBuckets::EMPTY, TwoBuckets::EMPTY);
    }

    /// The round trip without the queue of this direction; `None` before the first sample.
    pub(crate) fn base(&self) -> Option<f64> {
        self.base
    }

    /// Whether the least delay fell since this was asked last: another flow made room, and looks for the delay without queue.
    pub(crate) fn take_fallen(&mut self) -> bool {
        std::mem::take(&mut self.fallen)
    }

    /// Of the last sample.
    pub(crate) fn queue(&self) -> f64 {
        self.queue
    }

    /// The least of about half a round trip: without what a late acknowledgement adds.
    pub(crate) fn standing(&self) -> f64 {
        let least = self.standing.get();
        if least.is_finite() { least } else { 0.0 }
    }

    /// When the queue was last found empty.
    pub(crate) fn emptied_at(&self) -> Time {
        self.emptied_at
    }
}

#[cfg(test)]
mod tests;
