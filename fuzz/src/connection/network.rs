//! What lies between the ends: a link for each address of the client, behind a NAT, and addresses where nobody is.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use hawser_core::{Ecn, FourTuple};
use hawser_policy::{Side, Time};

/// Addresses of the client, each with a link of its own.
pub const LINKS: usize = 4;
/// Addresses where nobody is.
const VICTIMS: usize = 8;
/// Datagrams under way; more are lost.
const MAX_UNDER_WAY: usize = 1_000;
/// Datagrams kept to be sent again by somebody who saw them.
const MAX_RECENT: usize = 16;

/// A datagram on its way.
#[derive(Clone)]
pub struct UnderWay {
    pub by: Side,
    /// Whether its sender had heard of the server at this address.
    pub is_proof: bool,
    /// As its receiver sees it.
    pub tuple: FourTuple,
    pub ecn: Option<Ecn>,
    pub payload: Vec<u8>,
}

/// What a router does to the ECN field (RFC 9000 section 13.4.2: some are not to be relied on).
#[derive(Clone, Copy)]
pub enum Mangling {
    None,
    /// Clears it.
    Bleach,
    /// Turns ECT(0) into ECT(1).
    Remark,
    /// Sets it where nobody asked for it.
    Invent,
}

impl Mangling {
    pub const ALL: [Mangling; 4] = [Mangling::None, Mangling::Bleach, Mangling::Remark, Mangling::Invent];

    fn apply(self, ecn: Option<Ecn>) -> Option<Ecn> {
        match self {
            Mangling::None => ecn,
            Mangling::Bleach => None,
            Mangling::Remark => ecn.map(|_| Ecn::Ect1),
            Mangling::Invent => Some(Ecn::Ect0),
        }
    }
}

/// How a link treats datagrams. Patterns have a bit for each of eight datagrams in turn.
#[derive(Clone, Copy)]
pub struct Link {
    pub up: bool,
    pub delay: Duration,
    pub lose: u8,
    pub duplicate: u8,
    /// Those that are held back by three delays, and so overtaken.
    pub hold: u8,
    /// Those that a router marks with congestion experienced; all if its queue is full.
    pub mark: u8,
    /// What it does to the ECN field of all others.
    pub ecn: Mangling,
    /// The largest datagram that passes.
    pub mtu: usize,
    /// How often the NAT has given it another port.
    rebound: u16,
    count: u32,
}

impl Link {
    pub fn new() -> Self {
        Link {
            up: true,
            delay: Duration::from_millis(10),
            lose: 0,
            duplicate: 0,
            hold: 0,
            mark: 0,
            ecn: Mangling::None,
            mtu: 1500,
            rebound: 0,
            count: 0,
        }
    }
}

/// All links and what is under way.
pub struct Network {
    pub links: [Link; LINKS],
    under_way: BTreeMap<(Time, u64), UnderWay>,
    next: u64,
    /// The latest datagrams that were sent.
    pub recent: VecDeque<UnderWay>,
    ledger: Ledger,
}

impl Network {
    pub fn new() -> Self {
        Network {
            links: [Link::new(); LINKS],
            under_way: BTreeMap::new(),
            next: 0,
            recent: VecDeque::new(),
            ledger: Ledger::default(),
        }
    }

    /// Puts a datagram on its way; `tuple` as its sender sees it.
    pub fn send(&mut self, now: Time, by: Side, tuple: FourTuple, ecn: Option<Ecn>, payload: Vec<u8>) {
        if by.is_server() {
            self.ledger.sent(tuple.remote, payload.len());
        }
        let Some(number) = self.link_of(by, &tuple) else { return };
        let client = match by {
            Side::Client => self.outside(number),
            Side::Server => inside(number),
        };
        let tuple = match by {
            Side::Client => FourTuple { local: server_address(), remote: client },
            Side::Server => FourTuple { local: client, remote: server_address() },
        };
        let link = &mut self.links[number];
        let bit = 1 << (link.count % 8);
        link.count += 1;
        if !link.up || payload.len() > link.mtu {
            return;
        }
        let ecn = if link.mark & bit != 0 { ecn.map(|_| Ecn::Ce) } else { link.ecn.apply(ecn) };
        let delay = if link.hold & bit != 0 { 3 * link.delay } else { link.delay };
        let (lost, twice) = (link.lose & bit != 0, link.duplicate & bit != 0);
        let is_proof = by.is_client() && self.ledger.is_reached(client);
        let datagram = UnderWay { by, is_proof, tuple, ecn, payload };
        self.recent.push_back(datagram.clone());
        if self.recent.len() > MAX_RECENT {
            self.recent.pop_front();
        }
        if twice {
            self.put(now + delay * 2, datagram.clone());
        }
        if !lost {
            self.put(now + delay, datagram);
        }
    }

    /// Whether what an end sends there passes a link.
    pub fn reaches(&self, by: Side, tuple: &FourTuple) -> bool {
        self.link_of(by, tuple).is_some()
    }

    /// A datagram to the server from an address that is not its sender's.
    pub fn spoof(&mut self, now: Time, remote: SocketAddr, payload: Vec<u8>) {
        let tuple = FourTuple { local: server_address(), remote };
        self.put(now, UnderWay { by: Side::Client, is_proof: false, tuple, ecn: None, payload });
    }

    /// Has a datagram arrive now, at its receiver as it says.
    pub fn put(&mut self, at: Time, datagram: UnderWay) {
        if self.under_way.len() < MAX_UNDER_WAY {
            self.under_way.insert((at, self.next), datagram);
            self.next += 1;
        }
    }

    /// The link that a datagram takes; `None` if it goes nowhere.
    fn link_of(&self, by: Side, tuple: &FourTuple) -> Option<usize> {
        (0..LINKS).find(|&number| match by {
            Side::Client => tuple.local == inside(number) && tuple.remote == server_address(),
            Side::Server => tuple.remote == self.outside(number),
        })
    }

    /// The address of the client's link as the server sees it.
    pub fn outside(&self, number: usize) -> SocketAddr {
        let port = 40_000 + number as u16 + 10 * self.links[number].rebound;
        SocketAddr::from(([198, 51, 100, 7], port))
    }

    /// From the server to the client's link.
    pub fn to(&self, number: usize) -> FourTuple {
        FourTuple { local: server_address(), remote: self.outside(number) }
    }

    /// The NAT forgets the link's port and gives it another one.
    pub fn rebind(&mut self, number: usize) {
        self.links[number].rebound = (self.links[number].rebound + 1) % 1_000;
    }

    pub fn next_arrival(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// What has arrived by now.
    pub fn arrived(&mut self, now: Time) -> Option<UnderWay> {
        let first = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        let datagram = first.remove();
        match datagram.by {
            Side::Client => {
                let is_proof = datagram.is_proof && !is_victim(datagram.tuple.remote);
                self.ledger.received(datagram.tuple.remote, datagram.payload.len(), is_proof);
            }
            Side::Server => {
                let at = (0..LINKS).find(|&number| inside(number) == datagram.tuple.local);
                at.into_iter().for_each(|number| self.ledger.reached(self.outside(number)));
            }
        }
        Some(datagram)
    }

    /// All links as they were at first, but for their addresses.
    pub fn heal(&mut self) {
        for link in &mut self.links {
            *link = Link { rebound: link.rebound, ..Link::new() };
        }
    }

    /// The client comes with a token that proves its address: nothing has to arrive there first (RFC 9000 section 8.1.3).
    pub fn was_validated_before(&mut self) {
        self.ledger.received(self.outside(0), 0, true);
    }

    /// Bytes from and to an address, as far as they arrived at the server.
    #[cfg(test)]
    pub fn exchanged(&self, address: SocketAddr) -> (usize, usize) {
        self.ledger.0.get(&owner(address)).map_or((0, 0), |exchange| (exchange.received, exchange.sent))
    }

    /// RFC 9000 section 8: a peer that has not shown that it is at an address is sent three times what came from there, over
    /// all connections. With the keys of both ends an attacker can show it for the client (`forged`), but for nobody else.
    pub fn check_amplification(&self, forged: bool) {
        for (address, exchange) in &self.ledger.0 {
            if let Some((received, sent)) = exchange.excess.filter(|_| !forged || is_victim(*address)) {
                panic!("{address}: {sent} bytes sent for {received}");
            }
        }
    }
}

/// What the server has exchanged with each address.
#[derive(Default)]
struct Ledger(BTreeMap<SocketAddr, Exchange>);

#[derive(Default)]
struct Exchange {
    received: usize,
    sent: usize,
    /// Whether something of the server has arrived there.
    is_reached: bool,
    /// Whether the peer has shown that it is there.
    is_validated: bool,
    /// What was received and sent when it was too much for the first time.
    excess: Option<(usize, usize)>,
}

impl Ledger {
    fn received(&mut self, from: SocketAddr, bytes: usize, is_proof: bool) {
        let exchange = self.0.entry(owner(from)).or_default();
        exchange.received += bytes;
        exchange.is_validated |= is_proof;
    }

    fn sent(&mut self, to: SocketAddr, bytes: usize) {
        let exchange = self.0.entry(owner(to)).or_default();
        exchange.sent += bytes;
        if !exchange.is_validated && exchange.sent > 3 * exchange.received {
            exchange.excess.get_or_insert((exchange.received, exchange.sent));
        }
    }

    fn reached(&mut self, address: SocketAddr) {
        self.0.entry(owner(address)).or_default().is_reached = true;
    }

    fn is_reached(&self, address: SocketAddr) -> bool {
        self.0.get(&owner(address)).is_some_and(|exchange| exchange.is_reached)
    }
}

/// All that one owner has, or one victim: an address is flooded, not a port.
fn owner(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), 0)
}

pub fn server_address() -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 1], 443))
}

/// The client's own address on a link.
pub fn inside(number: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, number as u8, 2], 4_000))
}

/// From the client's own address on a link to the server.
pub fn from(number: usize) -> FourTuple {
    FourTuple { local: inside(number), remote: server_address() }
}

pub fn is_victim(address: SocketAddr) -> bool {
    (0..VICTIMS).any(|number| victim(number).ip() == address.ip())
}

/// An address where nobody is.
pub fn victim(number: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, (number % VICTIMS) as u8], 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(answers: usize) -> Network {
        let mut network = Network::new();
        let now = Time::ZERO;
        network.spoof(now, victim(1), vec![0; 100]);
        assert!(network.arrived(now).is_some());
        // Of several connections: only the sum matters.
        let to = FourTuple { local: server_address(), remote: victim(1) };
        (0..answers).for_each(|_| network.send(now, Side::Server, to, None, vec![0; 100]));
        network
    }

    #[test]
    fn three_times_is_allowed() {
        exchange(3).check_amplification(true);
    }

    #[test]
    #[should_panic(expected = "400 bytes sent for 100")]
    fn a_server_without_a_limit_is_found_out() {
        exchange(4).check_amplification(true);
    }

    #[test]
    fn an_owner_who_answers_ends_the_limit() {
        let mut network = Network::new();
        let now = Time::ZERO;
        let later = now + Duration::from_millis(10);
        network.send(now, Side::Client, from(0), None, vec![0; 100]);
        network.arrived(later).unwrap();
        network.send(later, Side::Server, network.to(0), None, vec![0; 300]);
        network.arrived(later + Duration::from_millis(10)).unwrap();
        let at = later + Duration::from_millis(20);
        network.send(at, Side::Client, from(0), None, vec![0; 100]);
        network.arrived(at + Duration::from_millis(10)).unwrap();
        network.send(at, Side::Server, network.to(0), None, vec![0; 9_000]);
        network.check_amplification(false);
    }
}
