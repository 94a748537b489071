//! From frames to the parts that they concern.

use std::ops::Range;

use bytes::Bytes;
use hawser_policy::{PathEvent, PathId, StreamId, Time};
use hawser_wire::frame::{ConnectionClose, Frame, FrameError, FrameIter, PolicyMessage, StreamDirection};
use hawser_wire::packet::PacketType;

use super::Connection;
use super::arrival::{Arrival, SpaceId};
use super::paths::path_ids::IdState;
use super::work::{ENTRY, LOOKUP};
use crate::connection::events::Event;
use crate::{Code, ConnectionError, TransportError};

/// What the frames of a packet amount to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    pub(super) ack_eliciting: bool,
    /// Only probing frames (RFC 9000 section 9.1): such a packet does not move the peer.
    pub(super) probing_only: bool,
}

impl Connection {
    /// Processes the frames of a packet; `payload` is their place in it.
    //= multipath-4-2: a multipath frame in another packet type: PROTOCOL_VIOLATION
    //= rfc9000-5.2-1: a packet with an error closes the connection, and what its frames did shows
    //= rfc9000-12.4-3: frames out of their packet type: PROTOCOL_VIOLATION
    //= rfc9000-17.2.4-1: other frames in Handshake packets: PROTOCOL_VIOLATION
    pub(super) fn on_frames(
        &mut self,
        arrival: &Arrival,
        space: SpaceId,
        packet_type: PacketType,
        packet: &Bytes,
        payload: Range<usize>,
    ) -> Result<Summary, TransportError> {
        let mut summary = Summary { ack_eliciting: false, probing_only: true };
        let mut frames = FrameIter::new(&packet[payload]);
        while let Some(frame) = &frames.next() {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return Err(malformed(error)),
            };
            if !frame.allowed_in(packet_type) {
                return Err(TransportError::protocol_violation("frame not permitted in this packet type")
                    .in_frame(frame.frame_type()));
            }
            self.shares.work.charge(price(frame));
            summary.ack_eliciting |= frame.is_ack_eliciting();
            summary.probing_only &= frame.is_probing();
            if let SpaceId::Path(id) = space {
                self.on_frame(arrival, id, packet, frame)
            } else {
                self.on_handshake_frame(arrival, space, frame)
            }
            .map_err(|error| {
                if error.frame.is_none() { error.in_frame(frame.frame_type()) } else { error }
            })?;
            if !self.closing.is_open() {
                break;
            }
        }
        Ok(summary)
    }

    #[cold]
    fn on_handshake_frame(
        &mut self,
        arrival: &Arrival,
        space: SpaceId,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        match frame {
            Frame::Padding(_) | Frame::Ping => Ok(()),
            Frame::Ack(ack) => self.on_ack(arrival.now, space, PathId::ZERO, ack),
            Frame::Crypto(crypto) => self.on_crypto(arrival.now, space, crypto.offset, crypto.data),
            Frame::ConnectionClose(close) => {
                self.on_close(arrival, close);
                Ok(())
            }
            _ => {
                Err(TransportError::protocol_violation("frame not permitted before the handshake completed"))
            }
        }
    }

    //= multipath-2.3-2: ACK frames are read even when multipath is negotiated
    fn on_frame(
        &mut self,
        arrival: &Arrival,
        id: PathId,
        packet: &Bytes,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        match frame {
            Frame::Padding(_) | Frame::Ping => Ok(()),
            Frame::Stream(stream) => {
                let data = packet.slice_ref(stream.data);
                let id = StreamId(stream.stream_id);
                if self.extensions.repair.receiver.is_some() {
                    return self.on_protected_stream(id, stream.offset, stream.fin, data);
                }
                self.streams.on_stream(id, stream.offset, stream.fin, data)
            }
            Frame::Ack(ack) => {
                if ack.path_id.is_some() && !self.paths.is_multipath() {
                    return Err(not_negotiated());
                }
                let acked = ack.path_id.map_or(PathId::ZERO, PathId);
                self.on_ack(arrival.now, SpaceId::Path(acked), id, ack)
            }
            Frame::Datagram(datagram) => {
                let is_marked = arrival.ecn == Some(crate::Ecn::Ce);
                self.on_datagram(packet.slice_ref(datagram.data), frame.encoded_len(), is_marked)
            }
            Frame::Crypto(crypto) => {
                self.on_crypto(arrival.now, SpaceId::Path(id), crypto.offset, crypto.data)
            }
            Frame::NewToken(token) => self.on_new_token(token),
            Frame::HandshakeDone => self.on_handshake_done(arrival.now),
            Frame::ConnectionClose(close) => {
                self.on_close(arrival, close);
                Ok(())
            }
            Frame::ResetStream(_)
            | Frame::ResetStreamAt(_)
            | Frame::StopSending(_)
            | Frame::MaxData(_)
            | Frame::MaxStreamData { .. }
            | Frame::MaxStreams { .. }
            | Frame::DataBlocked(_)
            | Frame::StreamDataBlocked { .. }
            | Frame::StreamsBlocked { .. }
            | Frame::StreamSkip(_) => self.on_stream_control(frame),
            Frame::Protected | Frame::Repair(_) | Frame::Recovered(_) => {
                self.on_repair_frame(arrival.now, frame)
            }
            _ => self.on_path_frame(arrival, id, frame),
        }
    }

    #[inline(never)]
    fn on_stream_control(&mut self, frame: &Frame<'_>) -> Result<(), TransportError> {
        let is_bidirectional = |direction: &StreamDirection| *direction == StreamDirection::Bidirectional;
        match frame {
            Frame::ResetStream(reset) => {
                self.streams.on_reset_stream(StreamId(reset.stream_id), reset.error_code, reset.final_size)
            }
            Frame::ResetStreamAt(reset) => self.streams.on_reset_stream_at(
                StreamId(reset.stream_id),
                reset.error_code,
                reset.final_size,
                reset.reliable_size,
            ),
            Frame::StopSending(stop) => {
                self.streams.on_stop_sending(StreamId(stop.stream_id), stop.error_code)
            }
            Frame::MaxData(maximum) => {
                self.streams.on_max_data(*maximum);
                Ok(())
            }
            Frame::MaxStreamData { stream_id, maximum } => {
                self.streams.on_max_stream_data(StreamId(*stream_id), *maximum)
            }
            Frame::MaxStreams { direction, maximum } => {
                self.streams.on_max_streams(is_bidirectional(direction), *maximum)
            }
            Frame::DataBlocked(limit) => {
                self.streams.on_data_blocked(*limit);
                Ok(())
            }
            Frame::StreamDataBlocked { stream_id, .. } => {
                self.streams.on_stream_data_blocked(StreamId(*stream_id))
            }
            // We offer it to everybody, so anybody may send it.
            Frame::StreamSkip(skip) => {
                self.streams.on_stream_skip(StreamId(skip.stream_id), skip.offset, skip.length)
            }
            Frame::StreamsBlocked { direction, limit } => {
                self.streams.on_streams_blocked(is_bidirectional(direction), *limit)
            }
            _ => Ok(()),
        }
    }

    //= rfc9221-5-2: DATAGRAM is delivered at once
    #[inline(never)]
    fn on_datagram(&mut self, data: Bytes, frame_size: usize, is_marked: bool) -> Result<(), TransportError> {
        if self.extensions.datagrams.on_datagram(data, frame_size, is_marked)? {
            self.outbox.events.push(Event::DatagramReceived);
        }
        Ok(())
    }

    //= rfc9000-8.1.3-2: a Retry token is not kept for other connections
    //= rfc9000-19.7-4: a client that sends NEW_TOKEN: PROTOCOL_VIOLATION
    //= rfc9001-9.2-2: tickets and tokens are opaque to the client
    #[cold]
    fn on_new_token(&mut self, token: &[u8]) -> Result<(), TransportError> {
        if self.side.is_server() {
            return Err(TransportError::protocol_violation("a client sent NEW_TOKEN"));
        }
        self.outbox.events.push(Event::NewToken(token.to_vec()));
        Ok(())
    }

    /// Frames about paths and connection ids; those for paths that are gone are ignored
    /// (draft-ietf-quic-multipath-21 section 3.4).
    //= rfc9000-8.2.2-1: PATH_CHALLENGE is answered with its data
    #[inline(never)]
    fn on_path_frame(
        &mut self,
        arrival: &Arrival,
        id: PathId,
        frame: &Frame<'_>,
    ) -> Result<(), TransportError> {
        if is_multipath(frame) && !self.paths.is_multipath() {
            return Err(not_negotiated());
        }
        match frame {
            Frame::PathChallenge(data) => {
                let path = self.paths.get_mut(id);
                if let Some(path) = path.filter(|path| path.tuples.may_answer(arrival.tuple)) {
                    path.responses.push(arrival, *data);
                }
                Ok(())
            }
            Frame::PathResponse(data) => {
                self.on_path_response(arrival, id, *data);
                Ok(())
            }
            Frame::NewConnectionId(new) => self.on_new_connection_id(arrival.now, new),
            Frame::RetireConnectionId(retire) => self.on_retire_connection_id(retire),
            Frame::PathAbandon { path_id, error_code } => {
                self.on_path_abandon(arrival.now, PathId(*path_id), *error_code)
            }
            Frame::PathStatus { path_id, sequence_number, status } => {
                self.on_path_status(arrival.now, PathId(*path_id), *sequence_number, *status)
            }
            Frame::MaxPathId(maximum) => {
                if self.paths.ids.on_max_path_id(*maximum)? {
                    self.issue_path_cids();
                    self.outbox.events.path(PathEvent::MorePathsAllowed);
                }
                Ok(())
            }
            Frame::PathsBlocked(maximum) => self.paths.ids.on_paths_blocked(*maximum),
            Frame::PathCidsBlocked { path_id, next_sequence_number } => {
                self.on_path_cids_blocked(PathId(*path_id), *next_sequence_number)
            }
            Frame::PolicyMessage(message) => self.on_policy_message(arrival.now, message),
            Frame::AckFrequency(frequency) => self.extensions.ack_frequencies.on_frame(frequency),
            Frame::ImmediateAck => {
                self.extensions.ack_frequencies.on_immediate_ack();
                Ok(())
            }
            // Not offered by us, so not to be sent to us.
            Frame::ObservedAddress(_) => Err(not_negotiated()),
            _ => Ok(()),
        }
    }

    /// A message of the peer's policies. One about a path that is gone is ignored.
    fn on_policy_message(&mut self, now: Time, message: &PolicyMessage<'_>) -> Result<(), TransportError> {
        if let Some(path) = message.path_id.map(PathId)
            && (self.paths.is_multipath() || path != PathId::ZERO)
            && self.paths.ids.check(path)? == IdState::Dead
        {
            return Ok(());
        }
        self.extensions.messages.on_frame(now, message)
    }

    #[cold]
    fn on_close(&mut self, arrival: &Arrival, close: &ConnectionClose<'_>) {
        let error = match close {
            ConnectionClose::Transport { error_code, frame_type, reason } => {
                let frame = (*frame_type != 0).then_some(*frame_type);
                let reason = String::from_utf8_lossy(reason).into_owned().into();
                ConnectionError::PeerTransport(TransportError { code: Code(*error_code), frame, reason })
            }
            ConnectionClose::Application { error_code, reason } => {
                ConnectionError::PeerApplication { code: *error_code, reason: Bytes::copy_from_slice(reason) }
            }
        };
        let three_pto = self.three_pto();
        // In the handshake there may be nobody left to hear the answer: a server that refuses keeps no state.
        let answer = self.handshake.is_complete();
        self.closing.drain(arrival.now, three_pto, answer);
        self.trace_closed(arrival.now, &error, "draining");
        self.outbox.events.close(error);
    }
}

/// Units of work that a frame costs at least; what depends on the state that it meets is charged there.
#[inline]
fn price(frame: &Frame<'_>) -> u64 {
    match frame {
        Frame::Padding(_) | Frame::Ping | Frame::ImmediateAck | Frame::HandshakeDone | Frame::Protected => {
            ENTRY
        }
        // Each range is looked up among the packets in flight, and receive times are sorted.
        Frame::Ack(ack) => {
            let times = ack.receive_timestamps.map_or(0, |times| times.count());
            LOOKUP.saturating_mul(ack.ranges.count()).saturating_add(times.saturating_mul(8 * ENTRY))
        }
        Frame::NewConnectionId(_) | Frame::PolicyMessage(_) => 4 * LOOKUP,
        Frame::PathAbandon { .. } => 2 * LOOKUP,
        _ => LOOKUP,
    }
}

#[cold]
fn malformed(error: &FrameError) -> TransportError {
    TransportError::new(Code(error.transport_error_code()), error.to_string()).in_frame(error.frame_type)
}

fn not_negotiated() -> TransportError {
    TransportError::protocol_violation("frame of an extension that was not negotiated")
}

//= multipath-2-1: nothing of multipath is used unless both ends sent the parameter
//= rfc9000-19.21-1: frames of extensions only for peers that understand them
fn is_multipath(frame: &Frame<'_>) -> bool {
    match frame {
        Frame::PathAbandon { .. }
        | Frame::PathStatus { .. }
        | Frame::MaxPathId(_)
        | Frame::PathsBlocked(_)
        | Frame::PathCidsBlocked { .. } => true,
        Frame::NewConnectionId(new) => new.path_id.is_some(),
        Frame::RetireConnectionId(retire) => retire.path_id.is_some(),
        _ => false,
    }
}
