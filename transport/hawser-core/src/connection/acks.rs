//! Acknowledgements: what they settle in each part, and when the local ones are due.

use std::time::Duration;

use hawser_policy::{AckDecision, AckOpportunity, Event, Interests, PacketReceived, PathId, Siblings, Time};
use hawser_wire::frame::Ack;

use super::Connection;
use super::arrival::{Arrival, SpaceId};
use super::frames::{SentFrame, SentStream};
use super::paths::life_cycle::LifeEvent;
use super::recovery::{AckInfo, ReceivedPackets, SentPacket};
use crate::TransportError;
use crate::crypto::Level;

/// Acknowledgements are repeated of paths on which nothing came for so long: they are then not just in between two packets.
const REPEAT_AFTER: Duration = Duration::from_millis(25);
/// And not for longer than this: the peer has sent everything again by then.
const REPEAT_UNTIL: Duration = Duration::from_secs(1);

impl Connection {
    /// The record of received packets of a space.
    pub(super) fn received_mut(&mut self, space: SpaceId) -> Option<&mut ReceivedPackets> {
        match space {
            SpaceId::Initial => self.handshake.initial.as_mut().map(|level| &mut level.space.received),
            SpaceId::Handshake => self.handshake.handshake.as_mut().map(|level| &mut level.space.received),
            SpaceId::Path(id) => self.paths.get_mut(id).map(|path| &mut path.space.received),
        }
    }

    /// Notes a processed packet and decides when to acknowledge it.
    //= rfc9000-13.2.1-2: ack-eliciting Initial and Handshake packets are acknowledged at once
    //= rfc9000-13.2.1-4: packets that are not ack-eliciting cause no packet with nothing but ACK
    //= rfc9000-13.2.1-8: packets with a congestion mark are acknowledged at once
    //= rfc9221-5.2-1: acknowledgements of DATAGRAM may be delayed
    pub(super) fn acknowledge_later(
        &mut self,
        arrival: &Arrival,
        space: SpaceId,
        number: u64,
        ack_eliciting: bool,
    ) {
        let immediate = self.extensions.ack_frequencies.take_immediate();
        let requested = self.extensions.ack_frequencies.wanted();
        let max_ack_delay = requested.map_or(self.transport.max_ack_delay, |wanted| wanted.max_ack_delay);
        let policies = &mut self.policies;
        let received = match space {
            SpaceId::Initial => self.handshake.initial.as_mut().map(|level| &mut level.space.received),
            SpaceId::Handshake => self.handshake.handshake.as_mut().map(|level| &mut level.space.received),
            SpaceId::Path(id) => self.paths.get_mut(id).map(|path| &mut path.space.received),
        };
        let Some(received) = received else { return };
        let largest_before = received.largest();
        let outcome = received.on_received(number, arrival.now, ack_eliciting, arrival.ecn);
        if policies.wants(Interests::RECEIVED)
            && !outcome.duplicate
            && let SpaceId::Path(path) = space
        {
            policies.on_packet_received(&PacketReceived::default().with(|packet| {
                packet.now = arrival.now;
                packet.received_at = arrival.received_at;
                packet.path = path;
                packet.packet_number = number;
                packet.bytes = arrival.datagram_bytes as u64;
                packet.gap = number.saturating_sub(largest_before.map_or(0, |largest| largest + 1));
                packet.congestion_marked = arrival.ecn == Some(crate::Ecn::Ce);
            }));
        }
        if let (Some(limits), SpaceId::Path(_)) = (self.extensions.receive_times.peer_limits(), space) {
            let micros = self.extensions.receive_times.micros_of(arrival.received_at);
            received.note_arrival(number, micros, limits.max_count);
        }
        if !ack_eliciting || outcome.duplicate {
            return;
        }
        let decision = match space {
            SpaceId::Path(path) if !immediate => {
                let (out_of_order, congestion_marked) = match requested {
                    None => (outcome.out_of_order, arrival.ecn == Some(crate::Ecn::Ce)),
                    Some(requested) => received.news(number, &outcome, arrival.ecn, requested),
                };
                policies.decide_ack(&AckOpportunity::default().with(|opportunity| {
                    opportunity.now = arrival.now;
                    opportunity.path = path;
                    opportunity.unacknowledged = received.unacknowledged();
                    opportunity.out_of_order = out_of_order;
                    opportunity.congestion_marked = congestion_marked;
                    opportunity.max_ack_delay = max_ack_delay;
                    opportunity.requested_threshold =
                        requested.map(|requested| requested.ack_eliciting_threshold);
                }))
            }
            // RFC 9000 section 13.2.1: Initial and Handshake packets at once.
            _ => AckDecision::Now,
        };
        received.on_decision(decision, arrival.now, max_ack_delay);
    }

    /// An ACK or PATH_ACK frame for a space, in a packet that came on `received_on`.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        space: SpaceId,
        received_on: PathId,
        ack: &Ack<'_>,
    ) -> Result<(), TransportError> {
        if let SpaceId::Path(id) = space
            && !self.paths.accepts_ack(id)?
        {
            return Ok(());
        }
        let exponent = if space.level() == Level::OneRtt {
            u32::from(self.ends.peer.ack_delay_exponent.min(20))
        } else {
            3
        };
        let delay = Duration::from_micros(ack.delay.saturating_mul(1 << exponent).min(1 << 40));
        self.extensions.receive_times.read(ack)?;
        self.fill_siblings(space.path());
        let info = AckInfo {
            received_on,
            largest: ack.ranges.largest(),
            delay,
            ranges: ack.ranges.iter(),
            ecn: ack.ecn,
            arrivals: self.extensions.receive_times.arrivals(),
        };
        let mut acked = std::mem::take(&mut self.scratch.acked);
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let siblings = Siblings { own: space.path(), paths: &self.scratch.siblings };
        let (outcome, late) = {
            let Some(path) = self.paths.get_mut(space.path()) else { return Ok(()) };
            let numbers = match space {
                SpaceId::Initial => self.handshake.initial.as_mut().map(|level| &mut level.space),
                SpaceId::Handshake => self.handshake.handshake.as_mut().map(|level| &mut level.space),
                SpaceId::Path(_) => Some(&mut path.space),
            };
            match numbers {
                Some(numbers) => {
                    let outcome = path.recovery.on_ack(numbers, info, now, &siblings, &mut acked, &mut lost);
                    (outcome.map(Some), numbers.take_late_data())
                }
                None => (Ok(None), Vec::new()),
            }
        };
        let outcome = outcome?;
        self.shares.work.charge(outcome.map_or(0, |outcome| outcome.work));
        if let Some(outcome) = outcome.filter(|outcome| outcome.newly_acked) {
            if !outcome.stale {
                self.on_answer(now, space);
            }
            self.on_packet_read(now, space, ack.ranges.largest());
        }
        if let Some(outcome) = outcome.filter(|outcome| outcome.spurious_losses > 0)
            && self.policies.wants(Interests::SPURIOUS_LOSS)
        {
            let packets = outcome.spurious_losses;
            self.policies.on_event(&Event::SpuriousLoss { now, path: space.path(), packets });
        }
        late.iter().for_each(|range| self.on_data_acked(now, range));
        self.settle(now, space, &mut acked, &mut lost);
        self.scratch.acked = acked;
        self.scratch.lost = lost;
        Ok(())
    }

    /// Stream data arrived: if it waits to be sent again it does no longer.
    fn on_data_acked(&mut self, now: Time, range: &SentStream) {
        self.streams.on_acked(range);
        if let Some(sender) = &mut self.extensions.repair.sender {
            sender.on_acked(now, range);
        }
    }

    /// Tells the parts what became of packets; leaves both lists empty.
    pub(super) fn settle(
        &mut self,
        now: Time,
        space: SpaceId,
        acked: &mut Vec<SentPacket>,
        lost: &mut Vec<SentPacket>,
    ) {
        if acked.is_empty() && lost.is_empty() {
            return;
        }
        self.trace_settled(now, space, acked, lost);
        for packet in &*acked {
            self.on_packet_acked(now, space, packet);
        }
        for packet in &*lost {
            self.on_packet_lost(now, space, packet);
        }
        acked.clear();
        lost.clear();
        self.settle_repair();
        if let Some(path) = self.paths.get_mut(space.path()) {
            self.policies.take_controller_commands(&mut path.recovery);
        }
        self.policies.wake();
        self.apply_commands(now);
        self.update_send_buffer();
    }

    fn on_packet_acked(&mut self, now: Time, space: SpaceId, packet: &SentPacket) {
        for frame in &packet.frames {
            match frame {
                SentFrame::Stream(range) => self.on_data_acked(now, range),
                SentFrame::Protected => {
                    if let Some(sender) = &mut self.extensions.repair.sender {
                        sender.on_announcement_acked();
                    }
                }
                SentFrame::Ack { path, largest } => self.on_our_ack_acked(space, *path, *largest),
                SentFrame::StreamControl(control) => self.streams.on_control_acked(*control),
                SentFrame::PathControl(control) => self.on_path_control_acked(now, *control),
                SentFrame::PolicyMessage(id) => self.extensions.messages.on_acked(*id),
                SentFrame::StreamSkip(skip) => self.streams.on_skip_acked(skip),
                SentFrame::AckFrequency(sequence) => self.on_ack_frequency_settled(*sequence, true),
                SentFrame::Crypto { .. }
                | SentFrame::HandshakeDone
                | SentFrame::NewToken(_)
                | SentFrame::Repair(_)
                | SentFrame::Recovered(_) => {}
            }
        }
        let SpaceId::Path(id) = space else { return };
        if let Some(path) = self.paths.get_mut(id) {
            path.on_packet_acked(now, packet);
            if path.key_phase.on_acked(packet.packet_number) {
                self.on_key_phase_acked(now);
            }
        }
        if self.policies.wants(Interests::ACKED) {
            let delay =
                self.extensions.receive_times.arrivals().one_way_delay(packet.packet_number, packet.sent_at);
            self.policies.on_packet_acked(now, id, packet, delay);
        }
    }

    #[inline(never)]
    fn on_packet_lost(&mut self, now: Time, space: SpaceId, packet: &SentPacket) {
        // What others could carry of a packet that was retransmitted needs no more care.
        for frame in packet.frames.iter().filter(|frame| !packet.resent || !is_movable(frame)) {
            if self.extensions.repair.sender.is_none() || !self.hold_back(now, frame) {
                self.on_frame_lost(space, frame);
            }
        }
        let SpaceId::Path(id) = space else { return };
        if let Some(path) = self.paths.get_mut(id) {
            path.on_packet_lost(now, packet);
        }
        if self.policies.wants(Interests::LOST) {
            self.policies.on_packet_lost(now, id, packet);
        }
    }

    /// Queues again what a frame carried, if it still matters.
    //= rfc9000-13.3-3: HANDSHAKE_DONE is sent until it is acknowledged
    pub(super) fn on_frame_lost(&mut self, space: SpaceId, frame: &SentFrame) {
        match frame {
            SentFrame::Stream(range) => self.streams.on_lost(range, Some(space.path())),
            SentFrame::Crypto { offset, length } => {
                self.handshake.on_crypto_lost(space.level(), *offset, *length)
            }
            SentFrame::StreamControl(control) => self.streams.on_control_lost(*control),
            SentFrame::StreamSkip(skip) => self.streams.on_skip_lost(skip),
            SentFrame::PathControl(control) => self.paths.on_control_lost(*control),
            SentFrame::HandshakeDone => self.server_frames.handshake_done_pending = true,
            SentFrame::NewToken(_) => self.server_frames.on_token_lost(),
            SentFrame::PolicyMessage(id) => self.extensions.messages.on_lost(*id),
            SentFrame::AckFrequency(sequence) => self.on_ack_frequency_settled(*sequence, false),
            SentFrame::Recovered(frame) => {
                if let Some(receiver) = &mut self.extensions.repair.receiver {
                    receiver.on_recovered_lost(frame);
                }
            }
            SentFrame::Ack { .. } | SentFrame::Protected | SentFrame::Repair(_) => {}
        }
    }

    /// A local request for another acknowledgement frequency arrived, or did not.
    #[cold]
    fn on_ack_frequency_settled(&mut self, sequence: u64, arrived: bool) {
        if arrived {
            self.extensions.ack_frequencies.on_acked(sequence);
        } else {
            self.extensions.ack_frequencies.on_lost(sequence);
        }
        self.sync_peer_max_ack_delay();
    }

    /// Probe timeouts of all paths count with the delay that the peer may take now.
    pub(super) fn sync_peer_max_ack_delay(&mut self) {
        let delay = self.extensions.ack_frequencies.peer_max_ack_delay();
        if delay != self.ends.peer.max_ack_delay {
            self.ends.peer.max_ack_delay = delay;
            self.paths.iter_mut().for_each(|path| path.recovery.set_max_ack_delay(delay));
        }
    }

    fn on_our_ack_acked(&mut self, space: SpaceId, path: PathId, largest: u64) {
        let acknowledged = if let SpaceId::Path(_) = space { SpaceId::Path(path) } else { space };
        if let Some(received) = self.received_mut(acknowledged) {
            received.on_ack_acknowledged(largest);
        }
    }

    /// A path is heard again after a pause. Where another one fell silent meanwhile, its last acknowledgements went where nobody
    /// heard them, and the peer would send all of that again: they are repeated, here. The answer to what was heard leaves here in
    /// any case: the other one may be gone for less than it takes to tell.
    #[cold]
    pub(super) fn repeat_acknowledgements(&mut self, now: Time, returned: PathId) {
        for path in self.paths.iter_mut() {
            if path.id == returned {
                path.acks_leave_on = Some(returned);
                continue;
            }
            let silent = path.heard_at.map(|at| now.since(at));
            if silent.is_some_and(|silent| REPEAT_AFTER < silent && silent < REPEAT_UNTIL) {
                path.space.received.repeat(now);
                // One that is only idle is still the quicker way, perhaps.
                let is_gone = silent.is_some_and(|silent| silent > path.recovery.probe_timeout());
                path.acks_leave_on = is_gone.then_some(returned);
            }
        }
    }

    /// The path answers: a silent one is back.
    fn on_answer(&mut self, now: Time, space: SpaceId) {
        let SpaceId::Path(id) = space else { return };
        let Some(path) = self.paths.get_mut(id) else { return };
        path.trusted_from = None;
        if path.life() == super::paths::life_cycle::LifeCycle::Suspect {
            self.move_path(now, id, LifeEvent::Answered);
        }
    }

    /// The peer was heard on a path that had fallen silent. Links mostly go in both directions and return in both, and the next
    /// probe may be a second away: the path is used again, and asked. Only once until something is acknowledged: where
    /// just what we send is lost, the peer is heard all the time. Data that moves relies on the round trip that the question
    /// gives. While none does it is asked once: a peer that acknowledges later than it says makes the path silent with every
    /// question, and each answer would bring the next.
    #[cold]
    pub(super) fn on_heard_again(&mut self, now: Time, id: PathId) {
        let moved = self.data_moved() + self.extensions.datagrams.moved();
        let Some(path) = self.paths.get_mut(id).filter(|path| path.trusted_from.is_none()) else {
            return;
        };
        path.trusted_from = Some(path.space.end());
        path.recovery.restart_silence(now);
        if path.asked_after.replace(moved) != Some(moved) {
            path.probes = path.probes.max(1);
        }
        self.move_path(now, id, LifeEvent::HeardAgain);
    }

    /// A packet left: recovery, timers and counters take note.
    pub(super) fn on_sent(&mut self, now: Time, space: SpaceId, packet: SentPacket) {
        if packet.ack_eliciting {
            self.idle.on_ack_eliciting_sent(now);
            self.shares.work.earn_sent();
        }
        let Some(path) = self.paths.get_mut(space.path()) else { return };
        if packet.ack_eliciting {
            path.ack_only_run = 0;
        }
        let numbers = match space {
            SpaceId::Initial => self.handshake.initial.as_mut().map(|level| &mut level.space),
            SpaceId::Handshake => self.handshake.handshake.as_mut().map(|level| &mut level.space),
            SpaceId::Path(_) => Some(&mut path.space),
        };
        if self.policies.wants(Interests::SENT)
            && let SpaceId::Path(id) = space
        {
            let in_flight =
                path.recovery.bytes_in_flight() + u64::from(packet.bytes) * u64::from(packet.in_flight);
            self.policies.on_packet_sent(id, &packet, in_flight, path.recovery.limited_by());
        }
        if let Some(numbers) = numbers {
            path.recovery.on_packet_sent(numbers, packet);
        }
    }

    /// Fills the list of siblings if the controller of a path asks for it.
    pub(super) fn fill_siblings(&mut self, id: PathId) {
        self.scratch.siblings.clear();
        // What is still acknowledged of an abandoned path is no competition.
        let counts = |path: &&super::paths::path::Path| path.id == id || path.life().can_send();
        if self.paths.get(id).is_some_and(|path| path.recovery.wants_siblings()) {
            self.scratch.siblings.extend(self.paths.iter().filter(counts).map(|path| path.sibling()));
        }
    }
}

/// Frames that a silent path leaves to others.
pub(super) fn is_movable(frame: &SentFrame) -> bool {
    match frame {
        SentFrame::Stream(_)
        | SentFrame::StreamSkip(_)
        | SentFrame::PathControl(_)
        | SentFrame::HandshakeDone
        | SentFrame::NewToken(_)
        | SentFrame::PolicyMessage(_)
        | SentFrame::AckFrequency(_)
        | SentFrame::StreamControl(_)
        | SentFrame::Crypto { .. }
        | SentFrame::Recovered(_) => true,
        SentFrame::Ack { .. } | SentFrame::Protected | SentFrame::Repair(_) => false,
    }
}
