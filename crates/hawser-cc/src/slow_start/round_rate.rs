//! The delivery rate of a round trip, without the pause in it.

use std::time::Duration;

use hawser_policy::{Ack, Time};

/// Mean delivery rates of the last round and of the present one, in bytes per second.
///
/// A paced window leaves in a third of a round trip; until the pipe is full, nothing is acknowledged in the rest of it. A mean over
/// the whole round is the window by the round-trip time and doubles with the window, also in the round in which the queue fills.
/// The longest pause between two acknowledgements is therefore left out: what remains is the rate at which the path delivers,
/// which stands still from the round on in which packets leave faster than that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundRate {
    /// When this round began, and bytes delivered since; `None` once the sender held back.
    began: Option<Time>,
    delivered: Option<f64>,
    last_ack: Time,
    /// The longest time between two acknowledgements, and the bytes of that which ended it.
    longest_pause: (Duration, f64),
    last: Option<f64>,
    now: Option<f64>,
}

impl RoundRate {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.delivered = if ack.limited_by.leaves_window_unused() {
            None
        } else {
            self.delivered.map(|bytes| bytes + ack.bytes as f64)
        };
        let pause = ack.now.since(self.last_ack);
        if pause >= self.longest_pause.0 {
            self.longest_pause = (pause, ack.bytes as f64);
        }
        self.last_ack = ack.now;
        self.now = self.delivered.zip(self.began).and_then(|(bytes, began)| {
            let (pause, after_pause) = self.longest_pause;
            let elapsed = ack.now.since(began).saturating_sub(pause).as_secs_f64();
            (elapsed > 0.0).then(|| (bytes - after_pause) / elapsed)
        });
    }

    /// Whether a round was begun at all.
    pub(super) fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    /// The next round begins; the present one, if there is one, is over.
    pub(super) fn begin_round(&mut self, now: Time, over: bool) {
        if over {
            self.last = self.now.take();
        }
        (self.began, self.delivered) = (Some(now), Some(0.0));
        (self.last_ack, self.longest_pause) = (now, (Duration::ZERO, 0.0));
    }

    /// Rate of the last round that is over.
    pub(super) fn last(&self) -> Option<f64> {
        self.last
    }

    /// Rate of the present round over that of the last one.
    pub(super) fn growth(&self) -> Option<f64> {
        self.last.zip(self.now).map(|(last, now)| now / last)
    }
}
