//! Leases: what a server gave, and those of earlier visits.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::message::{MAX_ROUTES, Message, Route};

/// Most networks whose lease is kept.
pub const MAX_LEASES: usize = 256;
/// What a server that gives no mask probably means. Only neighbours would be missed: everything else goes over the router.
const USUAL_PREFIX: u8 = 24;
/// Shortest prefix of a network that is believed: that of 10.0.0.0/8, the largest private one. A mask of fewer bits would lead a part
/// of the Internet past the default route, a VPN's too, to the host that answers for it.
const SHORTEST_PREFIX: u8 = 8;
/// Smallest MTU that is believed: that of IPv6 (RFC 8200 section 5). Smaller ones would end QUIC on the link.
const SMALLEST_MTU: u16 = 1280;
/// Networks to which a server may name routes: those of private addresses (RFC 1918, RFC 6598, RFC 3927). A route to others would lead a
/// part of the Internet past the default route, a VPN's too (CVE-2024-3661).
const PRIVATE: [(Ipv4Addr, u8); 5] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
];
/// Shorter ones are taken to last this long: below it a client would do nothing but renew. Seconds.
const SHORTEST_LEASE: u32 = 30;

/// An address for some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of its network, 8 to 32.
    pub prefix: u8,
    /// The first router.
    pub router: Option<Ipv4Addr>,
    /// Name servers, [`MAX_ADDRESSES`](super::MAX_ADDRESSES) at most; none of them is this host itself.
    pub name_servers: Vec<Ipv4Addr>,
    /// Largest packet of the link, 1280 bytes or more; `None`: what the interface has.
    #[serde(default)]
    pub mtu: Option<u16>,
    /// Routes to private networks, [`MAX_ROUTES`](super::MAX_ROUTES) at most.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Who gave it.
    pub server: Option<Ipv4Addr>,
    /// The hardware address that it was given to; `None`: not known.
    #[serde(default)]
    pub mac: Option<[u8; 6]>,
    /// How long it lasts, seconds. `u32::MAX`: unlimited (RFC 2131 section 3.3).
    pub seconds: u32,
    /// After which time it is renewed, seconds.
    pub renew_seconds: u32,
}

impl Lease {
    /// What an ACK gives; `None` if that is nothing a host could use.
    pub(crate) fn of(message: &Message) -> Option<Lease> {
        let address = message.given.filter(is_host)?;
        let seconds = message.lease?.max(SHORTEST_LEASE);
        let prefix = match message.mask.map(u32::from) {
            None => USUAL_PREFIX,
            Some(mask) if mask.leading_ones() + mask.trailing_zeros() == 32 => mask.leading_ones() as u8,
            Some(_) => return None,
        };
        if prefix < SHORTEST_PREFIX {
            return None;
        }
        // RFC 2131 section 4.4.5: half of the time, unless the server says otherwise.
        let renew_seconds = message.renew.filter(|renew| (1..seconds).contains(renew)).unwrap_or(seconds / 2);
        // RFC 3442: with routes the routers of option 3 do not count.
        let default = message.routes.iter().find(|route| route.prefix == 0).and_then(|route| route.router);
        let router = if message.routes.is_empty() { message.routers.first().copied() } else { default }
            .filter(is_host);
        Some(Lease {
            address,
            prefix,
            router,
            name_servers: message.name_servers.iter().filter(|server| is_host(server)).copied().collect(),
            mtu: message.mtu.filter(|mtu| *mtu >= SMALLEST_MTU),
            routes: message
                .routes
                .iter()
                .filter(|route| is_believed(route))
                .copied()
                .take(MAX_ROUTES)
                .collect(),
            server: message.server,
            mac: Some(message.mac),
            seconds,
            renew_seconds,
        })
    }
}

fn is_believed(route: &Route) -> bool {
    let bits = route.network.to_bits();
    let is_private = PRIVATE.iter().any(|(network, prefix)| {
        route.prefix >= *prefix && (bits ^ network.to_bits()).leading_zeros() >= u32::from(*prefix)
    });
    is_private && route.router.as_ref().is_none_or(is_host)
}

fn is_host(address: &Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    first != 0 && first < 224 && !address.is_loopback()
}

/// A lease of an earlier visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownLease {
    /// What was given.
    pub lease: Lease,
    /// When, by the wall clock, seconds since 1970.
    pub since: u64,
}

/// The newest lease of each network, by its name. Times are seconds since 1970 by a wall clock, which may jump: a lease that begins in the
/// future is not believed. What is wrong nevertheless costs one exchange: the server says whether the address may still be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leases(BTreeMap<String, KnownLease>);

/// Why a file of leases cannot be used.
#[derive(Debug)]
pub struct LeasesError(serde_json::Error);

impl fmt::Display for LeasesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no leases: {}", self.0)
    }
}

impl std::error::Error for LeasesError {}

impl Leases {
    /// From the text of a file; at most [`MAX_LEASES`] are taken.
    ///
    /// # Errors
    /// It is not what [`Leases::to_json`] writes.
    pub fn from_json(text: &str) -> Result<Leases, LeasesError> {
        let mut known: BTreeMap<String, KnownLease> = serde_json::from_str(text).map_err(LeasesError)?;
        let usable = |known: &KnownLease| {
            (SHORTEST_PREFIX..=32).contains(&known.lease.prefix)
                && is_host(&known.lease.address)
                && known.lease.routes.len() <= MAX_ROUTES
                && known.lease.routes.iter().all(|route| route.prefix <= 32 && is_believed(route))
        };
        known.retain(|_, known| usable(known));
        let mut leases = Leases(known);
        leases.shorten();
        Ok(leases)
    }

    /// As the text of a file.
    pub fn to_json(&self) -> String {
        // Keys are text: this cannot fail.
        serde_json::to_string_pretty(&self.0).unwrap_or_default() + "\n"
    }

    /// The lease of a network, unless it has expired.
    pub fn get(&self, ssid: &str, unix: u64) -> Option<&Lease> {
        let known = self.0.get(ssid)?;
        let age = unix.checked_sub(known.since)?;
        (known.lease.seconds == u32::MAX || age < u64::from(known.lease.seconds)).then_some(&known.lease)
    }

    /// Keeps a lease, and forgets the oldest if there are too many.
    pub fn put(&mut self, ssid: &str, lease: Lease, unix: u64) {
        self.0.insert(ssid.to_owned(), KnownLease { lease, since: unix });
        self.shorten();
    }

    /// Forgets the lease of a network: its server does not know it any more.
    pub fn remove(&mut self, ssid: &str) {
        self.0.remove(ssid);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn shorten(&mut self) {
        while self.0.len() > MAX_LEASES {
            let oldest = self.0.iter().min_by_key(|(_, known)| known.since).map(|(ssid, _)| ssid.clone());
            let Some(oldest) = oldest else { return };
            self.0.remove(&oldest);
        }
    }
}
