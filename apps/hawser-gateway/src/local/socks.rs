//! SOCKS version 5 (RFC 1928), as bytes. Own code: it is small, and the crates that speak it decide themselves when to answer
//! or bring older versions of what is here already.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hawser_masque::status::ProxyError;
use hawser_masque::target::{Host, Target};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::client::OpenError;

/// The version, first byte of everything but UDP.
pub(super) const VERSION: u8 = 5;
/// What versions 4 and 4a begin with.
pub(super) const VERSION_4: u8 = 4;
/// No authentication.
pub(super) const NO_AUTHENTICATION: u8 = 0;
/// None of the methods.
pub(super) const NO_METHOD: u8 = 0xff;

const CONNECT: u8 = 1;
const UDP_ASSOCIATE: u8 = 3;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// What a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A TCP connection.
    Connect(Target),
    /// UDP, for datagrams that will come from this port of the program, or any if it is 0.
    Associate(u16),
}

/// How a request is answered (RFC 1928 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    Refused = 5,
    /// "TTL expired": the host did not answer.
    TimedOut = 6,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

impl Reply {
    /// What stands for this failure.
    pub(super) fn of(error: &OpenError) -> Self {
        match error {
            OpenError::Refused(status) => match status.error {
                ProxyError::DestinationIpProhibited | ProxyError::HttpRequestDenied => Reply::NotAllowed,
                ProxyError::DestinationIpUnroutable => Reply::NetworkUnreachable,
                ProxyError::DnsError | ProxyError::DnsTimeout => Reply::HostUnreachable,
                ProxyError::ConnectionRefused => Reply::Refused,
                ProxyError::ConnectionTimeout => Reply::TimedOut,
                _ => Reply::Failure,
            },
            OpenError::UnknownKey => Reply::NotAllowed,
            OpenError::NoUdp | OpenError::NoAddress(_) => Reply::CommandNotSupported,
            OpenError::NoAnswer(_) => Reply::TimedOut,
            OpenError::GatewayDown(_) | OpenError::Protocol(_) => Reply::Failure,
        }
    }

    /// As bytes, with the address that was bound.
    pub(super) fn encode(self, bound: SocketAddr) -> Vec<u8> {
        let mut reply = vec![VERSION, self as u8, 0];
        put_address(&mut reply, bound);
        reply
    }
}

/// Why a program cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocksError {
    /// It broke off.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// It wants no method that there is.
    #[error("the program insists on a user name; this proxy takes none")]
    Method,
    /// What it says is no SOCKS.
    #[error("not SOCKS version 5")]
    Version,
    /// It asks for something that there is not; to be answered.
    #[error("a request that is not supported ({0:?})")]
    Unsupported(Reply),
}

/// Reads the greeting; returns whether no authentication is among the methods.
pub(crate) async fn read_greeting(stream: &mut (impl AsyncRead + Unpin)) -> Result<bool, SocksError> {
    if stream.read_u8().await? != VERSION {
        return Err(SocksError::Version);
    }
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    Ok(methods.contains(&NO_AUTHENTICATION))
}

/// Reads the request.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Result<Command, SocksError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, command, _, kind] = head;
    if version != VERSION {
        return Err(SocksError::Version);
    }
    let mut rest = vec![kind];
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            rest.push(stream.read_u8().await?);
            usize::from(rest[1])
        }
        _ => return Err(SocksError::Unsupported(Reply::AddressNotSupported)),
    };
    let from = rest.len();
    rest.resize(from + length + 2, 0);
    stream.read_exact(&mut rest[from..]).await?;
    match command {
        CONNECT => {
            let (target, _) =
                read_target(&rest).ok_or(SocksError::Unsupported(Reply::AddressNotSupported))?;
            Ok(Command::Connect(target))
        }
        UDP_ASSOCIATE => {
            let port = rest.last_chunk().copied().unwrap_or_default();
            Ok(Command::Associate(u16::from_be_bytes(port)))
        }
        _ => Err(SocksError::Unsupported(Reply::CommandNotSupported)),
    }
}

/// A datagram of a program: where to, and the payload. `None` for fragments, which nobody sends, and for what is none.
pub(crate) fn read_datagram(datagram: &[u8]) -> Option<(Target, &[u8])> {
    let rest = datagram.strip_prefix(&[0, 0, 0])?;
    read_target(rest)
}

/// The header of a datagram to a program: where it comes from.
pub(crate) fn datagram_header(from: &Target) -> Vec<u8> {
    let mut header = vec![0, 0, 0];
    match &from.host {
        Host::Address(address) => put_address(&mut header, SocketAddr::new(*address, from.port)),
        Host::Name(name) => {
            header.push(NAME);
            // Names have at most 253 bytes.
            header.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            header.extend_from_slice(name.as_bytes());
            header.extend_from_slice(&from.port.to_be_bytes());
        }
    }
    header
}

/// A kind of address, the address, a port, and what follows.
fn read_target(bytes: &[u8]) -> Option<(Target, &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (host, rest) = match kind {
        IPV4 => {
            let (octets, rest) = rest.split_first_chunk::<4>()?;
            (Host::Address(Ipv4Addr::from(*octets).into()), rest)
        }
        IPV6 => {
            let (octets, rest) = rest.split_first_chunk::<16>()?;
            (Host::Address(Ipv6Addr::from(*octets).into()), rest)
        }
        NAME => {
            let (&length, rest) = rest.split_first()?;
            let (name, rest) = rest.split_at_checked(usize::from(length))?;
            (std::str::from_utf8(name).ok()?.parse().ok()?, rest)
        }
        _ => return None,
    };
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let port = u16::from_be_bytes(*port);
    (port > 0).then_some((Target { host, port }, rest))
}

fn put_address(bytes: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(address) => {
            bytes.push(IPV4);
            bytes.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            bytes.push(IPV6);
            bytes.extend_from_slice(&address.octets());
        }
    }
    bytes.extend_from_slice(&address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use hawser_masque::status::ProxyStatus;
    use proptest::prelude::*;

    use super::*;

    async fn read(bytes: &[u8]) -> Result<Command, SocksError> {
        read_request(&mut &bytes[..]).await
    }

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn requests_of_all_kinds_of_addresses() {
        let commands = [
            (&b"\x05\x01\x00\x01\x01\x02\x03\x04\x00\x50"[..], Command::Connect(target("1.2.3.4:80"))),
            (b"\x05\x01\x00\x03\x0bexample.org\x01\xbb", Command::Connect(target("example.org:443"))),
            // Some programs write addresses as names.
            (b"\x05\x01\x00\x03\x07::1:1:1\x00\x01", Command::Connect(target("[::1:1:1]:1"))),
            (b"\x05\x03\x00\x01\0\0\0\0\x12\x34", Command::Associate(0x1234)),
        ];
        for (bytes, command) in commands {
            assert_eq!(read(bytes).await.unwrap(), command);
        }
        let v6 = [&b"\x05\x01\x00\x04"[..], &[0; 15], b"\x01\x00\x16"].concat();
        assert_eq!(read(&v6).await.unwrap(), Command::Connect(target("[::1]:22")));
    }

    #[tokio::test]
    async fn what_is_not_supported_is_answered() {
        let reply = |result: Result<Command, SocksError>| match result {
            Err(SocksError::Unsupported(reply)) => reply,
            other => panic!("{other:?}"),
        };
        assert_eq!(reply(read(b"\x05\x02\x00\x01\0\0\0\0\0\x01").await), Reply::CommandNotSupported);
        assert_eq!(reply(read(b"\x05\x01\x00\x02\0\0\0\0\0\x01").await), Reply::AddressNotSupported);
        assert_eq!(reply(read(b"\x05\x01\x00\x03\x03a b\0\x01").await), Reply::AddressNotSupported);
        assert_eq!(reply(read(b"\x05\x01\x00\x01\x01\x01\x01\x01\0\0").await), Reply::AddressNotSupported);
        assert!(matches!(read(b"\x04\x01\x00\x01\0\0\0\0\0\x01").await, Err(SocksError::Version)));
        assert!(matches!(read(b"\x05\x01\x00\x01\0").await, Err(SocksError::Read(_))));
        assert!(read_greeting(&mut &b"\x05\x02\x01\x00"[..]).await.unwrap());
        assert!(!read_greeting(&mut &b"\x05\x01\x02"[..]).await.unwrap());
    }

    #[test]
    fn each_failure_has_the_reply_that_says_most() {
        let refused = |error| Reply::of(&OpenError::Refused(ProxyStatus::new(error, "")));
        assert_eq!(refused(ProxyError::ConnectionRefused), Reply::Refused);
        assert_eq!(refused(ProxyError::DestinationIpProhibited), Reply::NotAllowed);
        assert_eq!(refused(ProxyError::DnsError), Reply::HostUnreachable);
        assert_eq!(refused(ProxyError::ConnectionTimeout), Reply::TimedOut);
        assert_eq!(Reply::of(&OpenError::UnknownKey), Reply::NotAllowed);
        assert_eq!(
            Reply::Refused.encode("127.0.0.1:80".parse().unwrap()),
            b"\x05\x05\x00\x01\x7f\0\0\x01\0\x50"
        );
    }

    proptest! {
        #[test]
        fn datagrams_come_back_with_their_target(address: SocketAddr, payload: Vec<u8>) {
            prop_assume!(address.port() > 0);
            let target = Target::from(address);
            let datagram = [datagram_header(&target), payload.clone()].concat();
            prop_assert_eq!(read_datagram(&datagram), Some((target, &payload[..])));
        }

        #[test]
        fn any_datagram_can_be_read(bytes: Vec<u8>) {
            let _ = read_datagram(&bytes);
            let _ = read_datagram(&[&[0, 0, 0], &bytes[..]].concat());
        }
    }
}
