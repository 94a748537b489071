//! A link of a rate, a delay and a queue between a client on loopback and a server: two sockets, and two threads for each
//! direction.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt::RcvBuf};

/// Where datagrams wait that the kernel has taken, in bytes.
const BUFFER: usize = 4 << 20;

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Bits in a second.
    pub(crate) rate: f64,
    /// One way.
    pub(crate) delay: Duration,
    /// How long a datagram may wait for its turn; what would wait longer is dropped.
    pub(crate) queue: Duration,
}

/// Both directions between one client and a server, until this is dropped.
pub(crate) struct Link {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Link {
    pub(crate) fn to(server: SocketAddr, shape: Shape) -> io::Result<Self> {
        let (inside, outside) = (socket()?, socket()?);
        outside.connect(server)?;
        let address = inside.local_addr()?;
        let client = Arc::new(Mutex::new(None));
        let ended = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for is_up in [true, false] {
            let (from, to) = if is_up { (&inside, &outside) } else { (&outside, &inside) };
            let (from, to) = (from.try_clone()?, to.try_clone()?);
            let (entrance, exit) = sync_channel(100_000);
            let (known, until) = (client.clone(), ended.clone());
            threads.push(std::thread::spawn(move || enter(&from, &entrance, is_up, &known, &until, shape)));
            let known = client.clone();
            threads.push(std::thread::spawn(move || leave(&to, &exit, is_up, &known)));
        }
        Ok(Link { address, ended, threads })
    }

    /// Where the client finds the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    setsockopt(&socket, RcvBuf, &BUFFER)?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(socket)
}

/// A datagram, and when it is at the other end.
type Travelling = (Instant, Vec<u8>);
/// The address of the client, once it has been heard.
type Client = Mutex<Option<SocketAddr>>;

fn enter(
    socket: &UdpSocket,
    entrance: &SyncSender<Travelling>,
    is_up: bool,
    client: &Client,
    ended: &AtomicBool,
    shape: Shape,
) {
    let (mut payload, mut free) = (vec![0; 65_536], Instant::now());
    while !ended.load(Ordering::Relaxed) {
        let Ok((length, sender)) = socket.recv_from(&mut payload) else { continue };
        if is_up {
            *client.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        }
        let now = Instant::now();
        let begins = free.max(now);
        if begins - now > shape.queue {
            continue;
        }
        // With the headers of IP and UDP.
        free = begins + Duration::from_secs_f64((length + 28) as f64 * 8.0 / shape.rate);
        // Where too many are under way it is as if the queue were full.
        let _ = entrance.try_send((free + shape.delay, payload[..length].to_vec()));
    }
}

/// Ends with the thread that lets datagrams enter.
fn leave(socket: &UdpSocket, exit: &Receiver<Travelling>, is_up: bool, client: &Client) {
    for (at, payload) in exit {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let to = *client.lock().unwrap_or_else(PoisonError::into_inner);
        // What is not taken is lost, as on any link.
        let _ = match (is_up, to) {
            (true, _) => socket.send(&payload),
            (false, Some(client)) => socket.send_to(&payload, client),
            (false, None) => Ok(0),
        };
    }
}
