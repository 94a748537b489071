//! Whether a server sends strangers more than three times what came from them (RFC 9000 section 8).
//!
//! The connections of a server each keep to that limit. Here it is checked from outside, over all of them together with
//! Retry, Version Negotiation, refusals and stateless resets: a [`ServerEdge`] counts bytes from and to each address, and
//! a [`ClientEdge`] tells which addresses there is somebody at, who has shown it. Only that ends the limit: a packet from
//! the address, sent by its owner after something from the server has arrived there. What the server believes, because
//! of tokens for example, does not count.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use hawser_policy::Time;

use crate::{Node, Packet};

/// RFC 9000 section 8.
const FACTOR: u64 = 3;

/// Bytes of UDP payload that a server has exchanged with one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// From there.
    pub received: u64,
    /// To there.
    pub sent: u64,
    /// Whether something of the server has arrived there.
    is_reached: bool,
    /// Whether the server knows that.
    is_validated: bool,
}

/// What both edges know. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Amplification(Rc<RefCell<Ledger>>);

#[derive(Debug, Default)]
struct Ledger {
    exchanges: BTreeMap<IpAddr, Exchange>,
    /// Labels of packets under way that owners of addresses sent after they had heard of the server.
    proofs: BTreeSet<(IpAddr, u64)>,
    excess: Option<(IpAddr, Exchange)>,
}

impl Amplification {
    /// The first address that was sent too much, with what was exchanged until then.
    pub fn excess(&self) -> Option<(IpAddr, Exchange)> {
        self.0.borrow().excess
    }

    /// What was exchanged with an address.
    pub fn with(&self, address: IpAddr) -> Exchange {
        self.0.borrow().exchanges.get(&address).copied().unwrap_or_default()
    }

    fn of<T>(&self, address: IpAddr, act: impl FnOnce(&mut Exchange) -> T) -> T {
        act(self.0.borrow_mut().exchanges.entry(address).or_default())
    }

    fn received(&self, packet: &Packet) {
        let from = packet.tuple.local.ip();
        let is_proof = self.0.borrow_mut().proofs.remove(&(from, packet.label));
        self.of(from, |exchange| {
            exchange.received += packet.payload.len() as u64;
            exchange.is_validated |= is_proof;
        });
    }

    fn sent(&self, packet: &Packet) {
        let to = packet.tuple.remote.ip();
        let exchange = self.of(to, |exchange| {
            exchange.sent += packet.payload.len() as u64;
            *exchange
        });
        if !exchange.is_validated && exchange.sent > FACTOR * exchange.received {
            self.0.borrow_mut().excess.get_or_insert((to, exchange));
        }
    }
}

/// What an attacker adds when this packet comes to the server: packets that arrive before it.
pub type Attack = Box<dyn FnMut(Time, &Packet) -> Vec<Packet>>;

/// A server, watched.
pub struct ServerEdge<N> {
    /// The server.
    pub node: N,
    /// Who else sends to it.
    pub attack: Option<Attack>,
    ledger: Amplification,
}

impl<N> ServerEdge<N> {
    /// Watches a server.
    pub fn new(node: N, ledger: &Amplification) -> Self {
        ServerEdge { node, attack: None, ledger: ledger.clone() }
    }
}

impl<N: Node> Node for ServerEdge<N> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let forged = self.attack.as_mut().map_or_else(Vec::new, |attack| attack(now, &packet));
        for packet in forged {
            // Whatever its label is, nobody proves anything with it.
            let packet = Packet { label: 0, ..packet };
            self.ledger.received(&packet);
            self.node.handle_packet(now, packet);
        }
        self.ledger.received(&packet);
        self.node.handle_packet(now, packet);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.node.poll_transmit(now)?;
        self.ledger.sent(&packet);
        Some(packet)
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.node.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node.handle_timeout(now);
    }
}

/// A client, watched: the owner of its addresses.
pub struct ClientEdge<N> {
    /// The client.
    pub node: N,
    ledger: Amplification,
}

impl<N> ClientEdge<N> {
    /// Watches a client.
    pub fn new(node: N, ledger: &Amplification) -> Self {
        ClientEdge { node, ledger: ledger.clone() }
    }
}

impl<N: Node> Node for ClientEdge<N> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        self.ledger.of(packet.tuple.remote.ip(), |exchange| exchange.is_reached = true);
        self.node.handle_packet(now, packet);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.node.poll_transmit(now)?;
        let from = packet.tuple.local.ip();
        let exchange = self.ledger.with(from);
        if exchange.is_reached && !exchange.is_validated && packet.label != 0 {
            self.ledger.0.borrow_mut().proofs.insert((from, packet.label));
        }
        Some(packet)
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.node.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node.handle_timeout(now);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::net::SocketAddr;

    use bytes::BytesMut;
    use hawser_core::FourTuple;

    use super::*;
    use crate::testing::{SERVER, client_address};

    /// Answers every packet with so many of its size: a server without a limit.
    struct Echo {
        copies: usize,
        answers: VecDeque<Packet>,
    }

    impl Node for Echo {
        fn handle_packet(&mut self, _: Time, packet: Packet) {
            let tuple = FourTuple { local: packet.tuple.remote, remote: packet.tuple.local };
            let answer = Packet::new(tuple, None, packet.payload);
            self.answers.extend(std::iter::repeat_n(answer, self.copies));
        }

        fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
            self.answers.pop_front()
        }

        fn poll_timeout(&mut self) -> Option<Time> {
            None
        }

        fn handle_timeout(&mut self, _: Time) {}
    }

    const NOW: Time = Time::ZERO;

    fn edge(copies: usize) -> (ServerEdge<Echo>, Amplification) {
        let ledger = Amplification::default();
        (ServerEdge::new(Echo { copies, answers: VecDeque::new() }, &ledger), ledger)
    }

    fn question(local: SocketAddr, label: u64) -> Packet {
        let tuple = FourTuple { local, remote: SERVER };
        Packet { label, ..Packet::new(tuple, None, BytesMut::from(&[7; 100][..])) }
    }

    fn answers(server: &mut ServerEdge<Echo>) -> Vec<Packet> {
        std::iter::from_fn(|| server.poll_transmit(NOW)).collect()
    }

    #[test]
    fn a_server_without_a_limit_is_found_out() {
        for (copies, is_excessive) in [(3, false), (4, true)] {
            let (mut server, ledger) = edge(copies);
            // Ports do not matter: an address is flooded, not a port.
            for port in 1..=2 {
                server.handle_packet(NOW, question(SocketAddr::new(client_address(0).ip(), port), 1));
            }
            answers(&mut server);
            assert_eq!(ledger.excess().is_some(), is_excessive, "{copies} copies");
        }
    }

    #[test]
    fn only_who_heard_of_the_server_proves_an_address() {
        let (mut server, ledger) = edge(3);
        let mut owner = ClientEdge::new(Echo { copies: 1, answers: VecDeque::new() }, &ledger);
        let here = client_address(0);
        server.handle_packet(NOW, question(here, 1));
        let answer = answers(&mut server).remove(0);
        assert!(!ledger.with(here.ip()).is_validated);
        owner.handle_packet(NOW, answer);
        let reply = Packet { label: 2, ..owner.poll_transmit(NOW).unwrap() };
        server.handle_packet(NOW, reply.clone());
        assert!(!ledger.with(here.ip()).is_validated, "a packet that its owner did not send");
        ledger.0.borrow_mut().proofs.insert((here.ip(), 2));
        server.handle_packet(NOW, reply);
        assert!(ledger.with(here.ip()).is_validated);
        // Without limit from now on.
        server.node.copies = 100;
        server.handle_packet(NOW, question(here, 3));
        answers(&mut server);
        assert_eq!(ledger.excess(), None);
    }

    #[test]
    fn what_an_attacker_copies_proves_nothing() {
        let (mut server, ledger) = edge(1);
        ledger.0.borrow_mut().proofs.insert((client_address(1).ip(), 5));
        server.attack = Some(Box::new(|_, packet| {
            let tuple = FourTuple { local: client_address(1), ..packet.tuple };
            vec![Packet { tuple, ..packet.clone() }]
        }));
        server.handle_packet(NOW, question(client_address(0), 5));
        assert!(!ledger.with(client_address(1).ip()).is_validated);
        assert_eq!(ledger.with(client_address(1).ip()).received, 100);
    }
}
