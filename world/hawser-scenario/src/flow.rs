//! What is sent over the links.

use std::time::Duration;

use hawser_link::Nanos;
use hawser_media::Choice;
use hawser_policy::Composition;

use crate::{Direction, TunnelMix};

/// Traffic between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Name, unique; copies of a flow with `count` above one are told apart by `.1`, `.2`, ...
    pub name: String,
    /// The host that has the links and opens the connection, as an index into the scenario's hosts.
    pub client: usize,
    /// The links it uses, as indices into the scenario's links, all of `client` and all to one host; not empty.
    pub links: Vec<usize>,
    /// When it begins.
    pub start: Nanos,
    /// When it ends at the latest; `None`: with the scenario.
    pub stop: Option<Nanos>,
    /// How many of them run side by side, each with a connection of its own; 1 or more.
    pub count: u32,
    /// Its policies, over those of the scenario; see [`Scenario::policies_of`](crate::Scenario::policies_of).
    pub policies: Composition,
    /// What it does.
    pub kind: FlowKind,
    /// Whether its end ends the run: the run is over when all such flows are. A flow without an end of its own is not.
    pub awaited: bool,
    /// Times of activity and silence, exponentially distributed; `None`: always active.
    pub pattern: Option<Pattern>,
}

/// Means of exponentially distributed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Mean time of activity.
    pub on: Duration,
    /// Mean time of silence.
    pub off: Duration,
}

impl FlowKind {
    /// The way of its data; for requests that of the responses, for a mix that of its bulk transfer.
    pub fn direction(&self) -> Direction {
        match self {
            FlowKind::Bulk { direction, .. }
            | FlowKind::Datagrams { direction, .. }
            | FlowKind::Application { direction, .. }
            | FlowKind::Udp { direction, .. } => *direction,
            FlowKind::TunnelMix(mix) => mix.bulk.unwrap_or(Direction::Down),
            FlowKind::Requests { .. } => Direction::Down,
        }
    }
}

/// What a flow does. Sizes are bytes of application data, for UDP of the IP packet.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowKind {
    /// One stream, as fast as it goes.
    Bulk {
        /// Which way: `Down` is to the host with the links.
        direction: Direction,
        /// Bytes; `None`: unbounded.
        size: Option<u64>,
    },
    /// Requests, each with a response on a stream of its own: one after the other, several at a time, or at an even pace.
    Requests {
        /// Bytes of a request.
        request: u64,
        /// Bytes of a response.
        response: u64,
        /// Time between the end of a response and the next request.
        think: Duration,
        /// How many; `None`: unbounded.
        number: Option<u64>,
        /// At most so many at the same time, 1 or more; new ones begin together.
        parallel: u32,
        /// Time from the beginning of one to that of the next, whatever has become of it; `None`: the next begins after an end.
        every: Option<Duration>,
    },
    /// Unreliable datagrams at an even rate.
    Datagrams {
        /// Which way.
        direction: Direction,
        /// Bytes of each.
        size: u32,
        /// Bit/s of payload.
        rate: u64,
    },
    /// An application, whose sending end is at the beginning of the direction.
    Application {
        /// Which way.
        direction: Direction,
        /// What it is.
        application: Choice,
    },
    /// What a tunnel carries at once, over one connection.
    TunnelMix(TunnelMix),
    /// UDP packets without a transport, from one end of the links' route to the other, or over segments only.
    Udp {
        /// Which way.
        direction: Direction,
        /// Bytes of each IP packet.
        size: u32,
        /// Bit/s.
        rate: u64,
        /// Exponentially distributed gaps instead of even ones.
        poisson: bool,
        /// Segments that it crosses, as indices into the scenario's segments, instead of the links.
        over: Vec<usize>,
    },
}
