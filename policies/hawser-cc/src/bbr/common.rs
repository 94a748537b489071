//! What the members of the family have in common: measuring, the window's growth, pacing.

use std::time::Duration;

use hawser_policy::{Ack, ControllerInit, Loss, LossCause, Sent, Snapshot, Time};

use super::backward::Backward;
use super::filter::{AggregatedAck, Aggregation, FullPipe, Rounds};
use super::min_rtt::{MinRtt, Reordered};
use super::phase::{Phase, Phases, Table};
use crate::return_path::ReturnPath;
use crate::window::MAXIMUM;
use hawser_learn::Random;

/// Pacing stays this much under the estimate (BBR.PacingMarginPercent).
const PACING_MARGIN: f64 = 0.99;
/// BBR.MinPipeCwnd, in datagrams.
const MIN_WINDOW: f64 = 4.0;
/// A batch is what passes in a millisecond, at most 64 KiB (draft-ietf-ccwg-bbr section 5.6.3).
const QUANTUM_SECONDS: f64 = 0.001;
const LARGEST_QUANTUM: f64 = 65_536.0;
/// 1.2 Mbit/s in bytes per second: under it batches are single datagrams.
const SLOW: f64 = 150_000.0;

/// What an acknowledgement tells; volumes in bytes, rates in bytes per second, times in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) now: Time,
    pub(crate) acked: f64,
    pub(crate) in_flight: f64,
    /// Before this acknowledgement and the losses that it showed.
    pub(crate) prior_in_flight: f64,
    pub(crate) rate: Option<f64>,
    pub(crate) delivered: f64,
    pub(crate) prior_delivered: u64,
    pub(crate) inflight_at_send: f64,
    pub(crate) lost_since_sent: f64,
    pub(crate) newly_lost: f64,
    /// The rate is a lower bound: the sender held back.
    pub(crate) limited: bool,
    /// Of the usual return path, less the peer's delay, and where that is known less what the acknowledgement waited for.
    pub(crate) rtt: Option<f64>,
    pub(crate) return_path_changed: bool,
    /// The same with what the acknowledgement waited for: its deviation is what the window has to cover.
    pub(crate) whole_rtt: Option<f64>,
    pub(crate) sent_at: Time,
    pub(crate) marked: f64,
    /// A packet-timed round began.
    pub(crate) round_start: bool,
}

/// State that every member needs.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) datagram: f64,
    pub(crate) initial_window: f64,
    pub(crate) window: f64,
    /// What it was before recovery or ProbeRTT.
    pub(crate) saved_window: f64,
    /// Bytes per second.
    pub(crate) pacing: Option<f64>,
    pub(crate) rounds: Rounds,
    pub(crate) phases: Phases,
    pub(crate) full_pipe: FullPipe,
    pub(crate) min_rtt: MinRtt,
    pub(crate) backward: Backward,
    pub(crate) aggregation: Aggregation,
    pub(crate) random: Random,
    pub(crate) delivered: u64,
    /// Whether the window was filled in this round, and in the one before.
    pub(crate) window_filled: [bool; 2],
    /// Packets sent up to then belong to the present recovery.
    pub(crate) recovery_until: Option<Time>,
    pub(crate) idle_restart: bool,
    newly_lost: f64,
    return_path: ReturnPath,
    /// Whether packets overtook each other at the last acknowledgement.
    reorders: bool,
    pub(crate) reordered: Reordered,
    /// Between which counts of delivered bytes packets left in ProbeRTT: their rates are low on purpose.
    held_down: Option<(u64, u64)>,
}

impl Common {
    pub(crate) fn new(init: &ControllerInit, table: &'static Table, min_rtt: MinRtt) -> Common {
        let datagram = f64::from(init.max_datagram_size.max(1));
        let initial_window = (init.initial_window as f64).min(MAXIMUM);
        Common {
            datagram,
            initial_window,
            window: initial_window.max(MIN_WINDOW * datagram),
            saved_window: 0.0,
            pacing: None,
            rounds: Rounds::default(),
            phases: Phases::new(table, init.now),
            full_pipe: FullPipe::default(),
            min_rtt,
            backward: Backward::UNUSED,
            aggregation: Aggregation::new(init.now),
            random: Random::new(init.seed),
            delivered: 0,
            window_filled: [false; 2],
            recovery_until: None,
            idle_restart: false,
            newly_lost: 0.0,
            return_path: ReturnPath::default(),
            reorders: false,
            reordered: Reordered::Smoothed,
            held_down: None,
        }
    }

    /// Another network path: as at the beginning.
    pub(crate) fn restart(&mut self, now: Time) {
        self.min_rtt.restart(now);
        let (table, min_rtt, random) = (self.phases.table(), self.min_rtt.clone(), self.random);
        *self = Common {
            window: self.initial_window.max(self.minimum()),
            saved_window: 0.0,
            pacing: None,
            rounds: Rounds::default(),
            delivered: 0,
            phases: Phases::new(table, now),
            full_pipe: FullPipe::default(),
            min_rtt,
            backward: self.backward.restarted(),
            aggregation: Aggregation::new(now),
            random,
            window_filled: [false; 2],
            recovery_until: None,
            idle_restart: false,
            newly_lost: 0.0,
            return_path: ReturnPath::default(),
            reorders: false,
            held_down: None,
            ..*self
        };
    }

    /// Takes over a running path: bandwidth and RTprop are known, and where the pipe is full it goes on in Cruise, elsewhere in
    /// Startup. Returns the bandwidth in bytes per second.
    pub(crate) fn take_over(&mut self, from: &Snapshot) -> f64 {
        let bandwidth = from.max_delivery_rate.map_or(0.0, |rate| rate.bits_per_second() as f64 / 8.0);
        self.min_rtt.seed(from.min_rtt, from.min_rtt_at);
        self.window = (from.congestion_window as f64).clamp(self.minimum(), MAXIMUM.max(self.minimum()));
        // Not where a predecessor merely left slow start, as the first random loss makes it: BBR would raise its bandwidth by a
        // quarter in eight round trips from there on.
        if from.pipe_full && bandwidth > 0.0 {
            self.phases = Phases::in_cruise(self.phases.table(), from.now);
            self.full_pipe.reached = true;
            let most = 2.0 * bandwidth * from.min_rtt.as_secs_f64();
            self.window = self.window.min(most).max(self.minimum());
        }
        bandwidth
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phases.current()
    }

    /// BBR.MinPipeCwnd.
    pub(crate) fn minimum(&self) -> f64 {
        MIN_WINDOW * self.datagram
    }

    /// `bandwidth` times RTprop and what acknowledgements wait for; the initial window while there is no round-trip time.
    pub(crate) fn bdp(&self, bandwidth: f64) -> f64 {
        let filled = |rtt: f64| (bandwidth * (rtt + self.backward.longer())).min(MAXIMUM);
        self.min_rtt.get().map_or(self.initial_window, filled)
    }

    /// What leaves in one batch.
    pub(crate) fn quantum(&self) -> f64 {
        let pacing = self.pacing.unwrap_or(0.0);
        let least = if pacing < SLOW { self.datagram } else { 2.0 * self.datagram };
        (pacing * QUANTUM_SECONDS).min(LARGEST_QUANTUM).max(least)
    }

    /// Whether the application (or ProbeRTT) left the path unused when a packet with this count was sent.
    fn is_held_down(&self, prior_delivered: u64) -> bool {
        self.held_down.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered))
    }

    /// In ProbeRTT: rates of what is sent now say nothing (MarkConnectionAppLimited).
    pub(crate) fn hold_down(&mut self, in_flight: f64) {
        let until = self.delivered.saturating_add(in_flight as u64);
        let from =
            self.held_down.filter(|(_, to)| *to >= self.delivered).map_or(self.delivered, |(from, _)| from);
        self.held_down = Some((from, until));
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        if sent.bytes_in_flight as f64 + self.datagram > self.window {
            self.window_filled[0] = true;
        }
        if sent.bytes_in_flight <= sent.bytes && sent.limited_by.leaves_window_unused() {
            self.idle_restart = true;
            self.aggregation.restart(sent.now);
        }
    }

    /// Whether the window was filled at some point of the last round trip.
    pub(crate) fn is_window_limited(&self) -> bool {
        self.window_filled[0] || self.window_filled[1]
    }

    /// Counts what an acknowledgement brings.
    pub(crate) fn measure(&mut self, ack: &Ack) -> Sample {
        self.delivered = ack.delivered;
        let acked = ack.bytes as f64;
        let in_flight = ack.bytes_in_flight as f64;
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let rtt = self.return_path.sample(ack);
        let changed = rtt.is_some_and(|rtt| rtt.changed);
        if changed {
            self.min_rtt.restart(ack.now);
        }
        let reorders = ack.reorders && self.reordered == Reordered::Smoothed;
        if reorders && !self.reorders {
            self.min_rtt.restart(ack.now);
        }
        self.reorders = reorders;
        // Where packets overtake each other, the least sample is that of the luckiest packet, not of the empty path: a window for it would
        // be a fraction of what is under way.
        self.min_rtt.on_ack(ack.now, rtt.map(|rtt| if reorders { ack.smoothed_rtt } else { rtt.raw }));
        // Judged by round trips, what acknowledgements wait for would look like a queue, or like a sinking bandwidth.
        let without = self.backward.on_ack(ack, self.min_rtt.get());
        let mut sample = Sample {
            now: ack.now,
            acked,
            in_flight,
            prior_in_flight: in_flight + acked + newly_lost,
            rate: None,
            delivered: 0.0,
            prior_delivered: 0,
            inflight_at_send: 0.0,
            lost_since_sent: 0.0,
            newly_lost,
            limited: true,
            rtt: rtt.map(|rtt| without.unwrap_or(rtt.adjusted.as_secs_f64())),
            return_path_changed: changed,
            whole_rtt: rtt.map(|rtt| rtt.adjusted.as_secs_f64()),
            sent_at: ack.largest_sent_at,
            marked: ack.ecn_ce as f64 * self.datagram,
            round_start: false,
        };
        self.rounds.started = false;
        if let Some(delivery) = &ack.delivery {
            self.rounds.on_ack(delivery.prior_delivered, ack.delivered);
            sample.round_start = self.rounds.started;
            sample.rate = delivery.rate.map(|rate| rate.bits_per_second() as f64 / 8.0);
            sample.delivered = delivery.delivered as f64;
            sample.prior_delivered = delivery.prior_delivered;
            sample.inflight_at_send = delivery.inflight_at_send as f64;
            sample.lost_since_sent = delivery.lost as f64;
            sample.limited =
                delivery.limited_by.leaves_window_unused() || self.is_held_down(delivery.prior_delivered);
        }
        if sample.round_start {
            self.window_filled = [false, self.window_filled[0]];
        }
        if self.recovery_until.is_some_and(|until| ack.largest_sent_at > until) {
            self.recovery_until = None;
        }
        sample
    }

    pub(crate) fn aggregate(&mut self, sample: &Sample, bandwidth: f64) {
        self.aggregation.on_ack(&AggregatedAck {
            now: sample.now,
            acked: sample.acked,
            bandwidth,
            window: self.window,
            round_start: sample.round_start,
            pipe_full: self.full_pipe.reached,
        });
    }

    /// A congestion signal. True when it opens a recovery.
    pub(crate) fn note_loss(&mut self, loss: &Loss) -> bool {
        if loss.cause == LossCause::EcnMark {
            return false;
        }
        self.newly_lost += loss.bytes as f64;
        let continues = self.recovery_until.is_some();
        // An epoch that is older than this controller was answered by its predecessor.
        let enters = !continues && loss.new_epoch;
        if enters {
            self.save_window();
        }
        if enters || continues {
            // Until a round trip without loss: with one epoch after the other, as random loss has them, it is one recovery, with
            // one round trip of conservation.
            self.recovery_until = Some(loss.now);
        }
        if loss.cause == LossCause::Persistent {
            // RFC 9002 section 7.6.2, with the family's minimum; the model is kept.
            self.save_window();
            self.window = self.minimum();
            self.full_pipe.restart(0.0);
            self.recovery_until = None;
        }
        enters
    }

    /// A packet that was lost is there after all.
    pub(crate) fn note_late(&mut self, bytes: f64) {
        self.newly_lost = (self.newly_lost - bytes).max(0.0);
    }

    /// SaveCwnd: keeps the best known window.
    pub(crate) fn save_window(&mut self) {
        self.saved_window = if self.recovery_until.is_none() && self.phase() != Phase::ProbeRtt {
            self.window
        } else {
            self.saved_window.max(self.window)
        };
    }

    /// RestoreCwnd.
    pub(crate) fn restore_window(&mut self) {
        self.window = self.window.max(self.saved_window);
    }

    /// Paces at `gain` times `bandwidth`. Until the pipe is full the rate only rises, from that of a window per round-trip time
    /// (section 5.6.2): the first samples are those of the handshake, which has little to deliver.
    pub(crate) fn set_pacing(&mut self, gain: f64, bandwidth: f64, smoothed_rtt: Duration) {
        let mut wanted = gain * bandwidth * PACING_MARGIN;
        let is_first = self.pacing.is_none() && !self.full_pipe.reached;
        if (is_first || bandwidth <= 0.0) && !smoothed_rtt.is_zero() {
            wanted = wanted.max(gain * self.window / smoothed_rtt.as_secs_f64());
        }
        let current = self.pacing.unwrap_or(0.0);
        if wanted > 0.0 && (self.full_pipe.reached || wanted > current) {
            self.pacing = Some(wanted);
        }
    }

    /// Opens the window by what was acknowledged, up to `target`; before the pipe is full it does not shrink to it.
    pub(crate) fn grow_window(&mut self, acked: f64, target: f64) {
        let grown = self.window + acked;
        if self.full_pipe.reached {
            self.window = grown.min(target);
        } else if self.window < target || (self.delivered as f64) < self.initial_window {
            self.window = grown;
        }
        self.set_window(self.window);
    }

    pub(crate) fn set_window(&mut self, bytes: f64) {
        // `f64::max` drops a NaN.
        self.window = bytes.max(self.minimum()).min(MAXIMUM.max(self.minimum()));
    }
}
