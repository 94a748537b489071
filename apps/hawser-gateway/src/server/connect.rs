//! From addresses to sockets.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hawser_masque::status::{ProxyError, ProxyStatus};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// How long one address has for itself before the next is tried as well (RFC 8305 section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// After how much silence the kernel asks whether the other end of a TCP connection is there.
const KEEP_ALIVE: Duration = Duration::from_secs(120);

/// A TCP connection to the first of these addresses that answers.
///
/// # Errors
/// What to answer.
pub(super) async fn tcp(addresses: Vec<SocketAddr>, patience: Duration) -> Result<TcpStream, ProxyStatus> {
    let raced = tokio::time::timeout(patience, race(addresses)).await;
    let stream = match raced {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(failure(&error)),
        Err(_) => {
            let seconds = patience.as_secs_f64();
            let details = format!("the host did not answer within {seconds} s");
            return Err(ProxyStatus::new(ProxyError::ConnectionTimeout, details));
        }
    };
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
    Ok(stream)
}

async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    let mut failed: Option<io::Error> = None;
    for address in addresses {
        attempts.spawn(TcpStream::connect(address));
        // The next one begins when this one has failed or taken its time.
        match tokio::time::timeout(ATTEMPT_DELAY, attempts.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            Ok(Some(Ok(Err(error)))) => failed = Some(clearer(failed, error)),
            Ok(Some(Err(_)) | None) | Err(_) => {}
        }
    }
    while let Some(attempt) = attempts.join_next().await {
        match attempt {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = Some(clearer(failed, error)),
            Err(_) => {}
        }
    }
    Err(failed.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

/// Of several errors the one that says most: a host that refuses is there.
fn clearer(before: Option<io::Error>, error: io::Error) -> io::Error {
    match before {
        Some(before) if before.kind() == io::ErrorKind::ConnectionRefused => before,
        _ => error,
    }
}

/// A UDP socket that talks to the first of these addresses to which there is a route, and to nobody else.
///
/// # Errors
/// What to answer.
pub(super) async fn udp(addresses: Vec<SocketAddr>) -> Result<UdpSocket, ProxyStatus> {
    let mut failed = None;
    for address in addresses {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let bound = async {
            let socket = UdpSocket::bind(any).await?;
            socket.connect(address).await?;
            Ok::<_, io::Error>(socket)
        };
        match bound.await {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = Some(error),
        }
    }
    Err(failure(&failed.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())))
}

fn failure(error: &io::Error) -> ProxyStatus {
    let (kind, words) = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            (ProxyError::ConnectionRefused, "the host is there, but nobody listens on that port".to_owned())
        }
        io::ErrorKind::ConnectionReset => {
            (ProxyError::ConnectionTerminated, "it was reset at once".to_owned())
        }
        io::ErrorKind::TimedOut => (ProxyError::ConnectionTimeout, "no answer".to_owned()),
        io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::AddrNotAvailable => {
            (ProxyError::DestinationIpUnroutable, "the gateway has no route to it".to_owned())
        }
        io::ErrorKind::PermissionDenied => {
            (ProxyError::DestinationIpProhibited, "the gateway's firewall denies it".to_owned())
        }
        _ => (ProxyError::ProxyInternalError, error.to_string()),
    };
    ProxyStatus::new(kind, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_address_that_answers_wins() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let stream = tcp(vec![free, good], Duration::from_secs(5)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let refused = tcp(vec![free], Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(refused.error, ProxyError::ConnectionRefused);
        assert!(refused.details.contains("nobody listens"), "{}", refused.details);
    }

    #[tokio::test]
    async fn a_udp_socket_hears_its_peer_only() {
        let (peer, other) =
            (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = peer.local_addr().unwrap();
        let socket = udp(vec![address]).await.unwrap();
        let own = socket.local_addr().unwrap();
        other.send_to(b"stranger", ("127.0.0.1", own.port())).await.unwrap();
        peer.send_to(b"peer", ("127.0.0.1", own.port())).await.unwrap();
        let mut buffer = [0; 100];
        let read = socket.recv(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..read], b"peer");
    }
}
