//! From a plan to sealed datagrams, written in place.

use std::ops::ControlFlow;

use hawser_policy::{Assignment, LimitedBy, PathId, Selection, Tag, Time};
use hawser_wire::packet::{
    EncodedHeader, LongHeader, LongPacketType, MIN_INITIAL_DATAGRAM_LEN, ShortHeader, TruncatedPacketNumber,
};
use hawser_wire::writer::Writer;

use super::Connection;
use super::arrival::SpaceId;
use super::contents::Contents;
use super::frames::SentFrames;
use super::packet_room::{MIN_LONG_ROOM, reserve};
use super::paths::life_cycle::LifeCycle;
use super::paths::path::Path;
use super::plan::Plan;
use super::recovery::{DeliveryState, PacketKind, SentPacket};
use super::trace::packet::TracedPacket;
use crate::FourTuple;
use crate::crypto::Level;
use crate::endpoint::Transmit;

/// Plans that may produce no packet in one call; a bound against a plan that never clears its cause.
const MAX_ATTEMPTS: usize = 64;

/// Clears the fixed bit of a first byte (RFC 9287).
const FIXED_BIT: u8 = 0x40;

/// Bytes that a packet has beyond the length of our connection ids: a peer that lost its state answers it with a stateless
/// reset that is shorter, and looks like a packet to us (RFC 9000 section 10.3).
const BYTES_BESIDE_CID: usize = 22;

/// A packet with so much payload is long enough for a sample, and beyond the longest connection id and those bytes.
const AMPLE_PAYLOAD: usize = 64;

/// The largest UDP payload over IPv4. A batch is one message to the kernel, however many datagrams it is cut into: more
/// would need a second, much smaller one.
const MAX_BATCH_BYTES: usize = 65_507;

impl Connection {
    /// Writes the next datagrams into `buffer` and says where they go; `None` when there is nothing to send now.
    ///
    /// All datagrams of one call share a 4-tuple and, but for the last, a size. The buffer grows to what a batch
    /// needs and is never cleared: only its first [`Transmit::size`] bytes have meaning.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.arrival.last_now = now;
        self.check_key_limits(now);
        self.check_memory(now);
        self.streams.expire(now);
        self.extensions.datagrams.expire(now);
        let (paths, initial_rtt, memory) = (&self.paths, self.transport.initial_rtt, &self.shares.memory);
        let limits = || (paths.largest_rtt().unwrap_or(initial_rtt), memory.largest_window());
        self.streams.update_windows(now, limits);
        for _ in 0..MAX_ATTEMPTS {
            if let ControlFlow::Break(transmit) = self.attempt(now, buffer) {
                return transmit;
            }
        }
        None
    }

    /// Carries out one plan; continues if that came to nothing. Apart, so that the loop around it, which is nearly never
    /// run through twice, does not have all that a plan looks at laid out in advance.
    #[inline(never)]
    fn attempt(&mut self, now: Time, buffer: &mut Vec<u8>) -> ControlFlow<Option<Transmit>> {
        let Some(plan) = self.plan(now) else {
            let (policies, targets) = self.split_policies(now);
            policies.on_stopped(targets);
            return ControlFlow::Break(None);
        };
        match self.execute(now, plan, buffer) {
            Some((path, transmit)) => {
                self.account(path, &transmit);
                self.trace_path(now, path);
                ControlFlow::Break(Some(transmit))
            }
            None => ControlFlow::Continue(()),
        }
    }

    // The last of the calls after each event finds nothing to send, and does without the large frame of this.
    #[inline(never)]
    fn execute(&mut self, now: Time, plan: Plan, buffer: &mut Vec<u8>) -> Option<(PathId, Transmit)> {
        if let Some(log) = &mut self.observed.send_log {
            log.begin_batch();
        }
        match plan {
            Plan::Close => self.build_close(now, buffer),
            Plan::Handshake => self.build_handshake(now, buffer),
            Plan::Validation(id, tuple) => self.build_validation(now, id, tuple, buffer),
            Plan::Probe(id) => self.build_probe(now, id, buffer),
            Plan::MtuProbe(id, size) => self.build_mtu_probe(now, id, size, buffer),
            Plan::Control(id) => self.build_single(now, id, Contents::CONTROL, None, buffer),
            Plan::Repair(id) => {
                let contents =
                    Contents { control: false, data: Some(Selection::Repair), ..Contents::CONTROL };
                self.build_single(now, id, contents, None, buffer)
            }
            Plan::Data(assignment) => self.build_data(now, &assignment, buffer),
        }
    }

    //= rfc9002-6.2.4-1: a probe timeout sends an ack-eliciting packet
    //= rfc9002-6.2.4-2: all probes are ack-eliciting
    #[cold]
    fn build_probe(&mut self, now: Time, id: PathId, buffer: &mut Vec<u8>) -> Option<(PathId, Transmit)> {
        // Where there is another path, that takes the data. A silent one then gets nothing that would have to be sent
        // again: a PING asks whether it is still there. But where no window has room, nothing else may ever move: a peer that
        // waits for credit, and whose acknowledgements are lost, must get it in a probe; and data if no path answers.
        let alone = !self.has_alternative(id);
        let suspect = self.paths.get(id).is_some_and(|path| path.suspect.is_some());
        let control = alone || (!suspect && self.control_path().is_none());
        let data = (alone || (control && self.is_no_path_answering())).then_some(Selection::Next);
        let acks = alone || !suspect;
        let contents = Contents {
            acks,
            control,
            data,
            ping: true,
            is_probe: true,
            is_urgent: suspect,
            ..Contents::CONTROL
        };
        let built = self.build_single(now, id, contents, None, buffer);
        if let Some(path) = self.paths.get_mut(id) {
            path.probes = path.probes.saturating_sub(1);
        }
        built
    }

    /// Whether each path in use has waited for a probe timeout without an answer.
    fn is_no_path_answering(&self) -> bool {
        let mut in_use = self.paths.iter().filter(|path| path.life() == LifeCycle::Active);
        in_use.all(|path| path.recovery.pto_count() > 0)
    }

    #[cold]
    fn build_mtu_probe(
        &mut self,
        now: Time,
        id: PathId,
        size: u16,
        buffer: &mut Vec<u8>,
    ) -> Option<(PathId, Transmit)> {
        let contents = Contents {
            acks: false,
            control: false,
            ping: true,
            pad: true,
            kind: PacketKind::MtuProbe,
            ..Contents::CONTROL
        };
        self.build_single(now, id, contents, Some(size), buffer)
    }

    /// One 1-RTT datagram on the current 4-tuple of a path.
    fn build_single(
        &mut self,
        now: Time,
        id: PathId,
        contents: Contents,
        size: Option<u16>,
        buffer: &mut Vec<u8>,
    ) -> Option<(PathId, Transmit)> {
        let path = self.paths.get(id)?;
        let size = usize::from(size.unwrap_or(path.mtu.current())).min(path.amplification_room());
        let tuple = path.tuples.current();
        let contents = Contents { ecn: path.recovery.ecn_mark(), ..contents };
        reserve(buffer, size);
        let length = self.build_packet(now, id, &mut buffer[..size], &contents)?;
        Some((id, Transmit { tuple, ecn: contents.ecn, size: length, segment_size: None }))
    }

    /// A batch of datagrams with data.
    //= rfc9000-14.2-3: packets fit the datagram size that is known
    //= rfc9002-7-2: no more in flight than the window, probes aside
    fn build_data(
        &mut self,
        now: Time,
        assignment: &Assignment,
        buffer: &mut Vec<u8>,
    ) -> Option<(PathId, Transmit)> {
        let id = assignment.path;
        let can_send =
            |path: &Path| path.life().can_send() && path.amplification_room() >= path.mtu.current().into();
        let Some(path) = self.paths.get_mut(id).filter(|path| can_send(path)) else {
            self.on_unwritten(now, assignment);
            return None;
        };
        let has_timed_out = path.recovery.pto_count() > 0;
        let most =
            if path.batches.allowed(now, has_timed_out) { self.transport.max_batch_segments } else { 1 };
        let mut size = usize::from(path.mtu.current());
        if self.extensions.repair.sender.is_some() && assignment.selection != Selection::Repair {
            size = self.protected_size(id, size);
        }
        let path = self.paths.get(id)?;
        let tuple = path.tuples.current();
        let first = path.space.end();
        let granted = path.recovery.window_left().min(path.recovery.pacing_budget(now));
        let granted = granted.min(path.amplification_room() as u64);
        let segments = granted
            .min(assignment.max_bytes.max(size as u64))
            .div_ceil(size as u64)
            .min((granted / size as u64).max(1))
            .min(most as u64)
            .min((MAX_BATCH_BYTES / size).max(1) as u64) as usize;
        // One system call sends the batch, with one mark for all of it. ECN validation may end its test in between.
        let ecn = path.recovery.ecn_mark();
        reserve(buffer, segments * size);
        let mut contents = Contents {
            data: Some(assignment.selection),
            tag: assignment.tag,
            copies: assignment.copies,
            ecn,
            ..Contents::CONTROL
        };
        let mut total = 0;
        for (index, segment) in buffer[..segments * size].chunks_exact_mut(size).enumerate() {
            if index > 0 {
                // Nothing turns up while a batch is built, and looking for it would cost every packet.
                (contents.acks, contents.control) = (false, contents.control && self.has_control());
            }
            let Some(length) = self.build_packet(now, id, segment, &contents) else { break };
            total += length;
            if length < size {
                break;
            }
            if let Some(log) = &mut self.observed.send_log {
                log.next_segment();
            }
        }
        if total == 0 {
            self.on_unwritten(now, assignment);
            return None;
        }
        let is_batch = total > size;
        if is_batch && let Some(path) = self.paths.get_mut(id) {
            path.batches.on_sent(first..path.space.end());
        }
        Some((id, Transmit { tuple, ecn, size: total, segment_size: is_batch.then_some(size) }))
    }

    #[cold]
    fn on_unwritten(&mut self, now: Time, assignment: &Assignment) {
        let (policies, targets) = self.split_policies(now);
        policies.on_unwritten(assignment, &targets);
    }

    //= multipath-3.1-6: a path carries 1200 bytes
    //= rfc9000-8.2.1-4: PATH_CHALLENGE is in 1200 bytes if the amplification limit allows
    //= rfc9000-8.2.2-5: datagrams with PATH_RESPONSE have 1200 bytes
    //= rfc9000-9.3.3-2: PATH_CHALLENGE on a path in use is answered with a non-probing packet
    //= rfc9000-13.2.7-1: PADDING alone does not stay unacknowledged indefinitely
    #[cold]
    fn build_validation(
        &mut self,
        now: Time,
        id: PathId,
        tuple: FourTuple,
        buffer: &mut Vec<u8>,
    ) -> Option<(PathId, Transmit)> {
        let path = self.paths.get(id)?;
        // RFC 9000 section 8.2.1: full size, unless the anti-amplification limit forbids it.
        let room = usize::try_from(path.validation_room(tuple)).unwrap_or(usize::MAX);
        let size = MIN_INITIAL_DATAGRAM_LEN.min(room);
        let full_size = size == MIN_INITIAL_DATAGRAM_LEN;
        reserve(buffer, size);
        let control = tuple == path.tuples.current() && path.life() == LifeCycle::Active;
        let contents = Contents {
            acks: control,
            control,
            validation: Some(tuple),
            full_size,
            pad: full_size,
            // RFC 9000 section 9.3.3: on a path in use the answer draws an acknowledgement, so that an attacker who
            // merely copies packets is found out.
            ping: control,
            kind: PacketKind::PathProbe,
            ..Contents::CONTROL
        };
        let length = self.build_one_rtt(now, id, &mut buffer[..size], &contents)?;
        Some((id, Transmit { tuple, ecn: None, size: length, segment_size: None }))
    }

    /// Builds one 1-RTT packet, or a client's 0-RTT packet while there are no keys for others, at the start of `out`;
    /// `None` if there was nothing to put into it.
    #[inline]
    fn build_packet(&mut self, now: Time, id: PathId, out: &mut [u8], contents: &Contents) -> Option<usize> {
        match self.handshake.one_rtt.is_some() {
            true => self.build_one_rtt(now, id, out, contents),
            false => self.build_zero_rtt(now, id, out, contents),
        }
    }

    /// What a short packet of `written` bytes lacks for the sample of header protection (RFC 9001 section 5.4.2), or to be
    /// answered with a stateless reset.
    #[inline(never)]
    fn padding(&self, header: &EncodedHeader, written: usize, room: usize, tag_length: usize) -> usize {
        let least = self.ends.identity.local_cid.len() + BYTES_BESIDE_CID;
        let short_of = least.saturating_sub(written + tag_length).min(room);
        header.padding_for_sample(written - header.payload_offset, tag_length).max(short_of)
    }

    //= rfc9000-10.3-3: packets are 22 bytes longer than the connection ids that the peer asks for
    //= rfc9000-12.4-1: packets hold one frame at least
    //= rfc9000-17.2.3-3: no 0-RTT once 1-RTT packets are processed
    //= rfc9000-17.4-1: an endpoint that does not support the spin bit disables it
    //= rfc9000-17.4-5: a disabled spin bit is random when sent
    //= rfc9001-5.6-4: servers send nothing with 0-RTT keys
    //= rfc9001-5.6-6: no 0-RTT after the 1-RTT keys came
    fn build_one_rtt(&mut self, now: Time, id: PathId, out: &mut [u8], contents: &Contents) -> Option<usize> {
        let keys = self.handshake.one_rtt.as_ref()?;
        let (tag_length, key_phase) = (keys.tag_length(), keys.phase());
        let destination_cid = self.paths.remote_cid(id, contents.validation.as_ref())?;
        let random = self.next_random();
        let path = self.paths.get_mut(id)?;
        // Challenges and answers may go to other addresses than those in use.
        let tuple_generation = match contents.validation {
            None => path.tuples.generation(),
            Some(tuple) => path.tuples.generation_of(tuple),
        };
        let number = path.space.next_packet_number(random);
        let is_answered = path.recovery.outstanding_since().is_some() && path.recovery.pto_count() == 0;
        let truncated = path.recovery.truncate(&path.space, number);
        let room = out.len().checked_sub(tag_length)?;
        let mut w = Writer::new(&mut out[..room]);
        let header = ShortHeader { destination_cid, spin: spin_of(random), key_phase }
            .encode(&mut w, truncated)
            .ok()?;

        let mut frames = SentFrames::new();
        let filled = self.fill(now, id, &mut w, &mut frames, contents);
        if w.position() == header.payload_offset {
            return None;
        }
        let payload_length = w.position() - header.payload_offset;
        if payload_length < AMPLE_PAYLOAD || contents.pad {
            let padding = match contents.pad {
                true => w.remaining(),
                false => self.padding(&header, w.position(), w.remaining(), tag_length),
            };
            w.write_zeros(padding).ok()?;
        }
        let length = w.position() + tag_length;

        let packet = &mut out[..length];
        // RFC 9287 section 3.1: an unpredictable fixed bit keeps middleboxes from relying on it. The top bit of the
        // random number decides nothing else. Packets that find out whether the peer is there keep the bit: without it
        // a peer that lost its state may not know them for QUIC, and not answer with a reset.
        let greases = self.ends.peer.grease_quic_bit && self.transport.grease && is_answered;
        if greases && random >> 63 == 1 {
            packet[0] &= !FIXED_BIT;
        }
        if let Some(tracer) = &mut self.observed.tracer {
            let payload = &packet[header.payload_offset..length - tag_length];
            let (space, destination) = (SpaceId::Path(id), destination_cid);
            let traced = TracedPacket { space, number, destination, long: None, length, payload };
            tracer.packet_sent(now, &traced, contents.kind);
        }
        let keys = self.handshake.one_rtt.as_mut()?;
        keys.local().seal(id.0, number, packet, header.payload_offset);
        keys.header_local.protect(header.packet_number_offset, packet);

        if contents.kind == PacketKind::MtuProbe
            && let Some(path) = self.paths.get_mut(id)
        {
            path.mtu.on_probe_sent(number);
        }
        // Before the packet is made: it need not be moved then.
        self.queue_copies(&frames, id, contents.copies);
        if self.extensions.repair.sender.as_ref().is_some_and(|sender| sender.has_fresh()) {
            self.protect_written(now, id);
        }
        let packet = SentPacket {
            packet_number: number,
            sent_at: now,
            bytes: length as u16,
            ack_eliciting: filled.ack_eliciting,
            in_flight: filled.ack_eliciting || contents.pad,
            kind: contents.kind,
            ecn_marked: contents.ecn.is_some(),
            resent: false,
            tuple_generation,
            delivery: DeliveryState::default(),
            limited_by: LimitedBy::Nothing,
            tag: contents.tag,
            frames,
        };
        self.on_sent(now, SpaceId::Path(id), packet);
        Some(length)
    }

    /// Initial and Handshake packets in one datagram.
    //= rfc9000-6-1: the first datagram fits all versions of the client
    //= rfc9000-12.2-3: the packets of a datagram have the same destination connection id
    #[cold]
    fn build_handshake(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<(PathId, Transmit)> {
        let path = self.paths.get(PathId::ZERO)?;
        let tuple = path.tuples.current();
        //= rfc9000-8.1-1: before validation a server sends a client three times what came from it
        let limit = usize::from(path.mtu.current()).min(path.amplification_room());
        reserve(buffer, limit);
        let handshake_follows = self.handshake_due(Level::Handshake, limit);
        let is_client = self.side.is_client();
        let (mut total, mut least) = (0, 0);
        if self.handshake_due(Level::Initial, limit) {
            // RFC 9000 section 14.1. A server's acknowledgement alone is never acknowledged: padded, it would count as in flight until the
            // handshake ends. The Handshake packet that follows fills the datagram up, if there is room for one.
            //= rfc9000-8.1-3: a client's datagrams with Initial packets have 1200 bytes
            //= rfc9000-14.1-1: a client's datagrams with Initial packets have 1200 bytes
            //= rfc9000-14.1-2: a server's datagrams with ack-eliciting Initial packets have 1200 bytes
            //= rfc9001-9.3-1: the packet of a ClientHello is padded
            let pad = |length: usize, ack_eliciting: bool| {
                let fits = limit.saturating_sub(length) >= MIN_LONG_ROOM;
                least = if is_client || ack_eliciting { MIN_INITIAL_DATAGRAM_LEN } else { 0 };
                if handshake_follows && fits { 0 } else { least }
            };
            total = self.build_long(now, Level::Initial, &mut buffer[..limit], pad).unwrap_or(0);
        }
        //= rfc9001-4-2: packets of several levels share a datagram
        if handshake_follows && limit - total >= MIN_LONG_ROOM {
            let rest = least.saturating_sub(total);
            let out = &mut buffer[total..limit];
            total += self.build_long(now, Level::Handshake, out, |_, _| rest).unwrap_or(0);
        }
        if total == 0 {
            return None;
        }
        if self.side.is_client()
            && self.handshake.handshake.as_ref().is_some_and(|level| level.space.end() > 0)
        {
            //= rfc9001-4.9.1-1: Initial keys go once the client sends, the server reads a Handshake packet
            self.discard_initial();
        }
        Some((PathId::ZERO, Transmit { tuple, ecn: None, size: total, segment_size: None }))
    }

    /// Builds one Initial or Handshake packet at the start of `out`, padded to as many bytes as `pad` says for its length and for
    /// whether it is ack-eliciting.
    //= rfc9000-8.1.2-1: the token of a Retry is in all Initial packets that follow
    //= rfc9000-8.1.3-1: a client's token is in all its Initial packets
    fn build_long(
        &mut self,
        now: Time,
        level: Level,
        out: &mut [u8],
        pad: impl FnMut(usize, bool) -> usize,
    ) -> Option<usize> {
        let destination_cid = self.paths.remote_cid(PathId::ZERO, None)?;
        let source_cid = self.ends.identity.local_cid;
        let token = std::mem::take(&mut self.ends.identity.token);
        let packet_type = match level {
            Level::Initial => LongPacketType::Initial { token: &token },
            _ => LongPacketType::Handshake,
        };
        let version = self.handshake.version.current();
        let header = LongHeader { version, packet_type, destination_cid, source_cid };
        let built = self.build_long_with(now, level, &header, out, pad);
        self.ends.identity.token = token;
        built
    }

    //= rfc9000-12.2-2: frames of a level share a packet
    fn build_long_with(
        &mut self,
        now: Time,
        level: Level,
        header: &LongHeader<'_>,
        out: &mut [u8],
        mut pad: impl FnMut(usize, bool) -> usize,
    ) -> Option<usize> {
        let random = self.next_random();
        let tuple_generation = self.paths.get(PathId::ZERO)?.tuples.generation();
        let long = self.handshake.long_level(level)?;
        let tag_length = long.packet_local().tag_length();
        let number = long.space.next_packet_number(random);
        let truncated = TruncatedPacketNumber::new(number, long.space.largest_acked());
        let room = out.len().checked_sub(tag_length)?;
        let mut w = Writer::new(&mut out[..room]);
        let encoded = header.encode(&mut w, truncated).ok()?;
        let mut frames = SentFrames::new();
        let ack_eliciting = super::frames_out::fill_long(now, long, &mut w, &mut frames);
        if w.position() == encoded.payload_offset {
            return None;
        }
        let payload_length = w.position() - encoded.payload_offset;
        let length = w.position() + tag_length;
        let short_of = pad(length, ack_eliciting).saturating_sub(length);
        w.write_zeros(
            short_of.max(encoded.padding_for_sample(payload_length, tag_length)).min(w.remaining()),
        )
        .ok()?;
        encoded.finish(&mut w, tag_length).ok()?;
        let length = w.position() + tag_length;
        let packet = &mut out[..length];
        let space = if level == Level::Initial { SpaceId::Initial } else { SpaceId::Handshake };
        if let Some(tracer) = &mut self.observed.tracer {
            let payload = &packet[encoded.payload_offset..length - tag_length];
            let (destination, long) = (header.destination_cid, Some((header.version, header.source_cid)));
            let traced = TracedPacket { space, number, destination, long, length, payload };
            tracer.packet_sent(now, &traced, PacketKind::Normal);
        }
        long.packet_local().seal(0, number, packet, encoded.payload_offset);
        long.header_local().protect(encoded.packet_number_offset, packet);
        let packet = SentPacket {
            packet_number: number,
            sent_at: now,
            bytes: length as u16,
            ack_eliciting,
            in_flight: ack_eliciting || short_of > 0,
            kind: PacketKind::Normal,
            ecn_marked: false,
            resent: false,
            tuple_generation,
            delivery: DeliveryState::default(),
            limited_by: LimitedBy::Nothing,
            tag: Tag(0),
            frames,
        };
        self.on_sent(now, space, packet);
        Some(length)
    }

    fn account(&mut self, id: PathId, transmit: &Transmit) {
        let datagrams = transmit.segment_size.map_or(1, |size| transmit.size.div_ceil(size)) as u64;
        self.observed.stats.datagrams_sent += datagrams;
        self.observed.stats.bytes_sent += transmit.size as u64;
        self.observed.stats.batches_sent += 1;
        if let Some(path) = self.paths.get_mut(id) {
            path.traffic.datagrams_sent += datagrams;
            path.traffic.bytes_sent += transmit.size as u64;
            path.tuples.on_sent(transmit.tuple, transmit.size);
        }
    }
}

/// RFC 9000 section 17.4: we do not measure with the spin bit, so it is random. The highest bit of the random number is
/// taken for the fixed bit, the low ones decide about packet numbers.
pub(super) fn spin_of(random: u64) -> bool {
    random >> 62 & 1 == 1
}
