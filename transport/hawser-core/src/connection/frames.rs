//! What a sent packet contained, as far as its acknowledgement or loss matters.

use std::ops::Range;

use hawser_policy::{PathId, StreamId};
use hawser_wire::frame::Recovered;
use smallvec::SmallVec;

/// Contents of one sent packet. Two entries cover nearly every packet (a STREAM and an ACK frame) without allocation.
pub(crate) type SentFrames = SmallVec<[SentFrame; 2]>;

/// A frame that was sent.
//= rfc9000-8.2.2-7: one answer to a challenge, never retransmitted
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentFrame {
    /// Stream data.
    Stream(SentStream),
    /// Handshake data of the packet's own level.
    Crypto { offset: u64, length: u32 },
    /// Acknowledged packets of `path` up to `largest` (draft-ietf-quic-multipath-21 section 3.2: on any path).
    Ack { path: PathId, largest: u64 },
    /// Stream bookkeeping. Carries no value: on loss the current value is sent if it still matters.
    StreamControl(StreamControl),
    /// A range of a stream that will not come. Rare, and longer than the others.
    StreamSkip(Box<SentSkip>),
    /// Path and connection-id bookkeeping, likewise.
    PathControl(PathControl),
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// NEW_TOKEN number n of this connection.
    NewToken(u32),
    /// A message to the peer's policies, by the number that `messages` gave it.
    PolicyMessage(u64),
    /// ACK_FREQUENCY with this sequence number.
    AckFrequency(u64),
    /// PROTECTED.
    Protected,
    /// A repair symbol of this block. It is not sent again.
    Repair(u64),
    /// What was recovered. Rare, and longer than the others.
    Recovered(Box<Recovered>),
}

// Each sent packet holds two without allocation.
const _: () = assert!(size_of::<SentFrame>() == 24);

/// A range of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentStream {
    pub(crate) id: StreamId,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) fin: bool,
    /// Whether it was a copy of a range that another packet carries. Of one that is still to be sent: whether it will answer
    /// for the range together with that packet, rather than instead of it.
    pub(crate) copy: bool,
    /// Of a range with copies: to which round of transmissions it belongs.
    pub(crate) round: u16,
}

impl SentStream {
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// What a STREAM_SKIP frame told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentSkip {
    pub(crate) id: StreamId,
    pub(crate) range: Range<u64>,
}

/// Control frames of streams and flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamControl {
    ResetStream(StreamId),
    StopSending(StreamId),
    MaxData,
    MaxStreamData(StreamId),
    MaxStreams { bidirectional: bool },
    DataBlocked,
    StreamDataBlocked(StreamId),
    StreamsBlocked { bidirectional: bool },
}

/// Control frames of paths and connection ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathControl {
    NewConnectionId { path: PathId, sequence: u64 },
    RetireConnectionId { path: PathId, sequence: u64 },
    Status { path: PathId, sequence: u64 },
    Abandon(PathId),
    MaxPathId,
    PathsBlocked,
    PathCidsBlocked(PathId),
}

impl PathControl {
    /// The path id that a frame is about; `None` if it is about all.
    pub(crate) fn path(self) -> Option<PathId> {
        match self {
            PathControl::NewConnectionId { path, .. }
            | PathControl::RetireConnectionId { path, .. }
            | PathControl::Status { path, .. }
            | PathControl::Abandon(path)
            | PathControl::PathCidsBlocked(path) => Some(path),
            PathControl::MaxPathId | PathControl::PathsBlocked => None,
        }
    }
}
