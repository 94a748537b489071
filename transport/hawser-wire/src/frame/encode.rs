//! Frames to bytes.

use std::net::IpAddr;

use super::{Ack, ConnectionClose, Frame, NewConnectionId, ObservedAddress, PathStatus, StreamDirection};
use crate::codepoints::frame;
use crate::writer::{BufferTooShort, LengthCounter, Sink, Writer};

impl Frame<'_> {
    /// Writes the frame. STREAM and DATAGRAM get a length field, so that any frame may follow.
    ///
    /// # Errors
    /// [`BufferTooShort`] if it does not fit; the writer is then as before.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), BufferTooShort> {
        let start = w.position();
        self.encode_to(w).inspect_err(|_| w.rewind(start))
    }

    /// Bytes that [`Frame::encode`] writes.
    pub fn encoded_len(&self) -> usize {
        let mut counter = LengthCounter::default();
        // Counting cannot fail.
        let _ = self.encode_to(&mut counter);
        counter.0
    }

    /// The type the frame has on the wire when written by [`Frame::encode`].
    pub fn frame_type(&self) -> u64 {
        match self {
            Self::Padding(_) => frame::PADDING,
            Self::Ping => frame::PING,
            Self::Ack(ack) => {
                ack_frame_type(ack.path_id.is_some(), ack.ecn.is_some(), ack.receive_timestamps.is_some())
            }
            Self::ResetStream(_) => frame::RESET_STREAM,
            Self::ResetStreamAt(_) => frame::RESET_STREAM_AT,
            Self::StopSending(_) => frame::STOP_SENDING,
            Self::Crypto(_) => frame::CRYPTO,
            Self::NewToken(_) => frame::NEW_TOKEN,
            Self::Stream(stream) => {
                let offset = if stream.offset != 0 { frame::STREAM_OFF } else { 0 };
                frame::STREAM | frame::STREAM_LEN | offset | u64::from(stream.fin)
            }
            Self::MaxData(_) => frame::MAX_DATA,
            Self::MaxStreamData { .. } => frame::MAX_STREAM_DATA,
            Self::MaxStreams { direction: StreamDirection::Bidirectional, .. } => frame::MAX_STREAMS_BIDI,
            Self::MaxStreams { direction: StreamDirection::Unidirectional, .. } => frame::MAX_STREAMS_UNI,
            Self::DataBlocked(_) => frame::DATA_BLOCKED,
            Self::StreamDataBlocked { .. } => frame::STREAM_DATA_BLOCKED,
            Self::StreamsBlocked { direction: StreamDirection::Bidirectional, .. } => {
                frame::STREAMS_BLOCKED_BIDI
            }
            Self::StreamsBlocked { direction: StreamDirection::Unidirectional, .. } => {
                frame::STREAMS_BLOCKED_UNI
            }
            Self::NewConnectionId(f) if f.path_id.is_some() => frame::PATH_NEW_CONNECTION_ID,
            Self::NewConnectionId(_) => frame::NEW_CONNECTION_ID,
            Self::RetireConnectionId(f) if f.path_id.is_some() => frame::PATH_RETIRE_CONNECTION_ID,
            Self::RetireConnectionId(_) => frame::RETIRE_CONNECTION_ID,
            Self::PathChallenge(_) => frame::PATH_CHALLENGE,
            Self::PathResponse(_) => frame::PATH_RESPONSE,
            Self::ConnectionClose(ConnectionClose::Transport { .. }) => frame::CONNECTION_CLOSE,
            Self::ConnectionClose(ConnectionClose::Application { .. }) => frame::CONNECTION_CLOSE_APPLICATION,
            Self::HandshakeDone => frame::HANDSHAKE_DONE,
            Self::Datagram(_) => frame::DATAGRAM_LEN,
            Self::AckFrequency(_) => frame::ACK_FREQUENCY,
            Self::ImmediateAck => frame::IMMEDIATE_ACK,
            Self::PathAbandon { .. } => frame::PATH_ABANDON,
            Self::PathStatus { status: PathStatus::Backup, .. } => frame::PATH_STATUS_BACKUP,
            Self::PathStatus { status: PathStatus::Available, .. } => frame::PATH_STATUS_AVAILABLE,
            Self::MaxPathId(_) => frame::MAX_PATH_ID,
            Self::PathsBlocked(_) => frame::PATHS_BLOCKED,
            Self::PathCidsBlocked { .. } => frame::PATH_CIDS_BLOCKED,
            Self::ObservedAddress(f) if f.address.is_ipv4() => frame::OBSERVED_ADDRESS_IPV4,
            Self::ObservedAddress(_) => frame::OBSERVED_ADDRESS_IPV6,
            Self::PolicyMessage(_) => frame::POLICY_MESSAGE,
            Self::StreamSkip(_) => frame::STREAM_SKIP,
            Self::Protected => frame::PROTECTED,
            Self::Repair(_) => frame::REPAIR,
            Self::Recovered(_) => frame::RECOVERED,
        }
    }

    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        match self {
            // These two write their own type.
            Self::Padding(count) => return sink.zeros(*count),
            Self::Stream(stream) => {
                stream.header().encode_to(sink)?;
                return sink.bytes(stream.data);
            }
            _ => sink.varint(self.frame_type())?,
        }
        match self {
            Self::Padding(_)
            | Self::Stream(_)
            | Self::Ping
            | Self::HandshakeDone
            | Self::ImmediateAck
            | Self::Protected => Ok(()),
            Self::Ack(ack) => encode_ack(ack, sink),
            Self::ResetStream(f) => varints(sink, &[f.stream_id, f.error_code, f.final_size]),
            Self::ResetStreamAt(f) => {
                varints(sink, &[f.stream_id, f.error_code, f.final_size, f.reliable_size])
            }
            Self::StopSending(f) => varints(sink, &[f.stream_id, f.error_code]),
            Self::Crypto(f) => {
                sink.varint(f.offset)?;
                prefixed(sink, f.data)
            }
            Self::NewToken(token) => prefixed(sink, token),
            Self::Datagram(f) => prefixed(sink, f.data),
            Self::MaxData(value)
            | Self::DataBlocked(value)
            | Self::MaxStreams { maximum: value, .. }
            | Self::StreamsBlocked { limit: value, .. } => sink.varint(*value),
            Self::MaxStreamData { stream_id, maximum: value }
            | Self::StreamDataBlocked { stream_id, limit: value } => varints(sink, &[*stream_id, *value]),
            Self::NewConnectionId(f) => encode_new_connection_id(f, sink),
            Self::RetireConnectionId(f) => {
                path_prefix(sink, f.path_id)?;
                sink.varint(f.sequence_number)
            }
            Self::PathChallenge(data) | Self::PathResponse(data) => sink.bytes(data),
            Self::ConnectionClose(close) => encode_connection_close(close, sink),
            Self::AckFrequency(f) => varints(
                sink,
                &[
                    f.sequence_number,
                    f.ack_eliciting_threshold,
                    f.requested_max_ack_delay,
                    f.reordering_threshold,
                ],
            ),
            Self::PathAbandon { path_id, error_code: value }
            | Self::PathStatus { path_id, sequence_number: value, .. }
            | Self::PathCidsBlocked { path_id, next_sequence_number: value } => {
                varints(sink, &[u64::from(*path_id), *value])
            }
            Self::MaxPathId(path_id) | Self::PathsBlocked(path_id) => sink.varint(u64::from(*path_id)),
            Self::ObservedAddress(f) => encode_observed_address(f, sink),
            Self::PolicyMessage(f) => f.encode_to(sink),
            Self::Repair(f) => f.encode_to(sink),
            Self::Recovered(f) => f.encode_to(sink),
            Self::StreamSkip(f) => varints(sink, &[f.stream_id, f.offset, f.length]),
        }
    }
}

/// The type of an acknowledgement with the given parts.
pub(super) const fn ack_frame_type(path: bool, ecn: bool, timestamps: bool) -> u64 {
    let base = match (path, timestamps) {
        (false, false) => frame::ACK,
        (true, false) => frame::PATH_ACK,
        (false, true) => frame::ACK_RECEIVE_TIMESTAMPS,
        (true, true) => frame::PATH_ACK_RECEIVE_TIMESTAMPS,
    };
    // In all four pairs the type with ECN counts comes next.
    base + ecn as u64
}

fn varints(sink: &mut impl Sink, values: &[u64]) -> Result<(), BufferTooShort> {
    values.iter().try_for_each(|value| sink.varint(*value))
}

fn prefixed(sink: &mut impl Sink, data: &[u8]) -> Result<(), BufferTooShort> {
    sink.varint(data.len() as u64)?;
    sink.bytes(data)
}

fn path_prefix(sink: &mut impl Sink, path_id: Option<u32>) -> Result<(), BufferTooShort> {
    path_id.map_or(Ok(()), |path_id| sink.varint(u64::from(path_id)))
}

fn encode_ack(ack: &Ack<'_>, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
    path_prefix(sink, ack.path_id)?;
    let ranges = &ack.ranges;
    varints(sink, &[ranges.largest, ack.delay, ranges.additional_count, ranges.first_range])?;
    sink.bytes(ranges.additional)?;
    if let Some(ecn) = &ack.ecn {
        varints(sink, &[ecn.ect0, ecn.ect1, ecn.ce])?;
    }
    if let Some(timestamps) = &ack.receive_timestamps {
        sink.varint(timestamps.range_count)?;
        sink.bytes(timestamps.encoded)?;
    }
    Ok(())
}

fn encode_new_connection_id(f: &NewConnectionId, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
    path_prefix(sink, f.path_id)?;
    varints(sink, &[f.sequence_number, f.retire_prior_to])?;
    sink.byte(f.connection_id.len() as u8)?;
    sink.bytes(f.connection_id.as_bytes())?;
    sink.bytes(&f.reset_token.0)
}

fn encode_connection_close(close: &ConnectionClose<'_>, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
    match close {
        ConnectionClose::Transport { error_code, frame_type, .. } => {
            varints(sink, &[*error_code, *frame_type])?
        }
        ConnectionClose::Application { error_code, .. } => sink.varint(*error_code)?,
    }
    prefixed(sink, close.reason())
}

fn encode_observed_address(f: &ObservedAddress, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
    sink.varint(f.sequence_number)?;
    match f.address.ip() {
        IpAddr::V4(ip) => sink.bytes(&ip.octets())?,
        IpAddr::V6(ip) => sink.bytes(&ip.octets())?,
    }
    sink.bytes(&f.address.port().to_be_bytes())
}
