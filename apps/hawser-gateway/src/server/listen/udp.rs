//! Hosts that send UDP to a port of the gateway: each is a connection.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use crate::server::udp::{ERROR_PAUSE, FarEnd, MAX_PAYLOAD};

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

    /// The host as the other end of a tunnel.
    pub(super) fn into_far_end(self) -> FarEnd {
        FarEnd::one_of(self.socket, self.peer, self.payloads)
    }
}
