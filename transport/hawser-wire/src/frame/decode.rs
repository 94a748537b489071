//! Bytes to frames.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{
    Ack, AckFrequency, AckRanges, ConnectionClose, Crypto, Datagram, EcnCounts, Frame, FrameError,
    FrameErrorKind, MAX_STREAM_COUNT, NewConnectionId, ObservedAddress, PathStatus, PolicyMessage,
    ReceiveTimestamps, Recovered, Repair, ResetStream, ResetStreamAt, RetireConnectionId, StopSending,
    Stream, StreamDirection, StreamSkip,
};
use crate::cid::{ConnectionId, StatelessResetToken};
use crate::codepoints::frame;
use crate::reader::Reader;

type Decoded<T> = Result<T, FrameErrorKind>;

impl<'a> Frame<'a> {
    /// Reads what follows the frame type.
    //= rfc9000-19.7-2: an empty NEW_TOKEN token: FRAME_ENCODING_ERROR
    #[inline]
    pub(super) fn decode_body(frame_type: u64, r: &mut Reader<'a>) -> Result<Self, FrameError> {
        let fault = |kind| FrameError { frame_type, kind };
        // The frames that fill nearly every packet come first.
        match frame_type {
            frame::STREAM..=frame::STREAM_LAST => {
                Ok(Self::Stream(Stream::decode(r, frame_type).map_err(fault)?))
            }
            frame::ACK
            | frame::ACK_ECN
            | frame::PATH_ACK
            | frame::PATH_ACK_ECN
            | frame::ACK_RECEIVE_TIMESTAMPS..=frame::PATH_ACK_RECEIVE_TIMESTAMPS_ECN => {
                Ok(Self::Ack(Ack::decode(r, frame_type).map_err(fault)?))
            }
            frame::DATAGRAM | frame::DATAGRAM_LEN => {
                Ok(Self::Datagram(Datagram::decode(r, frame_type).map_err(fault)?))
            }
            _ => Self::decode_other(frame_type, r).map_err(fault),
        }
    }

    // Apart from the others, so that these are few instructions, close together.
    #[inline(never)]
    fn decode_other(frame_type: u64, r: &mut Reader<'a>) -> Decoded<Self> {
        Ok(match frame_type {
            frame::PADDING => Self::Padding(1 + skip_zeros(r)?),
            frame::PING => Self::Ping,
            frame::RESET_STREAM => Self::ResetStream(decode_reset_stream(r)?),
            frame::STOP_SENDING => {
                Self::StopSending(StopSending { stream_id: r.read_varint()?, error_code: r.read_varint()? })
            }
            frame::CRYPTO => Self::Crypto(Crypto::decode(r)?),
            frame::NEW_TOKEN => match r.read_varint_prefixed()? {
                [] => return Err(FrameErrorKind::EmptyToken),
                token => Self::NewToken(token),
            },
            frame::MAX_DATA => Self::MaxData(r.read_varint()?),
            frame::MAX_STREAM_DATA => {
                Self::MaxStreamData { stream_id: r.read_varint()?, maximum: r.read_varint()? }
            }
            frame::MAX_STREAMS_BIDI | frame::MAX_STREAMS_UNI => {
                Self::MaxStreams { direction: direction(frame_type), maximum: read_stream_count(r)? }
            }
            frame::DATA_BLOCKED => Self::DataBlocked(r.read_varint()?),
            frame::STREAM_DATA_BLOCKED => {
                Self::StreamDataBlocked { stream_id: r.read_varint()?, limit: r.read_varint()? }
            }
            frame::STREAMS_BLOCKED_BIDI | frame::STREAMS_BLOCKED_UNI => {
                Self::StreamsBlocked { direction: direction(frame_type), limit: read_stream_count(r)? }
            }
            frame::NEW_CONNECTION_ID => Self::NewConnectionId(decode_new_connection_id(r, None)?),
            frame::RETIRE_CONNECTION_ID => Self::RetireConnectionId(RetireConnectionId {
                path_id: None,
                sequence_number: r.read_varint()?,
            }),
            frame::PATH_CHALLENGE => Self::PathChallenge(r.read_array()?),
            frame::PATH_RESPONSE => Self::PathResponse(r.read_array()?),
            frame::CONNECTION_CLOSE => Self::ConnectionClose(ConnectionClose::Transport {
                error_code: r.read_varint()?,
                frame_type: r.read_varint()?,
                reason: r.read_varint_prefixed()?,
            }),
            frame::CONNECTION_CLOSE_APPLICATION => Self::ConnectionClose(ConnectionClose::Application {
                error_code: r.read_varint()?,
                reason: r.read_varint_prefixed()?,
            }),
            frame::HANDSHAKE_DONE => Self::HandshakeDone,
            _ => return Self::decode_extension(frame_type, r),
        })
    }

    fn decode_extension(frame_type: u64, r: &mut Reader<'a>) -> Decoded<Self> {
        Ok(match frame_type {
            frame::RESET_STREAM_AT => Self::ResetStreamAt(decode_reset_stream_at(r)?),
            frame::ACK_FREQUENCY => Self::AckFrequency(decode_ack_frequency(r)?),
            frame::IMMEDIATE_ACK => Self::ImmediateAck,
            frame::PATH_ABANDON => {
                Self::PathAbandon { path_id: read_path_id(r)?, error_code: r.read_varint()? }
            }
            frame::PATH_STATUS_BACKUP | frame::PATH_STATUS_AVAILABLE => Self::PathStatus {
                path_id: read_path_id(r)?,
                sequence_number: r.read_varint()?,
                status: match frame_type {
                    frame::PATH_STATUS_BACKUP => PathStatus::Backup,
                    _ => PathStatus::Available,
                },
            },
            frame::PATH_NEW_CONNECTION_ID => {
                let path_id = Some(read_path_id(r)?);
                Self::NewConnectionId(decode_new_connection_id(r, path_id)?)
            }
            frame::PATH_RETIRE_CONNECTION_ID => Self::RetireConnectionId(RetireConnectionId {
                path_id: Some(read_path_id(r)?),
                sequence_number: r.read_varint()?,
            }),
            frame::MAX_PATH_ID => Self::MaxPathId(read_path_id(r)?),
            frame::PATHS_BLOCKED => Self::PathsBlocked(read_path_id(r)?),
            frame::PATH_CIDS_BLOCKED => {
                Self::PathCidsBlocked { path_id: read_path_id(r)?, next_sequence_number: r.read_varint()? }
            }
            frame::OBSERVED_ADDRESS_IPV4 | frame::OBSERVED_ADDRESS_IPV6 => {
                Self::ObservedAddress(decode_observed_address(r, frame_type)?)
            }
            frame::POLICY_MESSAGE => Self::PolicyMessage(PolicyMessage::decode(r)?),
            frame::STREAM_SKIP => Self::StreamSkip(StreamSkip::decode(r)?),
            frame::PROTECTED => Self::Protected,
            frame::REPAIR => Self::Repair(Repair::decode(r)?),
            frame::RECOVERED => Self::Recovered(Recovered::decode(r)?),
            _ => return Err(FrameErrorKind::UnknownType),
        })
    }
}

impl<'a> Ack<'a> {
    #[inline]
    fn decode(r: &mut Reader<'a>, frame_type: u64) -> Decoded<Self> {
        let (with_path, with_ecn, with_timestamps) = match frame_type {
            frame::ACK => (false, false, false),
            frame::ACK_ECN => (false, true, false),
            frame::PATH_ACK => (true, false, false),
            frame::PATH_ACK_ECN => (true, true, false),
            frame::ACK_RECEIVE_TIMESTAMPS => (false, false, true),
            frame::ACK_RECEIVE_TIMESTAMPS_ECN => (false, true, true),
            frame::PATH_ACK_RECEIVE_TIMESTAMPS => (true, false, true),
            _ => (true, true, true),
        };
        let path_id = if with_path { Some(read_path_id(r)?) } else { None };
        let largest = r.read_varint()?;
        let delay = r.read_varint()?;
        let additional_count = r.read_varint()?;
        let ranges = AckRanges::decode(r, largest, additional_count)?;
        let ecn = if with_ecn { Some(decode_ecn_counts(r)?) } else { None };
        let receive_timestamps =
            if with_timestamps { Some(ReceiveTimestamps::decode(r, largest)?) } else { None };
        Ok(Self { path_id, delay, ranges, ecn, receive_timestamps })
    }
}

fn decode_ecn_counts(r: &mut Reader<'_>) -> Decoded<EcnCounts> {
    Ok(EcnCounts { ect0: r.read_varint()?, ect1: r.read_varint()?, ce: r.read_varint()? })
}

fn skip_zeros(r: &mut Reader<'_>) -> Decoded<usize> {
    let rest = r.peek_rest();
    let zeros = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
    r.read_bytes(zeros)?;
    Ok(zeros)
}

//= multipath-4.6-1: MAX_PATH_ID is below 2^32
pub(super) fn read_path_id(r: &mut Reader<'_>) -> Decoded<u32> {
    let value = r.read_varint()?;
    u32::try_from(value).map_err(|_| FrameErrorKind::PathIdTooLarge(value))
}

//= rfc9000-4.6-1: a stream limit above 2^60 closes with the code of where it came
//= rfc9000-19.11-1: MAX_STREAMS above 2^60: FRAME_ENCODING_ERROR
//= rfc9000-19.14-2: STREAMS_BLOCKED above 2^60: error
fn read_stream_count(r: &mut Reader<'_>) -> Decoded<u64> {
    match r.read_varint()? {
        count @ 0..=MAX_STREAM_COUNT => Ok(count),
        count => Err(FrameErrorKind::StreamCountTooLarge(count)),
    }
}

fn direction(frame_type: u64) -> StreamDirection {
    // Both pairs of types have the unidirectional one at the odd number (RFC 9000 sections 19.11 and 19.14).
    if frame_type & 1 == 0 { StreamDirection::Bidirectional } else { StreamDirection::Unidirectional }
}

fn decode_reset_stream(r: &mut Reader<'_>) -> Decoded<ResetStream> {
    Ok(ResetStream {
        stream_id: r.read_varint()?,
        error_code: r.read_varint()?,
        final_size: r.read_varint()?,
    })
}

fn decode_reset_stream_at(r: &mut Reader<'_>) -> Decoded<ResetStreamAt> {
    let ResetStream { stream_id, error_code, final_size } = decode_reset_stream(r)?;
    let reliable_size = r.read_varint()?;
    if reliable_size > final_size {
        return Err(FrameErrorKind::ReliableSize { reliable_size, final_size });
    }
    Ok(ResetStreamAt { stream_id, error_code, final_size, reliable_size })
}

//= rfc9000-19.15-1: connection ids of 0 or more than 20 bytes: FRAME_ENCODING_ERROR
//= rfc9000-19.15-6: Retire Prior To above the sequence number: FRAME_ENCODING_ERROR
fn decode_new_connection_id(r: &mut Reader<'_>, path_id: Option<u32>) -> Decoded<NewConnectionId> {
    let sequence_number = r.read_varint()?;
    let retire_prior_to = r.read_varint()?;
    if retire_prior_to > sequence_number {
        return Err(FrameErrorKind::RetirePriorTo { retire_prior_to, sequence_number });
    }
    // The length is judged before the bytes are read: a bad one is the fault, not the truncation that follows.
    let length = usize::from(r.read_u8()?);
    if !(1..=ConnectionId::MAX_LEN).contains(&length) {
        return Err(FrameErrorKind::ConnectionIdLength(length));
    }
    let bytes = r.read_bytes(length)?;
    let connection_id = ConnectionId::new(bytes).ok_or(FrameErrorKind::ConnectionIdLength(length))?;
    let reset_token = StatelessResetToken(r.read_array()?);
    Ok(NewConnectionId { path_id, sequence_number, retire_prior_to, connection_id, reset_token })
}

fn decode_ack_frequency(r: &mut Reader<'_>) -> Decoded<AckFrequency> {
    let frame = AckFrequency {
        sequence_number: r.read_varint()?,
        ack_eliciting_threshold: r.read_varint()?,
        requested_max_ack_delay: r.read_varint()?,
        reordering_threshold: r.read_varint()?,
    };
    if frame.requested_max_ack_delay >= (1 << 14) * 1000 {
        return Err(FrameErrorKind::AckDelayTooLong(frame.requested_max_ack_delay));
    }
    Ok(frame)
}

fn decode_observed_address(r: &mut Reader<'_>, frame_type: u64) -> Decoded<ObservedAddress> {
    let sequence_number = r.read_varint()?;
    let ip = match frame_type {
        frame::OBSERVED_ADDRESS_IPV4 => Ipv4Addr::from(r.read_array::<4>()?).into(),
        _ => Ipv6Addr::from(r.read_array::<16>()?).into(),
    };
    Ok(ObservedAddress { sequence_number, address: SocketAddr::new(ip, r.read_u16()?) })
}
