//! UDP: a tunnel for each program that sends, or each target that is sent to.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_masque::target::Target;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::client::{GatewayClient, Say, UdpTunnel};

/// Most bytes of a datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Programs at the same time; the one that was silent for longest gives way.
const MAX_PROGRAMS: usize = 1_024;
/// Datagrams that wait while a tunnel is opened or full; what comes beyond them is lost, as at any socket.
const QUEUE: usize = 256;
/// How long a socket rests that reports an error.
pub(super) const ERROR_PAUSE: Duration = Duration::from_millis(5);

/// A UDP port that leads to a target.
pub struct UdpForward {
    peers: Peers<SocketAddr>,
    target: Target,
}

impl UdpForward {
    /// Leads to this target.
    pub fn new(client: GatewayClient, target: Target, idle: Duration, say: Say) -> Self {
        UdpForward { peers: Peers::new(client, MAX_PROGRAMS, idle, say), target }
    }

    /// Serves every program that sends, as long as it is waited for.
    pub async fn run(&mut self, socket: UdpSocket) {
        let socket = Arc::new(socket);
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            let Some((read, from)) = receive(&socket, &mut buffer).await else { continue };
            let socket = socket.clone();
            let back: Back = Arc::new(move |payload| {
                let _ = socket.try_send_to(payload, from);
            });
            self.peers.send(from, &self.target, &buffer[..read], back);
        }
    }
}

/// The next datagram; `None` for an ICMP message about what was sent to programs that have gone. A socket that reports errors
/// again and again rests in between.
pub(in crate::local) async fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    match socket.recv_from(buffer).await {
        Ok(received) => Some(received),
        Err(_) => {
            tokio::time::sleep(ERROR_PAUSE).await;
            None
        }
    }
}

/// Takes what comes back.
pub(in crate::local) type Back = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Tunnels by what tells them apart.
pub(in crate::local) struct Peers<K> {
    client: GatewayClient,
    most: usize,
    idle: Duration,
    say: Say,
    peers: HashMap<K, Peer>,
}

/// One tunnel, or one that is being opened.
struct Peer {
    queue: mpsc::Sender<Bytes>,
    task: JoinHandle<()>,
    used: Instant,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<K: Clone + Eq + Hash> Peers<K> {
    pub(in crate::local) fn new(client: GatewayClient, most: usize, idle: Duration, say: Say) -> Self {
        Peers { client, most, idle, say, peers: HashMap::new() }
    }

    /// Sends a payload through the tunnel of this key, and opens it if it is not open.
    pub(in crate::local) fn send(&mut self, key: K, target: &Target, payload: &[u8], back: Back) {
        let now = Instant::now();
        let is_there = self.peers.get(&key).is_some_and(|peer| !peer.task.is_finished());
        if !is_there {
            self.make_room(now);
            let (queue, datagrams) = mpsc::channel(QUEUE);
            let (client, target, idle, say) =
                (self.client.clone(), target.clone(), self.idle, self.say.clone());
            let task = tokio::spawn(async move {
                match client.udp(&target).await {
                    Ok(tunnel) => relay(tunnel, datagrams, &back, idle).await,
                    Err(error) => say(&format!("UDP {target}: {error}")),
                }
            });
            self.peers.insert(key.clone(), Peer { queue, task, used: now });
        }
        if let Some(peer) = self.peers.get_mut(&key) {
            peer.used = now;
            let _ = peer.queue.try_send(Bytes::copy_from_slice(payload));
        }
    }

    /// Forgets tunnels that have ended, and the one that was silent for longest if there are too many.
    fn make_room(&mut self, now: Instant) {
        if self.peers.len() < self.most {
            return;
        }
        self.peers.retain(|_, peer| !peer.task.is_finished() && now - peer.used < self.idle);
        if self.peers.len() >= self.most
            && let Some(oldest) =
                self.peers.iter().min_by_key(|(_, peer)| peer.used).map(|(key, _)| key.clone())
        {
            self.peers.remove(&oldest);
        }
    }
}

/// Relays until the gateway ends the tunnel or nothing has moved for so long.
async fn relay(tunnel: UdpTunnel, mut datagrams: mpsc::Receiver<Bytes>, back: &Back, idle: Duration) {
    let UdpTunnel { mut sender, mut receiver } = tunnel;
    let moved = std::sync::atomic::AtomicU64::new(0);
    let count = || moved.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let up = async {
        while let Some(payload) = datagrams.recv().await {
            count();
            if let Err(error) = sender.send(&payload).await {
                return tracing::debug!(error, "a UDP tunnel ended");
            }
        }
    };
    let down = async {
        loop {
            match receiver.receive().await {
                Ok(Some(payload)) => {
                    count();
                    back(&payload);
                }
                Ok(None) => return,
                Err(error) => return tracing::debug!(error, "a UDP tunnel ended"),
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
        () = crate::relay::idle_for(idle, || moved.load(std::sync::atomic::Ordering::Relaxed)) => {}
    }
}
