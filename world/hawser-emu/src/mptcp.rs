//! A file over the kernel's MPTCP: the yardstick of the demonstration and of the benchmarks.
//!
//! The server sends a length (8 bytes, big endian) and as many bytes to every client; the client counts what
//! arrives in bins of 100 ms. The emulation prepares the namespaces when the scenario says `mptcp = true`.
//! Both ends take CUBIC, whatever the host's default is.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

/// Length of a bin of [`FetchReport::bins`].
pub const BIN: Duration = Duration::from_millis(100);
/// The congestion controller of both ends.
const CONGESTION_CONTROL: &[u8] = b"cubic";
/// A dead server must not hang a measurement.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Which kernel protocol carries the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Multipath TCP, RFC 8684.
    Mptcp,
    /// Plain TCP.
    Tcp,
}

/// Where to fetch from, and how.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// The server.
    pub server: SocketAddr,
    /// The protocol.
    pub transport: Transport,
    /// Interface that the (first) connection is bound to.
    pub device: Option<String>,
}

/// How a fetch went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FetchReport {
    /// The protocol asked for.
    pub transport: Transport,
    /// Whether MPTCP was asked for, but the peer or the network made it plain TCP.
    pub fallback: bool,
    /// Subflows at the end, the first one included.
    pub subflows: u32,
    /// Bytes received.
    pub bytes: u64,
    /// From before the connection was opened until the last byte.
    pub seconds: f64,
    /// `bytes * 8 / seconds`.
    pub goodput_bps: f64,
    /// Longest time between two reads that returned data, the start included.
    pub longest_stall_ms: f64,
    /// Length of a bin.
    pub bin_ms: u64,
    /// Bytes received in each bin since the start.
    pub bins: Vec<u64>,
}

/// A server bound to its port, not serving yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Listens on the wildcard address: MPTCP joins arrive at any address of the host.
    ///
    /// # Errors
    /// Fails when the port is taken, or the kernel has no MPTCP or no CUBIC.
    pub fn bind(port: u16, transport: Transport) -> io::Result<Self> {
        let socket = socket(transport)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
        socket.listen(16)?;
        Ok(Self { listener: socket.into() })
    }

    /// The port, also when 0 was asked for.
    ///
    /// # Errors
    /// Passes on what the kernel says.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Sends `content` to `clients` clients, at the same time if they come so, and returns when all have it.
    ///
    /// # Errors
    /// Fails when accepting fails; a client that goes away early is its own loss.
    pub fn serve(&self, content: &Arc<[u8]>, clients: usize) -> io::Result<()> {
        let mut threads = Vec::new();
        for _ in 0..clients {
            let (mut stream, _) = self.listener.accept()?;
            let content = content.clone();
            threads.push(thread::spawn(move || send(&mut stream, &content)));
        }
        for thread in threads {
            let _ = thread.join();
        }
        Ok(())
    }
}

fn send(stream: &mut TcpStream, content: &[u8]) -> io::Result<()> {
    // Not every kernel hands the listener's controller down to the subflows of an accepted connection.
    SockRef::from(&*stream).set_tcp_congestion(CONGESTION_CONTROL)?;
    stream.write_all(&(content.len() as u64).to_be_bytes())?;
    stream.write_all(content)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // The last bytes are out of our hands only when the client has closed.
    stream.read(&mut [0]).map(|_| ())
}

/// Fetches what the server sends and hands each piece to `sink`.
///
/// # Errors
/// Fails when the connection fails, ends early, or is silent for a minute, or when `sink` fails.
pub fn fetch(options: &FetchOptions, sink: &mut dyn Write) -> io::Result<FetchReport> {
    let began = Instant::now();
    let socket = socket(options.transport)?;
    if let Some(device) = &options.device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.set_read_timeout(Some(READ_TIMEOUT))?;
    socket.connect(&options.server.into())?;
    let mut stream = TcpStream::from(socket);
    let mut header = [0; 8];
    stream.read_exact(&mut header)?;
    let expected = u64::from_be_bytes(header);

    let mut arrivals = Arrivals::default();
    let mut buffer = vec![0; 256 * 1024];
    while arrivals.bytes < expected {
        let length = match stream.read(&mut buffer) {
            // With a time-out on the socket, being stopped and continued ends the call.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if length == 0 {
            let message = format!("the server closed after {} of {expected} bytes", arrivals.bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        arrivals.record(began.elapsed(), length);
        sink.write_all(&buffer[..length])?;
    }
    let subflows = (options.transport == Transport::Mptcp).then(|| subflows(&stream)).flatten();
    let seconds = arrivals.last.as_secs_f64();
    Ok(FetchReport {
        transport: options.transport,
        fallback: options.transport == Transport::Mptcp && subflows.is_none(),
        subflows: subflows.unwrap_or(1),
        bytes: arrivals.bytes,
        seconds,
        goodput_bps: arrivals.bytes as f64 * 8.0 / seconds,
        longest_stall_ms: arrivals.longest_stall.as_secs_f64() * 1e3,
        bin_ms: BIN.as_millis() as u64,
        bins: arrivals.bins,
    })
}

/// When bytes arrived.
#[derive(Debug, Default)]
struct Arrivals {
    bytes: u64,
    bins: Vec<u64>,
    last: Duration,
    longest_stall: Duration,
}

impl Arrivals {
    fn record(&mut self, time: Duration, length: usize) {
        let bin = (time.as_nanos() / BIN.as_nanos()) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += length as u64;
        self.bytes += length as u64;
        self.longest_stall = self.longest_stall.max(time - self.last);
        self.last = time;
    }
}

fn socket(transport: Transport) -> io::Result<Socket> {
    let protocol = match transport {
        Transport::Mptcp => Protocol::MPTCP,
        Transport::Tcp => Protocol::TCP,
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol)).map_err(|error| {
        io::Error::new(error.kind(), format!("the kernel offers no {transport:?} socket: {error}"))
    })?;
    // A sysctl inside a namespace cannot choose CUBIC here; a socket option can, on MPTCP sockets as well.
    socket.set_tcp_congestion(CONGESTION_CONTROL).map_err(|error| {
        io::Error::new(error.kind(), format!("the kernel has no cubic congestion control: {error}"))
    })?;
    Ok(socket)
}

/// Number of subflows of an MPTCP connection, the first one included; `None` after a fall-back to TCP.
fn subflows(stream: &TcpStream) -> Option<u32> {
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_INFO: libc::c_int = 1;
    // The first byte of `struct mptcp_info` is the number of additional subflows.
    let mut info = [0u8; 1];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: `info` and `length` are valid for the length given, and the kernel writes no more than that.
    let result = unsafe {
        libc::getsockopt(stream.as_raw_fd(), SOL_MPTCP, MPTCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    (result == 0).then(|| u32::from(info[0]) + 1)
}
