//! Hosts that send UDP to a port of the gateway: each is a connection.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h3::error::StreamError;
use http::Response;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use crate::meter::Direction;
use crate::relay::idle_for;
use crate::server::client::Client;
use crate::server::directory::User;
use crate::server::request::{ERROR_PAUSE, MAX_PAYLOAD, Stream};
use crate::traffic::Kind;
use crate::udp_relay::{PacketReceiver, PacketSender};

/// Hosts of one port at the same time; what others send is dropped.
const MOST_HOSTS: usize = 1_024;
/// Payloads that wait while a host's connection is fetched or full; what comes beyond them is dropped, as at any socket.
const QUEUE: usize = 256;

/// The hosts that send to a port.
#[derive(Debug)]
pub(super) struct Hosts {
    socket: Arc<UdpSocket>,
    hosts: HashMap<SocketAddr, mpsc::Sender<Bytes>>,
    buffer: Vec<u8>,
}

/// A host that was not heard of before, and what it sends.
#[derive(Debug)]
pub(super) struct UdpArrival {
    socket: Arc<UdpSocket>,
    peer: SocketAddr,
    payloads: mpsc::Receiver<Bytes>,
}

impl Hosts {
    pub(super) fn new(socket: UdpSocket) -> Self {
        Hosts { socket: Arc::new(socket), hosts: HashMap::new(), buffer: vec![0; MAX_PAYLOAD] }
    }

    /// The next host. Hands on what those before it send as long as it is waited for; when it is not, they wait in the socket.
    pub(super) async fn next(&mut self) -> UdpArrival {
        loop {
            let Ok((read, peer)) = self.socket.recv_from(&mut self.buffer).await else {
                // An ICMP message about what was sent to one of them.
                tokio::time::sleep(ERROR_PAUSE).await;
                continue;
            };
            let payload = Bytes::copy_from_slice(self.buffer.get(..read).unwrap_or_default());
            if let Some(host) = self.hosts.get(&peer).filter(|host| !host.is_closed()) {
                let _ = host.try_send(payload);
                continue;
            }
            self.hosts.retain(|_, host| !host.is_closed());
            if self.hosts.len() >= MOST_HOSTS {
                continue;
            }
            let (sender, payloads) = mpsc::channel(QUEUE);
            let _ = sender.try_send(payload);
            self.hosts.insert(peer, sender);
            return UdpArrival { socket: self.socket.clone(), peer, payloads };
        }
    }
}

impl UdpArrival {
    /// The host.
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Carries payloads between the host and the client until one of them ends it or nothing has moved for so long.
    pub(super) async fn relay(
        mut self,
        client: &Client,
        user: &User,
        idle: Duration,
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
        let moved = AtomicU64::new(0);
        let count = || moved.fetch_add(1, Ordering::Relaxed);
        let downwards = async {
            while let Some(payload) = self.payloads.recv().await {
                count();
                if user.meter.admits(Direction::Down, payload.len())
                    && let Err(error) = out.send(&payload).await
                {
                    return tracing::debug!(%error, "a host's UDP ended");
                }
            }
        };
        let upwards = async {
            loop {
                match back.receive().await {
                    Ok(Some(payload)) => {
                        count();
                        if user.meter.admits(Direction::Up, payload.len()) {
                            let _ = self.socket.send_to(&payload, self.peer).await;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => return tracing::debug!(%error, "a host's UDP ended"),
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
}
