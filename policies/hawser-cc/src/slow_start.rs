//! HyStart++ (RFC 9406): leaves the first slow start when the round-trip time rises, before the queue overflows.
//!
//! The delivery rate says more than the round-trip time alone. While it still grows from round to round, the path is not full,
//! however late acknowledgements come: they wait in an uplink, or it was jitter. Where it no longer grows although the window
//! does, what was added sits in a queue: then the window hardly grows in the conservative rounds of RFC 9406, in which it would
//! treble and fill that queue.

use std::time::Duration;

use hawser_policy::{Ack, ParameterInfo, Time};

use crate::return_path::RttSample;
use crate::window::Window;
use crate::window_based::PacketRounds;

// RFC 9406 section 4.3. No limit L on growth per acknowledgement, since the core paces.
const MIN_RTT_THRESHOLD: Duration = Duration::from_millis(4);
const MAX_RTT_THRESHOLD: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u32 = 8;
const RTT_SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// A mean delivery rate that is this much over that of the round before still grows; without a queue it doubles. In a queue with
/// other flows it grows as well, at their expense, by less the greater the share is: 1.33 from half of theirs on.
const RATE_GROWTH: f64 = 1.3;
/// In conservative rounds the window grows by a quarter only.
const CONSERVATIVE_RATE_GROWTH: f64 = 1.15;
/// Growth while the path seems full. By then the window is up to four times what it holds; five rounds add a sixth to it.
const FULL_GROWTH_DIVISOR: f64 = 32.0;
/// A full path delivers as much as before. One that delivers less than this share of it has changed, or its acknowledgements were
/// held up: that says nothing of its capacity.
const STEADY_RATE: f64 = 0.85;

/// The parameter that switches the detector.
pub(crate) fn hystart(default: bool) -> ParameterInfo {
    ParameterInfo::flag("hystart", default)
        .meaning("end the first slow start when the round-trip time rises")
        .source("RFC 9406")
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Standard,
    /// Conservative Slow Start: was the rise of the round-trip time real?
    Conservative {
        baseline: Duration,
        rounds: u32,
    },
}

/// The detector; it belongs to the first slow start of a path, later ones end at a known threshold.
#[derive(Clone, Debug)]
pub(crate) struct SlowStart {
    /// Whether a rising round-trip time ends it; otherwise only congestion does.
    detects: bool,
    phase: Phase,
    rounds: PacketRounds,
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    samples: u32,
    /// The least of all rounds so far.
    least: Option<Duration>,
    /// When this round began, and bytes delivered since; `None` once the sender held back.
    round_began: Option<Time>,
    delivered: Option<f64>,
    /// Mean delivery rate of the last round and of this one so far, bytes per second.
    last_round_rate: Option<f64>,
    round_rate: Option<f64>,
}

/// What the delivery rate says of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipe {
    Unknown,
    Filling,
    Full,
}

impl SlowStart {
    /// With `detects` it ends when the round-trip time rises, otherwise not before the first congestion.
    pub(crate) fn new(detects: bool) -> Self {
        SlowStart {
            detects,
            phase: Phase::Standard,
            rounds: PacketRounds::default(),
            last_round_min: None,
            round_min: None,
            samples: 0,
            least: None,
            round_began: None,
            delivered: None,
            last_round_rate: None,
            round_rate: None,
        }
    }

    pub(crate) fn on_sent(&mut self, packet_number: u64) {
        self.rounds.on_sent(packet_number);
    }

    /// Grows `window` by slow start for an acknowledgement with `bytes` that count; returns the bytes left for
    /// congestion avoidance.
    pub(crate) fn on_ack(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        rtt: Option<RttSample>,
        bytes: f64,
    ) -> f64 {
        if !window.in_first_slow_start() {
            return window.grow_to_threshold(bytes);
        }
        if !self.detects {
            window.grow(bytes);
            return 0.0;
        }
        self.watch_rate(ack);
        window.grow(match (self.phase, self.pipe()) {
            (Phase::Standard, _) => bytes,
            // A rate that grows decides at the end of the round: first the window must not double what is in the queue of others.
            (Phase::Conservative { .. }, Pipe::Filling | Pipe::Unknown) => bytes / CSS_GROWTH_DIVISOR,
            (Phase::Conservative { .. }, Pipe::Full) => bytes / FULL_GROWTH_DIVISOR,
        });
        self.watch_rtt(rtt);
        if self.finish_round(ack) {
            window.set_threshold_here();
        }
        0.0
    }

    fn watch_rate(&mut self, ack: &Ack) {
        self.delivered = if ack.limited_by.leaves_window_unused() {
            None
        } else {
            self.delivered.map(|bytes| bytes + ack.bytes as f64)
        };
        self.round_rate = self.delivered.zip(self.round_began).and_then(|(bytes, began)| {
            let elapsed = ack.now.since(began).as_secs_f64();
            (elapsed > 0.0).then(|| bytes / elapsed)
        });
    }

    fn pipe(&self) -> Pipe {
        let Some((last, now)) = self.last_round_rate.zip(self.round_rate) else { return Pipe::Unknown };
        let growth = match self.phase {
            Phase::Conservative { rounds: 1.., .. } => CONSERVATIVE_RATE_GROWTH,
            _ => RATE_GROWTH,
        };
        if now >= growth * last {
            Pipe::Filling
        } else if now >= STEADY_RATE * last {
            Pipe::Full
        } else {
            Pipe::Unknown
        }
    }

    fn watch_rtt(&mut self, rtt: Option<RttSample>) {
        let Some(sample) = rtt else { return };
        if sample.changed {
            (self.last_round_min, self.round_min, self.samples, self.least) = (None, None, 0, None);
        }
        let rtt = sample.adjusted;
        let round_min = self.round_min.map_or(rtt, |min| min.min(rtt));
        self.round_min = Some(round_min);
        self.samples = self.samples.saturating_add(1);
        let Some(last) = self.last_round_min.filter(|_| self.samples >= RTT_SAMPLES) else { return };
        let least = self.least.map_or(last, |least| least.min(last));
        match self.phase {
            Phase::Standard if is_risen(round_min, last) && self.pipe() != Pipe::Filling => {
                self.phase = Phase::Conservative { baseline: round_min, rounds: 0 };
            }
            // The rise was jitter: carry on. In a full pipe a round trip that is shorter than the last, but not short, was in the
            // queue as well, and that is shorter because the sender had less to send.
            Phase::Conservative { baseline, .. }
                if round_min < baseline && (self.pipe() != Pipe::Full || !is_risen(round_min, least)) =>
            {
                self.phase = Phase::Standard;
            }
            _ => {}
        }
    }

    /// Ends the round if it is over; true when the last conservative round ended, and slow start with it.
    fn finish_round(&mut self, ack: &Ack) -> bool {
        let over = self.rounds.on_ack(ack.largest_acked);
        if !over && self.round_began.is_some() {
            return false;
        }
        let pipe = self.pipe();
        (self.round_began, self.delivered) = (Some(ack.now), Some(0.0));
        if !over {
            return false;
        }
        self.last_round_min = self.round_min.take().or(self.last_round_min);
        self.least = self.least.into_iter().chain(self.last_round_min).min();
        self.last_round_rate = self.round_rate.take();
        self.samples = 0;
        let Phase::Conservative { rounds, .. } = &mut self.phase else { return false };
        // The part of the round in which the phase began counts as its first.
        *rounds += 1;
        let rounds = *rounds;
        if pipe == Pipe::Filling && rounds > 1 {
            self.phase = Phase::Standard;
            return false;
        }
        rounds >= CSS_ROUNDS
    }
}

/// Whether a round trip is longer than another one by more than chance.
fn is_risen(rtt: Duration, before: Duration) -> bool {
    let threshold = (before / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
    rtt >= before.saturating_add(threshold)
}

#[cfg(test)]
mod tests;
