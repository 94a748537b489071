//! CONNECT-UDP (RFC 9298): the URI template, and UDP payloads in HTTP Datagrams.

use bytes::{BufMut, Bytes, BytesMut};
use hawser_wire::Reader;
use http::{Method, Request, Uri};

use crate::error::RequestError;
use crate::percent;
use crate::target::{Host, InvalidTarget, Target};

/// The template that a proxy has if it names none (RFC 9298 section 2).
pub const DEFAULT_TEMPLATE: &str = "/.well-known/masque/udp/{target_host}/{target_port}/";
/// Most bytes of a UDP payload (RFC 9298 section 5).
pub const MAX_PAYLOAD: usize = 65_527;
/// The context of UDP payloads (RFC 9298 section 4).
const PAYLOAD_CONTEXT: u8 = 0;
/// Most bytes of an HTTP Datagram with a UDP payload.
pub const MAX_DATAGRAM: usize = MAX_PAYLOAD + 1;

/// Before the host in the path of [`DEFAULT_TEMPLATE`].
const PREFIX: &str = "/.well-known/masque/udp/";

/// The request for UDP at the proxy with this authority, and with [`DEFAULT_TEMPLATE`]. `:protocol` is to be
/// [`CONNECT_UDP`](crate::connect::CONNECT_UDP).
///
/// # Errors
/// [`RequestError::Unwritable`] for an invalid authority.
pub fn request(proxy: &str, target: &Target) -> Result<Request<()>, RequestError> {
    let host = percent::encode(&target.host.to_string());
    let uri = Uri::builder()
        .scheme("https")
        .authority(proxy)
        .path_and_query(format!("{PREFIX}{host}/{}/", target.port))
        .build()?;
    // RFC 9298 section 3.4.
    Ok(Request::builder().method(Method::CONNECT).uri(uri).header("capsule-protocol", "?1").body(())?)
}

/// The target in a path of [`DEFAULT_TEMPLATE`].
///
/// # Errors
/// [`RequestError::Path`] and [`RequestError::Target`].
pub fn read_path(path: &str) -> Result<Target, RequestError> {
    let rest = path.strip_prefix(PREFIX).ok_or(RequestError::Path(DEFAULT_TEMPLATE))?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest.split_once('/').ok_or(RequestError::Path(DEFAULT_TEMPLATE))?;
    let host: Host = percent::decode(host).ok_or(RequestError::Path(DEFAULT_TEMPLATE))?.parse()?;
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let no_port = || InvalidTarget::Port(port.chars().take(64).collect());
    let port = port.parse().ok().filter(|port| *port > 0 && is_number).ok_or_else(no_port)?;
    Ok(Target { host, port })
}

/// An HTTP Datagram that carries this UDP payload.
pub fn encode(payload: &[u8]) -> Bytes {
    let mut datagram = BytesMut::with_capacity(payload.len() + 1);
    datagram.put_u8(PAYLOAD_CONTEXT);
    datagram.put_slice(payload);
    datagram.freeze()
}

/// What is wrong with an HTTP Datagram: the request is to be aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// No context id.
    #[error("an HTTP Datagram without a context id")]
    Context,
    /// Longer than UDP allows.
    #[error("a UDP payload of {0} bytes: expected at most {MAX_PAYLOAD}")]
    TooLong(usize),
}

/// The UDP payload in an HTTP Datagram; `None` in a context that nobody registered, which is dropped.
///
/// # Errors
/// [`DatagramError`].
pub fn decode(datagram: Bytes) -> Result<Option<Bytes>, DatagramError> {
    let mut reader = Reader::new(&datagram);
    let context = reader.read_varint().map_err(|_| DatagramError::Context)?;
    if context != u64::from(PAYLOAD_CONTEXT) {
        return Ok(None);
    }
    let payload = datagram.slice(reader.position()..);
    if payload.len() > MAX_PAYLOAD {
        return Err(DatagramError::TooLong(payload.len()));
    }
    Ok(Some(payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::connect::{CONNECT_UDP, Tunnel, read};

    #[test]
    fn a_target_becomes_a_path_and_a_target_again() {
        for (text, path) in [
            ("192.0.2.6:443", "/.well-known/masque/udp/192.0.2.6/443/"),
            ("[2001:db8::42]:443", "/.well-known/masque/udp/2001%3Adb8%3A%3A42/443/"),
            ("example.org:1", "/.well-known/masque/udp/example.org/1/"),
        ] {
            let target: Target = text.parse().unwrap();
            let request = request("proxy.example:4435", &target).unwrap();
            assert_eq!(request.uri().path(), path);
            assert_eq!(request.uri().authority().unwrap(), "proxy.example:4435");
            assert_eq!(request.headers()["capsule-protocol"], "?1");
            assert_eq!(read(&request, Some(CONNECT_UDP)), Ok(Tunnel::Udp(target)));
        }
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        for path in
            ["/", "/.well-known/masque/udp/", "/.well-known/masque/udp/a", "/.well-known/masque/udp/%zz/1/"]
        {
            assert_eq!(read_path(path), Err(RequestError::Path(DEFAULT_TEMPLATE)), "{path}");
        }
        for path in [
            "/.well-known/masque/udp/a/0/",
            "/.well-known/masque/udp/a%2Fb/1/",
            "/.well-known/masque/udp/a/1/2/",
        ] {
            assert!(matches!(read_path(path), Err(RequestError::Target(_))), "{path}");
        }
    }

    #[test]
    fn other_contexts_are_dropped_and_nothing_is_no_context() {
        assert_eq!(decode(Bytes::from_static(b"\x02abc")), Ok(None));
        assert_eq!(decode(Bytes::from_static(b"\x40\x00abc")), Ok(Some(Bytes::from_static(b"abc"))));
        assert_eq!(decode(Bytes::from_static(b"\x00")), Ok(Some(Bytes::new())));
        assert_eq!(decode(Bytes::new()), Err(DatagramError::Context));
        let long = Bytes::from(vec![0; MAX_DATAGRAM + 1]);
        assert_eq!(decode(long), Err(DatagramError::TooLong(MAX_PAYLOAD + 1)));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(payload: Vec<u8>) {
            prop_assert_eq!(decode(encode(&payload)), Ok(Some(Bytes::from(payload))));
        }

        #[test]
        fn any_path_can_be_read(rest in ".{0,80}") {
            let _ = read_path(&rest);
            let _ = read_path(&format!("{PREFIX}{rest}"));
        }
    }
}
