//! Loss recovery of one path (RFC 9002): what was sent, what arrived, how long it took, and how much may follow.
//!
//! A path has one [`PathRecovery`] (round-trip time, controller, pacer, bytes in flight) and one
//! [`PacketNumberSpace`] for its application data; path 0 has the spaces of the handshake as well, which share its
//! `PathRecovery`. Both are plain state: the connection hands a space to the recovery of its path together with the
//! event.
//!
//! | file | subject |
//! |---|---|
//! | `space`, `numbers` | a packet number space, numbers with gaps |
//! | `sent`, `received` | packets in flight; packets that arrived and what to acknowledge |
//! | `loss`, `reordering` | which packets are lost, and how patient to be |
//! | `outage` | silences that ended with an answer |
//! | `timers` | loss timer, probe timeout, silence |
//! | `rtt`, `delivery`, `statistics` | estimators |
//! | `congestion`, `pacer`, `ecn` | how much may leave, and when |
//! | `tuple` | which 4-tuple all this is about, and what a change of it means |

mod acknowledge;
mod congestion;
mod delivery;
mod ecn;
mod loss;
mod numbers;
mod outage;
mod pacer;
mod received;
mod reordering;
mod rtt;
mod sent;
mod space;
mod statistics;
mod timers;
mod tuple;

#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use hawser_policy::{
    CongestionController, ControllerFactory, Figures, GroupId, LimitedBy, LinkId, LinkUpdate,
    MAX_PACING_PERCENT, MIN_PACING_PERCENT, PathId, PathView, Rate, Sent, Sibling, Time,
};

pub(crate) use acknowledge::AckInfo;
pub(crate) use delivery::DeliveryState;
#[cfg(feature = "qlog")]
pub(crate) use ecn::EcnState;
pub(crate) use received::ReceivedPackets;
pub(crate) use rtt::{GRANULARITY, RttEstimator};
pub(crate) use sent::{PacketKind, SentPacket, SentPackets};
pub(crate) use space::{PacketNumberSpace, SpaceKind};
pub(crate) use statistics::PathTotals;
pub(crate) use timers::BackOff;
pub(crate) use tuple::TupleGenerations;

use congestion::{RecoveryEpoch, controller_init};
use delivery::DeliveryRateEstimator;
use ecn::EcnValidator;
use outage::Silences;
use pacer::Pacer;
use reordering::ReorderingTolerance;
use statistics::RecentLoss;
use tuple::FormerTuple;

use crate::config::TransportConfig;
use crate::tuple::Ecn;

/// What a controller is told of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathIdentity {
    pub(crate) path: PathId,
    pub(crate) link: Option<LinkId>,
    pub(crate) remote: SocketAddr,
    pub(crate) seed: u64,
}

/// Recovery and congestion state of one path.
#[derive(Debug)]
pub(crate) struct PathRecovery {
    pub(crate) rtt: RttEstimator,
    /// Of all spaces, present 4-tuple only.
    bytes_in_flight: u64,
    /// Of all spaces and 4-tuples.
    ack_eliciting_outstanding: u64,
    /// The last acknowledgement, or when something became outstanding after nothing was.
    last_progress: Time,
    pto_count: u32,
    /// Random: how much shorter than capped the present back-off is.
    jitter: u8,
    silences: Silences,
    /// Which 4-tuple packets leave on, and all estimates are of.
    tuple_generation: u32,
    /// What was known of the 4-tuple to which the path may have to return.
    former: Option<Box<FormerTuple>>,
    handshake_confirmed: bool,
    /// Whether the peer is known to have validated our address; until then acknowledgements do not end the back-off
    /// (RFC 9002 section 6.2.1).
    peer_validated_us: bool,
    initial_rtt: Duration,
    reordering: ReorderingTolerance,
    delivery: DeliveryRateEstimator,
    ecn: EcnValidator,
    ecn_enabled: bool,
    controller: Box<dyn CongestionController>,
    /// Whether the controller is asked for commands.
    gives_commands: bool,
    /// The controller's window, not below the minimum.
    window: u64,
    pacer: Pacer,
    max_datagram_size: u16,
    /// Why the sender last stopped; [`LimitedBy::Nothing`] while it has not.
    limited_by: LimitedBy,
    /// When the controller wants to be called.
    controller_timer: Option<Time>,
    /// Pacing is scaled by this, in %.
    pacing_percent: u16,
    epoch: RecoveryEpoch,
    acked_since_loss: u64,
    /// The path is abandoned: its controller is told no more.
    retired: bool,
    acked_between_losses: u64,
    /// Whether the path was seen full, by whichever controller ran: that a slow start ended is no evidence where losses are random.
    pipe_full: bool,
    one_way_delay: Option<Duration>,
    recent_loss: RecentLoss,
    pub(crate) totals: PathTotals,
}

impl PathRecovery {
    /// A path without history. `factory` is the connection's. `max_ack_delay` is the peer's (25 ms before its
    /// parameters are known). For a path that is opened after the handshake, call
    /// [`on_handshake_confirmed`](Self::on_handshake_confirmed) at once.
    pub(crate) fn new(
        now: Time,
        identity: &PathIdentity,
        factory: &dyn ControllerFactory,
        config: &TransportConfig,
        max_ack_delay: Duration,
    ) -> Self {
        let max_datagram_size = config.initial_mtu;
        let controller = factory.build(&controller_init(identity, now, max_datagram_size));
        let mut recovery = PathRecovery {
            rtt: RttEstimator::new(identity.path, config.initial_rtt, max_ack_delay)
                .with_least_timeout(config.least_probe_timeout),
            bytes_in_flight: 0,
            ack_eliciting_outstanding: 0,
            last_progress: now,
            pto_count: 0,
            jitter: 0,
            silences: Silences::default(),
            tuple_generation: 0,
            former: None,
            handshake_confirmed: false,
            peer_validated_us: false,
            initial_rtt: config.initial_rtt,
            reordering: ReorderingTolerance::new(config.loss_recovery),
            delivery: DeliveryRateEstimator::new(now),
            ecn: EcnValidator::new(config.ecn),
            ecn_enabled: config.ecn,
            gives_commands: controller.gives_commands(),
            controller,
            window: 0,
            pacer: Pacer::new(now, Rate::ZERO, max_datagram_size),
            max_datagram_size,
            limited_by: LimitedBy::Application,
            controller_timer: None,
            pacing_percent: 100,
            epoch: RecoveryEpoch::default(),
            acked_since_loss: 0,
            retired: false,
            acked_between_losses: 0,
            pipe_full: false,
            one_way_delay: None,
            recent_loss: RecentLoss::default(),
            totals: PathTotals::default(),
        };
        recovery.refresh_limits(now);
        recovery
    }

    /// The peer's transport parameters are known.
    pub(crate) fn set_max_ack_delay(&mut self, max_ack_delay: Duration) {
        self.rtt.set_max_ack_delay(max_ack_delay);
    }

    /// From now on application data has probe timeouts (RFC 9002 section 6.2.1), and the peer keeps to its
    /// `max_ack_delay` (section 5.3).
    pub(crate) fn on_handshake_confirmed(&mut self) {
        self.handshake_confirmed = true;
        self.peer_validated_us = true;
    }

    /// The peer does not wait for proof of our address: we are the server, or it acknowledged a Handshake packet.
    pub(crate) fn on_peer_validated_us(&mut self) {
        self.peer_validated_us = true;
    }

    /// A packet left. `packet.delivery` and `packet.limited_by` are filled in here.
    //= rfc9002-7.5-2: probes count as in flight
    #[inline]
    pub(crate) fn on_packet_sent(&mut self, space: &mut PacketNumberSpace, packet: SentPacket) {
        let packet = space.on_packet_sent(packet);
        debug_assert!(packet.in_flight || !packet.ack_eliciting, "ack-eliciting packets are in flight");
        let (now, bytes) = (packet.sent_at, u64::from(packet.bytes));
        self.totals.packets_sent += 1;
        self.totals.bytes_sent += bytes;
        if packet.ack_eliciting {
            if self.ack_eliciting_outstanding == 0 {
                self.last_progress = now;
            }
            self.ack_eliciting_outstanding += 1;
        }
        if packet.tuple_generation == self.tuple_generation {
            if packet.ecn_marked {
                self.ecn.on_marked_sent();
            }
            if packet.in_flight {
                packet.delivery = self.delivery.on_packet_sent(now, bytes, self.bytes_in_flight);
                packet.limited_by = self.delivery.limited_by();
                self.bytes_in_flight += bytes;
                self.pacer.on_sent(now, bytes);
                let limited_by = std::mem::take(&mut self.limited_by);
                self.tell_sent(packet, bytes, limited_by);
            }
        }
    }

    /// Nothing more leaves on this path now, and why. RFC 9002 section 7.8: a window that is not used must not grow; but in
    /// slow start half of it is used enough, or a sender that just keeps up with its window would never see it double.
    //= rfc9002-7.8-1: a window that is not used does not grow
    //= rfc9002-7.8-2: pacing does not make a sender app-limited
    #[inline]
    pub(crate) fn on_stopped(&mut self, reason: LimitedBy) {
        if self.limited_by == reason {
            return;
        }
        self.limited_by = match reason.leaves_window_unused() {
            true if self.window_left() < u64::from(self.max_datagram_size) => LimitedBy::CongestionWindow,
            true if self.controller.in_slow_start() && self.bytes_in_flight * 2 > self.window => {
                LimitedBy::Nothing
            }
            _ => reason,
        };
        if self.limited_by.leaves_window_unused() {
            self.delivery.on_limited(self.bytes_in_flight, self.limited_by);
        }
    }

    /// Why the sender last stopped; [`LimitedBy::Nothing`] if it has not since.
    #[inline]
    pub(crate) fn limited_by(&self) -> LimitedBy {
        self.limited_by
    }

    /// When [`on_controller_timeout`](Self::on_controller_timeout) should be called.
    #[inline]
    pub(crate) fn controller_timer(&self) -> Option<Time> {
        self.controller_timer
    }

    /// A timer of the controller expired, perhaps.
    pub(crate) fn on_controller_timeout(&mut self, now: Time) {
        if self.controller_timer.is_some_and(|at| at <= now) {
            self.controller.on_timeout(now);
            self.refresh_limits(now);
        }
    }

    /// Paces at `percent` of the controller's rate from now on, within the bounds of the seam.
    pub(crate) fn scale_pacing(&mut self, now: Time, percent: u16) {
        self.pacing_percent = percent.clamp(MIN_PACING_PERCENT, MAX_PACING_PERCENT);
        self.refresh_limits(now);
    }

    /// Free congestion window in bytes.
    #[inline]
    pub(crate) fn window_left(&self) -> u64 {
        self.window.saturating_sub(self.bytes_in_flight)
    }

    /// Whether window and pacer let a datagram of this size out.
    #[inline]
    #[cfg(test)]
    pub(crate) fn can_send(&self, now: Time, bytes: u64) -> bool {
        self.window_left() >= bytes && self.pacer.budget(now) >= bytes
    }

    /// Bytes that the pacer lets out now; they may leave in one batch.
    #[inline]
    pub(crate) fn pacing_budget(&self, now: Time) -> u64 {
        self.pacer.budget(now)
    }

    /// When the pacer releases the next batch; `None` if it does not hold back a datagram now.
    pub(crate) fn next_release(&self, now: Time) -> Option<Time> {
        self.pacer.next_release(now)
    }

    /// The largest datagram, which window and pacer count with.
    pub(crate) fn max_datagram_size(&self) -> u16 {
        self.max_datagram_size
    }

    /// Bytes sent and neither acknowledged nor declared lost.
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// Congestion window in bytes, at least two datagrams.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// Latest one-way delay, offset unknown but constant.
    pub(crate) fn one_way_delay(&self) -> Option<Duration> {
        self.one_way_delay
    }

    /// Recent delivery rate.
    pub(crate) fn delivery_rate(&self) -> Option<Rate> {
        self.delivery.rate()
    }

    /// The bottleneck group that the controller found itself in.
    pub(crate) fn bottleneck_group(&self) -> GroupId {
        self.controller.bottleneck_group()
    }

    /// Name of the controller.
    pub(crate) fn controller_name(&self) -> &'static str {
        self.controller.name()
    }

    /// Adds what the controller says of itself.
    pub(crate) fn fill_figures(&self, figures: &mut Figures) {
        self.controller.fill_figures(figures);
    }

    /// Rate of the pacer.
    pub(crate) fn pacing_rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// Lost among the recently sent bytes, in parts per million.
    pub(crate) fn recent_loss_ppm(&self) -> u32 {
        self.recent_loss.ppm()
    }

    /// A packet counts as lost when one sent so many numbers later is acknowledged; `None` where that says nothing.
    pub(crate) fn reordering_threshold(&self) -> Option<u64> {
        self.reordering.packet_threshold()
    }

    /// Whether the controller wants to see the other paths.
    pub(crate) fn wants_siblings(&self) -> bool {
        self.controller.wants_siblings()
    }

    /// The ECN mark for the next packet.
    #[inline]
    pub(crate) fn ecn_mark(&self) -> Option<Ecn> {
        self.ecn.mark()
    }

    /// Where ECN validation stands.
    #[cfg(feature = "qlog")]
    pub(crate) fn ecn_state(&self) -> EcnState {
        self.ecn.state()
    }

    /// MTU discovery found another datagram size.
    pub(crate) fn on_max_datagram_size(&mut self, now: Time, bytes: u16) {
        self.max_datagram_size = bytes;
        self.pacer.set_max_datagram_size(now, bytes);
        self.controller.on_max_datagram_size(bytes);
        self.refresh_limits(now);
    }

    /// The link under the path changed, or its forecast did.
    pub(crate) fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        self.controller.on_link_update(update);
        self.refresh_limits(update.now);
    }

    /// What a coupled controller on another path may know of this one.
    pub(crate) fn sibling(&self, path: PathId, group: GroupId, can_send: bool) -> Sibling {
        Sibling::default().with(|sibling| {
            sibling.path = path;
            sibling.group = group;
            sibling.congestion_window = self.window;
            sibling.smoothed_rtt = self.rtt.smoothed();
            sibling.min_rtt = self.rtt.min();
            sibling.usable = can_send && self.rtt.has_sample();
            sibling.max_datagram_size = self.max_datagram_size;
            sibling.delivery_rate = self.delivery.rate();
            sibling.max_delivery_rate = self.delivery.max_rate();
            sibling.acked_since_loss = self.acked_since_loss;
            sibling.acked_between_losses = self.acked_between_losses;
            sibling.loss_ppm = self.recent_loss.ppm();
        })
    }

    /// Fills in what recovery knows of a path.
    pub(crate) fn fill_view(&self, now: Time, view: &mut PathView) {
        view.smoothed_rtt = self.rtt.smoothed();
        view.min_rtt = self.rtt.min();
        view.rtt_variance = self.rtt.variance();
        view.latest_rtt = self.rtt.latest();
        view.has_rtt_sample = self.rtt.has_sample();
        view.one_way_delay = self.one_way_delay;
        view.probe_timeout = self.probe_timeout();
        view.congestion_window = self.window;
        view.bytes_in_flight = self.bytes_in_flight;
        view.in_slow_start = self.controller.in_slow_start();
        view.pacing_rate = self.pacer.rate();
        view.pacing_budget = self.pacer.budget(now);
        view.next_release = self.pacer.next_release(now);
        view.delivery_rate = self.delivery.rate();
        view.loss_ppm = self.recent_loss.ppm();
        view.max_datagram_size = self.max_datagram_size;
        view.bytes_sent = self.totals.bytes_sent;
        view.bytes_acked = self.totals.bytes_acked;
        view.bytes_lost = self.totals.bytes_lost;
    }

    #[inline]
    fn tell_sent(&mut self, packet: &SentPacket, bytes: u64, limited_by: LimitedBy) {
        self.controller.on_sent(&Sent::default().with(|sent| {
            sent.now = packet.sent_at;
            sent.packet_number = packet.packet_number;
            sent.bytes = bytes;
            sent.bytes_in_flight = self.bytes_in_flight;
            sent.limited_by = limited_by;
        }));
        if self.bytes_in_flight == bytes {
            // The first packet after a pause: controllers may restart from a lower rate.
            self.refresh_limits(packet.sent_at);
        }
    }
}
