//! Filters in packet-timed rounds.

use std::time::Duration;

use hawser_policy::Time;

#[cfg(test)]
mod tests;

/// Counts packet-timed round trips (draft-ietf-ccwg-bbr section 5.5.1): a round is over when a packet is acknowledged
/// that left after the round began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    ends_at: u64,
    pub(crate) count: u64,
    /// Whether the present acknowledgement began one.
    pub(crate) started: bool,
}

impl Rounds {
    /// An acknowledgement whose newest packet left when `prior_delivered` of now `delivered` bytes were delivered.
    pub(crate) fn on_ack(&mut self, prior_delivered: u64, delivered: u64) {
        self.started = prior_delivered >= self.ends_at;
        if self.started {
            self.count += 1;
            self.ends_at = delivered;
        }
    }

    /// A round begins here, with what is sent from now on.
    pub(crate) fn restart(&mut self, delivered: u64) {
        self.ends_at = delivered;
    }
}

/// The largest value of this and the last probing cycle (BBRv2 and later).
#[derive(Clone, Debug, Default)]
pub(crate) struct TwoSlotMax {
    older: f64,
    newer: f64,
}

impl TwoSlotMax {
    pub(crate) fn update(&mut self, value: f64) {
        self.newer = self.newer.max(value);
    }

    pub(crate) fn max(&self) -> f64 {
        self.older.max(self.newer)
    }

    /// Forgets the cycle before last. Without a value in this cycle the last one's stays.
    pub(crate) fn advance(&mut self) {
        if self.newer > 0.0 {
            (self.older, self.newer) = (self.newer, 0.0);
        }
    }
}

/// Most rounds that a [`RoundWindow`] holds.
pub(crate) const LONGEST_WINDOW: usize = 16;

/// One value for each of the last rounds.
#[derive(Clone, Debug)]
pub(crate) struct RoundWindow {
    values: [Option<f64>; LONGEST_WINDOW],
    length: usize,
    at: usize,
}

impl RoundWindow {
    /// Of the last `rounds` rounds, at most [`LONGEST_WINDOW`].
    pub(crate) fn new(rounds: u64) -> RoundWindow {
        let length = usize::try_from(rounds).unwrap_or(LONGEST_WINDOW).clamp(1, LONGEST_WINDOW);
        RoundWindow { values: [None; LONGEST_WINDOW], length, at: 0 }
    }

    /// A round begins; the oldest is forgotten.
    pub(crate) fn next_round(&mut self) {
        self.at = (self.at + 1) % self.length;
        self.values[self.at] = None;
    }

    /// Keeps the larger of what the round has and `value`.
    pub(crate) fn raise(&mut self, value: f64) {
        let known = &mut self.values[self.at];
        *known = Some(known.map_or(value, |known| known.max(value)));
    }

    /// Keeps the smaller.
    pub(crate) fn lower(&mut self, value: f64) {
        let known = &mut self.values[self.at];
        *known = Some(known.map_or(value, |known| known.min(value)));
    }

    pub(crate) fn max(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::max)
    }

    pub(crate) fn min(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::min)
    }
}

/// Startup's question: did the bandwidth stop growing (draft-ietf-ccwg-bbr section 5.3.1.2)?
#[derive(Clone, Debug, Default)]
pub(crate) struct FullPipe {
    reference: f64,
    rounds: u32,
    /// Whether it has stopped since the last [`restart`](Self::restart).
    pub(crate) now: bool,
    /// Whether it ever has.
    pub(crate) reached: bool,
}

impl FullPipe {
    const GROWTH: f64 = 1.25;
    const ROUNDS: u32 = 3;

    /// At the start of a round that the application did not hold down.
    pub(crate) fn on_round(&mut self, bandwidth: f64) {
        if self.now {
            return;
        }
        if bandwidth >= self.reference * Self::GROWTH {
            self.restart(bandwidth);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= Self::ROUNDS;
        self.reached |= self.now;
    }

    /// Looks again for growth, from `reference` on.
    pub(crate) fn restart(&mut self, reference: f64) {
        (self.reference, self.rounds, self.now) = (reference, 0, false);
    }
}

/// How far acknowledgements come in heaps (draft-ietf-ccwg-bbr section 5.5.9): what arrived beyond what the bandwidth
/// explains, the largest of five to ten rounds.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    since: Time,
    acked: f64,
    buckets: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    const BUCKET_ROUNDS: u32 = 5;
    /// It explains no more than this much time at the bandwidth.
    const MOST: Duration = Duration::from_millis(100);

    pub(crate) fn new(now: Time) -> Aggregation {
        Aggregation { since: now, acked: 0.0, buckets: [0.0; 2], rounds: 0 }
    }

    /// An acknowledgement. In Startup (the pipe is not full) one round is remembered.
    pub(crate) fn on_ack(&mut self, ack: &AggregatedAck) {
        if ack.round_start {
            self.rounds += 1;
            if self.rounds >= if ack.pipe_full { Self::BUCKET_ROUNDS } else { 1 } {
                self.rounds = 0;
                self.buckets = [self.buckets[1], 0.0];
            }
        }
        let mut expected = ack.bandwidth * ack.now.since(self.since).as_secs_f64();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, ack.now, 0.0);
        }
        self.acked += ack.acked;
        let extra = (self.acked - expected).min(ack.window);
        self.buckets[1] = self.buckets[1].max(extra);
    }

    /// After silence the clock restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.acked, self.since) = (0.0, now);
    }

    pub(crate) fn extra(&self, bandwidth: f64) -> f64 {
        self.buckets[0].max(self.buckets[1]).min(bandwidth * Self::MOST.as_secs_f64())
    }
}

/// What [`Aggregation`] needs of an acknowledgement.
pub(crate) struct AggregatedAck {
    pub(crate) now: Time,
    pub(crate) acked: f64,
    pub(crate) bandwidth: f64,
    pub(crate) window: f64,
    pub(crate) round_start: bool,
    pub(crate) pipe_full: bool,
}
