//! The nodes of a scenario.

use std::net::SocketAddr;

use hawser_core::PathStats;
use hawser_policy::{PathId, Time};

use super::addresses::FIRST_PORT;
use super::client::Clients;
use super::meter::Meter;
use super::server::Servers;
use super::udp::{UdpSink, UdpSource};
use crate::engine::Nodes;
use crate::{Host, Node, Packet};

/// Makes a server of a scenario from its address and a seed.
pub type ServerFactory = Box<dyn FnMut(SocketAddr, u64) -> Box<dyn ForeignServer>>;

/// A server of another stack. It does what each stream's [`Request`](super::Request) asks, speaks TLS with
/// [`tls::server_config`](crate::tls::server_config), and tells what it saw. Sessions have the numbers of
/// [`session_of`].
pub trait ForeignServer: Node {
    /// What arrived from the client of a session; `None` when nothing did.
    fn meter(&self, session: usize) -> Option<&Meter>;

    /// Datagrams sent to the client of a session.
    fn datagrams_sent(&self, session: usize) -> u64;

    /// What the paths of a session's connection did at this end, as far as the stack counts that.
    fn paths(&mut self, session: usize) -> Vec<(PathId, PathStats)>;
}

/// The number of the session whose client has this address: all its connections and paths have one port.
pub fn session_of(client: SocketAddr) -> usize {
    usize::from(client.port().saturating_sub(FIRST_PORT))
}

/// A node of a scenario.
pub(super) enum Participant {
    Clients(Box<Host<Clients>>),
    Servers(Box<Host<Servers>>),
    Foreign(Box<dyn ForeignServer>),
    Source(Box<UdpSource>),
    Sink(UdpSink),
}

impl Participant {
    fn inner(&mut self) -> &mut dyn Node {
        match self {
            Participant::Clients(host) => host.as_mut(),
            Participant::Servers(host) => host.as_mut(),
            Participant::Foreign(node) => node.as_mut(),
            Participant::Source(source) => source.as_mut(),
            Participant::Sink(sink) => sink,
        }
    }
}

impl Node for Participant {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        self.inner().handle_packet(now, packet);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.inner().poll_transmit(now)
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.inner().poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner().handle_timeout(now);
    }
}

/// All nodes of a scenario.
pub(super) struct Participants(pub(super) Vec<Participant>);

impl Nodes for Participants {
    fn node(&mut self, index: usize) -> &mut dyn Node {
        self.0[index].inner()
    }
}
