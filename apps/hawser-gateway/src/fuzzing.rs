//! What programs, clients and gateways say, without a connection, for fuzzing (feature `fuzzing`).

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use h3::ext::Protocol;
use hawser_masque::capsule::Capsules;
use hawser_masque::connect::Tunnel;
use hawser_masque::target::Target;
use http::{HeaderMap, HeaderValue, Method, Request};

use crate::client::Hello;
use crate::local::forward::Transport;
use crate::local::{self, Command, SocksError};
use crate::named::PROXY_NAME;
use crate::remote::{self, ARRIVAL, Asked, MAX_ARRIVAL};
use crate::server;

/// What a program asks for by CONNECT, and where its header ends; `None` when more must come.
///
/// # Errors
/// Why it is none.
pub fn connect(header: &[u8]) -> Result<Option<(Target, usize)>, String> {
    local::parse_connect(header).map_err(|error| error.to_string())
}

/// What a program asks for by SOCKS: a target, or UDP from this port; and the bytes that follow.
///
/// # Errors
/// Why it is served nothing.
pub fn socks(mut stream: &[u8]) -> Result<(Result<Target, u16>, &[u8]), String> {
    let asked = async {
        if !local::read_greeting(&mut stream).await? {
            return Err(SocksError::Method);
        }
        local::read_request(&mut stream).await
    };
    let command = at_once(asked).map_err(|error| error.to_string())?;
    let asked = match command {
        Command::Connect(target) => Ok(target),
        Command::Associate(port) => Err(port),
    };
    Ok((asked, stream))
}

/// The target of a program's datagram, and its payload.
pub fn socks_datagram(datagram: &[u8]) -> Option<(Target, &[u8])> {
    local::read_datagram(datagram)
}

/// The header of a datagram to a program.
pub fn socks_header(from: &Target) -> Vec<u8> {
    local::datagram_header(from)
}

/// Whether the fields of a request show something that could be a key.
pub fn shows_key(headers: &HeaderMap) -> bool {
    server::key_of(headers).is_some()
}

/// The tunnel that a request of a client asks for.
///
/// # Errors
/// The value of `Proxy-Status` with which it is refused, and whether that can be sent.
pub fn tunnel(request: &Request<()>) -> Result<Tunnel, (String, bool)> {
    server::tunnel_of(request).map_err(|status| {
        let field = status.to_field(PROXY_NAME);
        let can_be_sent = HeaderValue::try_from(&field).is_ok();
        (field, can_be_sent)
    })
}

/// What a client asks of the gateway's ports, and what that is once it was written again; `None` if it asks for no such thing.
pub fn port(request: &Request<()>) -> Option<[String; 2]> {
    let asked = remote::read(request)?;
    let (path, transport) = match asked {
        Asked::Listen(transport, address) => (remote::listen_path(transport, address), Transport::Tcp),
        Asked::Fetch(transport, id) => (remote::fetch_path(id), transport),
        Asked::Malformed => return Some([format!("{asked:?}"), format!("{asked:?}")]),
    };
    let is_udp = transport == Transport::Udp;
    let method = if is_udp { Method::CONNECT } else { Method::POST };
    let mut again = Request::builder().method(method).uri(format!("https://gateway{path}")).body(()).ok()?;
    if is_udp {
        again.extensions_mut().insert(Protocol::CONNECT_UDP);
    }
    Some([asked, remote::read(&again)?].map(|asked| format!("{asked:?}")))
}

/// The connection that a capsule of the gateway announces, and what that is once it was written again.
pub fn arrival(value: &[u8]) -> Option<[String; 2]> {
    let (id, peer) = remote::decode_arrival(value)?;
    let mut capsules = Capsules::new(&[ARRIVAL], MAX_ARRIVAL);
    capsules.push(remote::encode_arrival(id, peer));
    let again = capsules.next().ok()??;
    let again = remote::decode_arrival(&again.value)?;
    Some([format!("{:?}", (id, peer)), format!("{again:?}")])
}

/// What a gateway says of itself.
pub fn hello(body: &[u8]) -> Option<Hello> {
    serde_json::from_slice(body).ok()
}

/// What comes of a future that waits for nothing.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("what is read is there"),
    }
}
