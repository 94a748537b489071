//! The end: CONNECTION_CLOSE, and what is still answered after it (RFC 9000 section 10).

use std::cmp::Reverse;

use bytes::Bytes;
use hawser_policy::{PathId, Side, Time};
use hawser_wire::Writer;
use hawser_wire::frame::{ConnectionClose, Frame};
use hawser_wire::packet::{LongHeader, LongPacketType, ShortHeader, TruncatedPacketNumber};

use super::Connection;
use super::arrival::SpaceId;
use super::build::spin_of;
use super::close::{CloseReason, MAX_REASON_LENGTH, for_peer, local_error};
use super::packet_room::reserve;
use super::paths::life_cycle::LifeCycle;
use super::recovery::PacketKind;
use super::trace::packet::TracedPacket;
use crate::crypto::Level;
use crate::endpoint::Transmit;
use crate::{Code, ConnectionError, MAX_APPLICATION_CODE, TransportError};

impl Connection {
    /// Closes the connection. What was written and not yet sent is dropped; wait for the streams to be acknowledged
    /// first if it matters. A code above [`MAX_APPLICATION_CODE`] is sent as that one.
    pub fn close(&mut self, now: Time, code: u64, reason: Bytes) {
        let code = code.min(MAX_APPLICATION_CODE);
        self.end(now, CloseReason::Application { code, reason });
    }

    /// Closes because no link may carry its packets any more, as the path manager decided: NO_VIABLE_PATH (RFC 9000 section
    /// 20.1).
    pub fn close_without_path(&mut self, now: Time) {
        self.fail(now, TransportError::new(Code::NO_VIABLE_PATH, "no link may be used any more"));
    }

    /// Closes if it is the one that holds too much of what the endpoint may hold unread.
    #[inline]
    pub(super) fn check_memory(&mut self, now: Time) {
        if self.shares.send_memory.update(self.streams.buffered()) {
            self.update_send_buffer();
        }
        if self.shares.memory.update(self.streams.unread() + self.extensions.datagrams.received_cost()) {
            self.fail(now, TransportError::new(Code::INTERNAL_ERROR, "no memory for what nobody reads"));
            self.streams.release_received();
            self.shares.memory.give_back();
        }
    }

    /// Closes because of an error.
    //= rfc9000-10.3-1: an endpoint that has the keys closes with CONNECTION_CLOSE, not with a reset
    //= rfc9000-11-1: errors are reported to the peer
    pub(super) fn fail(&mut self, now: Time, error: TransportError) {
        self.end(now, CloseReason::Transport(error));
    }

    fn end(&mut self, now: Time, reason: CloseReason) {
        if !self.closing.is_open() {
            return;
        }
        let three_pto = self.three_pto();
        self.trace_closed_locally(now, &reason);
        self.outbox.events.close(local_error(&reason));
        let reason = for_peer(reason, self.side);
        let due = self.closing_paths();
        self.closing.close(now, three_pto, reason, due);
    }

    /// Where CONNECTION_CLOSE is sent unasked: on all paths that are in use, so that it arrives as soon as the quickest of them
    /// brings it and is lost only if all of them lose it. The one where the peer is most likely to hear it comes last, to be
    /// taken first.
    fn closing_paths(&self) -> Vec<PathId> {
        let Some(best) = self.best_heard() else { return Vec::new() };
        let in_use = self.paths.iter().filter(|path| path.life() == LifeCycle::Active && path.can_transmit());
        let others = in_use.map(|path| path.id).filter(|id| *id != best && self.handshake.is_complete());
        others.chain([best]).collect()
    }

    /// Where the peer was heard last it is most likely to hear.
    fn best_heard(&self) -> Option<PathId> {
        let usable = self.paths.iter().filter(|path| path.can_transmit());
        let best =
            usable.max_by_key(|path| (path.life() == LifeCycle::Active, path.heard_at, Reverse(path.id)))?;
        Some(best.id)
    }

    //= rfc9000-10.3.1-4: a stateless reset ends all sending
    #[cold]
    pub(super) fn on_stateless_reset(&mut self, now: Time) {
        if self.closing.is_open() {
            self.trace_closed(now, &ConnectionError::Reset, "draining");
            self.outbox.events.close(ConnectionError::Reset);
        }
        let three_pto = self.three_pto();
        self.closing.drain(now, three_pto, false);
    }

    /// A packet arrived after we closed: answer, now and then, or stop if the peer closes too (RFC 9000 section 10.2).
    #[cold]
    pub(super) fn on_packet_while_closing(&mut self, now: Time, path: PathId, payload: &[u8]) {
        let closes = hawser_wire::frame::FrameIter::new(payload)
            .any(|frame| matches!(frame, Ok(Frame::ConnectionClose(_))));
        if closes {
            let three_pto = self.three_pto();
            self.closing.drain(now, three_pto, false);
        } else {
            self.closing.on_packet(path);
        }
    }

    /// CONNECTION_CLOSE in a packet of each level that the peer may be able to read (RFC 9000 section 10.2.3).
    //= rfc9000-10.2.1-3: addresses that are not validated get three times at most, also while closing
    //= rfc9000-10.2.3-1: after the handshake CONNECTION_CLOSE is in a 1-RTT packet
    //= rfc9000-10.2.3-2: a server closes in Handshake and Initial packets
    //= rfc9000-10.2.3-3: before the handshake is confirmed a close is in Handshake and 1-RTT packets
    //= rfc9000-10.2.3-4: before the handshake is confirmed a server closes in an Initial packet, too
    //= rfc9000-11.1-1: errors of the connection: CONNECTION_CLOSE
    #[cold]
    pub(super) fn build_close(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<(PathId, Transmit)> {
        let (reason, wanted) = self.closing.take_pending()?;
        let usable = |id: &PathId| self.paths.get(*id).is_some_and(|path| path.can_transmit());
        let id = wanted.filter(usable).or_else(|| self.best_heard())?;
        let path = self.paths.get(id)?;
        let tuple = path.tuples.current();
        let limit = usize::from(path.mtu.current()).min(path.amplification_room());
        reserve(buffer, limit);
        let mut total = 0;
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            let last = level == Level::OneRtt;
            let wanted = !last || self.handshake.is_complete() || self.side == Side::Server;
            if wanted
                && let Some(length) = self.build_close_at(now, id, level, &reason, &mut buffer[total..limit])
            {
                total += length;
            }
        }
        (total > 0).then_some((id, Transmit { tuple, ecn: None, size: total, segment_size: None }))
    }

    fn build_close_at(
        &mut self,
        now: Time,
        id: PathId,
        level: Level,
        reason: &CloseReason,
        out: &mut [u8],
    ) -> Option<usize> {
        let destination_cid =
            self.paths.remote_cid(if level == Level::OneRtt { id } else { PathId::ZERO }, None)?;
        let room = out.len().checked_sub(16)?;
        let random = self.next_random();
        let mut w = Writer::new(&mut out[..room]);
        let (number, header) = if level == Level::OneRtt {
            let key_phase = self.handshake.one_rtt.as_ref()?.phase();
            let space = &mut self.paths.get_mut(id)?.space;
            let number = space.next_packet_number(random);
            space.on_unrecorded_sent();
            let truncated = TruncatedPacketNumber::new(number, space.largest_acked());
            (
                number,
                ShortHeader { destination_cid, spin: spin_of(random), key_phase }
                    .encode(&mut w, truncated)
                    .ok()?,
            )
        } else {
            let (version, source_cid) = (self.handshake.version.current(), self.ends.identity.local_cid);
            let token = self.ends.identity.token.clone();
            let long = self.handshake.long_level(level)?;
            let number = long.space.next_packet_number(random);
            long.space.on_unrecorded_sent();
            let packet_type = match level {
                Level::Initial => LongPacketType::Initial { token: &token },
                _ => LongPacketType::Handshake,
            };
            let truncated = TruncatedPacketNumber::new(number, long.space.largest_acked());
            (
                number,
                LongHeader { version, packet_type, destination_cid, source_cid }
                    .encode(&mut w, truncated)
                    .ok()?,
            )
        };
        encode_close(reason, level, &mut w)?;
        let padding = if level == Level::Initial && self.side.is_client() {
            w.remaining()
        } else {
            header.padding_for_sample(w.position() - header.payload_offset, 16)
        };
        w.write_zeros(padding).ok()?;
        header.finish(&mut w, 16).ok()?;
        let length = w.position() + 16;
        let packet = &mut out[..length];
        if let Some(tracer) = &mut self.observed.tracer {
            let space = match level {
                Level::Initial => SpaceId::Initial,
                Level::Handshake => SpaceId::Handshake,
                Level::OneRtt => SpaceId::Path(id),
            };
            let version = self.handshake.version.current();
            let long = (level != Level::OneRtt).then_some((version, self.ends.identity.local_cid));
            let destination = destination_cid;
            let payload = &packet[header.payload_offset..length - 16];
            let traced = TracedPacket { space, number, destination, long, length, payload };
            tracer.packet_sent(now, &traced, PacketKind::Normal);
        }
        if level == Level::OneRtt {
            let keys = self.handshake.one_rtt.as_mut()?;
            keys.local().seal(id.0, number, packet, header.payload_offset);
            keys.header_local.protect(header.packet_number_offset, packet);
        } else {
            let long = self.handshake.long_level(level)?;
            long.packet_local().seal(0, number, packet, header.payload_offset);
            long.header_local().protect(header.packet_number_offset, packet);
        }
        Some(length)
    }
}

//= rfc9000-10.2.3-5: an application close in Initial and Handshake packets is a transport close
//= rfc9000-10.2.3-6: a transport close for an application's has APPLICATION_ERROR and no reason
//= rfc9000-11-2: errors are reported with the code that fits
//= rfc9000-12.5-1: CONNECTION_CLOSE of an application is in the application data space only
fn encode_close(reason: &CloseReason, level: Level, w: &mut Writer<'_>) -> Option<()> {
    let cut = |bytes: &[u8]| bytes.len().min(MAX_REASON_LENGTH).min(w.remaining().saturating_sub(32));
    let close = match reason {
        CloseReason::Transport(error) => {
            let reason = error.reason.as_bytes();
            ConnectionClose::Transport {
                error_code: error.code.0,
                frame_type: error.frame.unwrap_or(0),
                reason: &reason[..cut(reason)],
            }
        }
        CloseReason::Application { code, reason } if level == Level::OneRtt => {
            ConnectionClose::Application { error_code: *code, reason: &reason[..cut(reason)] }
        }
        // RFC 9000 section 10.2.3: the application's words must not be readable by others.
        CloseReason::Application { .. } => {
            ConnectionClose::Transport { error_code: Code::APPLICATION_ERROR.0, frame_type: 0, reason: b"" }
        }
    };
    Frame::ConnectionClose(close).encode(w).ok()
}
