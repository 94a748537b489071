//! Links on loopback, for those who are not root: a UDP relay in this process.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use hawser_link::{Frame, flip_bit, mix};
use hawser_scenario::Scenario;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::data_plane::{Arrived, Buffer, DataPlane, Parcel, Pause, READ_BUDGET, use_realtime_priority};
use crate::error::EmuError;
use crate::stats::EmulationStats;
use crate::suitability;

/// Bytes of IPv4 and UDP headers: links count IP packets.
const HEADERS: usize = 28;
/// Client sockets that may use the relay; more are ignored.
const MOST_SESSIONS: usize = 256;
/// Room for bursts while the thread is late.
const SOCKET_BUFFER: usize = 4 << 20;

/// A UDP server behind emulated links, without namespaces and without root.
///
/// ```text
///  client sockets                                                 what the server sees
///  127.77.1.2 --+                        +-- Link wifi0 --+-- 127.77.1.1
///  127.77.2.2 --+--> address() [relay] --+-- Link lte0  --+-- 127.77.2.1 --> server
/// ```
///
/// A client chooses link `i` by binding its socket to [`Self::client_address`] and sends to the relay's one
/// [`Self::address`]. Each client socket gets a socket towards the server, so that paths stay apart there.
/// UDP only; ECN marks are lost.
#[derive(Debug)]
pub struct LoopbackRelay {
    scenario: Scenario,
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    plane: Mutex<DataPlane<Datagram>>,
    wake: EventFd,
    stop: AtomicBool,
}

/// A datagram inside a link: its bytes, how many they are, and whose it is.
#[derive(Debug)]
struct Datagram {
    buffer: Buffer,
    length: usize,
    session: usize,
}

impl Frame for Datagram {
    fn flow(&self) -> u64 {
        mix(self.session as u64)
    }

    fn corrupt(&mut self, position: u64) {
        flip_bit(&mut self.buffer[..self.length], position);
    }

    fn duplicate(&self) -> Self {
        Self { buffer: self.buffer.clone(), ..*self }
    }
}

impl Parcel for Datagram {}

impl From<Datagram> for Buffer {
    fn from(datagram: Datagram) -> Self {
        datagram.buffer
    }
}

/// One client socket.
#[derive(Debug)]
struct Session {
    client: SocketAddr,
    link: usize,
    upstream: UdpSocket,
}

/// What the thread owns.
#[derive(Debug)]
struct Sockets {
    listener: UdpSocket,
    server: SocketAddr,
    links: usize,
    sessions: Vec<Session>,
}

impl LoopbackRelay {
    /// Starts a relay to `server`, an address on loopback.
    ///
    /// # Errors
    /// Fails when the scenario needs the simulator, or a socket or the thread cannot be made.
    pub fn start(scenario: &Scenario, server: SocketAddr) -> Result<Self, EmuError> {
        suitability::check(scenario)?;
        let relay = || -> io::Result<Self> {
            let listener = bind(Ipv4Addr::LOCALHOST)?;
            let address = listener.local_addr()?;
            let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
            let plane = Mutex::new(DataPlane::new(scenario));
            let shared = Arc::new(Shared { plane, wake, stop: AtomicBool::new(false) });
            let sockets = Sockets { listener, server, links: scenario.links.len(), sessions: Vec::new() };
            let moved = shared.clone();
            let name = "hawser-relay".to_owned();
            let thread = Some(thread::Builder::new().name(name).spawn(move || moved.relay(sockets))?);
            Ok(Self { scenario: scenario.clone(), address, shared, thread })
        };
        relay().map_err(EmuError::setup("starting the loopback relay"))
    }

    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The local address that makes a client's socket use link number `index` of the scenario.
    pub fn client_address(&self, index: usize) -> Ipv4Addr {
        Ipv4Addr::new(127, 77, index as u8 + 1, 2)
    }

    /// Starts the schedules again at time zero, with empty links and counters at zero.
    pub fn restart(&self) {
        *self.shared.lock() = DataPlane::new(&self.scenario);
        self.wake();
    }

    /// Counters as of now.
    pub fn stats(&self) -> EmulationStats {
        self.shared.lock().stats(&self.scenario, |_| 0)
    }

    fn wake(&self) {
        let _ = self.shared.wake.write(1);
    }
}

impl Drop for LoopbackRelay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, DataPlane<Datagram>> {
        self.plane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn relay(&self, mut sockets: Sockets) {
        use_realtime_priority();
        let mut pause = Pause::Poll(None);
        while !self.stop.load(Ordering::Acquire) {
            let timeout = pause.timeout().map(TimeSpec::from_duration);
            let readable = {
                // Sessions come and go with the clients, so the set is rebuilt.
                let upstreams = sockets.sessions.iter().map(|session| session.upstream.as_fd());
                let sources = [self.wake.as_fd(), sockets.listener.as_fd()].into_iter().chain(upstreams);
                let mut polled: Vec<_> =
                    sources.map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
                let _ = ppoll(&mut polled, timeout, None);
                polled.iter().map(|source| source.any().unwrap_or(false)).collect::<Vec<_>>()
            };
            if readable[0] {
                let _ = self.wake.read();
            }
            pause = sockets.turn(&mut self.lock(), readable[1], &readable[2..]);
        }
    }
}

impl Sockets {
    fn turn(&mut self, plane: &mut DataPlane<Datagram>, from_clients: bool, from_server: &[bool]) -> Pause {
        let mut counts = Vec::with_capacity(1 + from_server.len());
        for (session, _) in from_server.iter().enumerate().filter(|(_, readable)| **readable) {
            counts.push(self.read_server(plane, session));
        }
        if from_clients {
            counts.push(self.read_clients(plane));
        }
        let more = counts.contains(&READ_BUDGET);
        let written = self.write_due(plane);
        plane.pause(written + counts.iter().sum::<usize>(), more)
    }

    fn read_clients(&mut self, plane: &mut DataPlane<Datagram>) -> usize {
        for count in 0..READ_BUDGET {
            let mut buffer = plane.buffer();
            match self.listener.recv_from(&mut buffer) {
                Ok((length, from)) => match self.session_of(from) {
                    Some(session) => offer(plane, 2 * self.sessions[session].link, buffer, length, session),
                    None => plane.recycle(buffer),
                },
                // An ICMP error of an earlier datagram is no news; anything else means there is nothing.
                Err(error) => {
                    plane.recycle(buffer);
                    if error.kind() != ErrorKind::ConnectionRefused {
                        return count;
                    }
                }
            }
        }
        READ_BUDGET
    }

    fn read_server(&mut self, plane: &mut DataPlane<Datagram>, session: usize) -> usize {
        for count in 0..READ_BUDGET {
            let mut buffer = plane.buffer();
            match self.sessions[session].upstream.recv(&mut buffer) {
                Ok(length) => offer(plane, 2 * self.sessions[session].link + 1, buffer, length, session),
                Err(_) => {
                    plane.recycle(buffer);
                    return count;
                }
            }
        }
        READ_BUDGET
    }

    /// The session of a client socket, made if it is new; `None` for addresses that belong to no link.
    fn session_of(&mut self, client: SocketAddr) -> Option<usize> {
        if let Some(index) = self.sessions.iter().position(|session| session.client == client) {
            return Some(index);
        }
        let SocketAddr::V4(address) = client else { return None };
        let link = link_of(&address, self.links)?;
        if self.sessions.len() >= MOST_SESSIONS {
            return None;
        }
        let upstream = bind(Ipv4Addr::new(127, 77, link as u8 + 1, 1)).ok()?;
        upstream.connect(self.server).ok()?;
        self.sessions.push(Session { client, link, upstream });
        Some(self.sessions.len() - 1)
    }

    fn write_due(&self, plane: &mut DataPlane<Datagram>) -> usize {
        let mut count = 0;
        while let Some(arrived) = plane.receive() {
            let sent = self.write(&arrived);
            plane.delivered(arrived, sent.is_ok());
            count += 1;
        }
        count
    }

    fn write(&self, arrived: &Arrived<Datagram>) -> io::Result<usize> {
        let Datagram { buffer, length, session } = &arrived.payload;
        let session = &self.sessions[*session];
        if arrived.way.is_multiple_of(2) {
            session.upstream.send(&buffer[..*length])
        } else {
            self.listener.send_to(&buffer[..*length], session.client)
        }
    }
}

fn offer(plane: &mut DataPlane<Datagram>, way: usize, buffer: Buffer, length: usize, session: usize) {
    plane.send(way, length + HEADERS, Datagram { buffer, length, session });
}

/// The link whose clients bind to this address: `127.77.(i + 1).2`.
fn link_of(address: &SocketAddrV4, links: usize) -> Option<usize> {
    match address.ip().octets() {
        [127, 77, link, 2] => usize::from(link).checked_sub(1).filter(|&link| link < links),
        _ => None,
    }
}

fn bind(address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, 0))?;
    socket.set_nonblocking(true)?;
    let options = socket2::SockRef::from(&socket);
    // The kernel may grant less.
    let _ = (options.set_recv_buffer_size(SOCKET_BUFFER), options.set_send_buffer_size(SOCKET_BUFFER));
    Ok(socket)
}

#[cfg(test)]
mod tests;
