//! A path in use: its packet numbers and recovery, and inside them the addresses.

use std::time::Duration;

use hawser_policy::{LinkId, PathId, PathState, PathView, Rate, ReturnPath, Sibling, Time};
use hawser_wire::Writer;

use super::batches::Batches;
use super::control::{Control, Signals};
use super::copy_queue::CopyQueue;
use super::life_cycle::LifeCycle;
use super::memo::Memo;
use super::migration::Tuples;
use super::mtu::MtuDiscovery;
use super::settled::Settled;
use super::validation::ResponseQueue;
use crate::FourTuple;
use crate::connection::frames::SentStream;
use crate::connection::handshake::PathKeyPhase;
use crate::connection::packet_room::MIN_ONE_RTT_ROOM;
use crate::connection::recovery::{PacketKind, PacketNumberSpace, PathRecovery, SentPacket, SpaceKind};
use crate::connection::stats::{PathInfo, PathStats};

/// How a silent path is probed: the first interval is half a round trip, within `least` and `longest`; then each is longer by the
/// factor, up to `longest` or to a round trip where that is longer.
#[derive(Debug)]
pub(crate) struct SuspectPace {
    least: Duration,
    longest: Duration,
    /// In quarters.
    growth: u32,
}

impl SuspectPace {
    /// Data is outstanding: a link that returns is wanted within a fifth of a second. Outages of some tens to hundreds of
    /// milliseconds, as of handovers, are most frequent, so the first probes are close to each other.
    pub(crate) const WITH_DATA: SuspectPace =
        SuspectPace { least: Duration::from_millis(25), longest: Duration::from_millis(180), growth: 5 };
    /// Nothing is.
    pub(crate) const WITHOUT_DATA: SuspectPace =
        SuspectPace { least: Duration::from_millis(100), longest: Duration::from_secs(1), growth: 8 };
}

/// A path that was opened, by us or by the peer.
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) control: Memo<Control, Signals>,
    pub(crate) tuples: Tuples,
    pub(crate) responses: ResponseQueue,
    pub(crate) space: PacketNumberSpace,
    pub(crate) recovery: PathRecovery,
    pub(crate) mtu: MtuDiscovery,
    pub(crate) batches: Batches,
    pub(crate) link: Option<LinkId>,
    /// Ranges to send here although another path carries them too.
    pub(crate) copies: CopyQueue,
    /// What others took over of what is in flight here.
    pub(crate) settled: Settled,
    /// Whether its socket takes nothing more at present.
    pub(crate) is_held_up: bool,
    /// Ack-eliciting packets to send regardless of the congestion window.
    pub(crate) probes: u8,
    /// When a silent path is probed next, and how long it has been so.
    pub(crate) suspect: Option<Suspect>,
    /// That the peer was heard on it brought it back, and nothing was acknowledged since: packets with smaller numbers than this
    /// are not waited for.
    pub(crate) trusted_from: Option<u64>,
    /// How much data the connection had moved when it was last asked because it came back.
    pub(crate) asked_after: Option<u64>,
    pub(crate) key_phase: PathKeyPhase,
    /// Largest number of a received packet that was not a mere probe.
    pub(crate) largest_non_probing: Option<u64>,
    /// Acknowledgement-only packets sent in a row.
    pub(crate) ack_only_run: u32,
    /// When a datagram last arrived on it.
    pub(crate) heard_at: Option<Time>,
    /// The path that was heard when this one had fallen silent, or this one itself where it had: acknowledgements for it leave there until
    /// it is heard again.
    pub(crate) acks_leave_on: Option<PathId>,
    pub(crate) traffic: Traffic,
}

/// The probing of a silent path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect {
    pub(crate) since: Time,
    pub(crate) next_probe: Time,
    interval: Duration,
}

impl Suspect {
    /// Silent from now on.
    pub(crate) fn new(now: Time, pace: &SuspectPace, round_trip: Duration) -> Self {
        let interval = (round_trip / 2).clamp(pace.least, pace.longest);
        Suspect { since: now, next_probe: now + interval, interval }
    }

    /// It is probed now. `random` is uniform and shortens the next interval by up to a quarter: an outage that comes periodically
    /// must not meet every probe.
    pub(crate) fn on_probe(&mut self, now: Time, pace: &SuspectPace, round_trip: Duration, random: u64) {
        self.interval = (self.interval * pace.growth / 4).min(pace.longest.max(round_trip));
        self.next_probe = now + self.interval - self.interval / 4 * (random % 256) as u32 / 255;
    }
}

/// Datagram counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) datagrams_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) bytes_received: u64,
    pub(crate) times_suspect: u64,
    /// Times that batches were found to vanish.
    pub(crate) batching_stopped: u64,
}

impl Path {
    pub(crate) fn new(control: Control, tuples: Tuples, recovery: PathRecovery, mtu: MtuDiscovery) -> Self {
        Path {
            id: control.id,
            control: Memo::new(control),
            tuples,
            responses: ResponseQueue::default(),
            space: PacketNumberSpace::new(SpaceKind::Application),
            recovery,
            mtu,
            batches: Batches::default(),
            link: None,
            copies: CopyQueue::default(),
            settled: Settled::default(),
            is_held_up: false,
            probes: 0,
            suspect: None,
            acks_leave_on: None,
            trusted_from: None,
            asked_after: None,
            key_phase: PathKeyPhase::default(),
            largest_non_probing: None,
            ack_only_run: 0,
            heard_at: None,
            traffic: Traffic::default(),
        }
    }

    #[inline]
    pub(crate) fn life(&self) -> LifeCycle {
        self.control.life
    }

    /// What policies see of the life cycle.
    pub(crate) fn state(&self) -> Option<PathState> {
        self.control.life.policy_state()
    }

    /// Whether packets may leave on it now, of whatever kind. While they may not, nothing that is to be sent on it has a
    /// deadline: only a datagram of the peer makes more room (RFC 9002 section 6.2.2.1), and the deadlines are then in
    /// force again.
    #[inline]
    pub(crate) fn can_transmit(&self) -> bool {
        self.control.life.can_send() && self.amplification_room() >= MIN_ONE_RTT_ROOM
    }

    /// Whether an ack-eliciting packet may leave: on a path in use whose socket has room, within the congestion window.
    #[inline]
    pub(crate) fn can_send_ack_eliciting(&self) -> bool {
        self.life() == LifeCycle::Active
            && !self.is_held_up
            && self.can_transmit()
            && self.recovery.window_left() > 0
    }

    /// Whether window, pacer and address let a whole datagram of data out: whether [`PathView::sendable`] is above zero.
    #[inline]
    pub(crate) fn can_send_data(&self, now: Time) -> bool {
        let recovery = &self.recovery;
        let budget = recovery.pacing_budget(now).min(self.amplification_room() as u64);
        let bytes = recovery.window_left().min(budget);
        self.life() == LifeCycle::Active
            && !self.is_held_up
            && bytes > 0
            && bytes >= u64::from(recovery.max_datagram_size())
    }

    /// Whether there is a connection id to send to. A client may open a path before the frames have arrived that bring
    /// its connection ids for it.
    #[inline]
    fn is_addressable(&self) -> bool {
        self.control.remote_cids.current().is_some()
    }

    /// Bytes that may be sent to the addresses in use: few before they are validated, none before the peer gave a
    /// connection id.
    #[inline]
    pub(crate) fn amplification_room(&self) -> usize {
        if !self.is_addressable() {
            return 0;
        }
        usize::try_from(self.tuples.allowance()).unwrap_or(usize::MAX)
    }

    /// Whether probes, challenges or answers are pending; they may not all be due.
    #[inline]
    pub(crate) fn may_have_urgent_work(&self) -> bool {
        self.probes > 0 || !self.responses.is_empty() || self.tuples.is_validating()
    }

    /// The 4-tuple on which a challenge or an answer is pending and may be sent, and how much may be sent there.
    #[inline]
    pub(crate) fn validation_due(&self, now: Time, least: u64) -> Option<FourTuple> {
        if !self.control.life.can_send() || (self.responses.is_empty() && !self.tuples.is_validating()) {
            return None;
        }
        let mut due = self.responses.tuples().chain(self.tuples.challenges_due(now));
        due.find(|tuple| self.validation_room(*tuple) >= least)
    }

    /// Bytes that may be sent to these addresses.
    //= rfc9000-8.2.2-6: datagrams with PATH_RESPONSE are smaller if the amplification limit demands it
    pub(crate) fn validation_room(&self, tuple: FourTuple) -> u64 {
        if !self.is_addressable() {
            return 0;
        }
        self.tuples.allowance_of(tuple).unwrap_or_else(|| self.responses.allowance(tuple))
    }

    /// When a challenge of at least `least` bytes may leave or a validation is given up.
    pub(crate) fn validation_timeout(&self, least: u64) -> Option<Time> {
        self.tuples.timeout(|tuple| self.validation_room(tuple) >= least)
    }

    /// Writes what is pending for these addresses; `data` is a fresh random challenge. Returns whether anything was.
    //= rfc9000-8.2.1-1: one PATH_CHALLENGE in a packet
    #[cold]
    pub(crate) fn write_validation(
        &mut self,
        now: Time,
        tuple: FourTuple,
        data: [u8; 8],
        full_size: bool,
        w: &mut Writer<'_>,
    ) -> bool {
        let answered = self.responses.write(tuple, w);
        let challenged = self.tuples.write_challenge(tuple, now, data, full_size, w);
        answered || challenged
    }

    /// The size of an MTU probe that may leave now.
    pub(crate) fn next_mtu_probe(&self) -> Option<u16> {
        let size = self.mtu.next_probe()?;
        let fits =
            self.recovery.window_left() >= u64::from(size) && self.amplification_room() >= usize::from(size);
        (self.life() == LifeCycle::Active && !self.is_held_up && fits).then_some(size)
    }

    /// Queues a copy of a range; whether there was room. Beyond the bound copies are dropped: nothing depends on them.
    pub(crate) fn queue_copy(&mut self, range: SentStream) -> bool {
        self.life() == LifeCycle::Active && self.copies.push(range)
    }

    /// A key phase begins. A path that carries nothing else carries a PING in it: until the peer has acknowledged a packet
    /// of this phase on each path, no other may begin (draft-ietf-quic-multipath-21 section 4).
    pub(crate) fn on_key_update(&mut self) {
        self.key_phase = PathKeyPhase::new(self.space.end());
        if self.life() == LifeCycle::Active {
            self.probes = self.probes.max(1);
        }
    }

    /// Lets recovery and datagram size follow the addresses in use. To be called after each event that may have changed
    /// them, before the next packet leaves.
    //= rfc9000-14.2-5: each pair of addresses has its datagram size
    #[cold]
    pub(crate) fn follow_tuple(&mut self, now: Time) {
        let tuples = self.tuples.generations();
        // RFC 9000 section 14.2: the size is one of a pair of IP addresses; another port does not change it.
        if tuples.current != self.recovery.tuple_generation() {
            self.mtu.reset();
            self.batches.restart();
            self.recovery.on_max_datagram_size(now, self.mtu.current());
        }
        self.recovery.follow_tuple(now, tuples);
    }

    /// Gives back memory of a burst that is over.
    pub(crate) fn shrink(&mut self) {
        self.space.shrink();
        self.copies.shrink();
        self.settled.shrink();
    }

    /// A packet was declared lost: what that says about the datagram size and about batches.
    pub(crate) fn on_packet_lost(&mut self, now: Time, packet: &SentPacket) {
        if self.batches.on_lost(now, packet.packet_number) {
            self.traffic.batching_stopped += 1;
        }
        if packet.kind == PacketKind::MtuProbe {
            self.mtu.on_probe_lost(now, packet.packet_number);
            return;
        }
        let largest_sent = self.space.end().saturating_sub(1);
        if self.mtu.on_lost(now, packet.packet_number, packet.bytes, largest_sent) {
            self.recovery.on_max_datagram_size(now, self.mtu.current());
        }
    }

    /// A packet arrived: what that says about the datagram size and about batches.
    pub(crate) fn on_packet_acked(&mut self, now: Time, packet: &SentPacket) {
        self.batches.on_acked(packet.packet_number);
        if packet.kind != PacketKind::MtuProbe {
            self.mtu.on_acked(packet.packet_number, packet.bytes);
        } else if self.mtu.on_probe_acked(now, packet.packet_number) {
            self.recovery.on_max_datagram_size(now, self.mtu.current());
        }
    }

    /// Fills in the view that policies have of the path in `state`: every field is set.
    pub(crate) fn fill_view(&self, now: Time, state: PathState, view: &mut PathView) {
        view.id = self.id;
        view.link = self.link;
        view.group = self.recovery.bottleneck_group();
        view.state = state;
        view.status = self.control.status.effective();
        view.heard_at = self.heard_at;
        let oldest = match self.trusted_from {
            Some(number) => self.space.sent.oldest_from(number),
            None => self.space.sent.oldest(),
        };
        view.oldest_in_flight = oldest.map(|packet| packet.sent_at);
        view.oldest_packet = oldest.map(|packet| packet.packet_number);
        view.copies_queued = self.copies.bytes();
        self.recovery.fill_view(now, view);
        // Data waits where the address allows less than a datagram, and where the socket takes none.
        let room = if self.is_held_up { 0 } else { self.amplification_room() as u64 };
        view.pacing_budget = view.pacing_budget.min(room);
    }

    /// What is told where acknowledgements may leave; `None` for paths that policies do not see.
    pub(crate) fn as_return_path(&self) -> Option<ReturnPath> {
        let state = self.state()?;
        Some(ReturnPath::new(self.id).with(|path| {
            path.link = self.link;
            path.state = state;
            path.smoothed_rtt = self.recovery.rtt.smoothed();
            path.has_rtt_sample = self.recovery.rtt.has_sample();
            path.heard_at = self.heard_at;
        }))
    }

    /// What a coupled controller may know.
    pub(crate) fn sibling(&self) -> Sibling {
        let usable = self.life() == LifeCycle::Active;
        self.recovery.sibling(self.id, self.recovery.bottleneck_group(), usable)
    }

    pub(crate) fn info(&self) -> Option<PathInfo> {
        Some(self.info_in(self.state()?))
    }

    /// What it was when it ended.
    pub(crate) fn last_info(&self) -> PathInfo {
        self.info_in(PathState::Active)
    }

    fn info_in(&self, state: PathState) -> PathInfo {
        PathInfo {
            id: self.id,
            tuple: self.tuples.current(),
            state,
            status: self.control.status.effective(),
            link: self.link,
        }
    }

    pub(crate) fn stats(&self) -> PathStats {
        let totals = self.recovery.totals;
        PathStats {
            datagrams_sent: self.traffic.datagrams_sent,
            bytes_sent: self.traffic.bytes_sent,
            datagrams_received: self.traffic.datagrams_received,
            bytes_received: self.traffic.bytes_received,
            packets_acked: totals.packets_acked,
            bytes_acked: totals.bytes_acked,
            packets_lost: totals.packets_lost,
            bytes_lost: totals.bytes_lost,
            packets_spuriously_lost: totals.packets_spurious,
            controller: self.recovery.controller_name(),
            congestion_window: self.recovery.window(),
            bytes_in_flight: self.recovery.bytes_in_flight(),
            smoothed_rtt: self.recovery.rtt.smoothed(),
            latest_rtt: self.recovery.rtt.latest(),
            min_rtt: self.recovery.rtt.min(),
            rtt_variance: self.recovery.rtt.variance(),
            one_way_delay: self.recovery.one_way_delay(),
            delivery_rate: self.recovery.delivery_rate(),
            mtu: self.mtu.current(),
            probe_timeouts: totals.probe_timeouts,
            times_suspect: self.traffic.times_suspect,
            packets_sent: totals.packets_sent,
            recent_loss_ppm: self.recovery.recent_loss_ppm(),
            congestion_events: totals.congestion_events,
            congestion_marks: totals.congestion_marks,
            reordering_threshold: self.recovery.reordering_threshold(),
            limited_by: self.recovery.limited_by(),
            in_slow_start: self.recovery.in_slow_start(),
            pacing_rate: Some(self.recovery.pacing_rate()).filter(|rate| *rate != Rate::MAX),
            copies_queued: self.copies.bytes(),
            heard_at: self.heard_at,
        }
    }
}
