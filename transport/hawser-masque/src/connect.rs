//! Requests for tunnels: CONNECT (RFC 9114 section 4.4) and extended CONNECT (RFC 9220).

use http::{Method, Request, Uri};

pub use crate::error::RequestError;
use crate::target::Target;
use crate::{ip, udp};

/// `:protocol` of CONNECT-UDP (RFC 9298 section 3.4).
pub const CONNECT_UDP: &str = "connect-udp";
/// `:protocol` of CONNECT-IP (RFC 9484 section 4.1).
pub const CONNECT_IP: &str = "connect-ip";

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// A TCP connection.
    Tcp(Target),
    /// UDP datagrams to and from one address.
    Udp(Target),
    /// IP packets to and from anywhere.
    Ip,
}

/// The request for a TCP connection: an authority and nothing else.
///
/// # Errors
/// [`RequestError::Unwritable`], which no valid target leads to.
pub fn request(target: &Target) -> Result<Request<()>, RequestError> {
    let uri = Uri::builder().authority(target.to_string()).build()?;
    Ok(Request::builder().method(Method::CONNECT).uri(uri).body(())?)
}

/// What a request asks for; `protocol` is its `:protocol`.
///
/// # Errors
/// [`RequestError`].
pub fn read<T>(request: &Request<T>, protocol: Option<&str>) -> Result<Tunnel, RequestError> {
    if request.method() != Method::CONNECT {
        return Err(RequestError::Method);
    }
    let uri = request.uri();
    match protocol {
        None => {
            // RFC 9114 section 4.4.
            if uri.scheme().is_some() || uri.path_and_query().is_some() {
                return Err(RequestError::Form);
            }
            let authority = uri.authority().ok_or(RequestError::Form)?;
            Ok(Tunnel::Tcp(authority.as_str().parse()?))
        }
        Some(CONNECT_UDP) => udp::read_path(uri.path()).map(Tunnel::Udp),
        Some(CONNECT_IP) => ip::read_path(uri.path()).map(|()| Tunnel::Ip),
        Some(other) => Err(RequestError::Protocol(other.chars().take(64).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_becomes_a_request_and_a_target_again() {
        for text in ["example.org:443", "[2001:db8::1]:80", "192.0.2.1:22"] {
            let target: Target = text.parse().unwrap();
            let request = request(&target).unwrap();
            assert_eq!(request.uri().to_string(), text);
            assert_eq!(read(&request, None), Ok(Tunnel::Tcp(target)));
        }
    }

    #[test]
    fn other_requests_are_named() {
        let request = |method: &str, uri: &str| Request::builder().method(method).uri(uri).body(()).unwrap();
        assert_eq!(read(&request("GET", "https://a/"), None), Err(RequestError::Method));
        assert_eq!(read(&request("CONNECT", "https://a:1/"), None), Err(RequestError::Form));
        assert_eq!(read(&request("CONNECT", "/a"), None), Err(RequestError::Form));
        assert!(matches!(read(&request("CONNECT", "a"), None), Err(RequestError::Target(_))));
        let error = read(&request("CONNECT", "https://a/"), Some("websocket")).unwrap_err();
        assert_eq!(error.to_string(), "the protocol \"websocket\" is not spoken here");
    }
}
