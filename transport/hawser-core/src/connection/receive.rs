//! From a datagram to frames: finding keys, removing protection, and what a packet as such changes.

use bytes::{Bytes, BytesMut};
use hawser_policy::{PathId, Side, Time};
use hawser_wire::packet::{
    MIN_INITIAL_DATAGRAM_LEN, PacketType, PartialHeader, PlainHeader, ProtectedHeader, Retry,
};

use hawser_wire::Version;

use super::Connection;
use super::arrival::{Arrival, SpaceId};
use super::handshake::KeyChoice;
use super::paths::life_cycle::LifeCycle;
use super::trace::packet::TracedPacket;
use crate::endpoint::Datagram;
use crate::{ConnectionError, TransportError};

/// A packet without its protection.
pub(super) struct Opened {
    pub(super) space: SpaceId,
    pub(super) packet_type: PacketType,
    pub(super) number: u64,
    /// Keys of before the first phase count as previous ones.
    pub(super) choice: KeyChoice,
    pub(super) reserved_bits_zero: bool,
    /// The whole packet; the frames are at `payload`.
    pub(super) packet: Bytes,
    pub(super) payload: std::ops::Range<usize>,
}

impl Opened {
    fn traced(&self, header: &ProtectedHeader) -> TracedPacket<'_> {
        TracedPacket {
            space: self.space,
            number: self.number,
            destination: header.destination_cid,
            long: header.version.map(|version| (version, header.source_cid)),
            length: self.packet.len(),
            payload: self.packet.get(self.payload.clone()).unwrap_or_default(),
        }
    }
}

impl Connection {
    /// Takes a UDP datagram that the endpoint routed here.
    pub fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        let Datagram { tuple, ecn, payload, received_at } = datagram;
        self.observed.stats.datagrams_received += 1;
        self.observed.stats.bytes_received += payload.len() as u64;
        if self.shares.work.is_overdrawn(now) {
            self.observed.stats.datagrams_put_off += 1;
            return;
        }
        let datagram_number = self.observed.stats.datagrams_received;
        let arrival =
            Arrival { now, tuple, ecn, received_at, datagram_bytes: payload.len(), datagram_number };
        self.arrival.last_now = now;
        self.policies.wake();
        self.handle_coalesced(&arrival, payload, false);
        self.retry_early_packets();
        self.deliver_messages(now);
    }

    /// Units of work that what arrived has cost so far; eight are about a nanosecond. Drivers give each connection a share of a
    /// pass by it.
    pub fn work_spent(&self) -> u64 {
        self.shares.work.spent()
    }

    /// Takes the packets of a datagram apart (RFC 9000 section 12.2). `counted`: it was counted when it arrived.
    //= rfc9000-5.2.1-1: a client drops packets of other versions
    //= rfc9000-12.2-1: coalesced packets are read
    //= rfc9000-12.2-4: packets with another destination than the first of the datagram are ignored
    //= rfc9000-12.2-5: each coalesced packet is processed and acknowledged by itself
    //= rfc9000-12.2-6: a coalesced packet that does not open does not stop the others
    fn handle_coalesced(&mut self, arrival: &Arrival, mut rest: BytesMut, mut counted: bool) {
        let mut destination = None;
        while !rest.is_empty() {
            let header = match PartialHeader::decode(&rest, self.ends.identity.local_cid.len()) {
                Ok(PartialHeader::Protected(header)) => header,
                Ok(PartialHeader::Retry(retry)) => {
                    self.on_retry(&retry, &rest);
                    return;
                }
                Ok(PartialHeader::VersionNegotiation(negotiation)) => {
                    self.on_version_negotiation(arrival.now, &negotiation);
                    return;
                }
                Ok(PartialHeader::UnknownVersion(_)) | Err(_) => {
                    self.observed.stats.packets_dropped += 1;
                    return;
                }
            };
            // Nearly every datagram holds one packet: taking it whole saves splitting the buffer.
            let whole = header.packet_len >= rest.len();
            let packet = if whole { std::mem::take(&mut rest) } else { rest.split_to(header.packet_len) };
            // RFC 9000 section 12.2: packets for another connection id than the first one's are not for us.
            if destination.is_some_and(|first| first != header.destination_cid) {
                self.observed.stats.packets_dropped += 1;
                continue;
            }
            destination = Some(header.destination_cid);
            let Some(space) = self.space_of(&header) else {
                // A stateless reset bears a connection id that nobody knows (RFC 9000 section 10.3.1).
                if self.paths.is_stateless_reset(&packet) {
                    self.on_stateless_reset(arrival.now);
                    return;
                }
                self.observed.stats.packets_dropped += 1;
                continue;
            };
            if !counted {
                counted = true;
                self.count_datagram(arrival, space.path());
            }
            self.handle_packet(arrival, space, &header, packet);
        }
    }

    /// Counts a datagram for its path, and for what may be sent to an address that is not validated.
    //= rfc9000-8.1-2: all bytes of datagrams for the connection count for the limit, once
    #[inline(never)]
    fn count_datagram(&mut self, arrival: &Arrival, id: PathId) {
        if let Some(path) = self.paths.get_mut(id) {
            path.traffic.datagrams_received += 1;
            path.traffic.bytes_received += arrival.datagram_bytes as u64;
            path.tuples.on_datagram(arrival.tuple, arrival.datagram_bytes);
        }
    }

    /// Takes one packet. Not inlined: a loop around all this costs, and nearly every datagram holds one packet.
    //= rfc9000-17.2-1: long headers without the fixed bit are dropped
    //= rfc9000-17.3.1-1: short headers without the fixed bit are dropped
    //= rfc9001-5.4.2-1: packets without a whole sample are dropped
    #[inline(never)]
    fn handle_packet(
        &mut self,
        arrival: &Arrival,
        space: SpaceId,
        header: &ProtectedHeader,
        packet: BytesMut,
    ) {
        // RFC 9287: the fixed bit may be anything once we said so.
        if !header.fixed_bit && !self.transport.grease {
            self.observed.stats.packets_dropped += 1;
            return;
        }
        if header.sample().is_none() {
            self.on_unopened(arrival, &packet);
            return;
        }
        let is_zero_rtt = header.packet_type == PacketType::ZeroRtt;
        if header.packet_type != PacketType::OneRtt
            && !(self.is_acceptable(arrival, space, header) && self.fits_version(space, header, &packet))
        {
            self.observed.stats.packets_dropped += 1;
            return;
        }
        let has_keys = match is_zero_rtt {
            true => self.zero_rtt.keys().is_some(),
            false => self.can_open(space),
        };
        if !has_keys {
            self.keep_early(arrival, header.packet_type, space, &packet);
            return;
        }
        let opened = match is_zero_rtt {
            true => self.open_zero_rtt(header, packet),
            false => self.open(space, header, packet),
        };
        match opened {
            Ok(opened) => self.on_opened(arrival, header, opened),
            Err(packet) => self.on_unopened(arrival, &packet),
        }
    }

    /// The space a packet belongs to; `None` for connection ids we never issued, and for 0-RTT packets from a server.
    //= rfc9000-13.2.6-3: 0-RTT packets are acknowledged in 1-RTT packets
    //= rfc9001-5.6-5: clients drop 0-RTT packets
    fn space_of(&self, header: &ProtectedHeader) -> Option<SpaceId> {
        match header.packet_type {
            PacketType::Initial => Some(SpaceId::Initial),
            PacketType::Handshake => Some(SpaceId::Handshake),
            PacketType::OneRtt => self.paths.path_of_cid(&header.destination_cid).map(SpaceId::Path),
            PacketType::ZeroRtt => self.side.is_server().then_some(SpaceId::Path(PathId::ZERO)),
            PacketType::Retry | PacketType::VersionNegotiation => None,
        }
    }

    /// Whether a long header is as it must be.
    //= rfc9000-8.2.1-6: small datagrams with PATH_CHALLENGE or PATH_RESPONSE are not discarded
    //= rfc9000-14-4: a datagram of the wrong size closes nothing
    //= rfc9001-7-1: Initial packets are not trusted
    #[cold]
    fn is_acceptable(&self, arrival: &Arrival, space: SpaceId, header: &ProtectedHeader) -> bool {
        //= rfc9000-14.1-3: a server drops Initial packets in datagrams below 1200 bytes
        let undersized = self.side.is_server()
            && space == SpaceId::Initial
            && arrival.datagram_bytes < MIN_INITIAL_DATAGRAM_LEN;
        // RFC 9000 section 7.2: the peer keeps the id of its first Initial.
        //= rfc9000-7.2-3: packets with another source connection id than the first are dropped
        //= rfc9000-7.2-6: Initial packets with another source connection id are dropped
        let stranger = self.peer_source().is_some_and(|source| source != header.source_cid);
        // RFC 9000 section 17.2.2: only clients have tokens.
        //= rfc9000-17.2.2-1: a server's Initial has no token, and one that has is dropped
        let token = self.side.is_client() && !header.token.is_empty();
        // RFC 9000 section 9: servers answer from the address that was asked.
        //= rfc9000-9-5: a client drops packets from unknown server addresses
        let elsewhere = self.side.is_client()
            && self
                .paths
                .get(PathId::ZERO)
                .is_some_and(|path| path.tuples.current().remote != arrival.tuple.remote);
        !(undersized || stranger || token || elsewhere)
    }

    /// Whether a packet is of the version of the connection, or of one that it may have (RFC 9369 section 4.1).
    #[cold]
    fn fits_version(&mut self, space: SpaceId, header: &ProtectedHeader, packet: &[u8]) -> bool {
        let Some(version) = header.version else { return true };
        let state = &self.handshake.version;
        match space {
            SpaceId::Initial if self.handshake.initial_keys(version).is_some() => true,
            SpaceId::Initial => self.side.is_client() && self.try_version(version, header, packet),
            // One that may yet be that of the connection waits for its keys.
            SpaceId::Handshake | SpaceId::Path(_) => {
                version == state.current() || self.side.is_client() && state.may_become(version)
            }
        }
    }

    /// The client takes the server's version for its own if the packet opens with its keys. What TLS says later confirms it.
    #[cold]
    fn try_version(&mut self, version: Version, header: &ProtectedHeader, packet: &[u8]) -> bool {
        let Some(start) =
            self.ends.identity.client.as_ref().filter(|_| self.handshake.version.may_become(version))
        else {
            return false;
        };
        let destination = self.ends.identity.retry_source.unwrap_or(self.ends.identity.original_destination);
        let keys = start.crypto.initial_keys(version, &destination, Side::Client);
        let opens = keys.opens(header, packet, &mut Vec::new());
        if opens {
            self.handshake.switch_version(version, keys);
            self.trace_version(self.arrival.last_now);
        }
        opens
    }

    //= rfc9001-4.6.2-1: a server that rejects 0-RTT does not read it
    //= rfc9001-5.7-1: 1-RTT packets are not processed before the handshake is complete
    //= rfc9001-5.7-2: a server does not process 1-RTT packets before the handshake is complete
    //= rfc9001-5.7-3: a client does not process 1-RTT packets before the handshake is complete
    fn can_open(&self, space: SpaceId) -> bool {
        match space {
            SpaceId::Initial => self.handshake.initial.is_some(),
            SpaceId::Handshake => self.handshake.handshake.is_some(),
            // RFC 9001 section 5.7: a server waits for the client's Finished.
            SpaceId::Path(_) => self.handshake.one_rtt.is_some() && self.handshake.is_complete(),
        }
    }

    /// Whether keys for such a packet may still come.
    fn keys_may_come(&self, packet_type: PacketType, space: SpaceId) -> bool {
        match space {
            // The ClientHello may take several packets; when TLS has read it, there are keys for 1-RTT packets too.
            _ if packet_type == PacketType::ZeroRtt => self.handshake.one_rtt.is_none(),
            SpaceId::Initial => false,
            SpaceId::Handshake => self.handshake.one_rtt.is_none(),
            SpaceId::Path(_) => !self.handshake.is_complete(),
        }
    }

    //= rfc9000-12.2-6: a coalesced packet that does not open does not stop the others
    //= rfc9001-4.1.4-1: packets whose keys may come are kept
    #[cold]
    fn keep_early(&mut self, arrival: &Arrival, packet_type: PacketType, space: SpaceId, packet: &[u8]) {
        let length = packet.len();
        if self.keys_may_come(packet_type, space) && self.arrival.early.keep(arrival, packet) {
            if let Some(tracer) = &mut self.observed.tracer {
                tracer.packet_buffered(arrival.now, space, length);
            }
        } else {
            self.observed.stats.packets_dropped += 1;
            self.trace_dropped(arrival.now, (Some(space), None), length, "key_unavailable");
        }
    }

    //= rfc9000-13.2.5-2: ACK Delay includes the wait for keys
    fn retry_early_packets(&mut self) {
        if !self.arrival.early.are_ready() {
            return;
        }
        for early in self.arrival.early.take() {
            self.handle_coalesced(&early.arrival, early.packet, true);
        }
    }

    /// Removes header protection and decrypts, both in place; gives the packet back if that fails.
    //= rfc9001-5.5-2: a key update that does not open is dropped
    //= rfc9001-9.5-1: removing packet protection shows nothing by its time
    fn open(
        &mut self,
        space: SpaceId,
        header: &ProtectedHeader,
        mut packet: BytesMut,
    ) -> Result<Opened, BytesMut> {
        let offset = header.packet_number_offset;
        let initial = || self.handshake.initial_keys(header.version.unwrap_or_default());
        let header_key = match space {
            SpaceId::Initial => initial().map(|keys| &keys.header_remote),
            SpaceId::Handshake => self.handshake.handshake.as_ref().map(|level| &level.keys.header_remote),
            SpaceId::Path(_) => self.handshake.one_rtt.as_ref().map(|keys| &keys.header_remote),
        };
        let Some(header_key) = header_key else { return Err(packet) };
        header_key.unprotect(offset, &mut packet);
        let Some(plain) = PlainHeader::decode(&packet, header) else { return Err(packet) };
        let number = plain.packet_number.expand(self.largest_received(space));
        let (head, payload) = packet.split_at_mut(plain.payload_offset);
        let (opened, choice) = match space {
            SpaceId::Initial => {
                let Some(keys) = initial() else { return Err(packet) };
                (keys.packet.remote.open(0, number, head, payload), KeyChoice::Previous)
            }
            SpaceId::Handshake => {
                let Some(level) = self.handshake.long_level(space.level()) else { return Err(packet) };
                (level.keys.packet.remote.open(0, number, head, payload), KeyChoice::Previous)
            }
            SpaceId::Path(id) => {
                let first_of_phase = || self.paths.get(id).and_then(|path| path.key_phase.first_received());
                let Some(keys) = &self.handshake.one_rtt else { return Err(packet) };
                let choice = keys.choose(plain.key_phase, number, first_of_phase);
                (keys.open(choice, id.0, number, head, payload), choice)
            }
        };
        let Ok(length) = opened else { return Err(packet) };
        Ok(Opened {
            space,
            packet_type: header.packet_type,
            number,
            choice,
            reserved_bits_zero: plain.reserved_bits_zero,
            packet: packet.freeze(),
            payload: plain.payload_offset..plain.payload_offset + length,
        })
    }

    pub(super) fn largest_received(&self, space: SpaceId) -> Option<u64> {
        match space {
            SpaceId::Initial => {
                self.handshake.initial.as_ref().and_then(|level| level.space.received.largest())
            }
            SpaceId::Handshake => {
                self.handshake.handshake.as_ref().and_then(|level| level.space.received.largest())
            }
            SpaceId::Path(id) => self.paths.get(id).and_then(|path| path.space.received.largest()),
        }
    }

    /// A packet that no key opens: a stateless reset, or noise (RFC 9000 section 10.3.1).
    //= rfc9000-10.3.1-1: reset tokens are compared when a datagram fits no connection or does not open
    //= rfc9001-5.5-1: packets that do not open with this key or the next are dropped
    //= rfc9001-6.6-6: packets that fail authentication are counted
    //= rfc9001-6.6-7: beyond the integrity limit: AEAD_LIMIT_REACHED
    #[cold]
    fn on_unopened(&mut self, arrival: &Arrival, packet: &[u8]) {
        if self.paths.is_stateless_reset(packet) {
            self.on_stateless_reset(arrival.now);
            return;
        }
        self.observed.stats.packets_undecryptable += 1;
        self.trace_dropped(arrival.now, (None, None), packet.len(), "decryption_failure");
        let limit = self.handshake.one_rtt.as_ref().map(|keys| keys.integrity_limit());
        if limit.is_some_and(|limit| self.observed.stats.packets_undecryptable > limit) {
            let reason = "too many packets failed authentication";
            self.fail(arrival.now, TransportError::new(crate::Code::AEAD_LIMIT_REACHED, reason));
        }
    }

    fn on_opened(&mut self, arrival: &Arrival, header: &ProtectedHeader, opened: Opened) {
        let now = arrival.now;
        if !self.closing.is_open() {
            self.trace_received(now, || opened.traced(header));
            if let Some(path) = self.paths.get_mut(opened.space.path()) {
                path.heard_at = Some(now);
            }
            self.on_packet_while_closing(now, opened.space.path(), &opened.packet[opened.payload]);
            return;
        }
        if let Err(error) = self.process(arrival, header, &opened) {
            self.fail(now, error);
        }
    }

    fn process(
        &mut self,
        arrival: &Arrival,
        header: &ProtectedHeader,
        opened: &Opened,
    ) -> Result<(), TransportError> {
        let now = arrival.now;
        //= rfc9000-17.2-9: reserved bits of long headers that are not 0: PROTOCOL_VIOLATION
        //= rfc9000-17.3.1-3: reserved bits of short headers that are not 0: PROTOCOL_VIOLATION
        if !opened.reserved_bits_zero {
            return Err(TransportError::protocol_violation("reserved header bits are not zero"));
        }
        //= rfc9001-6.2-2: our keys are updated before the packet of the peer's update is acknowledged
        if opened.choice == KeyChoice::Next {
            self.on_peer_key_update(now)?;
        }
        let is_zero_rtt = opened.packet_type == PacketType::ZeroRtt;
        let path = match opened.space {
            SpaceId::Initial | SpaceId::Handshake => {
                self.on_long_packet(opened.space, header);
                None
            }
            SpaceId::Path(id) => {
                if !self.ensure_path(now, id, arrival) {
                    return Ok(());
                }
                if is_zero_rtt {
                    self.check_zero_rtt_number(opened.number)?;
                    None
                } else {
                    self.paths.note_cid(header.destination_cid, id);
                    Some(id)
                }
            }
        };
        let Some(received) = self.received_mut(opened.space) else { return Ok(()) };
        //= rfc9000-12.3-4: duplicates are dropped
        //= rfc9000-12.3-5: duplicates are dropped after the protection was removed
        if received.contains(opened.number) {
            self.observed.stats.packets_duplicate += 1;
            let which = (Some(opened.space), Some(opened.number));
            self.trace_dropped(now, which, opened.packet.len(), "duplicate");
            return Ok(());
        }
        self.shares.work.earn_packet(opened.packet.len());
        let after_pause = self.note_heard(now, opened);
        self.trace_received(now, || opened.traced(header));
        self.idle.on_received(now);
        self.arrival.arrived_on = header.destination_cid;
        let summary =
            self.on_frames(arrival, opened.space, opened.packet_type, &opened.packet, opened.payload.clone());
        self.shares.work.charge(self.streams.take_work());
        if !self.shares.work.is_tolerable(now) {
            let reason = "what arrives costs more than it is worth, again and again";
            return Err(TransportError::new(crate::Code::INTERNAL_ERROR, reason));
        }
        //= rfc9000-5.2-1: a packet with an error closes the connection, and what its frames did shows
        let summary = summary?;
        if self.streams.take_refused() {
            self.observed.stats.packets_refused += 1;
            return Ok(());
        }
        //= rfc9000-13.1-1: a packet is acknowledged when its frames were processed
        self.acknowledge_later(arrival, opened.space, opened.number, summary.ack_eliciting);
        // Before the handshake is confirmed nobody moves (RFC 9000 section 9).
        if let Some(id) = path {
            self.on_path_packet(arrival, id, opened.number, summary.probing_only);
            if self.paths.get(id).is_some_and(|path| path.recovery.may_have_returned(now, after_pause)) {
                self.probe_when_heard(now, id);
            }
        }
        Ok(())
    }

    /// What the receipt of a packet with long header proves.
    //= rfc9001-4.9.1-1: Initial keys go once the client sends, the server reads a Handshake packet
    #[cold]
    fn on_long_packet(&mut self, space: SpaceId, header: &ProtectedHeader) {
        if self.side.is_client() {
            // RFC 9000 section 7.2: the client adopts the server's connection id from its first Initial.
            self.adopt_server_cid(header.source_cid);
        } else if space == SpaceId::Handshake {
            // RFC 9000 section 8.1: a peer with Handshake keys saw our Initial packets.
            if let Some(path) = self.paths.get_mut(PathId::ZERO) {
                path.tuples.on_handshake_validated();
            }
            self.discard_initial();
        }
    }

    /// An authentic packet came over a path, and is no duplicate: who saw one can send it again. Those of the phase before say nothing of where this one began.
    /// Returns whether nothing had come for a probe timeout.
    #[inline]
    fn note_heard(&mut self, now: Time, opened: &Opened) -> bool {
        let Some(path) = self.paths.get_mut(opened.space.path()) else { return false };
        let returned = path.heard_at.is_some_and(|at| at + path.recovery.probe_timeout() < now);
        path.heard_at = Some(now);
        path.acks_leave_on = None;
        let (id, is_suspect) = (path.id, path.life() == LifeCycle::Suspect);
        if opened.choice != KeyChoice::Previous && path.key_phase.on_received(opened.number) {
            self.on_key_phase_received(now);
        }
        if returned && self.paths.len() > 1 && self.streams.awaits_data() {
            self.repeat_acknowledgements(now, id);
        }
        // Data relies on a new round trip only.
        if is_suspect {
            self.on_heard_again(now, id);
        }
        returned
    }

    /// The first packet of the present key phase on a path.
    #[cold]
    fn on_key_phase_received(&mut self, now: Time) {
        let three_pto = self.three_pto();
        if let Some(keys) = &mut self.handshake.one_rtt {
            keys.on_received(now, three_pto);
        }
        self.zero_rtt.on_one_rtt(now, three_pto);
    }

    //= rfc9001-6.2-1: a key update of the peer updates our keys
    #[cold]
    fn on_peer_key_update(&mut self, now: Time) -> Result<(), TransportError> {
        if !self.handshake.is_complete() {
            return Err(TransportError::new(
                crate::Code::KEY_UPDATE_ERROR,
                "key update before the handshake completed",
            ));
        }
        self.roll_keys(now)?;
        self.trace_key_update(now, "remote_update");
        Ok(())
    }

    //= rfc9000-17.2.5.2-5: after a Retry the client keeps its source connection id
    #[cold]
    fn on_retry(&mut self, retry: &Retry<'_>, packet: &[u8]) {
        // RFC 9000 section 17.2.5.2: once, before anything else was received, with a new connection id.
        //= rfc9000-17.2.5.1-2: a Retry whose source is the client's own destination is dropped
        //= rfc9000-17.2.5.2-1: a client accepts one Retry for a connection
        //= rfc9000-17.2.5.2-2: a client drops a Retry after an Initial or another Retry
        let usable = self.side == Side::Client
            && self.ends.identity.retry_source.is_none()
            && self.ends.identity.server_source.is_none()
            // RFC 9369 section 4.1: in the version of what it answers.
            && retry.version == self.handshake.version.current()
            && retry.source_cid != self.ends.identity.original_destination;
        let Some(factory) =
            self.ends.identity.client.as_ref().filter(|_| usable).map(|start| start.crypto.clone())
        else {
            return;
        };
        //= rfc9000-17.2.5.2-3: a Retry with a wrong integrity tag is dropped
        if !factory.is_valid_retry(retry.version, &self.ends.identity.original_destination, packet) {
            self.observed.stats.packets_dropped += 1;
            return;
        }
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.retry_received(self.arrival.last_now, retry.version, &retry.source_cid, packet.len());
        }
        //= rfc9000-8.1.2-1: the token of a Retry is in all Initial packets that follow
        //= rfc9000-8.1.3-8: a Retry token is used at once
        self.ends.identity.token = retry.token.to_vec();
        self.ends.identity.retry_source = Some(retry.source_cid);
        //= rfc9000-7.2-4: the destination connection id changes with the first Initial or Retry only
        //= rfc9000-17.2.5.1-3: the client sends to the source connection id of the Retry
        self.set_handshake_remote_cid(retry.source_cid);
        let keys = factory.initial_keys(retry.version, &retry.source_cid, Side::Client);
        self.restart_initial(keys);
    }

    //= rfc9000-6.2-1: a client abandons the connection attempt on Version Negotiation
    //= rfc9000-6.2-2: Version Negotiation is dropped once another packet was processed
    //= rfc9000-6.2-3: Version Negotiation is dropped if it lists the version in use
    #[cold]
    fn on_version_negotiation(
        &mut self,
        now: Time,
        negotiation: &hawser_wire::packet::VersionNegotiation<'_>,
    ) {
        // RFC 9000 section 6.2: only as the first answer.
        let first = self.side.is_client()
            && self.ends.identity.server_source.is_none()
            && self.ends.identity.retry_source.is_none();
        // RFC 8999 section 6: it must come from where our first packet went.
        let ours = negotiation.source_cid == self.ends.identity.original_destination.as_bytes();
        if !first || !ours {
            return;
        }
        match self.handshake.version.on_negotiation(negotiation.versions()) {
            None => {}
            Some(Ok(version)) => {
                self.trace_version(now);
                if let Err(error) = self.begin_anew(version) {
                    self.fail(now, error);
                }
            }
            Some(Err(theirs)) => {
                let ours = self.handshake.version.ours().clone();
                self.terminate(now, ConnectionError::VersionMismatch { ours, theirs });
            }
        }
    }
}
