//! HyStart++ (RFC 9406): leaves the first slow start when the round-trip time rises, before the queue overflows.

use std::time::Duration;

use hawser_policy::{Ack, ParameterInfo};

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
        let conservative = matches!(self.phase, Phase::Conservative { .. });
        window.grow(if conservative { bytes / CSS_GROWTH_DIVISOR } else { bytes });
        self.watch_rtt(rtt);
        if self.finish_round(ack.largest_acked) {
            window.set_threshold_here();
        }
        0.0
    }

    fn watch_rtt(&mut self, rtt: Option<RttSample>) {
        let Some(sample) = rtt else { return };
        if sample.changed {
            (self.last_round_min, self.round_min, self.samples) = (None, None, 0);
        }
        let rtt = sample.adjusted;
        let round_min = self.round_min.map_or(rtt, |min| min.min(rtt));
        self.round_min = Some(round_min);
        self.samples = self.samples.saturating_add(1);
        if self.samples < RTT_SAMPLES {
            return;
        }
        match (self.phase, self.last_round_min) {
            (Phase::Standard, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
                if round_min >= last.saturating_add(threshold) {
                    self.phase = Phase::Conservative { baseline: round_min, rounds: 0 };
                }
            }
            (Phase::Standard, None) => {}
            (Phase::Conservative { baseline, .. }, _) => {
                // The rise was jitter: carry on.
                if round_min < baseline {
                    self.phase = Phase::Standard;
                }
            }
        }
    }

    /// Ends the round if it is over; true when the last conservative round ended, and slow start with it.
    fn finish_round(&mut self, largest_acked: u64) -> bool {
        if !self.rounds.on_ack(largest_acked) {
            return false;
        }
        self.last_round_min = self.round_min.take().or(self.last_round_min);
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            // The part of the round in which the phase began counts as its first.
            *rounds += 1;
            return *rounds >= CSS_ROUNDS;
        }
        false
    }
}

#[cfg(test)]
mod tests;
