//! What a simulation tells while it runs.

use std::time::Duration;

use hawser_core::PathStats;
use hawser_link::DropCause;
use hawser_policy::{Note, PathId, Time};
use hawser_scenario::Direction;

/// Takes records as they come, in the order of time; keeps what it likes.
pub trait Recorder {
    /// Time between two samples, the first at the start; `None`: none are taken. A sample has everything that happened until its time, that
    /// time included. The end of the run is the last one.
    fn sample_interval(&self) -> Option<Duration> {
        None
    }

    /// Whether every packet is to be told.
    fn wants_packets(&self) -> bool {
        false
    }

    /// Whether it is to be told when the data of packets was delivered.
    fn wants_deliveries(&self) -> bool {
        false
    }

    /// Names of the notes of policies that it wants, such as `mams.plan`; asked once.
    fn wants_notes(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Asked between two instants: `false` ends the run there, as [`End::Stopped`](super::End::Stopped).
    fn goes_on(&mut self) -> bool {
        true
    }

    /// A flow now.
    fn flow(&mut self, _sample: &FlowSample<'_>) {}

    /// A path now, at its sending end.
    fn path(&mut self, _sample: &PathSample<'_>) {}

    /// A direction of a link now.
    fn link(&mut self, _sample: &LinkSample<'_>) {}

    /// A packet arrived or was dropped.
    fn packet(&mut self, _record: &PacketRecord<'_>) {}

    /// A policy at one end of a flow noted something, in the instant before this call.
    fn note(&mut self, _flow: &str, _note: Note) {}

    /// All stream data that a [followed](PacketRecord::followed) packet was the first to carry has been read in order,
    /// or, without a time, some of it never will be. That can be before the packet's own end, when the data came
    /// again on another way.
    fn settled(&mut self, _label: u64, _delivered: Option<Time>) {}
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {}

/// A flow at one moment.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample<'a> {
    /// When.
    pub at: Time,
    /// Its name.
    pub flow: &'a str,
    /// Bytes of application data received in order since the start.
    pub bytes: u64,
    /// Requests answered or datagrams received since the start.
    pub completed: u64,
    /// Bytes of its streams that have arrived and not been read, as a rule because earlier ones are missing.
    pub waiting: u64,
}

/// A path at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PathSample<'a> {
    /// When.
    pub at: Time,
    /// The flow.
    pub flow: &'a str,
    /// The path's id.
    pub path: PathId,
    /// The link.
    pub link: &'a str,
    /// Counters and state at the sending end.
    pub stats: &'a PathStats,
}

/// A direction of a link at one moment.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample<'a> {
    /// When.
    pub at: Time,
    /// The link or segment.
    pub link: &'a str,
    /// The direction.
    pub direction: Direction,
    /// Whether it is up.
    pub up: bool,
    /// Bytes in its queue.
    pub queued_bytes: u64,
    /// Bytes delivered since the start.
    pub delivered_bytes: u64,
    /// Packets dropped for any reason since the start.
    pub dropped_packets: u64,
}

/// A packet at the end of its way.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecord<'a> {
    /// When it was sent.
    pub sent: Time,
    /// When it arrived or was dropped.
    pub at: Time,
    /// The access link of its route, or the UDP flow that it belongs to.
    pub route: &'a str,
    /// The direction.
    pub direction: Direction,
    /// The connection, as the port of its client.
    pub port: u16,
    /// Bytes of the IP packet.
    pub length: u32,
    /// Its ECN field; none: not ECN-capable.
    pub ecn: Option<hawser_core::Ecn>,
    /// Where and why it was dropped, if it was.
    pub dropped: Option<(&'a str, DropCause)>,
    /// Its UDP payload.
    pub payload: &'a [u8],
    /// Source address and destination address.
    pub addresses: hawser_core::FourTuple,
    /// Its label, if it was the first to carry some stream data and somebody
    /// [wants](Recorder::wants_deliveries) to hear when that is delivered. Only one of several copies is followed.
    pub followed: Option<u64>,
}
