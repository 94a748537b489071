//! What can be wrong with a frame.

use crate::codepoints::{error, frame};
use crate::reader::UnexpectedEnd;

/// A payload that violates the format, with what a CONNECTION_CLOSE needs to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} frame (type 0x{frame_type:x}): {kind}", frame::name(*frame_type))]
pub struct FrameError {
    /// The type of the offending frame; 0 where none could be read.
    pub frame_type: u64,
    /// What is wrong with it.
    pub kind: FrameErrorKind,
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameErrorKind {
    /// RFC 9000 section 12.4: a packet carries at least one frame.
    #[error("packet without frames")]
    NoFrames,
    /// The payload ends inside the frame.
    #[error("payload ends inside the frame")]
    Truncated,
    /// No extension that defines this type is known.
    #[error("type not known")]
    UnknownType,
    /// RFC 9000 section 12.4: the type has to use the shortest encoding.
    #[error("type not encoded in the fewest bytes")]
    NonMinimalType,
    /// draft-ietf-quic-multipath-21 section 2.1: path ids end at 2^32 - 1.
    #[error("path id {0} above 2^32 - 1")]
    PathIdTooLarge(u64),
    /// RFC 9000 section 19.3.1: a range would go below packet number 0.
    #[error("acknowledges negative packet numbers")]
    AckRangeUnderflow,
    /// draft-ietf-quic-receive-ts-02 section 4.1: a packet number or a time would go below 0.
    #[error("reports a negative packet number or receive time")]
    TimestampUnderflow,
    /// RFC 9000 sections 19.6 and 19.8: data has to end at or before 2^62 - 1.
    #[error("data at offset {offset} with length {length} ends above 2^62 - 1")]
    DataTooFar {
        /// Where the data starts, in bytes.
        offset: u64,
        /// Its length, in bytes.
        length: u64,
    },
    /// RFC 9000 section 19.7: a token has at least one byte.
    #[error("empty token")]
    EmptyToken,
    /// RFC 9000 sections 19.11 and 19.14: at most 2^60 streams.
    #[error("stream count {0} above 2^60")]
    StreamCountTooLarge(u64),
    /// RFC 9000 section 19.15: 1 to 20 bytes.
    #[error("connection ID of {0} bytes, expected 1 to 20")]
    ConnectionIdLength(usize),
    /// RFC 9000 section 19.15.
    #[error("retire prior to {retire_prior_to} is above sequence number {sequence_number}")]
    RetirePriorTo {
        /// The Retire Prior To field.
        retire_prior_to: u64,
        /// The Sequence Number field.
        sequence_number: u64,
    },
    /// draft-ietf-quic-reliable-stream-reset section 4.
    #[error("reliable size {reliable_size} is above final size {final_size}")]
    ReliableSize {
        /// The Reliable Size field, in bytes.
        reliable_size: u64,
        /// The Final Size field, in bytes.
        final_size: u64,
    },
    /// draft-ietf-quic-ack-frequency section 4: below 2^14 ms, as max_ack_delay.
    #[error("requested max ack delay of {0} us, expected less than 2^14 ms")]
    AckDelayTooLong(u64),
    /// POLICY_MESSAGE with a delivery or flags that are not defined.
    #[error("message flags 0x{0:02x} are not defined")]
    MessageFlags(u8),
    /// STREAM_SKIP of no bytes.
    #[error("skips no bytes")]
    EmptySkip,
    /// REPAIR with a code that is not defined.
    #[error("erasure code {0} is not defined")]
    RepairCode(u8),
    /// REPAIR with source symbols that contradict each other or the symbol: none or more than 64, one without bytes or longer
    /// than the repair symbol, one that follows nothing or the end of its stream.
    #[error("source symbols that cannot be")]
    SourceRanges,
    /// RECOVERED of nothing.
    #[error("nothing recovered")]
    NothingRecovered,
}

impl From<UnexpectedEnd> for FrameErrorKind {
    fn from(_: UnexpectedEnd) -> Self {
        Self::Truncated
    }
}

impl FrameError {
    /// The transport error code to close the connection with.
    pub fn transport_error_code(&self) -> u64 {
        match self.kind {
            FrameErrorKind::NoFrames
            | FrameErrorKind::NonMinimalType
            | FrameErrorKind::PathIdTooLarge(_)
            | FrameErrorKind::AckDelayTooLong(_) => error::PROTOCOL_VIOLATION,
            _ => error::FRAME_ENCODING_ERROR,
        }
    }
}
