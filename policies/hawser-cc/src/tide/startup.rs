//! Start-up: doubles per round trip, and sees the capacity before the window reaches it.
//!
//! A window leaves as a train, four times as fast as it would fill the round trip. From a quarter of the bandwidth-delay product on the train
//! is stretched by the bottleneck: its acknowledgements come apart as far as the path carries them. So the window goes from a quarter
//! or a half of the product to the product, and the queue meanwhile is a quarter of it at most (paced chirping, Misund 2019, has the same
//! idea; dispersion of trains: Dovrolis 2001).

use hawser_policy::{Ack, Time};

/// How much faster than a window per round trip a train leaves.
pub(crate) const TRAIN_GAIN: f64 = 7.0;
/// A train tells from so many datagrams on.
const TRAIN_DATAGRAMS: f64 = 8.0;
/// A train is stretched if it arrives in this much more time than it left in, and at least so many seconds more: timers and
/// delayed acknowledgements make less.
const STRETCH: f64 = 1.15;
const STRETCH_SECONDS: f64 = 0.002;
/// What a train shows counts when the window is within this factor of the product: short trains mistake bursts of a radio.
const WITHIN: f64 = 8.0;
/// Rounds in a row without this growth of the rate end it in any case (BBR's full pipe).
const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;

/// What an acknowledgement in start-up comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Grow,
    /// The path is full; with the capacity in bytes per second if a train showed it.
    Full(Option<f64>),
}

#[derive(Clone, Copy, Debug)]
struct Train {
    sent_at: Time,
    acked_at: Time,
    bytes: f64,
}

/// Start-up's measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Startup {
    train: Option<Train>,
    best: f64,
    flat: u32,
}

/// What start-up is told besides the acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) round_over: bool,
    pub(crate) datagram: f64,
    pub(crate) window: f64,
    /// Round trip without queue, seconds.
    pub(crate) base: f64,
    /// Largest recent delivery rate, bytes per second.
    pub(crate) rate: f64,
}

impl Startup {
    pub(crate) fn on_ack(&mut self, ack: &Ack, seen: &Seen) -> Step {
        let held_back = ack.limited_by.leaves_window_unused();
        if seen.round_over {
            self.train = None;
            if !held_back {
                let grew = seen.rate >= GROWTH * self.best;
                self.flat = if grew { 0 } else { self.flat + 1 };
                self.best = self.best.max(seen.rate);
                if self.flat >= FLAT_ROUNDS {
                    return Step::Full(None);
                }
            }
        }
        let Some(train) = &mut self.train else {
            self.train = Some(Train { sent_at: ack.largest_sent_at, acked_at: ack.now, bytes: 0.0 });
            return Step::Grow;
        };
        train.bytes += ack.bytes as f64;
        let left = ack.largest_sent_at.since(train.sent_at).as_secs_f64();
        let came = ack.now.since(train.acked_at).as_secs_f64();
        let is_stretched = came >= STRETCH * left && came - left >= STRETCH_SECONDS;
        if train.bytes < TRAIN_DATAGRAMS * seen.datagram || !is_stretched {
            return Step::Grow;
        }
        let capacity = train.bytes / came;
        if capacity * seen.base > WITHIN * seen.window { Step::Grow } else { Step::Full(Some(capacity)) }
    }
}

#[cfg(test)]
mod tests;
