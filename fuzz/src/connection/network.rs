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
    /// As its receiver sees it.
    pub tuple: FourTuple,
    pub ecn: Option<Ecn>,
    pub payload: Vec<u8>,
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
    /// Bytes from and to addresses where nobody is.
    spoofed: BTreeMap<SocketAddr, (usize, usize)>,
}

impl Network {
    pub fn new() -> Self {
        Network {
            links: [Link::new(); LINKS],
            under_way: BTreeMap::new(),
            next: 0,
            recent: VecDeque::new(),
            spoofed: BTreeMap::new(),
        }
    }

    /// Puts a datagram on its way; `tuple` as its sender sees it.
    pub fn send(&mut self, now: Time, by: Side, tuple: FourTuple, ecn: Option<Ecn>, payload: Vec<u8>) {
        let Some(number) = self.link_of(by, &tuple) else {
            if by.is_server() && is_victim(tuple.remote) {
                self.spoofed.entry(tuple.remote).or_default().1 += payload.len();
            }
            return;
        };
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
        let ecn = if link.mark & bit != 0 { ecn.map(|_| Ecn::Ce) } else { ecn };
        let delay = if link.hold & bit != 0 { 3 * link.delay } else { link.delay };
        let (lost, twice) = (link.lose & bit != 0, link.duplicate & bit != 0);
        let datagram = UnderWay { by, tuple, ecn, payload };
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
        self.spoofed.entry(remote).or_default().0 += payload.len();
        let tuple = FourTuple { local: server_address(), remote };
        self.put(now, UnderWay { by: Side::Client, tuple, ecn: None, payload });
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
        Some(first.remove())
    }

    /// All links as they were at first, but for their addresses.
    pub fn heal(&mut self) {
        for link in &mut self.links {
            *link = Link { rebound: link.rebound, ..Link::new() };
        }
    }

    /// RFC 9000 section 8: addresses where nobody is never prove that they want what they are sent.
    pub fn check_amplification(&self) {
        for (address, (received, sent)) in &self.spoofed {
            assert!(*sent <= 3 * received, "{address}: {sent} bytes sent for {received}");
        }
    }
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

fn is_victim(address: SocketAddr) -> bool {
    (0..VICTIMS).any(|number| victim(number) == address)
}

/// An address where nobody is.
pub fn victim(number: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, (number % VICTIMS) as u8], 9))
}
