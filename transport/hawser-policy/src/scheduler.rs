use std::ops::Range;
use std::time::Duration;

use crate::{
    AckFrequency, AttachRequest, Event, Figures, Interests, Message, PathId, PathMask, PathStatus, SendView,
    Side, StreamId, Tag, Time, Trace,
};

/// Which bytes of the send queue an assignment takes.
///
/// The send queue is the order in which the core would send on its own: retransmissions first, then
/// datagrams, then streams by priority, each stream in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// From the head of the queue: lost bytes first, each after the unsent ones that lie before it in its stream, then all
    /// other unsent ones.
    Next,
    /// Leave this many bytes of unsent stream data at the head for other paths and take what follows
    /// (STMS, DAPS, LATE, MAMS: later bytes go to the slower path). Retransmissions are never skipped. Within a stream the
    /// number grows by up to a packet where packets would otherwise be cut into pieces.
    Skip(u64),
    /// The same without retransmissions and datagrams, which are left to other paths: what was never sent, beyond so many bytes
    /// of it (a slower path works on while what was lost waits for the fastest one).
    Unsent(u64),
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
    /// Repair symbols that wait for a scheduler to place them ([`QueueView::repair`](crate::QueueView::repair)), and nothing
    /// else.
    Repair,
}

/// Bytes for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Handed back in [`PacketReport::tag`](crate::PacketReport::tag).
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
    /// Send nothing although something could be sent. The core asks again when an acknowledgement arrives, when the queue
    /// or a path changes, and at the given time, but not before [`MIN_WAIT`] is over, and after a probe timeout of the
    /// slowest path at the latest: a scheduler cannot stop a connection.
    Wait(Option<Time>),
}

/// The shortest wait of a scheduler: the granularity of timers (RFC 9002 section 6.1.2).
pub const MIN_WAIT: Duration = Duration::from_millis(1);

/// A change a scheduler asks for besides its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Queue a copy of the oldest `max_bytes` in flight on `from` for `to`; each range is cancelled when the
    /// other copy is acknowledged first. `to` answers for the ranges from then on: what it loses is sent again. Ranges that are in
    /// flight on `to` already, as those of a message that left on both, are left out and do not count.
    Reinject {
        /// The path that carries the ranges now.
        from: PathId,
        /// The path that gets the copies.
        to: PathId,
        /// At most this much.
        max_bytes: u64,
    },
    /// The same with the newest bytes: a path that is slow, but alive, delivers the oldest itself.
    ReinjectNewest {
        /// The path that carries the ranges now.
        from: PathId,
        /// The path that gets the copies.
        to: PathId,
        /// At most this much, rounded up to a packet.
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
    /// Replace the controller of a path with the factory of the set, which knows from the state of the set which one it
    /// is to be. Estimates are carried over ([`ControllerInit::snapshot`](crate::ControllerInit::snapshot)).
    ReplaceController {
        /// The path.
        path: PathId,
    },
    /// Pace a path at this percentage of its rate from now on; 100 is none.
    ScalePacing {
        /// The path.
        path: PathId,
        /// From [`MIN_PACING_PERCENT`] to [`MAX_PACING_PERCENT`]; clamped.
        percent: u16,
    },
    /// Let our acknowledgements for one path leave on another from now on, as long as that can send; with `None` the
    /// acknowledgement policy decides again.
    ReturnAcks {
        /// The path whose packets are acknowledged.
        acked: PathId,
        /// Where the acknowledgements leave.
        on: Option<PathId>,
    },
    /// Send a message to the policies of the peer. Refused and counted if its feature was not negotiated or too many
    /// messages are under way.
    Send(Message),
    /// Hand a message to the application at this end. The oldest give way if it does not take them.
    Tell(Message),
    /// Attach a link elsewhere. The answer of the controller of the links is [`Event::Attach`]; see
    /// [`PathAction::Attach`](crate::PathAction::Attach). The newest request for a link counts. Refused
    /// and counted if requests for eight links wait for the driver.
    Attach(AttachRequest),
    /// Send a PING on a path, whatever window and pacer say. At most one is pending.
    Ping {
        /// The path.
        path: PathId,
    },
    /// Ask the peer for another acknowledgement frequency, on all paths; the delay is clamped to what it takes. Refused and
    /// counted if it takes no such requests.
    RequestAckFrequency(AckFrequency),
    /// Ask the peer to acknowledge at once what was sent on a path, where it otherwise might wait (IMMEDIATE_ACK): with the
    /// next packet there, or with one of its own as soon as the congestion window allows. Refused and counted if it takes
    /// no such requests.
    RequestAck {
        /// The path.
        path: PathId,
    },
    /// Never send this range (again). The peer is told (STREAM_SKIP) at once of what is not under way; what is under way
    /// may still arrive, and the peer is told of it when it is lost. Applied to data that is not
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

/// The least of [`Command::ScalePacing`], in %.
pub const MIN_PACING_PERCENT: u16 = 10;

/// The most of [`Command::ScalePacing`], in %.
pub const MAX_PACING_PERCENT: u16 = 1_000;

/// Collects [`Command`]s. The core applies the first [`MAX_COMMANDS`] of a call and counts the others.
pub type Commands = Vec<Command>;

/// Commands that are applied per call of a policy.
pub const MAX_COMMANDS: usize = 256;

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

/// Packets of layers of a video frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LayerPackets {
    /// As many as there are.
    pub all: u32,
    /// Those that came in time.
    pub in_time: u32,
}

/// Word from the peer's application about what it received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// An application frame is finished: it arrived complete, or its gaps were given up (4D-MAP's
    /// FRAME_FEEDBACK).
    Frame {
        /// The application's number for it.
        id: u64,
        /// From first byte sent to last byte received, by the receiver's account.
        delay: Duration,
        /// Whether it was there before its deadline.
        in_time: bool,
        /// Bytes of it that arrived, gaps not counted.
        bytes: u64,
    },
    /// A frame of layered video was due: what of it had come by then (QC-MAB's reward).
    LayeredFrame {
        /// Its number.
        number: u64,
        /// Of the base layer, without which nothing of it can be shown.
        base: LayerPackets,
        /// Of all enhancement layers together.
        enhancement: LayerPackets,
    },
    /// Quality of experience as one number; larger is better (XLINK's QOE_FEEDBACK: buffer level in seconds).
    Quality {
        /// The value.
        value: f64,
    },
}

/// Decides which path carries what, and whether to wait.
///
/// Every method but [`schedule`](Scheduler::schedule) has a default that does nothing.
pub trait Scheduler: Send {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Asked whenever something is queued and at least one active path could take a datagram (with
    /// [`Interests::IDLE`] also when nothing is queued); asked again
    /// after each assignment until it waits or nothing more fits. The core clamps what it gets: a path that
    /// cannot send counts as [`Decision::Wait`] with no time.
    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision;

    /// The events that it wants; asked once. None by default: an event costs a call.
    fn interests(&self) -> Interests {
        Interests::NONE
    }

    /// One of them happened.
    fn on_event(&mut self, _event: &Event<'_>, _commands: &mut Commands) {}

    /// When [`on_timeout`](Scheduler::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The timer expired.
    fn on_timeout(&mut self, _view: &SendView<'_>, _commands: &mut Commands) {}

    /// Says where it may note what it decides; by default it notes nothing. Called when somebody listens, before anything else is asked
    /// or while the connection runs.
    fn set_trace(&mut self, _trace: &Trace) {}

    /// Adds what it knows, such as shares that it learned, for people who look at the connection. Called only while somebody
    /// looks; changes nothing.
    fn fill_figures(&self, _figures: &mut Figures) {}
}

/// What a scheduler is told when it is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SchedulerInit {
    /// Our end.
    pub side: Side,
    /// Seed for its random decisions.
    pub seed: u64,
}

impl SchedulerInit {
    /// Returns what a scheduler of this end is told.
    pub fn new(side: Side, seed: u64) -> Self {
        SchedulerInit { side, seed }
    }
}
