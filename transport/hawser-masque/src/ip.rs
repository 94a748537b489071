//! CONNECT-IP (RFC 9484): the request, and its capsules (section 4.7): addresses and routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::{BufMut, Bytes, BytesMut};
use hawser_wire::Reader;
use http::{Method, Request, Uri};

use crate::capsule::put_varint;
use crate::error::RequestError;
use crate::percent;

/// The template that a proxy has if it names none (RFC 9484 section 3).
pub const DEFAULT_TEMPLATE: &str = "/.well-known/masque/ip/{target}/{ipproto}/";
/// Before the target in the path of [`DEFAULT_TEMPLATE`].
const PREFIX: &str = "/.well-known/masque/ip/";

/// ADDRESS_ASSIGN (RFC 9484 section 4.7.1).
pub const ADDRESS_ASSIGN: u64 = 0x01;
/// ADDRESS_REQUEST (RFC 9484 section 4.7.2).
pub const ADDRESS_REQUEST: u64 = 0x02;
/// ROUTE_ADVERTISEMENT (RFC 9484 section 4.7.3).
pub const ROUTE_ADVERTISEMENT: u64 = 0x03;

/// Most entries of a list that are read.
pub const MAX_ENTRIES: usize = 1_024;
/// Most bytes of one of these capsules: entries of the longest form.
pub const MAX_LENGTH: usize = MAX_ENTRIES * 34;

/// A prefix with the number of the request that it answers, or that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixEntry {
    /// Of ADDRESS_REQUEST: not zero. Of ADDRESS_ASSIGN: zero if nobody asked.
    pub request: u64,
    /// The first address of the prefix; of a request all zeros if any will do.
    pub address: IpAddr,
    /// Bits that count: 0 to 32 or 128.
    pub length: u8,
}

/// Addresses from first to last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first.
    pub first: IpAddr,
    /// The last, of the same family.
    pub last: IpAddr,
    /// IP protocol that it is for; 0: all.
    pub protocol: u8,
}

/// Why a capsule is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpCapsuleError {
    /// It ends within an entry.
    #[error("a capsule that ends within an entry")]
    Truncated,
    /// It has more entries than are read.
    #[error("a capsule of more than {MAX_ENTRIES} entries")]
    TooMany,
    /// Neither IPv4 nor IPv6.
    #[error("IP version {0}: expected 4 or 6")]
    Version(u8),
    /// More bits than the address has, or bits of the address beyond them.
    #[error("a prefix of {0} bits that the address does not have")]
    Prefix(u8),
    /// A request that cannot be answered.
    #[error("an ADDRESS_REQUEST without entries, or with the number 0")]
    Request,
    /// Routes that end before they begin, overlap or are out of order.
    #[error("routes that are not in order")]
    Order,
}

/// The request for an IP tunnel to anywhere at the proxy with this authority, and with [`DEFAULT_TEMPLATE`]. `:protocol` is to
/// be [`CONNECT_IP`](crate::connect::CONNECT_IP).
///
/// # Errors
/// [`RequestError::Unwritable`] for an invalid authority.
pub fn request(proxy: &str) -> Result<Request<()>, RequestError> {
    let path = format!("{PREFIX}%2A/%2A/");
    let uri = Uri::builder().scheme("https").authority(proxy).path_and_query(path).build()?;
    Ok(Request::builder().method(Method::CONNECT).uri(uri).header("capsule-protocol", "?1").body(())?)
}

/// Whether a path of [`DEFAULT_TEMPLATE`] asks for everything.
///
/// # Errors
/// [`RequestError::Path`] and [`RequestError::Scope`].
pub fn read_path(path: &str) -> Result<(), RequestError> {
    let other = || RequestError::Path(DEFAULT_TEMPLATE);
    let rest = path.strip_prefix(PREFIX).ok_or_else(other)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (target, protocol) = rest.split_once('/').ok_or_else(other)?;
    let is_any = |part: &str| Ok::<_, RequestError>(percent::decode(part).ok_or_else(other)? == "*");
    if is_any(target)? && is_any(protocol)? { Ok(()) } else { Err(RequestError::Scope) }
}

/// Reads the value of ADDRESS_ASSIGN.
///
/// # Errors
/// [`IpCapsuleError`].
pub fn read_assignment(value: &[u8]) -> Result<Vec<PrefixEntry>, IpCapsuleError> {
    let (mut reader, mut entries) = (Reader::new(value), Vec::new());
    while !reader.is_empty() {
        let request = reader.read_varint().map_err(|_| IpCapsuleError::Truncated)?;
        let address = read_version(&mut reader).and_then(|version| read_address(&mut reader, version))?;
        let length = reader.read_u8().map_err(|_| IpCapsuleError::Truncated)?;
        if !is_prefix(address, length) {
            return Err(IpCapsuleError::Prefix(length));
        }
        if entries.len() >= MAX_ENTRIES {
            return Err(IpCapsuleError::TooMany);
        }
        entries.push(PrefixEntry { request, address, length });
    }
    Ok(entries)
}

/// Reads the value of ADDRESS_REQUEST.
///
/// # Errors
/// [`IpCapsuleError`].
pub fn read_request(value: &[u8]) -> Result<Vec<PrefixEntry>, IpCapsuleError> {
    let entries = read_assignment(value)?;
    if entries.is_empty() || entries.iter().any(|entry| entry.request == 0) {
        return Err(IpCapsuleError::Request);
    }
    Ok(entries)
}

/// Reads the value of ROUTE_ADVERTISEMENT.
///
/// # Errors
/// [`IpCapsuleError`].
pub fn read_routes(value: &[u8]) -> Result<Vec<Route>, IpCapsuleError> {
    let (mut reader, mut routes) = (Reader::new(value), Vec::<Route>::new());
    while !reader.is_empty() {
        let version = read_version(&mut reader)?;
        let first = read_address(&mut reader, version)?;
        let last = read_address(&mut reader, version)?;
        let protocol = reader.read_u8().map_err(|_| IpCapsuleError::Truncated)?;
        let route = Route { first, last, protocol };
        if first > last || routes.last().is_some_and(|before| !is_after(before, &route)) {
            return Err(IpCapsuleError::Order);
        }
        if routes.len() >= MAX_ENTRIES {
            return Err(IpCapsuleError::TooMany);
        }
        routes.push(route);
    }
    Ok(routes)
}

/// The value of ADDRESS_ASSIGN or ADDRESS_REQUEST.
pub fn write_prefixes(entries: &[PrefixEntry]) -> Bytes {
    let mut value = BytesMut::new();
    for PrefixEntry { request, address, length } in entries {
        put_varint(&mut value, *request);
        put_version(&mut value, *address);
        put_address(&mut value, *address);
        value.put_u8(*length);
    }
    value.freeze()
}

/// The value of ROUTE_ADVERTISEMENT. The routes must be in order.
pub fn write_routes(routes: &[Route]) -> Bytes {
    let mut value = BytesMut::new();
    for Route { first, last, protocol } in routes {
        put_version(&mut value, *first);
        put_address(&mut value, *first);
        put_address(&mut value, *last);
        value.put_u8(*protocol);
    }
    value.freeze()
}

/// RFC 9484 section 4.7.3: by version, then by protocol, then by address, without overlaps.
fn is_after(before: &Route, route: &Route) -> bool {
    let rank = |route: &Route| (route.first.is_ipv6(), route.protocol);
    match rank(before).cmp(&rank(route)) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => before.last < route.first,
        std::cmp::Ordering::Greater => false,
    }
}

/// Whether an address has so many bits, and none set beyond them.
fn is_prefix(address: IpAddr, length: u8) -> bool {
    let (bits, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    length <= width && bits.checked_shl(u32::from(length)).unwrap_or(0) == 0
}

fn read_version(reader: &mut Reader<'_>) -> Result<u8, IpCapsuleError> {
    match reader.read_u8() {
        Ok(version @ (4 | 6)) => Ok(version),
        Ok(other) => Err(IpCapsuleError::Version(other)),
        Err(_) => Err(IpCapsuleError::Truncated),
    }
}

fn read_address(reader: &mut Reader<'_>, version: u8) -> Result<IpAddr, IpCapsuleError> {
    let address = match version {
        4 => reader.read_array().map(|octets: [u8; 4]| Ipv4Addr::from(octets).into()),
        _ => reader.read_array().map(|octets: [u8; 16]| Ipv6Addr::from(octets).into()),
    };
    address.map_err(|_| IpCapsuleError::Truncated)
}

fn put_version(value: &mut BytesMut, address: IpAddr) {
    value.put_u8(if address.is_ipv4() { 4 } else { 6 });
}

fn put_address(value: &mut BytesMut, address: IpAddr) {
    match address {
        IpAddr::V4(address) => value.put_slice(&address.octets()),
        IpAddr::V6(address) => value.put_slice(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix() -> impl Strategy<Value = PrefixEntry> {
        let masked = |address: IpAddr, length: u8| match address {
            IpAddr::V4(address) => {
                let length = length % 33;
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                (Ipv4Addr::from_bits(address.to_bits() & mask).into(), length)
            }
            IpAddr::V6(address) => {
                let length = length % 129;
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                (Ipv6Addr::from_bits(address.to_bits() & mask).into(), length)
            }
        };
        (1..1_u64 << 62, any::<IpAddr>(), any::<u8>()).prop_map(move |(request, address, length)| {
            let (address, length) = masked(address, length);
            PrefixEntry { request, address, length }
        })
    }

    proptest! {
        #[test]
        fn prefixes_are_read_as_they_were_written(entries in proptest::collection::vec(prefix(), 1..20)) {
            let value = write_prefixes(&entries);
            prop_assert_eq!(read_assignment(&value), Ok(entries.clone()));
            prop_assert_eq!(read_request(&value), Ok(entries));
        }

        #[test]
        fn any_value_can_be_read(value: Vec<u8>) {
            if let Ok(entries) = read_assignment(&value) {
                prop_assert_eq!(read_assignment(&write_prefixes(&entries)), Ok(entries));
            }
            if let Ok(routes) = read_routes(&value) {
                prop_assert_eq!(&write_routes(&routes)[..], &value[..]);
            }
        }
    }

    fn route(first: &str, last: &str, protocol: u8) -> Route {
        Route { first: first.parse().unwrap(), last: last.parse().unwrap(), protocol }
    }

    #[test]
    fn routes_must_be_in_order() {
        let good = [
            route("10.0.0.0", "10.0.0.255", 0),
            route("10.0.1.0", "10.0.1.255", 0),
            route("0.0.0.0", "255.255.255.255", 17),
            route("::", "ffff::", 0),
        ];
        assert_eq!(read_routes(&write_routes(&good)), Ok(good.to_vec()));
        for (first, second) in [(1, 0), (2, 1), (3, 2), (0, 0)] {
            let routes = [good[first], good[second]];
            assert_eq!(read_routes(&write_routes(&routes)), Err(IpCapsuleError::Order));
        }
        assert_eq!(
            read_routes(&write_routes(&[route("10.0.0.1", "10.0.0.0", 0)])),
            Err(IpCapsuleError::Order)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(read_request(b""), Err(IpCapsuleError::Request));
        assert_eq!(read_request(b"\x00\x04\x0a\0\0\0\x08"), Err(IpCapsuleError::Request));
        assert_eq!(read_assignment(b"\x01\x05\x0a\0\0\0\x08"), Err(IpCapsuleError::Version(5)));
        assert_eq!(read_assignment(b"\x01\x04\x0a\0\0\x01\x08"), Err(IpCapsuleError::Prefix(8)));
        assert_eq!(read_assignment(b"\x01\x04\x0a\0\0\0\x21"), Err(IpCapsuleError::Prefix(33)));
        assert_eq!(read_assignment(b"\x01\x04\x0a\0\0"), Err(IpCapsuleError::Truncated));
        let many =
            vec![PrefixEntry { request: 1, address: "::".parse().unwrap(), length: 0 }; MAX_ENTRIES + 1];
        assert_eq!(read_assignment(&write_prefixes(&many)), Err(IpCapsuleError::TooMany));
    }

    #[test]
    fn a_request_is_for_everything_or_refused() {
        use crate::connect::{CONNECT_IP, Tunnel, read};
        let request = request("proxy.example:4435").unwrap();
        assert_eq!(request.uri().path(), "/.well-known/masque/ip/%2A/%2A/");
        assert_eq!(read(&request, Some(CONNECT_IP)), Ok(Tunnel::Ip));
        assert_eq!(read_path("/.well-known/masque/ip/*/*/"), Ok(()));
        for path in ["/.well-known/masque/ip/192.0.2.0%2F24/*/", "/.well-known/masque/ip/*/17/"] {
            assert_eq!(read_path(path), Err(RequestError::Scope), "{path}");
        }
        for path in
            ["/", "/.well-known/masque/ip/", "/.well-known/masque/udp/a/1/", "/.well-known/masque/ip/%zz/*/"]
        {
            assert_eq!(read_path(path), Err(RequestError::Path(DEFAULT_TEMPLATE)), "{path}");
        }
    }
}
