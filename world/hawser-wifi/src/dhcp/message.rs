//! DHCP messages: bytes to values and back (RFC 2131 section 2, RFC 2132).

use std::net::Ipv4Addr;

/// Longest message that is read; servers may send 576 bytes, and more only to clients that ask for it (RFC 2131 section 2).
pub const MAX_MESSAGE: usize = 1500;
/// Most routers, and most name servers, that are taken from a message.
pub const MAX_ADDRESSES: usize = 4;
/// Most routes that are taken from a message.
pub const MAX_ROUTES: usize = 16;

/// Up to the magic number.
const FIXED: usize = 236;
const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// BOOTP relays may drop shorter ones (RFC 1542 section 2.1).
const SHORTEST: usize = 300;
const BROADCAST: u16 = 0x8000;
/// The fields `file` and `sname`, which may hold options as well (option 52).
const FILE: std::ops::Range<usize> = 108..236;
const NAME: std::ops::Range<usize> = 44..108;

/// What a message is (option 53).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who gives addresses?
    Discover = 1,
    /// A server would give one.
    Offer = 2,
    /// The client asks for one.
    Request = 3,
    /// It has it.
    Ack = 5,
    /// It does not.
    Nak = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        let all = [Kind::Discover, Kind::Offer, Kind::Request, Kind::Ack, Kind::Nak];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }

    fn is_from_client(self) -> bool {
        matches!(self, Kind::Discover | Kind::Request)
    }
}

/// A route that a server names (option 121, RFC 3442).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// First address of the network that it leads to.
    pub network: Ipv4Addr,
    /// Bits of that network, 0 to 32.
    pub prefix: u8,
    /// The router; `None`: the network is on the link.
    pub router: Option<Ipv4Addr>,
}

/// A message. Addresses that are not there are 0.0.0.0 on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// Which exchange it belongs to.
    pub xid: u32,
    /// Seconds since the client began.
    pub seconds: u16,
    /// Whether answers have to be broadcast: the client has no address to receive them at.
    pub broadcast: bool,
    /// The client's hardware address.
    pub mac: [u8; 6],
    /// The address that the client has (`ciaddr`).
    pub current: Option<Ipv4Addr>,
    /// The address that the server gives (`yiaddr`).
    pub given: Option<Ipv4Addr>,
    /// The address that the client asks for (option 50).
    pub requested: Option<Ipv4Addr>,
    /// Which server (option 54).
    pub server: Option<Ipv4Addr>,
    /// Subnet mask (option 1), as it came.
    pub mask: Option<Ipv4Addr>,
    /// Routers (option 3).
    pub routers: Vec<Ipv4Addr>,
    /// Name servers (option 6).
    pub name_servers: Vec<Ipv4Addr>,
    /// Largest packet of the link (option 26), bytes.
    pub mtu: Option<u16>,
    /// Routes (option 121); in place of the routers, if there are any.
    pub routes: Vec<Route>,
    /// How long the address may be used (option 51), seconds.
    pub lease: Option<u32>,
    /// When to renew (option 58), seconds.
    pub renew: Option<u32>,
}

impl Message {
    /// One without any option.
    pub fn new(kind: Kind, xid: u32, mac: [u8; 6]) -> Self {
        Message {
            kind,
            xid,
            seconds: 0,
            broadcast: false,
            mac,
            current: None,
            given: None,
            requested: None,
            server: None,
            mask: None,
            routers: Vec::new(),
            name_servers: Vec::new(),
            mtu: None,
            routes: Vec::new(),
            lease: None,
            renew: None,
        }
    }

    /// As bytes. Of routers and name servers the first [`MAX_ADDRESSES`] are written, of routes the first [`MAX_ROUTES`].
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        // Requests or replies, over Ethernet, whose addresses have six bytes.
        bytes[..3].copy_from_slice(&[if self.kind.is_from_client() { 1 } else { 2 }, 1, 6]);
        bytes[4..8].copy_from_slice(&self.xid.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.seconds.to_be_bytes());
        let flags = if self.broadcast { BROADCAST } else { 0 };
        bytes[10..12].copy_from_slice(&flags.to_be_bytes());
        bytes[12..16].copy_from_slice(&octets(self.current));
        bytes[16..20].copy_from_slice(&octets(self.given));
        bytes[28..34].copy_from_slice(&self.mac);
        bytes.extend(MAGIC);
        bytes.extend([53, 1, self.kind as u8]);
        let addresses = [(50, self.requested), (54, self.server), (1, self.mask)];
        for (code, address) in addresses {
            put(&mut bytes, code, address.map(|address| address.octets().to_vec()));
        }
        for (code, list) in [(3, &self.routers), (6, &self.name_servers)] {
            let list: Vec<u8> = list.iter().take(MAX_ADDRESSES).flat_map(Ipv4Addr::octets).collect();
            put(&mut bytes, code, Some(list).filter(|list| !list.is_empty()));
        }
        put(&mut bytes, 26, self.mtu.map(|mtu| mtu.to_be_bytes().to_vec()));
        let routes: Vec<u8> = self.routes.iter().take(MAX_ROUTES).flat_map(route_bytes).collect();
        put(&mut bytes, 121, Some(routes).filter(|routes| !routes.is_empty()));
        for (code, seconds) in [(51, self.lease), (58, self.renew)] {
            put(&mut bytes, code, seconds.map(|seconds| seconds.to_be_bytes().to_vec()));
        }
        if self.kind.is_from_client() {
            // What the client would like to know: routes (before the routers, RFC 3442), mask, routers, name servers, MTU, times.
            put(&mut bytes, 55, Some(vec![121, 1, 3, 6, 26, 51, 54, 58]));
        }
        bytes.push(255);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }

    /// From bytes; `None` if they are no message of the kinds that there are here, or longer than [`MAX_MESSAGE`].
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let head: &[u8; FIXED] = bytes.first_chunk()?;
        if bytes.len() > MAX_MESSAGE || bytes.get(FIXED..FIXED + 4)? != MAGIC || head[1..3] != [1, 6] {
            return None;
        }
        let mut found = Options::default();
        found.read(&bytes[FIXED + 4..])?;
        // RFC 2132 section 9.3: further options in `file` (bit 0), then in `sname` (bit 1).
        let overload = found.overload;
        for (bit, field) in [(1, FILE), (2, NAME)] {
            if overload & bit != 0 {
                found.read(&head[field])?;
            }
        }
        let mut message = Message::new(
            found.kind?,
            u32::from_be_bytes(*bytes[4..].first_chunk()?),
            *head[28..].first_chunk()?,
        );
        if head[0] != if message.kind.is_from_client() { 1 } else { 2 } {
            return None;
        }
        message.seconds = u16::from_be_bytes([head[8], head[9]]);
        message.broadcast = u16::from_be_bytes([head[10], head[11]]) & BROADCAST != 0;
        message.current = address(&head[12..16]);
        message.given = address(&head[16..20]);
        Some(Message {
            requested: found.requested,
            server: found.server,
            mask: found.mask,
            routers: found.routers,
            name_servers: found.name_servers,
            mtu: found.mtu,
            routes: routes(&found.route_bytes),
            lease: found.lease,
            renew: found.renew,
            ..message
        })
    }
}

fn octets(address: Option<Ipv4Addr>) -> [u8; 4] {
    address.unwrap_or(Ipv4Addr::UNSPECIFIED).octets()
}

fn put(bytes: &mut Vec<u8>, code: u8, value: Option<Vec<u8>>) {
    let Some(value) = value else { return };
    // All values here are shorter than 256 bytes.
    bytes.extend([code, u8::try_from(value.len()).unwrap_or(0)]);
    bytes.extend(value);
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    let address = Ipv4Addr::from(*bytes.first_chunk::<4>()?);
    (!address.is_unspecified()).then_some(address)
}

fn addresses(bytes: &[u8]) -> Vec<Ipv4Addr> {
    bytes.chunks_exact(4).filter_map(address).take(MAX_ADDRESSES).collect()
}

/// A route as option 121 has it: bits of the network, only the bytes of its address that these reach, then the router.
fn route_bytes(route: &Route) -> Vec<u8> {
    let mut bytes = vec![route.prefix];
    bytes.extend(&route.network.octets()[..usize::from(route.prefix.min(32)).div_ceil(8)]);
    bytes.extend(octets(route.router));
    bytes
}

/// Routes up to the first that is invalid.
fn routes(mut bytes: &[u8]) -> Vec<Route> {
    let mut routes = Vec::new();
    while routes.len() < MAX_ROUTES
        && let Some((route, rest)) = route(bytes)
    {
        routes.push(route);
        bytes = rest;
    }
    routes
}

fn route(bytes: &[u8]) -> Option<(Route, &[u8])> {
    let (&prefix, rest) = bytes.split_first().filter(|(prefix, _)| **prefix <= 32)?;
    let (significant, rest) = rest.split_at_checked(usize::from(prefix).div_ceil(8))?;
    let (router, rest) = rest.split_at_checked(4)?;
    let mut network = [0; 4];
    network[..significant.len()].copy_from_slice(significant);
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    let network = Ipv4Addr::from_bits(u32::from_be_bytes(network) & mask);
    Some((Route { network, prefix, router: address(router) }, rest))
}

fn seconds(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}

/// The options that matter here.
#[derive(Default)]
struct Options {
    kind: Option<Kind>,
    requested: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
    mask: Option<Ipv4Addr>,
    routers: Vec<Ipv4Addr>,
    name_servers: Vec<Ipv4Addr>,
    mtu: Option<u16>,
    /// Of all options 121, one after the other (RFC 3396): a long one comes in parts.
    route_bytes: Vec<u8>,
    lease: Option<u32>,
    renew: Option<u32>,
    overload: u8,
}

impl Options {
    /// Reads options up to the end mark, or to the end of the bytes. `None`: one reaches beyond it.
    fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        while let Some((code, rest)) = bytes.split_first() {
            bytes = rest;
            match code {
                0 => continue,
                255 => break,
                _ => {}
            }
            let (length, rest) = bytes.split_first()?;
            let (value, rest) = rest.split_at_checked(usize::from(*length))?;
            bytes = rest;
            self.take(*code, value);
        }
        Some(())
    }

    fn take(&mut self, code: u8, value: &[u8]) {
        match code {
            1 => self.mask = address(value),
            3 => self.routers = addresses(value),
            6 => self.name_servers = addresses(value),
            26 => self.mtu = value.first_chunk().map(|bytes| u16::from_be_bytes(*bytes)),
            50 => self.requested = address(value),
            51 => self.lease = seconds(value),
            52 => self.overload = value.first().copied().unwrap_or(0),
            53 => self.kind = value.first().and_then(|byte| Kind::of(*byte)),
            54 => self.server = address(value),
            58 => self.renew = seconds(value),
            // A message is no longer than MAX_MESSAGE.
            121 => self.route_bytes.extend(value),
            _ => {}
        }
    }
}
