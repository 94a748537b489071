//! Foreign stacks as the servers of scenarios: what `hawser sim run` runs, with another server.
//!
//! ```text
//!   Simulation --ServerFactory--> Server<Noq> or Server<Quinn>
//!                                   | packets, timeouts      | Happened: stream 0 is readable, ..
//!                                   v                        v
//!                                 ServingStack  <------  Conversation (does what requests ask)
//! ```
//!
//! The bytes of a run follow from its seed here too. Handshakes draw from [`hawser_sim::tls`]; the stacks' own
//! generators, connection ids and reset keys are seeded. Their hash tables with random keys are only ever looked up,
//! and of [`std::time::Instant`] they use differences alone.

mod conversation;
mod node;
mod noq;
mod quinn;
mod seeds;

use std::time::Instant;

use bytes::Bytes;
use hawser_core::PathStats;
use hawser_policy::PathId;
use hawser_sim::run::ServerFactory;

use crate::{Arrival, ByteStream, Outgoing};
use node::Server;

/// Stacks that can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// noq: QUIC v1 with draft-ietf-quic-multipath-21.
    Noq,
    /// quinn: QUIC v1.
    Quinn,
}

/// Congestion controllers of foreign stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC, the default of both.
    #[default]
    Cubic,
    /// NewReno.
    NewReno,
    /// BBRv1, of quinn.
    Bbr,
    /// BBRv3, of noq.
    Bbr3,
}

impl Congestion {
    /// By the name that Hawser has for it.
    fn named(name: &str) -> Option<Congestion> {
        match name {
            "cubic" => Some(Congestion::Cubic),
            "newreno" => Some(Congestion::NewReno),
            "bbr" => Some(Congestion::Bbr),
            "bbr3" => Some(Congestion::Bbr3),
            _ => None,
        }
    }
}

impl Peer {
    /// The controller with the name that Hawser has for it; an error that says which there are if the stack does not have it.
    pub fn congestion(self, name: &str) -> Result<Congestion, String> {
        let (own, names) = match self {
            Peer::Noq => (Congestion::Bbr3, "cubic, newreno, bbr3"),
            Peer::Quinn => (Congestion::Bbr, "cubic, newreno, bbr"),
        };
        let has = |congestion: &Congestion| {
            matches!(congestion, Congestion::Cubic | Congestion::NewReno) || *congestion == own
        };
        Congestion::named(name)
            .filter(has)
            .ok_or_else(|| format!("{self:?} has no controller `{name}`: it has {names}"))
    }

    /// Makes the servers of a simulation, with the stack's default controller.
    pub fn servers(self) -> ServerFactory {
        self.servers_with(Congestion::default())
    }

    /// The same with another controller. One that the stack does not have is CUBIC; see [`congestion`](Peer::congestion).
    pub fn servers_with(self, congestion: Congestion) -> ServerFactory {
        let origin = origin();
        match self {
            Peer::Noq => Box::new(move |address, seed| {
                Box::new(Server::new(noq::Noq::new(seed, congestion), address, seed, origin))
            }),
            Peer::Quinn => Box::new(move |address, seed| {
                Box::new(Server::new(quinn::Quinn::new(seed, congestion), address, seed, origin))
            }),
        }
    }
}

/// The instant that a foreign stack sees at time zero: any will do, only differences matter to it.
fn origin() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "there is no other way to make an `Instant`")]
    Instant::now()
}

/// What became of a datagram.
enum Received {
    /// The endpoint took it, or no one did.
    Nothing,
    /// The endpoint itself answers with what it put into the buffer.
    Answer(Outgoing),
    /// It was for this connection.
    Connection(usize),
    /// It began this connection.
    New(usize),
}

/// What happened on a connection. Streams have the index of streams that a client opens in both directions.
enum Happened {
    Opened(u64),
    Readable(u64),
    Writable(u64),
    /// The client wants no more of it.
    Stopped(u64),
    Datagram(Bytes),
}

/// A server's endpoint with its connections, each with a number that may come again when it is gone.
trait ServingStack {
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Received;

    /// The next datagrams, appended to `buffer`.
    fn transmit(&mut self, connection: usize, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing>;

    fn timeout(&mut self, connection: usize) -> Option<Instant>;

    fn expire(&mut self, connection: usize, now: Instant);

    /// The next thing that happened; also passes events between connection and endpoint.
    fn poll(&mut self, connection: usize) -> Option<Happened>;

    fn stream<'a>(&'a mut self, connection: usize, index: u64) -> Option<Box<dyn ByteStream + 'a>>;

    /// Gives up the sending half of a stream.
    fn reset(&mut self, connection: usize, index: u64);

    /// Bytes of the largest datagram that can be sent now.
    fn datagram_limit(&mut self, connection: usize) -> Option<usize>;

    /// Queues a datagram; the oldest give way.
    fn send_datagram(&mut self, connection: usize, datagram: Bytes);

    /// What its paths did, as far as that is counted.
    fn paths(&mut self, connection: usize) -> Vec<(PathId, PathStats)>;

    /// Whether all about a connection is over.
    fn is_drained(&self, connection: usize) -> bool;

    /// Lets go of such a connection.
    fn forget(&mut self, connection: usize);
}
