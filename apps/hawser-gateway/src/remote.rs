//! Ports of the gateway that lead to hosts of a user, as `ssh -R` has them: what both ends say.
//!
//! HTTP has no requests of a server to its client. So the client asks the gateway to listen with a request whose response goes on for as
//! long as it does: a capsule for each connection that comes, with a number that nobody guesses. The client fetches each with a request
//! of its own, whose two halves are that connection: a POST for TCP, an extended CONNECT as of CONNECT-UDP for UDP.
//!
//! ```text
//!   POST /.well-known/hawser-gateway/listen/{tcp|udp}/{address}/{port}      -> 200, hawser-listening: ADDRESS:PORT, capsules
//!   POST /.well-known/hawser-gateway/fetch/{number}                         -> 200, the TCP connection
//!   CONNECT (connect-udp) /.well-known/hawser-gateway/fetch/{number}        -> 200, UDP payloads to and from one host
//! ```

use std::net::{IpAddr, SocketAddr};

use bytes::{BufMut, Bytes, BytesMut};
use h3::ext::Protocol;
use hawser_masque::capsule;
use http::{Method, Request};

use crate::local::forward::Transport;
use crate::named::HELLO_PATH;

/// The field of a response that names the address at which the gateway listens.
pub(crate) const LISTENING: &str = "hawser-listening";
/// The capsule of a connection that has come: its number, and the address of the other end as text.
pub(crate) const ARRIVAL: u64 = 0x6861_7773;
/// Most bytes of its value: 16 of the number, and the longest address with a port.
pub(crate) const MAX_ARRIVAL: usize = 16 + 64;

/// The number of a connection that waits to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArrivalId(u128);

impl ArrivalId {
    /// One that nobody guesses.
    pub(crate) fn random() -> Self {
        ArrivalId(rand::random())
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To listen there.
    Listen(Transport, SocketAddr),
    /// For a connection that has come.
    Fetch(Transport, ArrivalId),
    /// Something of this kind that is malformed.
    Malformed,
}

/// The path of a request to listen.
pub(crate) fn listen_path(transport: Transport, address: SocketAddr) -> String {
    let transport = match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    };
    format!("{HELLO_PATH}/listen/{transport}/{}/{}", address.ip(), address.port())
}

/// The path of a request for a connection.
pub(crate) fn fetch_path(id: ArrivalId) -> String {
    format!("{HELLO_PATH}/fetch/{:032x}", id.0)
}

/// What a request asks for; `None` if it is none of these.
pub(crate) fn read<T>(request: &Request<T>) -> Option<Asked> {
    let rest = request.uri().path().strip_prefix(HELLO_PATH)?.strip_prefix('/')?;
    let is_udp = request.extensions().get::<Protocol>() == Some(&Protocol::CONNECT_UDP);
    let asked = match (request.method(), rest.split_once('/')) {
        (&Method::POST, Some(("listen", place))) => {
            read_place(place).map(|(transport, address)| Asked::Listen(transport, address))
        }
        (&Method::POST, Some(("fetch", id))) => read_id(id).map(|id| Asked::Fetch(Transport::Tcp, id)),
        (&Method::CONNECT, Some(("fetch", id))) if is_udp => {
            read_id(id).map(|id| Asked::Fetch(Transport::Udp, id))
        }
        _ => None,
    };
    Some(asked.unwrap_or(Asked::Malformed))
}

fn read_place(text: &str) -> Option<(Transport, SocketAddr)> {
    let (transport, rest) = text.split_once('/')?;
    let (address, port) = rest.split_once('/')?;
    let transport = match transport {
        "tcp" => Transport::Tcp,
        "udp" => Transport::Udp,
        _ => return None,
    };
    Some((transport, SocketAddr::new(address.parse::<IpAddr>().ok()?, port.parse().ok()?)))
}

fn read_id(text: &str) -> Option<ArrivalId> {
    let is_sound = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sound.then(|| u128::from_str_radix(text, 16).ok().map(ArrivalId)).flatten()
}

/// The capsule that says that a connection has come.
pub(crate) fn encode_arrival(id: ArrivalId, peer: SocketAddr) -> Bytes {
    let mut value = BytesMut::with_capacity(MAX_ARRIVAL);
    value.put_u128(id.0);
    value.put_slice(peer.to_string().as_bytes());
    capsule::encode(ARRIVAL, &value)
}

/// What such a capsule says; `None` if it is malformed.
pub(crate) fn decode_arrival(value: &[u8]) -> Option<(ArrivalId, SocketAddr)> {
    let (id, peer) = value.split_first_chunk::<16>()?;
    Some((ArrivalId(u128::from_be_bytes(*id)), std::str::from_utf8(peer).ok()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use hawser_masque::capsule::Capsules;
    use proptest::prelude::*;

    use super::*;

    fn request(method: Method, path: &str) -> Request<()> {
        Request::builder().method(method).uri(format!("https://gateway{path}")).body(()).unwrap()
    }

    #[test]
    fn requests_are_read_as_they_are_written() {
        for (transport, address) in [(Transport::Tcp, "127.0.0.1:80"), (Transport::Udp, "[2001:db8::1]:9000")]
        {
            let address = address.parse().unwrap();
            let path = listen_path(transport, address);
            assert_eq!(read(&request(Method::POST, &path)), Some(Asked::Listen(transport, address)));
        }
        let path = fetch_path(ArrivalId(7));
        assert_eq!(read(&request(Method::POST, &path)), Some(Asked::Fetch(Transport::Tcp, ArrivalId(7))));
        let mut udp = request(Method::CONNECT, &path);
        assert_eq!(read(&udp), Some(Asked::Malformed));
        udp.extensions_mut().insert(Protocol::CONNECT_UDP);
        assert_eq!(read(&udp), Some(Asked::Fetch(Transport::Udp, ArrivalId(7))));
    }

    #[test]
    fn other_requests_are_others() {
        assert_eq!(read(&request(Method::GET, HELLO_PATH)), None);
        assert_eq!(read(&request(Method::POST, "/.well-known/masque/udp/a/1/")), None);
        for path in ["/listen/sctp/127.0.0.1/1", "/listen/tcp/a/1", "/fetch/1", "/fetch/", "/x", "/"] {
            let path = format!("{HELLO_PATH}{path}");
            assert_eq!(read(&request(Method::POST, &path)), Some(Asked::Malformed), "{path}");
        }
    }

    #[test]
    fn arrivals_are_read_as_they_are_written() {
        let peer = "[2001:db8:1111:2222:3333:4444:5555:6666%4294967295]:65535";
        for peer in [peer, "192.0.2.1:1"] {
            let peer: SocketAddr = peer.parse().unwrap();
            let mut capsules = Capsules::new(&[ARRIVAL], MAX_ARRIVAL);
            capsules.push(encode_arrival(ArrivalId(9), peer));
            let capsule = capsules.next().unwrap().unwrap();
            assert_eq!(decode_arrival(&capsule.value), Some((ArrivalId(9), peer)));
        }
    }

    proptest! {
        #[test]
        fn any_arrival_can_be_read(value: Vec<u8>) {
            let _ = decode_arrival(&value);
        }
    }
}
