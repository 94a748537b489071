//! UDP between a client and one other end: the target of a CONNECT-UDP request, or a host that sends to a port of the gateway.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h3::error::StreamError;
use hawser_masque::udp;
use http::Response;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::client::{Client, Stream};
use super::directory::User;
use crate::meter::Direction;
use crate::relay::idle_for;
use crate::traffic::Kind;
use crate::udp_relay::{PacketReceiver, PacketSender};

/// How long a UDP socket rests that reports an error, so that one that does so again and again costs nothing.
pub(super) const ERROR_PAUSE: Duration = Duration::from_millis(5);
/// Most bytes of a UDP payload.
pub(super) const MAX_PAYLOAD: usize = udp::MAX_PAYLOAD;

/// The other end.
#[derive(Debug)]
pub(super) struct FarEnd {
    socket: Arc<UdpSocket>,
    /// Where payloads go; `None` over a socket that is connected.
    peer: Option<SocketAddr>,
    payloads: Payloads,
}

/// Where its payloads come from.
#[derive(Debug)]
enum Payloads {
    /// A socket that hears this end only, and room for a payload.
    Socket(Arc<UdpSocket>, Vec<u8>),
    /// Who reads a socket that all hosts of a port send to.
    Queue(mpsc::Receiver<Bytes>),
}

impl FarEnd {
    /// What a socket is connected to.
    pub(super) fn of(socket: UdpSocket) -> Self {
        let socket = Arc::new(socket);
        let payloads = Payloads::Socket(socket.clone(), vec![0; MAX_PAYLOAD]);
        FarEnd { socket, peer: None, payloads }
    }

    /// One of several that send to a socket; its payloads come in this queue.
    pub(super) fn one_of(socket: Arc<UdpSocket>, peer: SocketAddr, payloads: mpsc::Receiver<Bytes>) -> Self {
        FarEnd { socket, peer: Some(peer), payloads: Payloads::Queue(payloads) }
    }
}

impl Payloads {
    /// The next one; `None` if no more come.
    async fn next(&mut self) -> Option<Bytes> {
        match self {
            Payloads::Queue(queue) => queue.recv().await,
            Payloads::Socket(socket, buffer) => loop {
                match socket.recv(buffer).await {
                    Ok(read) => return Some(Bytes::copy_from_slice(buffer.get(..read).unwrap_or_default())),
                    // An ICMP message about what was sent: no end of the tunnel.
                    Err(_) => tokio::time::sleep(ERROR_PAUSE).await,
                }
            },
        }
    }
}

/// Answers a request with a tunnel, and carries payloads until one end closes it or nothing has moved for so long.
///
/// # Errors
/// When the answer cannot be sent.
pub(super) async fn relay(
    client: &Client,
    user: &User,
    idle: Duration,
    far: FarEnd,
    mut stream: Stream,
) -> Result<(), StreamError> {
    // Before the answer, so that nothing is lost that comes right behind it.
    let flow = Arc::new(user.traffic.flow(Kind::Udp));
    let dropped = flow.clone();
    let (sender, receiver) = client.flows.open(stream.id(), Box::new(move |_| dropped.dropped()));
    let response = Response::builder().header("capsule-protocol", "?1").body(());
    stream.send_response(response.unwrap_or_default()).await?;
    let (outgoing, incoming) = stream.split();
    let mut out = PacketSender::new(outgoing, sender, flow.clone());
    let mut back = PacketReceiver::new(incoming, receiver, flow);
    let FarEnd { socket, peer, mut payloads } = far;
    let moved = AtomicU64::new(0);
    let count = || moved.fetch_add(1, Ordering::Relaxed);
    let downwards = async {
        while let Some(payload) = payloads.next().await {
            count();
            if user.meter.admits(Direction::Down, payload.len())
                && let Err(error) = out.send(&payload).await
            {
                return tracing::debug!(%error, "a UDP tunnel ended");
            }
        }
    };
    let upwards = async {
        loop {
            let payload = match back.receive().await {
                Ok(Some(payload)) => payload,
                Ok(None) => return,
                Err(error) => return tracing::debug!(%error, "a UDP tunnel ended"),
            };
            count();
            if user.meter.admits(Direction::Up, payload.len()) {
                // What is not taken is lost, as on any way.
                let _ = match peer {
                    Some(peer) => socket.send_to(&payload, peer).await,
                    None => socket.send(&payload).await,
                };
            }
        }
    };
    tokio::select! {
        () = downwards => {}
        () = upwards => {}
        () = idle_for(idle, || moved.load(Ordering::Relaxed)) => {}
    }
    out.finish().await;
    back.stop();
    Ok(())
}
