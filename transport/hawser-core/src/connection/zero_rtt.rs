//! 0-RTT: data in the client's first flight (RFC 9001 sections 4.5 to 4.9, RFC 9000 sections 7.4.1 and 17.2.3).
//!
//! A client that resumes a session has keys before it has heard anything, and writes within the limits that the server
//! had when it gave the ticket. Its packets have long headers and share the packet number space of path 0 with 1-RTT
//! packets, in which they are acknowledged. They carry stream data, datagrams and what streams have to say; all else waits
//! for the handshake, other paths too. If the server does not take them, everything in them is sent again in 1-RTT packets,
//! as if it had only been written: the application need not do anything, unless it would rather not have it sent at all.
//!
//! Anyone who copies a client's first flight can send it to the server again. Whether that does harm only the application
//! knows, so servers take 0-RTT only where it says so.

use bytes::BytesMut;
use hawser_policy::{Interests, LimitedBy, PathId, Tag, Time};
use hawser_wire::TransportParameters;
use hawser_wire::packet::{LongHeader, LongPacketType, PlainHeader, ProtectedHeader, TruncatedPacketNumber};
use hawser_wire::transport_parameters::Role;
use hawser_wire::writer::Writer;

use super::Connection;
use super::arrival::SpaceId;
use super::contents::Contents;
use super::frames::{SentFrame, SentFrames};
use super::handshake::KeyChoice;
use super::paths::life_cycle::LifeEvent;
use super::plan::Plan;
use super::receive::Opened;
use super::recovery::{DeliveryState, SentPacket};
use super::remembered::RememberedLimits;
use super::streams::WrittenData;
use super::trace::packet::TracedPacket;
use crate::TransportError;
use crate::crypto::EarlyKeys;

/// 0-RTT packets are numbered with the 1-RTT packets of path 0.
const ZERO_RTT_SPACE: SpaceId = SpaceId::Path(PathId::ZERO);

/// What became of 0-RTT on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyData {
    /// There was none: no ticket that allows it, or not wanted.
    #[default]
    None,
    /// A client may write before the handshake is complete, and does not know yet whether the server takes it.
    Offered,
    /// The server takes it. Somebody may have sent it before.
    Accepted,
    /// The server did not take it. What was written is sent again, without being asked for; datagrams are lost.
    Rejected,
}

/// The state of 0-RTT: keys for one direction while they are of use.
#[derive(Default)]
pub(crate) struct ZeroRtt {
    status: EarlyData,
    keys: Option<EarlyKeys>,
    /// Client: the limits of the connection that the ticket is from.
    limits: Option<RememberedLimits>,
    /// Server: when late packets are no longer expected.
    until: Option<Time>,
    /// Client: packets of path 0 before this number were 0-RTT.
    end: u64,
}

impl ZeroRtt {
    pub(crate) fn status(&self) -> EarlyData {
        self.status
    }

    /// The keys, for either direction.
    pub(crate) fn keys(&self) -> Option<&EarlyKeys> {
        self.keys.as_ref()
    }

    /// Whether a client sends 0-RTT packets.
    //= rfc9001-5.6-4: servers send nothing with 0-RTT keys
    pub(crate) fn is_sending(&self) -> bool {
        self.status == EarlyData::Offered && self.keys.is_some()
    }

    /// Client: whether this packet number of path 0 is, or could be, that of a 1-RTT packet.
    pub(crate) fn is_past(&self, number: u64) -> bool {
        self.keys.is_none() && number >= self.end
    }

    /// Server: a 1-RTT packet arrived. RFC 9001 section 4.9.3: late 0-RTT packets are opened for three probe timeouts more.
    //= rfc9001-4.9.3-2: servers discard 0-RTT keys three PTO after the first 1-RTT packet
    pub(crate) fn on_one_rtt(&mut self, now: Time, three_pto: std::time::Duration) {
        if self.keys.is_some() {
            self.until.get_or_insert(now + three_pto);
        }
    }

    /// When [`discard_expired`](Self::discard_expired) has something to do.
    pub(crate) fn expiry(&self) -> Option<Time> {
        self.until
    }

    /// Drops the keys when their time is over.
    //= rfc9001-4.9.3-2: servers discard 0-RTT keys three PTO after the first 1-RTT packet
    pub(crate) fn discard_expired(&mut self, now: Time) {
        if self.until.is_some_and(|until| now >= until) {
            (self.keys, self.until) = (None, None);
        }
    }

    /// RFC 9000 section 7.4.1: a server that takes 0-RTT stays within what it promised.
    //= rfc9221-3-7: the client checks that max_datagram_frame_size was not lowered
    pub(crate) fn check_promise(&self, peer: &TransportParameters) -> Result<(), TransportError> {
        match self.limits {
            Some(limits)
                if self.status == EarlyData::Accepted && !limits.fit_within(&RememberedLimits::of(peer)) =>
            {
                let reason = "the server took 0-RTT and reduced limits that the client remembers";
                Err(TransportError::protocol_violation(reason))
            }
            _ => Ok(()),
        }
    }
}

impl Connection {
    /// What became of 0-RTT. A client for which it is [`Offered`](EarlyData::Offered) may open streams and write at once.
    pub fn early_data(&self) -> EarlyData {
        self.zero_rtt.status
    }

    /// Whether the handshake went on from an earlier session, which spares both ends certificates and signatures. False until
    /// it is known.
    pub fn is_resumed(&self) -> bool {
        self.handshake.session().is_some_and(|session| session.is_resumed())
    }

    /// Client: TLS has begun, perhaps with a ticket that allows 0-RTT.
    //= multipath-2.1-6: initial_max_path_id is not remembered for later connections
    //= rfc9000-7.4.1-2: parameters that are never remembered for 0-RTT
    //= rfc9000-7.4.1-4: all parameters that the RFC does not name are remembered for 0-RTT
    pub(super) fn offer_zero_rtt(&mut self, now: Time) {
        let Some(session) = self.handshake.session() else { return };
        let Some(keys) = session.early_keys() else { return };
        let raw = session.peer_transport_parameters();
        let Some(remembered) = raw.and_then(|raw| TransportParameters::decode(raw, Role::Server).ok()) else {
            return;
        };
        let limits = RememberedLimits::of(&remembered);
        self.streams.set_peer_limits(&limits.to_parameters());
        self.extensions.datagrams.set_peer_max_frame_size(remembered.max_datagram_frame_size);
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.mtu.set_peer_limit(remembered.max_udp_payload_size);
        }
        let (status, limits) = (EarlyData::Offered, Some(limits));
        self.zero_rtt = ZeroRtt { status, keys: Some(keys), limits, ..ZeroRtt::default() };
        // The address is the one that was asked for. What may be sent there is a matter of congestion control.
        self.move_path(now, PathId::ZERO, LifeEvent::Validated);
    }

    /// Client: 1-RTT keys have come, and with them the server's answer. RFC 9001 section 4.9.3: the 0-RTT keys go.
    //= rfc9000-7.4.1-9: 0-RTT packets keep to the remembered values
    //= rfc9000-17.2.3-3: no 0-RTT once 1-RTT packets are processed
    //= rfc9001-4.9.3-1: clients discard 0-RTT keys with the first of 1-RTT
    //= rfc9001-5.6-3: rejected 0-RTT is not continued
    //= rfc9001-5.6-6: no 0-RTT after the 1-RTT keys came
    pub(super) fn settle_zero_rtt(&mut self, now: Time) {
        if !self.zero_rtt.is_sending() {
            return;
        }
        self.discard_zero_rtt_keys();
        self.trace_keys_discarded("0rtt");
        let answer = self.handshake.session().and_then(|session| session.early_data_accepted());
        if answer == Some(true) {
            self.zero_rtt.status = EarlyData::Accepted;
            return;
        }
        self.on_zero_rtt_rejected(now);
    }

    /// Client: the server spoke another version and kept nothing of the first flight. The handshake that starts again is one
    /// without 0-RTT.
    //= rfc9001-5.6-3: rejected 0-RTT is not continued
    pub(super) fn give_up_zero_rtt(&mut self, now: Time) {
        if self.zero_rtt.is_sending() {
            self.discard_zero_rtt_keys();
            self.on_zero_rtt_rejected(now);
        }
    }

    fn discard_zero_rtt_keys(&mut self) {
        self.zero_rtt.keys = None;
        self.zero_rtt.end = self.paths.get(PathId::ZERO).map_or(0, |path| path.space.end());
    }

    //= rfc9001-4.6.2-3 (not done): rejected 0-RTT resets all streams
    fn on_zero_rtt_rejected(&mut self, now: Time) {
        self.zero_rtt.status = EarlyData::Rejected;
        self.take_back_zero_rtt(now, |frame| !matches!(frame, SentFrame::Stream(_)));
        self.streams.rewind();
    }

    /// A Retry came. RFC 9000 section 17.2.5.2: the server has kept nothing, 0-RTT packets included; they may be sent again.
    //= rfc9000-17.2.3-1: 0-RTT data is sent again after a Retry
    pub(super) fn restart_zero_rtt(&mut self, now: Time) {
        if self.zero_rtt.is_sending() {
            self.take_back_zero_rtt(now, |_| true);
        }
    }

    /// Gives up on all 0-RTT packets, without a sign of congestion, and queues what they carried as far as `is_wanted` says.
    fn take_back_zero_rtt(&mut self, now: Time, is_wanted: impl Fn(&SentFrame) -> bool) {
        let mut lost = Vec::new();
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.recovery.drain(&mut path.space, &mut lost);
        }
        for packet in &lost {
            if self.policies.wants(Interests::LOST) {
                self.policies.on_packet_lost(now, PathId::ZERO, packet);
            }
            for frame in packet.frames.iter().filter(|frame| is_wanted(frame)) {
                self.on_frame_lost(SpaceId::Path(PathId::ZERO), frame);
            }
        }
        self.policies.wake();
    }

    /// Server: TLS has read the ClientHello. If it takes 0-RTT, the client is answered before the handshake is complete, as
    /// far as its address may be sent to.
    //= rfc9001-4.6.2-1: a server that rejects 0-RTT does not read it
    pub(super) fn accept_zero_rtt(&mut self, now: Time) {
        let session = self.handshake.session();
        let Some(keys) = session.and_then(|session| session.early_keys()) else { return };
        self.zero_rtt = ZeroRtt { status: EarlyData::Accepted, keys: Some(keys), ..ZeroRtt::default() };
        self.move_path(now, PathId::ZERO, LifeEvent::Validated);
    }

    /// Server: RFC 9000 section 17.2.3: a client that sends 1-RTT packets sends no more 0-RTT packets.
    pub(super) fn check_zero_rtt_number(&self, number: u64) -> Result<(), TransportError> {
        let first_one_rtt = self.paths.get(PathId::ZERO).and_then(|path| path.key_phase.first_received());
        if first_one_rtt.is_some_and(|first| number > first) {
            return Err(TransportError::protocol_violation("a 0-RTT packet was sent after a 1-RTT packet"));
        }
        Ok(())
    }

    /// What a client sends next that has nothing to send of its handshake.
    #[cold]
    pub(super) fn plan_zero_rtt(&mut self, now: Time) -> Option<Plan> {
        if let Some(assignment) = self.plan_data(now) {
            return Some(Plan::Data(assignment));
        }
        let may_send = self.paths.get(PathId::ZERO).is_some_and(|path| path.can_send_ack_eliciting());
        (may_send && self.streams.has_pending_control()).then_some(Plan::Control(PathId::ZERO))
    }

    /// Removes the protection of a 0-RTT packet, in place; gives it back if that fails.
    #[cold]
    pub(super) fn open_zero_rtt(
        &self,
        header: &ProtectedHeader,
        mut packet: BytesMut,
    ) -> Result<Opened, BytesMut> {
        let Some(keys) = self.zero_rtt.keys() else { return Err(packet) };
        keys.header.unprotect(header.packet_number_offset, &mut packet);
        let Some(plain) = PlainHeader::decode(&packet, header) else { return Err(packet) };
        let number = plain.packet_number.expand(self.largest_received(ZERO_RTT_SPACE));
        let (head, payload) = packet.split_at_mut(plain.payload_offset);
        let Ok(length) = keys.packet.open(0, number, head, payload) else { return Err(packet) };
        Ok(Opened {
            space: ZERO_RTT_SPACE,
            packet_type: header.packet_type,
            number,
            choice: KeyChoice::Previous,
            reserved_bits_zero: plain.reserved_bits_zero,
            packet: packet.freeze(),
            payload: plain.payload_offset..plain.payload_offset + length,
        })
    }

    /// Builds one 0-RTT packet at the start of `out`; `None` if there was nothing to put into it.
    //= rfc9000-17.2.3-2: 0-RTT data after a Retry has new packet numbers
    #[cold]
    pub(super) fn build_zero_rtt(
        &mut self,
        now: Time,
        id: PathId,
        out: &mut [u8],
        contents: &Contents,
    ) -> Option<usize> {
        let tag_length = self.zero_rtt.keys()?.packet.tag_length();
        let destination_cid = self.paths.remote_cid(id, None)?;
        let source_cid = self.ends.identity.local_cid;
        let random = self.next_random();
        let path = self.paths.get_mut(id)?;
        let tuple_generation = path.tuples.generation();
        let number = path.space.next_packet_number(random);
        let truncated = TruncatedPacketNumber::new(number, path.space.largest_acked());
        let room = out.len().checked_sub(tag_length)?;
        let mut w = Writer::new(&mut out[..room]);
        // RFC 9369 section 4.1: 0-RTT packets stay in the version of the first flight.
        let version = self.handshake.version.original();
        let packet_type = LongPacketType::ZeroRtt;
        let header = LongHeader { version, packet_type, destination_cid, source_cid };
        let encoded = header.encode(&mut w, truncated).ok()?;
        let mut frames = SentFrames::new();
        self.fill_zero_rtt(id, &mut w, &mut frames, contents);
        if w.position() == encoded.payload_offset {
            return None;
        }
        let payload_length = w.position() - encoded.payload_offset;
        w.write_zeros(encoded.padding_for_sample(payload_length, tag_length)).ok()?;
        encoded.finish(&mut w, tag_length).ok()?;
        let length = w.position() + tag_length;
        let packet = &mut out[..length];
        if let Some(tracer) = &mut self.observed.tracer {
            let payload = &packet[encoded.payload_offset..length - tag_length];
            let (space, destination, long) =
                (SpaceId::Path(id), destination_cid, Some((version, source_cid)));
            let traced = TracedPacket { space, number, destination, long, length, payload };
            tracer.packet_sent(now, &traced, contents.kind);
        }
        let keys = self.zero_rtt.keys()?;
        keys.packet.seal(0, number, packet, encoded.payload_offset);
        keys.header.protect(encoded.packet_number_offset, packet);
        let packet = SentPacket {
            packet_number: number,
            sent_at: now,
            bytes: length as u16,
            ack_eliciting: true,
            in_flight: true,
            kind: contents.kind,
            ecn_marked: contents.ecn.is_some(),
            resent: false,
            tuple_generation,
            delivery: DeliveryState::default(),
            limited_by: LimitedBy::Nothing,
            tag: Tag(0),
            frames,
        };
        self.on_sent(now, SpaceId::Path(id), packet);
        Some(length)
    }

    /// RFC 9000 section 12.5: no acknowledgements, nothing of the handshake. Of the rest, what needs no negotiation.
    fn fill_zero_rtt(
        &mut self,
        id: PathId,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
        contents: &Contents,
    ) {
        self.streams.write_control(w, frames);
        // A datagram that only a short header leaves room for waits for 1-RTT packets.
        let room = self.datagram_room(Some(id));
        self.extensions.datagrams.write(w, id, room);
        if contents.data.is_some() {
            self.write_early_data(id, w, frames);
        }
    }

    /// Stream data in the order of the queue, whatever the scheduler selected: there is one path.
    fn write_early_data(&mut self, id: PathId, w: &mut Writer<'_>, frames: &mut SentFrames) {
        while let Some((stream, range)) = self.streams.first_queued() {
            let first = frames.len();
            let written = self.streams.write_range(w, frames, id, stream, range);
            if written == WrittenData::default() {
                return;
            }
            self.note_written(id, frames, first, &written);
        }
    }
}
