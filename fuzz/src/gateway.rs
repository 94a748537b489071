//! What programs, clients and gateways say to each other: SOCKS and CONNECT of programs, requests of clients, announcements and words of
//! gateways; and questions and answers of DNS, which a tunnel reads to lead chosen names through it.
//!
//! The first byte chooses one of these. What must hold: no panic, an end; how a stream is cut changes nothing; what was understood means the
//! same when it is written and read again; every refusal can be sent.

use h3::ext::Protocol;
use hawser_gateway::fuzzing;
use hawser_tunnel::fuzzing as dns;
use hawser_wire::Reader;
use http::{HeaderName, HeaderValue, Method, Request};

/// Names that a tunnel leads through it.
const DOMAIN: &str = "example.org";

/// One of the readers.
pub fn gateway(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match which % 7 {
        0 => connect(rest),
        1 => socks(rest),
        2 => socks_datagram(rest),
        3 => request(rest),
        4 => assert!(fuzzing::arrival(rest).is_none_or(|[said, again]| said == again)),
        5 => {
            if let Some(hello) = fuzzing::hello(rest) {
                assert!(hello.protocols.len() + hello.dns.len() <= rest.len());
            }
        }
        _ => names(rest),
    }
}

/// The header of a program's request, of which less and more may be there.
fn connect(bytes: &[u8]) {
    let whole = fuzzing::connect(bytes);
    let first =
        (0..=bytes.len()).map(|length| fuzzing::connect(&bytes[..length])).find(|read| *read != Ok(None));
    assert_eq!(first.unwrap_or(Ok(None)), whole, "as much as is there changes nothing");
    match whole {
        Ok(Some((target, end))) => {
            assert!(end <= bytes.len());
            let again = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
            assert_eq!(fuzzing::connect(again.as_bytes()), Ok(Some((target, again.len()))));
        }
        Ok(None) => {}
        Err(error) => assert!(!error.is_empty()),
    }
}

fn socks(bytes: &[u8]) {
    match fuzzing::socks(bytes) {
        Ok((asked, rest)) => {
            let used = bytes.len() - rest.len();
            assert!(used >= 10 && bytes.ends_with(rest));
            // What follows changes nothing.
            let again = fuzzing::socks(&bytes[..used]).map(|(asked, rest)| (asked, rest.len()));
            assert_eq!(again, Ok((asked, 0)));
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

fn socks_datagram(bytes: &[u8]) {
    let Some((target, payload)) = fuzzing::socks_datagram(bytes) else { return };
    assert!(bytes.ends_with(payload));
    let again = [&fuzzing::socks_header(&target)[..], payload].concat();
    assert_eq!(fuzzing::socks_datagram(&again), Some((target, payload)));
}

/// A request as it comes out of HTTP/3: a method, a protocol, a URI behind its length, and fields.
fn request(data: &[u8]) {
    let mut script = Reader::new(data);
    let (Ok(how), Ok(length)) = (script.read_u8(), script.read_u8()) else { return };
    let Ok(uri) = script.read_bytes(usize::from(length).min(script.remaining())) else { return };
    let method = [Method::CONNECT, Method::POST, Method::GET][usize::from(how % 3)].clone();
    let Ok(mut request) = Request::builder().method(method).uri(uri).body(()) else { return };
    match how >> 4 & 3 {
        0 => {}
        1 => drop(request.extensions_mut().insert(Protocol::CONNECT_UDP)),
        _ => drop(request.extensions_mut().insert(hawser_h3::CONNECT_IP)),
    }
    while let (Ok(which), Ok(length)) = (script.read_u8(), script.read_u8()) {
        let Ok(value) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
        let name = ["proxy-authorization", "authorization", "capsule-protocol"][usize::from(which % 3)];
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    let _ = fuzzing::shows_key(request.headers());
    if let Some([asked, again]) = fuzzing::port(&request) {
        assert_eq!(asked, again);
    }
    if let Err((field, can_be_sent)) = fuzzing::tunnel(&request) {
        assert!(can_be_sent, "{field:?}");
    }
}

/// A message of DNS, as a question and as an answer.
fn names(message: &[u8]) {
    let domains = [DOMAIN.to_owned()];
    if let Some((number, _)) = dns::question(message, &domains) {
        assert_eq!(message.first_chunk().map(|number| u16::from_be_bytes(*number)), Some(number));
        assert!(dns::question(message, &[]).is_some_and(|(_, is_chosen)| !is_chosen));
    }
    let found = dns::addresses(message);
    // A record has ten bytes and a name of one at least.
    assert!(found.len() <= message.len() / 11);
    assert!(
        found
            .iter()
            .all(|address| !address.is_loopback() && !address.is_unspecified() && !address.is_multicast())
    );
}
