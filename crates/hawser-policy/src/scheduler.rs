use std::ops::Range;
use std::time::Duration;

use crate::{
    FecDecision, LinkUpdate, MobilityReport, PathId, PathMask, PathStatus, SendView, Side, StreamId, Tag,
    Time,
};

/// Which bytes of the send queue an assignment takes.
///
/// The send queue is the order in which the core would send on its own: retransmissions first, then
/// datagrams, then streams by priority, each stream in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// From the head of the queue.
    Next,
    /// Leave this many bytes of unsent stream data at the head for other paths and take what follows
    /// (STMS, DAPS, LATE, MAMS: later bytes go to the slower path). Retransmissions are never skipped.
    Skip(u64),
    /// These bytes of one stream, as far as they wait: lost ones first, then unsent ones as far as flow control allows.
    /// Neither datagrams nor other bytes go along (a later frame on a slower path, a lost key frame before all else).
    Range {
        /// The stream.
        stream: StreamId,
        /// The first byte.
        start: u64,
        /// One above the last byte.
        end: u64,
    },
    /// Datagrams, and nothing else: a path for datagrams of their own.
    Datagrams,
    /// From the copies queued for this path (see [`Assignment::copies`] and [`Command::Reinject`]).
    Copies,
}

/// Bytes for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Where.
    pub path: PathId,
    /// What.
    pub selection: Selection,
    /// At most this many bytes before the scheduler is asked again. The core rounds up to one datagram and
    /// clamps to window, pacing and the size of a batch; [`u64::MAX`] means "as much as goes".
    pub max_bytes: u64,
    /// Paths (by position in the view) for which a copy of the same stream ranges is queued. A copy that is lost is
    /// not sent again for its own sake: a range is retransmitted when the last of its copies is lost.
    pub copies: PathMask,
    /// Handed back in [`PacketReport::tag`].
    pub tag: Tag,
}

impl Assignment {
    /// From the head of the queue, as much as goes.
    pub fn next(path: PathId) -> Self {
        Assignment {
            path,
            selection: Selection::Next,
            max_bytes: u64::MAX,
            copies: PathMask::NONE,
            tag: Tag(0),
        }
    }
}

/// A scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send.
    Send(Assignment),
    /// Send nothing although something could be sent. The core asks again when an acknowledgement arrives,
    /// the queue or a path changes, or at the given time.
    Wait(Option<Time>),
}

/// A change a scheduler asks for beside its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Queue a copy of the oldest `max_bytes` in flight on `from` for `to`; each range is cancelled when the
    /// other copy is acknowledged first. `to` answers for the ranges from then on: what it loses is sent again.
    Reinject {
        /// The path that carries the ranges now.
        from: PathId,
        /// The path that gets the copies.
        to: PathId,
        /// At most this much.
        max_bytes: u64,
    },
    /// Queue a copy of this range, which must be in flight, for `to`; what is no longer in flight is left out. It is
    /// cancelled like the copies of `Reinject` (XLINK: the first video frame is worth a second path).
    Copy {
        /// The stream.
        stream: StreamId,
        /// Its bytes.
        range: Range<u64>,
        /// The path that gets the copy.
        to: PathId,
    },
    /// Give these bytes to a path ahead of time: until they are taken back no other path sends them, neither the first
    /// time nor again after a loss. [`Selection::Next`] on this path takes them in their turn. Assigning again moves
    /// them. The core takes them back by itself when the path turns suspect or is abandoned. Bytes that were not
    /// written yet cannot be assigned; copies go where they are sent.
    Assign {
        /// The stream.
        stream: StreamId,
        /// Its bytes.
        range: Range<u64>,
        /// The path that alone may send them.
        path: PathId,
    },
    /// Take back what `Assign` gave away: any path may send these bytes again.
    Unassign {
        /// The stream.
        stream: StreamId,
        /// Its bytes.
        range: Range<u64>,
    },
    /// Never send this range (again). The peer is told (STREAM_SKIP) at once of what is not under way; what is under way
    /// may still arrive, and the peer is told of it when it is lost. Obeyed for data that is not
    /// [`Reliability::Reliable`](crate::Reliability), if the peer understands STREAM_SKIP; else ignored and counted.
    Discard {
        /// The stream.
        stream: StreamId,
        /// Its bytes.
        range: Range<u64>,
    },
    /// Send the range once and do not retransmit it: what is lost is told to the peer as with `Discard`. Same
    /// conditions.
    DoNotRetransmit {
        /// The stream.
        stream: StreamId,
        /// Its bytes.
        range: Range<u64>,
    },
}

/// Collects [`Command`]s.
pub type Commands = Vec<Command>;

/// What became of a packet with application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// The path.
    pub path: PathId,
    /// The assignment's tag.
    pub tag: Tag,
    /// Bytes of the datagram.
    pub bytes: u64,
    /// When it left.
    pub sent_at: Time,
    /// When this was learnt.
    pub now: Time,
    /// One-way delay reported by the peer, offset unknown but constant.
    pub one_way_delay: Option<Duration>,
}

/// A change in the set of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// Validated and ready.
    Established,
    /// Up but silent; its data is queued again.
    Suspect,
    /// Answers again.
    Recovered,
    /// Its status changed.
    Status(PathStatus),
    /// Gone; the id never comes back.
    Abandoned,
}

/// Word from the peer's application about what it received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// An application frame arrived complete (4D-MAP's FRAME_FEEDBACK).
    Frame {
        /// The application's number for it.
        id: u64,
        /// From first byte sent to last byte received, by the receiver's account.
        delay: Duration,
        /// Whether it was there before its deadline.
        in_time: bool,
    },
    /// Quality of experience as one number; larger is better (XLINK's QOE_FEEDBACK: buffer level in seconds).
    Quality {
        /// The value.
        value: f64,
    },
    /// The peer reports movement of its links.
    Mobility(MobilityReport),
    /// The receiver decided how a layer is to be protected (QC-MAB runs its bandit where the data arrives).
    Protection {
        /// The application's layer or tile number.
        layer: u32,
        /// What it wants.
        decision: FecDecision,
    },
}

/// Decides which path carries what, and whether to wait.
///
/// Every method but [`schedule`](Scheduler::schedule) has a default that does nothing.
pub trait Scheduler: Send {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Asked whenever something is queued and at least one active path could take a datagram; asked again
    /// after each assignment until it waits or nothing more fits. The core clamps what it gets: a path that
    /// cannot send counts as [`Decision::Wait`] with no time.
    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision;

    /// Whether the core should deliver [`on_acked`](Scheduler::on_acked) and [`on_lost`](Scheduler::on_lost)
    /// for every packet. Off by default: it costs a call per packet.
    fn wants_packet_reports(&self) -> bool {
        false
    }

    /// A packet was acknowledged.
    fn on_acked(&mut self, _report: &PacketReport) {}

    /// A packet was declared lost.
    fn on_lost(&mut self, _report: &PacketReport) {}

    /// The set of paths changed.
    fn on_path_change(&mut self, _path: PathId, _change: PathChange, _now: Time) {}

    /// The application or the peer reported on quality.
    fn on_feedback(&mut self, _feedback: &Feedback, _now: Time) {}

    /// A local link changed, or a new forecast of it came in: the moment to plan anew (MAMS, MMQUIC).
    fn on_link_update(&mut self, _update: &LinkUpdate<'_>) {}

    /// When [`on_timeout`](Scheduler::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The time asked for has come.
    fn on_timeout(&mut self, _view: &SendView<'_>, _commands: &mut Commands) {}
}

/// What a scheduler is told at birth.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerInit {
    /// Our end.
    pub side: Side,
    /// Seed for its random decisions.
    pub seed: u64,
}

/// Makes schedulers, one per connection.
pub trait SchedulerFactory: Send + Sync {
    /// A scheduler for a new connection.
    fn build(&self, init: &SchedulerInit) -> Box<dyn Scheduler>;
}

impl<F> SchedulerFactory for F
where
    F: Fn(&SchedulerInit) -> Box<dyn Scheduler> + Send + Sync,
{
    fn build(&self, init: &SchedulerInit) -> Box<dyn Scheduler> {
        self(init)
    }
}
