//! Datagrams without a connection behind them: garbage, first packets of clients that never answer, and what goes on while
//! victims ask.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hawser::FourTuple;
use hawser::policy::Time;
use hawser_core::{ClientConfig, Endpoint, EndpointConfig};
use nix::libc::{in_addr, in_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, sendmsg};

use super::Error;
use super::client::address;
use super::raw::tls;
use super::server::Server;

/// A thread that sends until this is dropped.
pub(crate) struct Flood {
    ended: Arc<AtomicBool>,
    /// Packets and bytes.
    sent: Arc<[AtomicU64; 2]>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    /// `send` sends a packet and returns its length; it is called with this pause in between.
    pub(crate) fn start(
        pause: Option<Duration>,
        mut send: impl FnMut() -> io::Result<usize> + Send + 'static,
    ) -> Self {
        let (ended, sent) = (Arc::new(AtomicBool::new(false)), Arc::<[AtomicU64; 2]>::default());
        let (until, count) = (ended.clone(), sent.clone());
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                // What the kernel does not take was not sent.
                if let Ok(bytes) = send() {
                    count[0].fetch_add(1, Ordering::Relaxed);
                    count[1].fetch_add(bytes as u64, Ordering::Relaxed);
                }
                if let Some(pause) = pause {
                    std::thread::sleep(pause);
                }
            }
        });
        Flood { ended, sent, thread: Some(thread) }
    }

    /// Packets and bytes so far.
    pub(crate) fn sent(&self) -> (u64, u64) {
        (self.sent[0].load(Ordering::Relaxed), self.sent[1].load(Ordering::Relaxed))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Datagrams that no key fits, in turns: short headers, long ones, unknown versions.
pub(crate) struct Garbage {
    socket: UdpSocket,
    number: u64,
    datagram: [u8; 1200],
}

impl Garbage {
    pub(crate) fn new(to: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(to)?;
        Ok(Garbage { socket, number: 0, datagram: [0; 1200] })
    }

    /// Sends the next one. Returns its length.
    pub(crate) fn send(&mut self) -> io::Result<usize> {
        let number = self.number;
        self.number += 1;
        self.datagram[0] = [0x45, 0xc3, 0xe0, 0x7f][(number % 4) as usize];
        self.datagram[1..9].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        self.datagram[9..].fill(number as u8);
        let length = if number.is_multiple_of(2) { self.datagram.len() } else { 60 };
        self.socket.send(&self.datagram[..length])
    }
}

/// So many of them, no faster than the kernel hands them on. Returns their bytes.
pub(crate) fn garbage(to: SocketAddr, count: u64) -> io::Result<u64> {
    let mut garbage = Garbage::new(to)?;
    let mut bytes = 0;
    for n in 0..count {
        bytes += garbage.send()? as u64;
        // The kernel's buffer is not what is attacked.
        if n % 64 == 63 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(bytes)
}

/// From where datagrams come whose answers nobody hears.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sources {
    /// 127.0.0.1, each from a port of its own.
    OneAddress,
    /// Each from another address of 127.0.0.0/8, as forged ones.
    ManyAddresses,
}

/// First packets of so many clients that the server takes for real ones.
pub(crate) fn initials(server: &Server, alpn: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Error> {
    let tuple = FourTuple { local: ([127, 0, 0, 1], 1).into(), remote: address(server) };
    let config = ClientConfig::new(tls(server, alpn)?, Arc::new(hawser::default_transport()));
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new([0; 32])), None, [3; 32]);
    let mut buffer = Vec::new();
    let mut made = Vec::with_capacity(count);
    for _ in 0..count {
        let (_, mut connection) = endpoint.connect(Time::ZERO, config.clone(), tuple, "localhost")?;
        let transmit =
            connection.poll_transmit(Time::ZERO, &mut buffer).ok_or("a client that sends nothing")?;
        made.push(buffer[..transmit.segment_size.unwrap_or(transmit.size)].to_vec());
    }
    Ok(made)
}

/// Sends each of these, no faster than a server takes them.
pub(crate) fn send_from(sources: Sources, datagrams: &[Vec<u8>], to: SocketAddr) -> Result<(), Error> {
    let SocketAddr::V4(to) = to else { return Err("only IPv4 has a network of loopback addresses".into()) };
    let any = UdpSocket::bind("0.0.0.0:0")?;
    for (n, datagram) in datagrams.iter().enumerate() {
        let sent = match sources {
            Sources::OneAddress => UdpSocket::bind("127.0.0.1:0")?.send_to(datagram, to)?,
            Sources::ManyAddresses => send_as(&any, loopback(n), datagram, to)?,
        };
        if sent != datagram.len() {
            return Err(format!("{sent} of {} bytes were sent", datagram.len()).into());
        }
        // Each costs the server a signature, which takes a tenth of a millisecond.
        if n % 8 == 7 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// The `n`-th address of loopback networks besides the usual one.
fn loopback(n: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 1 + (n / 62_500 % 250) as u8, (n / 250 % 250) as u8, 1 + (n % 250) as u8)
}

/// Sends from an address of this machine that the socket is not bound to.
fn send_as(socket: &UdpSocket, from: Ipv4Addr, datagram: &[u8], to: SocketAddrV4) -> nix::Result<usize> {
    let info = in_pktinfo {
        ipi_ifindex: 0,
        ipi_spec_dst: in_addr { s_addr: u32::from_ne_bytes(from.octets()) },
        ipi_addr: in_addr { s_addr: 0 },
    };
    let (parts, control) = ([IoSlice::new(datagram)], [ControlMessage::Ipv4PacketInfo(&info)]);
    sendmsg(socket.as_raw_fd(), &parts, &control, MsgFlags::empty(), Some(&SockaddrIn::from(to)))
}
