//! What waits to be sent, piece by piece, with what the application said about it.

use std::ops::{ControlFlow, Range};

use crate::{PathId, StreamId, Time};

/// How carefully a range must be delivered. Bytes that are not [`Reliable`](Reliability::Reliable) may be given up; where
/// that happens the receiver's stream has a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reliability {
    /// Retransmit until acknowledged. Policies cannot discard such data.
    #[default]
    Reliable,
    /// Send, do not retransmit.
    Unreliable,
    /// Send and retransmit until the deadline, then discard what has not left and do not retransmit the rest. Without a
    /// deadline: until the application or its policy discards it.
    UntilDeadline,
}

/// What kind of application unit a segment is; the numbers of 4D-MAP and of the video specifications map onto it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SegmentKind {
    /// No particular kind.
    #[default]
    Bulk,
    /// An independently decodable video frame.
    KeyFrame,
    /// A frame that depends on earlier ones.
    DeltaFrame,
    /// Audio.
    Audio,
    /// Media set-up and other signalling.
    Signalling,
}

/// What the application says about a frame: a run of bytes of a stream that is of use as a whole (a video frame, a tile, a
/// sample).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FrameInfo {
    /// The application's number for it; no two frames that a stream holds should have the same.
    pub id: u64,
    /// Kind of unit.
    pub kind: SegmentKind,
    /// Layer or tile.
    pub layer: u32,
    /// When it is worthless to the receiver.
    pub deadline: Option<Time>,
    /// Numbers of the frames without which it is worthless, at most [`MAX_DEPENDENCIES`](FrameInfo::MAX_DEPENDENCIES).
    pub dependencies: Vec<u64>,
    /// Larger is more urgent. For schedulers: on its own the core goes by the priority of the stream.
    pub priority: i32,
    /// Delivery guarantee.
    pub reliability: Reliability,
}

impl FrameInfo {
    /// The most dependencies that are kept of a frame; further ones are left out.
    pub const MAX_DEPENDENCIES: usize = 16;
}

/// A piece of a stream with what the application said about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Segment<'a> {
    /// The stream.
    pub stream: StreamId,
    /// The stream's class label, 0 if the application gave none.
    pub class: u32,
    /// Its bytes.
    pub range: Range<u64>,
    /// The application's number for the frame, if the bytes belong to one.
    pub id: Option<u64>,
    /// Where the frame lies in the stream, from its first byte to the last written so far, whatever has left or arrived of
    /// it; without a frame the same as `range`.
    pub extent: Range<u64>,
    /// Kind of unit.
    pub kind: SegmentKind,
    /// Layer or tile.
    pub layer: u32,
    /// When it is worthless.
    pub deadline: Option<Time>,
    /// Numbers of the frames it needs.
    pub depends_on: &'a [u64],
    /// Larger is more urgent: of the frame, else of the stream.
    pub priority: i32,
    /// Delivery guarantee.
    pub reliability: Reliability,
    /// The path that it was assigned to ahead of time, if any.
    pub assigned: Option<PathId>,
    /// Whether this is a retransmission.
    pub retransmission: bool,
}

impl Segment<'_> {
    /// A piece of a stream of which the application said nothing.
    pub fn plain(stream: StreamId, range: Range<u64>) -> Segment<'static> {
        Segment {
            stream,
            class: 0,
            extent: range.clone(),
            range,
            id: None,
            kind: SegmentKind::Bulk,
            layer: 0,
            deadline: None,
            depends_on: &[],
            priority: 0,
            reliability: Reliability::Reliable,
            assigned: None,
            retransmission: false,
        }
    }
}

/// What the application says about a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DatagramInfo {
    /// The only path that may carry it; any if `None`.
    pub path: Option<PathId>,
    /// Class label.
    pub class: u32,
    /// Larger goes first.
    pub priority: i32,
    /// When it is dropped if it has not left.
    pub deadline: Option<Time>,
}

/// A datagram that waits for any path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueuedDatagram {
    /// Its bytes.
    pub bytes: u64,
    /// Class label.
    pub class: u32,
    /// Larger goes first.
    pub priority: i32,
    /// When it is dropped.
    pub deadline: Option<Time>,
}

/// The send queue behind a [`QueueView`](crate::QueueView), for policies that look at single segments.
pub trait SendQueue {
    /// Calls `visit` for each queued range in send order until it breaks.
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>);

    /// Calls `visit` for each datagram that any path may carry, in send order, until it breaks.
    fn datagrams(&self, _visit: &mut dyn FnMut(&QueuedDatagram) -> ControlFlow<()>) {}

    /// Stream bytes sent as copies over the life of the connection.
    fn copied_bytes(&self) -> u64 {
        0
    }

    /// Of these, those whose original was acknowledged first.
    fn needless_copies(&self) -> u64 {
        0
    }
}

/// A queue that shows no segments, for schedulers that look at sizes only and for tests.
impl SendQueue for () {
    fn segments(&self, _visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {}
}
