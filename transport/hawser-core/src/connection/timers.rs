//! When something is due, and what then happens. There is no table of timers: each part knows its own deadline, and a
//! connection has few parts.

use std::time::Duration;

use hawser_policy::{Earliest, Event, Interests, PathId, PathState, Siblings, Time};

use super::acks::is_movable;
use super::arrival::SpaceId;
use super::frames::SentFrames;
use super::packet_room::{MIN_ONE_RTT_ROOM, handshake_room};
use super::paths::life_cycle::LifeCycle;
use super::paths::path::{Path, SuspectPace};
use super::policies::schedule::{has_queued, has_waiting};
use super::recovery::{BackOff, SpaceKind};
use super::zero_rtt::EarlyData;
use super::{Connection, Scratch};
use crate::config::LossRecovery;
use crate::endpoint::EndpointEvent;
use crate::{Code, ConnectionError, TransportError};

/// Packets sent when a probe timeout expires (RFC 9002 section 6.2.4: one or two).
const PROBES_PER_TIMEOUT: u8 = 2;

/// Probe timeouts in a row that send so many. The later ones come at short intervals, and a link that is back answers one.
const PAIRED_PROBES: u32 = 2;

/// Probes that are sent for a reason other than a timeout are at least so far apart.
const MIN_PROBE_PAUSE: Duration = Duration::from_millis(25);

impl Connection {
    /// When [`handle_timeout`](Self::handle_timeout) should be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        if !self.closing.is_open() {
            return self.closing.deadline();
        }
        let three_pto = self.three_pto();
        let queued = has_queued(&self.paths, &self.streams, &self.extensions.datagrams)
            || self.extensions.repair.has_queued();
        let own = Earliest::NONE
            .or(self.idle.next(three_pto))
            .or(self.keep_alive_deadline())
            .or(self.policies.deadline())
            .or(self.handshake.one_rtt.as_ref().and_then(|keys| keys.expiry()))
            .or(self.zero_rtt.expiry())
            .or(self.paths.next_expiry())
            .or(self.extensions.messages.deadline())
            .or(self.extensions.repair.deadline())
            .or(self.streams.next_expiry())
            .or(self.extensions.datagrams.next_expiry())
            .or(self.idle.no_path_deadline)
            .or(if self.handshake.has_long_levels() { self.handshake_deadline() } else { None });
        let all = self.paths.iter().fold(own, |first, path| self.path_deadline(first, path, queued));
        all.time()
    }

    /// `queued`: data waits that the pacer may hold back.
    fn path_deadline(&self, first: Earliest, path: &Path, queued: bool) -> Earliest {
        // An acknowledgement may travel on any path (draft-ietf-quic-multipath-21 section 3.2), if one may send.
        let ack = path.space.received.deadline().filter(|_| self.paths.iter().any(Path::can_transmit));
        if !path.life().can_send() {
            return first.or(ack);
        }
        let recovery = &path.recovery;
        let probe = match &path.suspect {
            Some(suspect) => Some(suspect.next_probe),
            None => probe_deadline(path, self.back_off()),
        };
        first
            .or(ack)
            .or(recovery.loss_timer(&path.space))
            .or(recovery.controller_timer())
            .or(probe)
            .or(self.silence_deadline(path))
            .or(path.validation_timeout(MIN_ONE_RTT_ROOM as u64))
            .or(path.mtu.timeout())
            .or(if queued && !path.is_held_up { recovery.next_release(self.arrival.last_now) } else { None })
    }

    /// When silence makes a path suspect; only if another one could carry its data.
    #[inline]
    fn silence_deadline(&self, path: &Path) -> Option<Time> {
        let at = path.recovery.silence_timer()?;
        (path.life() == LifeCycle::Active && self.has_alternative(path.id)).then_some(at)
    }

    /// Whether silences are told from congestion, and probed often.
    #[inline]
    fn tells_outages(&self) -> bool {
        self.paths.is_multipath() && self.transport.loss_recovery == LossRecovery::Adaptive
    }

    /// How far probe timeouts back off.
    #[inline]
    fn back_off(&self) -> BackOff {
        match self.tells_outages() {
            false => BackOff::Unlimited,
            true if self.awaits_data() => BackOff::WITH_DATA,
            true => BackOff::WITHOUT_DATA,
        }
    }

    /// Whether data waits to be sent or acknowledged, so that a link that returns is wanted at once.
    #[inline]
    pub(super) fn awaits_data(&self) -> bool {
        self.streams.has_unacked() || has_waiting(&self.streams, &self.extensions.datagrams)
    }

    /// Whether another path than this can carry data.
    pub(super) fn has_alternative(&self, id: PathId) -> bool {
        self.paths.len() > 1
            && self.paths.iter().any(|path| path.id != id && path.state() == Some(PathState::Active))
    }

    /// Whether another path carries data and answers, so that this one can be given up, and the peer hears of it.
    pub(super) fn has_answering_alternative(&self, id: PathId, now: Time) -> bool {
        let answers = |path: &Path| path.recovery.silence_timer().is_none_or(|at| at > now);
        self.paths
            .iter()
            .any(|path| path.id != id && path.state() == Some(PathState::Active) && answers(path))
    }

    //= rfc9002-6.2.1-2: the probe timer is set for Initial and Handshake packets first
    #[cold]
    fn handshake_deadline(&self) -> Option<Time> {
        let initial = self.long_deadline(SpaceId::Initial);
        Earliest::NONE.or(initial).or(self.long_deadline(SpaceId::Handshake)).time()
    }

    //= rfc9002-6.2.2.1-1: a server at the amplification limit sets no probe timer
    fn long_deadline(&self, space: SpaceId) -> Option<Time> {
        let level = match space {
            SpaceId::Initial => self.handshake.initial.as_ref()?,
            _ => self.handshake.handshake.as_ref()?,
        };
        let path = self.paths.get(PathId::ZERO)?;
        let may_send = path.amplification_room() >= handshake_room(space.level());
        Earliest::NONE
            .or(level.space.received.deadline().filter(|_| may_send))
            .or(path.recovery.loss_timer(&level.space))
            .or(path.recovery.pto_timer(&level.space, self.back_off()).filter(|_| may_send))
            .or(self.anti_deadlock_deadline(space))
            .time()
    }

    /// RFC 9002 section 6.2.2.1: a client that has nothing outstanding keeps the server going until it knows that the
    /// server has validated its address.
    //= rfc9000-8.1-4: a client sends on a probe timeout even with nothing in flight
    //= rfc9000-8.1-5: a client's probe is an Initial of 1200 bytes, or a Handshake packet with keys
    //= rfc9002-6.2.2.1-2: a client that is not validated sets the probe timer with nothing in flight
    fn anti_deadlock_deadline(&self, space: SpaceId) -> Option<Time> {
        let wanted = if self.handshake.handshake.is_some() { SpaceId::Handshake } else { SpaceId::Initial };
        let waiting = self.side.is_client() && !self.handshake.confirmed && space == wanted;
        let path = self.paths.get(PathId::ZERO).filter(|path| waiting && !self.awaits_handshake_ack(path))?;
        let kind = if space == SpaceId::Initial { SpaceKind::Initial } else { SpaceKind::Handshake };
        Some(path.recovery.anti_deadlock_timer(kind, self.handshake.last_activity, self.back_off()))
    }

    /// Whether something is outstanding whose probe timeout runs: 0-RTT packets have none before the handshake is confirmed
    /// (RFC 9002 section 6.2.1).
    fn awaits_handshake_ack(&self, path: &Path) -> bool {
        if self.zero_rtt.status() == EarlyData::None {
            return path.recovery.outstanding_since().is_some();
        }
        let levels = [&self.handshake.initial, &self.handshake.handshake].into_iter().flatten();
        levels.flat_map(|level| level.space.sent.iter()).any(|packet| packet.ack_eliciting)
    }

    fn keep_alive_deadline(&self) -> Option<Time> {
        let interval = self.transport.keep_alive_interval.filter(|_| self.handshake.is_complete())?;
        Some(self.idle.keep_alive(interval))
    }

    fn on_idle(&mut self, now: Time) {
        if self.idle.takes_memory_back(now, self.three_pto(), self.data_moved()) {
            self.paths.iter_mut().for_each(Path::shrink);
            self.streams.shrink();
            let is_settled = self.paths.iter().all(|path| path.space.sent.ack_eliciting() == 0);
            self.extensions.repair.shrink(now, is_settled);
            self.settle_repair();
            self.outbox.events.shrink();
            self.outbox.endpoint_events.shrink_to_fit();
            self.scratch = Scratch::default();
        } else if !self.idle.is_question_due(now) {
            return;
        }
        self.ask_for_the_rest(now);
    }

    /// Grows when stream data or repair symbols leave, arrive or are acknowledged.
    pub(super) fn data_moved(&self) -> u64 {
        let (sent, arrived) = (
            self.observed.stats.stream_bytes_sent + self.observed.stats.stream_bytes_retransmitted,
            self.streams.arrived(),
        );
        let repair_symbols =
            self.extensions.repair.receiver.as_ref().map_or(0, |receiver| receiver.counts().received);
        sent + self.streams.acked_bytes() + arrived.new + arrived.duplicate + repair_symbols
    }

    /// A client that only receives has nothing to send and no timer. If the NAT before it forgets it, what the server sends, its
    /// probes as well, goes where nobody is, and only a packet of the client can tell where it is now. So when the server falls
    /// silent in the middle of something, each path carries a PING (RFC 9000 section 10.1.2). One that is lost is repeated by
    /// its probe timeout. One that is answered says where the server thought the client to be then; if nothing follows, the
    /// next asks later.
    fn ask_for_the_rest(&mut self, now: Time) {
        if !self.side.is_client() || !self.handshake.confirmed {
            return;
        }
        let came = self.streams.take_came();
        if !self.streams.is_interrupted() {
            self.idle.asks_no_more();
        } else if self.idle.asks(now, came) {
            let active = self.paths.iter_mut().filter(|path| path.life() == LifeCycle::Active);
            active.for_each(|path| path.probes = path.probes.max(1));
        }
    }

    /// Three times the largest probe timeout of all paths (draft-ietf-quic-multipath-21 sections 3.5 and 4).
    //= multipath-2.6-2: closing and draining use the largest PTO of all paths
    pub(super) fn three_pto(&self) -> Duration {
        self.largest_probe_timeout() * 3
    }

    pub(super) fn largest_probe_timeout(&self) -> Duration {
        self.paths.largest_probe_timeout()
    }

    /// A timer expired; harmless if called early.
    //= rfc9000-10.2-3: all state is freed when closing or draining ends
    pub fn handle_timeout(&mut self, now: Time) {
        self.arrival.last_now = now;
        if !self.closing.is_open() {
            if self.closing.on_timeout(now) {
                self.trace_state_change(now, "closed");
                self.outbox.endpoint_events.push_back(EndpointEvent::Drained);
            }
            return;
        }
        if self.idle.deadline(self.three_pto()).is_some_and(|at| at <= now) {
            self.terminate(now, ConnectionError::TimedOut);
            return;
        }
        if self.idle.no_path_deadline.is_some_and(|at| at <= now) {
            let reason = "the peer abandoned the last path and opened no other";
            self.fail(now, TransportError::new(Code::NO_VIABLE_PATH, reason));
            return;
        }
        self.on_keep_alive(now);
        self.on_idle(now);
        self.streams.expire(now);
        self.extensions.datagrams.expire(now);
        if let Some(keys) = &mut self.handshake.one_rtt {
            keys.discard_expired(now);
        }
        self.zero_rtt.discard_expired(now);
        while let Some(id) = self.paths.expired(now) {
            self.forget_path(now, id);
        }
        self.extensions.messages.on_timeout(now);
        self.on_repair_timeout(now);
        for space in [SpaceId::Initial, SpaceId::Handshake] {
            self.on_long_timeout(now, space);
        }
        let ids: smallvec::SmallVec<[PathId; 8]> = self.paths.iter().map(|path| path.id).collect();
        for id in ids {
            self.on_path_timeout(now, id);
        }
        let (policies, targets) = self.split_policies(now);
        policies.on_timeout(targets);
        self.trace_paths(now);
    }

    fn on_keep_alive(&mut self, now: Time) {
        if self.keep_alive_deadline().is_none_or(|at| at > now) {
            return;
        }
        self.idle.on_keep_alive(now);
        if let Some(path) = self.control_path().and_then(|id| self.paths.get_mut(id)) {
            path.probes = path.probes.max(1);
        }
    }

    //= rfc9000-8.1-5: a client's probe is an Initial of 1200 bytes, or a Handshake packet with keys
    //= rfc9002-6.2.2.1-3: an unvalidated client probes with Handshake, or an Initial in 1200 bytes
    fn on_long_timeout(&mut self, now: Time, space: SpaceId) {
        if self.long_deadline(space).is_none_or(|at| at > now) {
            return;
        }
        let anti_deadlock = self.anti_deadlock_deadline(space).is_some_and(|at| at <= now);
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let (back_off, random) = (self.back_off(), self.next_random());
        let mut probe = anti_deadlock;
        if let (Some(path), Some(level)) =
            (self.paths.get_mut(PathId::ZERO), self.handshake.long_level(space.level()))
        {
            if path.recovery.loss_timer(&level.space).is_some_and(|at| at <= now) {
                path.recovery.detect_lost(&mut level.space, now, &Siblings::NONE, &mut lost);
            } else if path.amplification_room() >= handshake_room(space.level()) {
                let timer = path.recovery.pto_timer(&level.space, back_off);
                probe |= timer.is_some_and(|at| at <= now);
            }
            if probe {
                path.recovery.on_pto(random);
                level.probes = PROBES_PER_TIMEOUT;
                level.send.resend_all();
            }
        }
        if probe {
            self.handshake.last_activity = now;
            self.probe_other_keys();
        }
        self.settle(now, space, &mut Vec::new(), &mut lost);
        self.scratch.lost = lost;
    }

    /// RFC 9002 section 6.2.4: a probe of the handshake goes along with one of 1-RTT packets. A server that has confirmed the
    /// handshake does not understand the former any more; if a NAT has meanwhile given the client another address, only the
    /// latter tells the server of it.
    //= rfc9002-6.2.4-3: a probe timeout probes other packet number spaces, too
    fn probe_other_keys(&mut self) {
        if self.side.is_client() && self.handshake.is_complete() {
            self.probe_with_data(PathId::ZERO);
        }
    }

    fn on_path_timeout(&mut self, now: Time, id: PathId) {
        while let Some(event) = self.paths.get_mut(id).and_then(|path| path.tuples.on_timeout(now)) {
            self.on_tuple_event(now, id, event);
            if !self.closing.is_open() {
                return;
            }
        }
        let Some(path) = self.paths.get_mut(id).filter(|path| path.life().can_send()) else { return };
        path.mtu.on_timeout(now);
        path.recovery.on_controller_timeout(now);
        if path.recovery.loss_timer(&path.space).is_some_and(|at| at <= now) {
            self.on_loss_timeout(now, id);
        }
        self.on_silence(now, id);
        self.on_probe_timeout(now, id);
    }

    fn on_loss_timeout(&mut self, now: Time, id: PathId) {
        self.fill_siblings(id);
        let mut lost = std::mem::take(&mut self.scratch.lost);
        if let Some(path) = self.paths.get_mut(id) {
            let siblings = Siblings { own: id, paths: &self.scratch.siblings };
            path.recovery.detect_lost(&mut path.space, now, &siblings, &mut lost);
        }
        self.settle(now, SpaceId::Path(id), &mut Vec::new(), &mut lost);
        self.scratch.lost = lost;
    }

    /// Suspects a silent path, probes one that is suspect, and gives up on one that was for too long.
    fn on_silence(&mut self, now: Time, id: PathId) {
        let Some(path) = self.paths.get(id) else { return };
        if self.silence_deadline(path).is_some_and(|at| at <= now) {
            self.suspect(now, id);
        }
        // Without another path this one is all that the connection has: it is probed until the connection ends.
        let others_answer = self.has_alternative(id) && self.has_answering_alternative(id, now);
        let timeout = self.transport.suspect_path_timeout;
        let Some(path) = self.paths.get_mut(id) else { return };
        let Some(suspect) = &mut path.suspect else { return };
        if others_answer && now.since(suspect.since) >= timeout {
            let code = Code::PATH_UNSTABLE_OR_POOR;
            self.abandon(now, id, super::paths::life_cycle::LifeEvent::AbandonedLocally, code);
        } else if suspect.next_probe <= now {
            let (random, tells_outages) = (self.next_random(), self.tells_outages());
            let longest = if self.awaits_data() { SuspectPace::WITH_DATA } else { SuspectPace::WITHOUT_DATA };
            let Some(path) = self.paths.get_mut(id) else { return };
            if let Some(suspect) = &mut path.suspect {
                suspect.on_probe(now, &longest, path.recovery.rtt.smoothed(), random);
            }
            path.recovery.on_pto(random);
            if tells_outages {
                path.recovery.begin_silence(&path.space);
            }
            // Where no other path answers the probe itself should bring something.
            if others_answer {
                path.probes = path.probes.max(1);
            } else {
                self.probe_with_data(id);
            }
        }
    }

    //= rfc9002-6.2-1: a probe timeout makes no packet lost
    //= rfc9002-6.2.4-1: a probe timeout sends an ack-eliciting packet
    fn on_probe_timeout(&mut self, now: Time, id: PathId) {
        let back_off = self.back_off();
        let is_due = |path: &Path| {
            path.suspect.is_none() && probe_deadline(path, back_off).is_some_and(|at| at <= now)
        };
        if !self.paths.get(id).is_some_and(is_due) {
            return;
        }
        let random = self.next_random();
        let Some(path) = self.paths.get_mut(id) else { return };
        path.recovery.on_pto(random);
        if back_off != BackOff::Unlimited {
            path.recovery.begin_silence(&path.space);
        }
        path.recovery.signal_probe_timeout(now);
        let count = path.recovery.pto_count();
        if path.mtu.on_probe_timeout(now, count) {
            let size = path.mtu.current();
            path.recovery.on_max_datagram_size(now, size);
        }
        self.probe_with_data(id);
        if count == 1 {
            self.probe_suspects(now);
        }
        if self.policies.wants(Interests::PROBE_TIMEOUT) {
            self.policies.on_event(&Event::ProbeTimeout { now, path: id, count });
        }
    }

    /// A path that was in use is late: one that fell silent before may be back, and is asked now.
    fn probe_suspects(&mut self, now: Time) {
        for path in self.paths.iter_mut() {
            let may_probe = path.recovery.may_probe_again(&path.space, now, MIN_PROBE_PAUSE);
            if let Some(suspect) = path.suspect.as_mut().filter(|_| may_probe) {
                suspect.next_probe = now;
            }
        }
    }

    /// The peer was heard on a path that is late to acknowledge: the link may be back in both directions, and is asked at
    /// once, but at most once in a round trip, since where only what we send is lost, the peer is heard all the time.
    #[cold]
    pub(super) fn probe_when_heard(&mut self, now: Time, id: PathId) {
        let alone = !self.has_alternative(id);
        let Some(path) = self.paths.get_mut(id).filter(|path| path.can_transmit()) else { return };
        if !path.recovery.may_probe_again(&path.space, now, MIN_PROBE_PAUSE) {
            return;
        }
        path.probes = path.probes.max(1);
        if alone {
            self.probe_with_data(id);
        }
    }

    /// RFC 9002 section 6.2.4: a probe had better carry data. Where there is another path, that carries it.
    ///
    /// What was retransmitted once is in a newer packet, which has its turn later: if only the acknowledgements are lost,
    /// everything arrives in the end. The oldest is wanted most, but one of the probes is left to what waits already,
    /// which no acknowledgement may ever make room for in the window. Later probes go alone and take turns with that.
    //= rfc9002-6.2.4-4: probes carry new data
    fn probe_with_data(&mut self, id: PathId) {
        let waiting = has_waiting(&self.streams, &self.extensions.datagrams);
        let Some(path) = self.paths.get_mut(id) else { return };
        let count = path.recovery.pto_count();
        path.probes = if count <= PAIRED_PROBES { PROBES_PER_TIMEOUT } else { 1 };
        let for_waiting = waiting && (path.probes > 1 || count.is_multiple_of(2));
        let packets = usize::from(path.probes) - usize::from(for_waiting);
        let mut frames = SentFrames::new();
        path.space.sent.retransmit_oldest(packets, is_movable, &mut frames);
        for frame in &frames {
            self.on_frame_lost(SpaceId::Path(id), frame);
        }
    }

    /// The connection ends without CONNECTION_CLOSE.
    pub(super) fn terminate(&mut self, now: Time, error: ConnectionError) {
        self.trace_closed(now, &error, "closed");
        self.closing = super::close::CloseState::Drained;
        self.outbox.events.close(error);
        self.outbox.endpoint_events.push_back(EndpointEvent::Drained);
    }
}

/// The probe timeout of a path's application data.
#[inline]
fn probe_deadline(path: &Path, back_off: BackOff) -> Option<Time> {
    path.recovery.pto_timer(&path.space, back_off).filter(|_| path.can_transmit())
}
