//! Congestion glue: turns acknowledgements, losses and marks into the controller's events, and keeps the recovery
//! epoch, which belongs to the path and outlives a change of controller.

use std::time::Duration;

use hawser_policy::{
    Ack, Commands, ControllerFactory, ControllerInit, DeliverySample, LimitedBy, Loss, LossCause, PathId,
    Rate, Siblings, Snapshot, SpuriousLoss, Time,
};

use super::delivery::DeliveryState;
use super::space::LostRecord;
use super::{PathIdentity, PathRecovery};

#[cfg(test)]
mod tests;

/// Datagrams that the window holds at least, whatever the controller says (RFC 9002 section 7.2).
//= rfc9002-7.2-4: the least window is two datagrams
const MIN_WINDOW_DATAGRAMS: u64 = 2;
/// And where many packets are lost although none waits in a queue: with fewer a single loss leaves nothing that would tell of it before
/// the probe timeout, and that less is sent makes them no rarer. It is what BBR keeps to in any case.
const MIN_WINDOW_DESPITE_LOSSES: u64 = 4;

/// The present recovery epoch: losses that count as one congestion event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryEpoch {
    /// Packets sent up to here belong to the epoch (congestion_recovery_start_time of RFC 9002 appendix B).
    pub(super) started_at: Option<Time>,
    /// Of this epoch, and those before it: where packets come late, the next one begins before they are there.
    reasons: [Reason; REMEMBERED_EPOCHS],
}

/// Epochs whose reason may still turn out wrong.
const REMEMBERED_EPOCHS: usize = 4;
/// An epoch is undone when no more than this part of what it lost did not come back. Where a link reorders, what is lost for good among
/// hundreds that were only late is no sign of a full queue.
const LOST_FOR_GOOD: u64 = 8;

/// Why an epoch began.
#[derive(Clone, Copy, Debug, Default)]
struct Reason {
    /// Counted from 1; 0 before the first.
    number: u64,
    /// Lost packets in it, and how many of them were acknowledged later.
    lost: u64,
    spurious: u64,
    /// It cannot turn out wrong (a mark, or persistent congestion), or it did.
    certain: bool,
}

impl Reason {
    fn is_void(&self) -> bool {
        !self.certain && self.lost - self.spurious.min(self.lost) <= self.lost / LOST_FOR_GOOD
    }
}

impl RecoveryEpoch {
    /// Counted from 1; 0 before the first.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.reasons[0].number
    }

    /// Whether the loss of a packet sent then belongs to this epoch.
    #[inline]
    pub(super) fn covers(&self, sent_at: Time) -> bool {
        self.started_at.is_some_and(|start| sent_at <= start)
    }

    /// Ends it: the next loss opens another, and no late acknowledgement reopens this one.
    pub(super) fn leave(&mut self) {
        self.started_at = None;
        self.settle();
    }

    /// No late acknowledgement undoes this epoch or one before it.
    fn settle(&mut self) {
        self.reasons.iter_mut().for_each(|reason| reason.certain = true);
    }

    /// Begins the next epoch.
    fn open(&mut self, now: Time) {
        self.started_at = Some(now);
        let number = self.number() + 1;
        self.reasons.rotate_right(1);
        self.reasons[0] = Reason { number, ..Reason::default() };
    }

    /// A packet that was lost in the epoch `number` came back. Returns which epoch, counted from the present one, had no reason
    /// therefore.
    fn on_spurious(&mut self, number: u64) -> Option<usize> {
        let at = self.reasons.iter().position(|reason| reason.number == number)?;
        let reason = &mut self.reasons[at];
        reason.spurious += 1;
        if !reason.is_void() {
            return None;
        }
        reason.certain = true;
        if at == 0 {
            self.started_at = None;
        }
        Some(at)
    }
}

/// Losses of one detection that count as congestion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossTally {
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Of these, packets that belong to the epoch before.
    pub(super) packets_in_epoch: u64,
    /// Number and send time of the newest.
    pub(super) largest: Option<(u64, Time)>,
    /// Number of the oldest.
    pub(super) smallest: Option<u64>,
    /// What the newest noted when it left.
    pub(super) largest_state: DeliveryState,
    /// What held the sender back then.
    pub(super) limited_by: LimitedBy,
    pub(super) persistent: bool,
}

/// What an ACK frame newly acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckTally {
    pub(super) bytes: u64,
    pub(super) bytes_in_recovery: u64,
    pub(super) packets: u64,
    pub(super) largest: Option<(u64, Time)>,
    /// The oldest packet in flight now.
    pub(super) oldest: Option<u64>,
    pub(super) received_on: PathId,
    pub(super) latest_rtt: Option<Duration>,
    pub(super) raw_rtt: Option<Duration>,
    pub(super) one_way_delay: Option<Duration>,
    pub(super) delivery: Option<DeliverySample>,
    pub(super) congestion_marks: u64,
}

impl PathRecovery {
    /// Tells the controller of acknowledged packets.
    pub(super) fn signal_ack(&mut self, tally: &AckTally, now: Time, siblings: &Siblings<'_>) {
        let Some((largest_acked, largest_sent_at)) = tally.largest.filter(|_| !self.retired) else { return };
        self.acked_since_loss += tally.bytes;
        let ack = Ack::default().with(|ack| {
            ack.now = now;
            ack.bytes = tally.bytes;
            ack.bytes_in_recovery = tally.bytes_in_recovery;
            ack.packets = tally.packets;
            ack.largest_acked = largest_acked;
            ack.largest_sent_at = largest_sent_at;
            ack.settled = tally.oldest.unwrap_or(largest_acked + 1);
            ack.bytes_in_flight = self.bytes_in_flight;
            ack.received_on = tally.received_on;
            ack.latest_rtt = tally.latest_rtt;
            ack.raw_rtt = tally.raw_rtt;
            ack.smoothed_rtt = self.rtt.smoothed();
            ack.rtt_variance = self.rtt.variance();
            ack.min_rtt = self.rtt.min();
            ack.reorders = self.reordering.packet_threshold().is_none();
            ack.one_way_delay = tally.one_way_delay;
            ack.limited_by = if self.is_refilled_slowly() { LimitedBy::Scheduler } else { self.limited_by };
            ack.delivered = self.delivery.delivered();
            ack.delivery = tally.delivery;
            ack.ecn_ce = tally.congestion_marks;
        });
        self.controller.on_ack(&ack, siblings);
        self.refresh_limits(now);
    }

    /// Tells the controller of lost packets.
    //= rfc9000-13.3-7: losses are reported to congestion control
    //= rfc9002-5.2-2: min_rtt is reset after persistent congestion
    pub(super) fn signal_loss(&mut self, tally: &LossTally, now: Time, siblings: &Siblings<'_>) {
        let Some((largest_lost, largest_sent_at)) = tally.largest.filter(|_| !self.retired) else { return };
        // RFC 9002 section 7.3.2: one reduction for all that was sent before the last one.
        let new_epoch = tally.packets > tally.packets_in_epoch;
        if new_epoch {
            self.open_epoch(now);
            self.epoch.reasons[0].lost = tally.packets - tally.packets_in_epoch;
        } else {
            self.epoch.reasons[0].lost += tally.packets;
        }
        let cause = if tally.persistent { LossCause::Persistent } else { LossCause::Loss };
        if tally.persistent {
            self.totals.persistent_congestion += 1;
            self.epoch.settle();
            self.rtt.restart_minimum(now);
        }
        let loss = Loss::new(now, cause).with(|loss| {
            loss.bytes = tally.bytes;
            loss.packets = tally.packets;
            loss.largest_sent_at = largest_sent_at;
            loss.largest_lost = largest_lost;
            loss.smallest_lost = tally.smallest.unwrap_or(largest_lost);
            loss.bytes_in_flight = self.bytes_in_flight;
            loss.inflight_at_send = u64::from(tally.largest_state.inflight);
            loss.lost_since_sent = self.delivery.lost_since(&tally.largest_state);
            loss.limited_by = tally.limited_by;
            loss.new_epoch = new_epoch;
        });
        self.controller.on_loss(&loss, siblings);
        if tally.persistent {
            // RFC 9002 appendix B.8: the collapsed window may grow with the next acknowledgement.
            self.epoch.started_at = None;
        }
        self.refresh_limits(now);
    }

    /// Tells the controller that packets came with a congestion mark; `largest` is the newest acknowledged.
    pub(super) fn signal_mark(&mut self, largest: (u64, Time), now: Time, siblings: &Siblings<'_>) {
        if self.retired {
            return;
        }
        let (largest_lost, largest_sent_at) = largest;
        let new_epoch = !self.epoch.covers(largest_sent_at);
        if new_epoch {
            self.open_epoch(now);
        }
        self.epoch.reasons[0].certain = true;
        let loss = Loss::new(now, LossCause::EcnMark).with(|loss| {
            loss.bytes = 0;
            loss.packets = 0;
            loss.largest_sent_at = largest_sent_at;
            (loss.smallest_lost, loss.largest_lost) = (largest_lost, largest_lost);
            loss.bytes_in_flight = self.bytes_in_flight;
            loss.inflight_at_send = 0;
            loss.lost_since_sent = 0;
            loss.limited_by = LimitedBy::Nothing;
            loss.new_epoch = new_epoch;
        });
        self.controller.on_loss(&loss, siblings);
        self.refresh_limits(now);
    }

    /// A lost packet was acknowledged. When nearly all of an epoch were, there was no congestion: the controller may undo.
    pub(super) fn note_spurious(&mut self, record: &LostRecord, now: Time) {
        if self.retired || self.reordering.is_fixed() {
            return;
        }
        let undone = record.epoch.and_then(|epoch| self.epoch.on_spurious(epoch));
        self.controller.on_spurious_loss(&SpuriousLoss::default().with(|late| {
            late.now = now;
            late.bytes = u64::from(record.bytes);
            late.undone = undone;
        }));
        if undone.is_some() {
            self.refresh_limits(now);
        }
    }

    fn open_epoch(&mut self, now: Time) {
        self.epoch.open(now);
        self.pipe_full |= self.rtt.has_queue();
        self.totals.congestion_events += 1;
        self.acked_between_losses = self.acked_since_loss;
        self.acked_since_loss = 0;
    }

    /// Takes over the controller's window and rate. They are cached because every packet asks for them.
    pub(super) fn refresh_limits(&mut self, now: Time) {
        let is_random = self.recent_loss.is_heavy() && !self.rtt.has_queue();
        let datagrams = if is_random { MIN_WINDOW_DESPITE_LOSSES } else { MIN_WINDOW_DATAGRAMS };
        let least = datagrams * u64::from(self.max_datagram_size);
        let refill = self.refill_bounds(now);
        let allowed = refill.map_or(u64::MAX, |(_, in_flight)| in_flight);
        self.window = self.controller.window().min(allowed).max(least);
        let rate = self.controller.pacing_rate().unwrap_or_else(|| {
            // RFC 9002 section 7.7: a little faster than the window per round trip, so that pacing does not become
            // the limit. In slow start 2 / ln 2 times as fast: with less, what leaves late in a round trip is
            // acknowledged too late for the window to double in the next.
            let (numerator, denominator) = if self.controller.in_slow_start() { (289, 100) } else { (5, 4) };
            let rtt = self.rtt.smoothed().max(Duration::from_micros(1));
            Rate::from_bytes_over(self.window, rtt).scaled(numerator, denominator)
        });
        let rate =
            if self.pacing_percent == 100 { rate } else { rate.scaled(self.pacing_percent.into(), 100) };
        let rate = refill.map_or(rate, |(most, _)| rate.min(most));
        self.pacer.set_rate(now, rate, self.rtt.has_sample());
        self.controller_timer = self.controller.next_timeout();
    }

    /// What the controller wants done besides its window and rate.
    #[inline]
    pub(crate) fn take_commands(&mut self, commands: &mut Commands) {
        if self.gives_commands {
            self.controller.commands(commands);
        }
    }

    /// Whether the controller is in slow start.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.controller.in_slow_start()
    }

    /// What a successor of the present controller takes over.
    pub(crate) fn snapshot(&self, now: Time) -> Snapshot {
        let mut snapshot = Snapshot::new(now, self.window).with(|snapshot| {
            snapshot.slow_start_threshold = self.controller.slow_start_threshold();
            snapshot.pacing_rate = Some(self.pacer.rate());
            snapshot.smoothed_rtt = self.rtt.smoothed();
            snapshot.rtt_variance = self.rtt.variance();
            snapshot.min_rtt = self.rtt.min();
            snapshot.min_rtt_at = self.rtt.min_at();
            snapshot.max_delivery_rate = self.delivery.max_rate();
            snapshot.bytes_in_flight = self.bytes_in_flight;
            snapshot.pipe_full = self.pipe_full || (!self.in_slow_start() && self.rtt.has_queue());
            snapshot.window_before_loss = None;
        });
        self.controller.fill_snapshot(&mut snapshot);
        snapshot
    }

    /// Replaces the controller between two acknowledgements. The recovery epoch stays: a loss of a packet sent before
    /// its start brings no second reduction.
    pub(crate) fn swap_controller(
        &mut self,
        factory: &dyn ControllerFactory,
        identity: &PathIdentity,
        now: Time,
    ) {
        let mut init = controller_init(identity, now, self.max_datagram_size);
        let snapshot = self.snapshot(now);
        self.pipe_full = snapshot.pipe_full;
        init.snapshot = Some(snapshot);
        self.controller = factory.build(&init);
        self.gives_commands = self.controller.gives_commands();
        // What the predecessor cut, the successor cannot undo.
        self.epoch.settle();
        self.refresh_limits(now);
    }
}

pub(super) fn controller_init(identity: &PathIdentity, now: Time, max_datagram_size: u16) -> ControllerInit {
    ControllerInit::new(identity.path, now, identity.remote).with(|init| {
        init.max_datagram_size = max_datagram_size;
        init.initial_window = initial_window(max_datagram_size);
        init.link = identity.link;
        init.seed = identity.seed;
    })
}

/// RFC 9002 section 7.2: ten datagrams, at most 14,720 bytes or two datagrams.
//= rfc9002-7.2-1: the initial window is ten datagrams, or 14720 bytes
fn initial_window(max_datagram_size: u16) -> u64 {
    let datagram = u64::from(max_datagram_size);
    (10 * datagram).min((2 * datagram).max(14_720))
}
