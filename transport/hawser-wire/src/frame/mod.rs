//! Frames: a [`Frame`] borrows from the packet payload that [`FrameIter`] walks.
//!
//! Frames that carry the same content with one field more share a variant: PATH_ACK and the ACK frames with receive
//! timestamps are an [`Ack`] with these fields present, PATH_NEW_CONNECTION_ID is a [`NewConnectionId`] with a path id.

mod ack;
mod control;
mod data;
mod decode;
mod encode;
mod error;
mod iter;
mod private;
mod repair;
mod rules;
mod timestamps;
mod write_ack;

pub use ack::{Ack, AckRangeIter, AckRanges, EcnCounts};
pub use control::{
    AckFrequency, ConnectionClose, NewConnectionId, ObservedAddress, PathStatus, ResetStream, ResetStreamAt,
    RetireConnectionId, StopSending, StreamDirection,
};
pub use data::{
    Crypto, Datagram, Stream, StreamHeader, crypto_capacity, crypto_header_len, datagram_capacity,
    datagram_header_len, write_crypto_header, write_datagram_header,
};
pub use error::{FrameError, FrameErrorKind};
pub use iter::FrameIter;
pub use private::{MessageDelivery, PolicyMessage, StreamSkip};
pub use repair::{
    EncodedSourceRanges, MAX_SOURCE_SYMBOLS, Recovered, Repair, RepairCode, SourceRange, SourceRangeIter,
    SourceRangeList, SourceRanges,
};
pub use timestamps::{ReceiveTimestampIter, ReceiveTimestamps};
pub use write_ack::{AckHeader, AckWritten, TimestampLimits, write_ack, write_ack_with_timestamps};

/// The most streams of one kind there can be, and so the largest value of MAX_STREAMS (RFC 9000 section 19.11).
pub const MAX_STREAM_COUNT: u64 = 1 << 60;

/// A frame, borrowing its data from the payload it was decoded from.
///
/// Integer fields without a stated range are variable-length integers, at most 2^62 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// So many PADDING frames in a row; at least one. RFC 9000 section 19.1.
    Padding(usize),
    /// RFC 9000 section 19.2.
    Ping,
    /// ACK, PATH_ACK, ACK_RECEIVE_TIMESTAMPS and PATH_ACK_RECEIVE_TIMESTAMPS.
    Ack(Ack<'a>),
    /// RFC 9000 section 19.4.
    ResetStream(ResetStream),
    /// draft-ietf-quic-reliable-stream-reset section 4.
    ResetStreamAt(ResetStreamAt),
    /// RFC 9000 section 19.5.
    StopSending(StopSending),
    /// RFC 9000 section 19.6.
    Crypto(Crypto<'a>),
    /// A token for a later connection; never empty. RFC 9000 section 19.7.
    NewToken(&'a [u8]),
    /// RFC 9000 section 19.8.
    Stream(Stream<'a>),
    /// Bytes that may be sent on the connection in all. RFC 9000 section 19.9.
    MaxData(u64),
    /// RFC 9000 section 19.10.
    MaxStreamData {
        /// The stream meant.
        stream_id: u64,
        /// Bytes that may be sent on it in all.
        maximum: u64,
    },
    /// RFC 9000 section 19.11.
    MaxStreams {
        /// The kind of streams meant.
        direction: StreamDirection,
        /// Streams that may be opened in all, at most [`MAX_STREAM_COUNT`].
        maximum: u64,
    },
    /// The connection limit that blocks the sender, in bytes. RFC 9000 section 19.12.
    DataBlocked(u64),
    /// RFC 9000 section 19.13.
    StreamDataBlocked {
        /// The stream meant.
        stream_id: u64,
        /// The limit that blocks it, in bytes.
        limit: u64,
    },
    /// RFC 9000 section 19.14.
    StreamsBlocked {
        /// The kind of streams meant.
        direction: StreamDirection,
        /// The limit that blocks, at most [`MAX_STREAM_COUNT`].
        limit: u64,
    },
    /// NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID.
    NewConnectionId(NewConnectionId),
    /// RETIRE_CONNECTION_ID and PATH_RETIRE_CONNECTION_ID.
    RetireConnectionId(RetireConnectionId),
    /// Arbitrary data to be echoed. RFC 9000 section 19.17.
    PathChallenge([u8; 8]),
    /// The data of a PATH_CHALLENGE. RFC 9000 section 19.18.
    PathResponse([u8; 8]),
    /// RFC 9000 section 19.19.
    ConnectionClose(ConnectionClose<'a>),
    /// RFC 9000 section 19.20.
    HandshakeDone,
    /// RFC 9221 section 4.
    Datagram(Datagram<'a>),
    /// draft-ietf-quic-ack-frequency section 4.
    AckFrequency(AckFrequency),
    /// draft-ietf-quic-ack-frequency section 5.
    ImmediateAck,
    /// draft-ietf-quic-multipath-21 section 4.2.
    PathAbandon {
        /// The path given up.
        path_id: u32,
        /// Why; a transport error code.
        error_code: u64,
    },
    /// PATH_STATUS_AVAILABLE and PATH_STATUS_BACKUP, which share their sequence numbers.
    /// draft-ietf-quic-multipath-21 section 4.3.
    PathStatus {
        /// The path meant.
        path_id: u32,
        /// Rises with every status sent for this path.
        sequence_number: u64,
        /// The sender's wish.
        status: PathStatus,
    },
    /// The largest path id the sender accepts. draft-ietf-quic-multipath-21 section 4.6.
    MaxPathId(u32),
    /// The largest path id that was allowed when the sender wanted one more. draft-ietf-quic-multipath-21 section 4.7.
    PathsBlocked(u32),
    /// draft-ietf-quic-multipath-21 section 4.7.
    PathCidsBlocked {
        /// The path that lacks connection IDs.
        path_id: u32,
        /// The sequence number that the next one is expected to have.
        next_sequence_number: u64,
    },
    /// draft-ietf-quic-address-discovery section 4.1.
    ObservedAddress(ObservedAddress),
    /// A message from policy to policy. Hawser's; of the feature that it names.
    PolicyMessage(PolicyMessage<'a>),
    /// A stream range that will never come. Hawser's; of feature
    /// [`STREAM_SKIP`](crate::codepoints::private::feature::STREAM_SKIP).
    StreamSkip(StreamSkip),
    /// The sender protects stream data: the receiver keeps what arrives for a while. Hawser's, as are the next two; of feature
    /// [`ERASURE_CODES`](crate::codepoints::private::feature::ERASURE_CODES).
    Protected,
    /// A repair symbol.
    Repair(Repair<'a>),
    /// What was brought back by repair symbols.
    Recovered(Recovered),
}

#[cfg(test)]
mod tests;
