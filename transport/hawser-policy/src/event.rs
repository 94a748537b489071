//! What a policy may ask to be told, and what it then is told.

use std::ops::{BitOr, Range};
use std::time::Duration;

use crate::{AttachReport, Feedback, LinkUpdate, Message, PathChange, PathId, StreamId, Tag, Time};

/// The kinds of [`Event`] that a policy asks for. What nobody asked for is not even put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Interests(u16);

impl Interests {
    /// Nothing.
    pub const NONE: Interests = Interests(0);
    /// [`Event::Sent`], for every packet.
    pub const SENT: Interests = Interests(1 << 0);
    /// [`Event::Acked`], for every packet that was acknowledged.
    pub const ACKED: Interests = Interests(1 << 1);
    /// [`Event::Lost`], for every packet that was declared lost.
    pub const LOST: Interests = Interests(1 << 2);
    /// [`Event::SpuriousLoss`].
    pub const SPURIOUS_LOSS: Interests = Interests(1 << 3);
    /// [`Event::ProbeTimeout`].
    pub const PROBE_TIMEOUT: Interests = Interests(1 << 4);
    /// [`Event::Path`].
    pub const PATHS: Interests = Interests(1 << 5);
    /// [`Event::Link`] and [`Event::Attach`].
    pub const LINKS: Interests = Interests(1 << 6);
    /// [`Event::Feedback`].
    pub const FEEDBACK: Interests = Interests(1 << 7);
    /// [`Event::Received`], for every packet that arrives.
    pub const RECEIVED: Interests = Interests(1 << 8);
    /// [`Event::Message`]: messages of the features that the set lists, and of the application.
    pub const MESSAGES: Interests = Interests(1 << 10);
    /// Not an event: the scheduler places repair symbols ([`Selection::Repair`](crate::Selection::Repair)) for which the
    /// protection policy named no path. Otherwise they go where the data went.
    pub const REPAIR: Interests = Interests(1 << 11);
    /// Not an event: the scheduler is asked also when nothing is queued but data is in flight, and when flow control
    /// blocks what is queued. For schedulers that rescue what a slow path carries.
    pub const IDLE: Interests = Interests(1 << 9);

    /// Whether all of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: Interests) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without those of `other`.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Interests) -> Interests {
        Interests(self.0 & !other.0)
    }

    /// Whether nothing is.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Both together; also in constants, where `|` cannot be used.
    pub const fn with(self, other: Interests) -> Interests {
        Interests(self.0 | other.0)
    }
}

impl BitOr for Interests {
    type Output = Interests;

    fn bitor(self, other: Interests) -> Interests {
        self.with(other)
    }
}

/// Why sending on a path stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LimitedBy {
    /// It has not stopped.
    #[default]
    Nothing,
    /// Nothing was left to send.
    Application,
    /// Data was queued, but the scheduler gave the path none.
    Scheduler,
    /// Data was queued, but the peer's flow control held it back.
    FlowControl,
    /// The congestion window was full.
    CongestionWindow,
    /// The pacer held the next packet back.
    Pacing,
    /// The peer's address is not validated (RFC 9000 section 8).
    Amplification,
}

impl LimitedBy {
    /// Whether the window went unused for a reason that has nothing to do with the network: then it must not grow
    /// (RFC 9002 section 7.8), and a delivery rate measured meanwhile is no more than a lower bound
    /// (draft-ietf-ccwg-bbr section 4.1.2.4). Pacing is not such a reason.
    #[inline]
    pub const fn leaves_window_unused(self) -> bool {
        match self {
            LimitedBy::Nothing | LimitedBy::CongestionWindow | LimitedBy::Pacing => false,
            LimitedBy::Application
            | LimitedBy::Scheduler
            | LimitedBy::FlowControl
            | LimitedBy::Amplification => true,
        }
    }
}

/// A part of a stream in a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRange {
    /// The stream.
    pub stream: StreamId,
    /// Its bytes; empty if the packet carried only the end of the stream.
    pub range: Range<u64>,
    /// Whether it is a copy of a range that another packet carries too.
    pub copy: bool,
}

/// A packet left.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PacketSent<'a> {
    /// When.
    pub now: Time,
    /// On which path.
    pub path: PathId,
    /// Its number; rises on each path, with gaps.
    pub packet_number: u64,
    /// Bytes of the packet.
    pub bytes: u64,
    /// Bytes in flight on the path, this packet included.
    pub bytes_in_flight: u64,
    /// The assignment's tag.
    pub tag: Tag,
    /// Stream data in it.
    pub ranges: &'a [StreamRange],
    /// Why the path was silent before this packet; [`LimitedBy::Nothing`] if it was not.
    pub limited_by: LimitedBy,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PacketReport<'a> {
    /// When this was learned.
    pub now: Time,
    /// The path.
    pub path: PathId,
    /// Its number.
    pub packet_number: u64,
    /// Bytes of the packet.
    pub bytes: u64,
    /// When it left.
    pub sent_at: Time,
    /// Bytes in flight on the path when it left, itself included.
    pub bytes_in_flight_at_send: u64,
    /// The assignment's tag.
    pub tag: Tag,
    /// Stream data in it.
    pub ranges: &'a [StreamRange],
    /// One-way delay reported by the peer, offset unknown but constant; `None` if it reported none.
    pub one_way_delay: Option<Duration>,
}

/// A packet arrived and was processed.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PacketReceived {
    /// When it was processed.
    pub now: Time,
    /// When the socket received it.
    pub received_at: Time,
    /// The path.
    pub path: PathId,
    /// Its number.
    pub packet_number: u64,
    /// Bytes of the datagram that brought it.
    pub bytes: u64,
    /// Numbers below it, down to the largest received before, that have not arrived: lost, late, or left out by the
    /// sender. Zero for a packet that came late itself.
    pub gap: u64,
    /// Whether it carried an ECN congestion mark.
    pub congestion_marked: bool,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageOrigin {
    /// The policies of the peer.
    Peer,
    /// The application at this end.
    Application,
}

/// Something that happened to a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet left.
    Sent(&'a PacketSent<'a>),
    /// A packet was acknowledged.
    Acked(&'a PacketReport<'a>),
    /// A packet was declared lost.
    Lost(&'a PacketReport<'a>),
    /// Packets that had been declared lost were acknowledged after all.
    SpuriousLoss {
        /// When.
        now: Time,
        /// On which path.
        path: PathId,
        /// How many.
        packets: u64,
    },
    /// A probe timeout expired (RFC 9002 section 6.2).
    ProbeTimeout {
        /// When.
        now: Time,
        /// On which path.
        path: PathId,
        /// Probe timeouts in a row, this one included.
        count: u32,
    },
    /// The set of paths changed.
    Path {
        /// When.
        now: Time,
        /// Which path.
        path: PathId,
        /// How.
        change: PathChange,
    },
    /// A local link changed, or a new forecast of it came in: the moment to plan again (MAMS, MMQUIC).
    Link(&'a LinkUpdate<'a>),
    /// A link was attached elsewhere at somebody's request, or was not.
    Attach {
        /// When.
        now: Time,
        /// What was asked for, and what became of it.
        report: &'a AttachReport,
    },
    /// The application reported on quality.
    Feedback {
        /// When.
        now: Time,
        /// What it said.
        feedback: &'a Feedback,
    },
    /// A packet arrived.
    Received(&'a PacketReceived),
    /// A message came.
    Message {
        /// When.
        now: Time,
        /// From whom.
        origin: MessageOrigin,
        /// The message; expect anything of a peer's payload.
        message: &'a Message,
    },
}

impl Event<'_> {
    /// The interest that asks for this event.
    pub const fn interest(&self) -> Interests {
        match self {
            Event::Sent(_) => Interests::SENT,
            Event::Acked(_) => Interests::ACKED,
            Event::Lost(_) => Interests::LOST,
            Event::SpuriousLoss { .. } => Interests::SPURIOUS_LOSS,
            Event::ProbeTimeout { .. } => Interests::PROBE_TIMEOUT,
            Event::Path { .. } => Interests::PATHS,
            Event::Link(_) | Event::Attach { .. } => Interests::LINKS,
            Event::Feedback { .. } => Interests::FEEDBACK,
            Event::Received(_) => Interests::RECEIVED,
            Event::Message { .. } => Interests::MESSAGES,
        }
    }
}
