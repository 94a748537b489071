//! One UDP socket of an endpoint.

mod classed;
mod plain;
mod timed;
mod writable;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use hawser_core::{Ecn, FourTuple};
use hawser_policy::LinkId;
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{EcnCodepoint, RecvMeta, TransportErrorPayload, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::receive_buffers::{ReceiveBuffers, SLOTS};
use writable::Writable;

/// Largest UDP payload over IPv4: what one system call may carry, however many segments that is.
const MAX_MESSAGE: usize = 65_507;

/// Where a socket is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Address and port; port 0 lets the kernel choose.
    pub(crate) address: SocketAddr,
    /// Interface that packets must use whatever the routing table says (SO_BINDTODEVICE; unprivileged on unbound
    /// sockets since Linux 5.7).
    pub(crate) device: Option<String>,
    /// The link behind it.
    pub(crate) link: Option<LinkId>,
    /// Whether ICMP errors are wanted (clients, so that a refused port is known at once).
    pub(crate) report_errors: bool,
    /// Whether other sockets have the same address.
    pub(crate) sharing: Sharing,
}

/// What sockets of an endpoint have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketOptions {
    /// Kernel buffer to ask for, in each direction.
    pub(crate) buffer_bytes: usize,
    /// Differentiated services codepoint of all packets: 0 to 63.
    pub(crate) dscp: u8,
}

/// A UDP socket that an endpoint needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketRequest<'a> {
    /// Where to bind it; port 0 leaves the port to the system.
    pub address: SocketAddr,
    /// The interface that its packets have to take; `None` leaves that to the routing table.
    pub device: Option<&'a str>,
}

/// Makes the sockets of an endpoint, in place of the endpoint itself: for systems that bind sockets to networks by calls of their
/// own, for sandboxes that hand sockets in, and for programs that mark or count them.
pub trait SocketFactory: Send + Sync + fmt::Debug {
    /// Makes a socket and binds it as asked. It is made non-blocking, and gets its options for segmentation and marks, afterwards.
    /// Called under a lock of the endpoint: it must not wait, and must not call the endpoint.
    ///
    /// # Errors
    /// The socket cannot be made. The link is tried again later, and others meanwhile.
    fn bind(&self, request: &SocketRequest<'_>) -> io::Result<UdpSocket>;
}

/// How sockets come to share an address (SO_REUSEPORT). The kernel spreads what arrives over them by the 4-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// They do not.
    Alone,
    /// The first of them. It takes the address as if alone, so that one in use, be it by another server that shares, is an
    /// error as ever; then it lets others join.
    First,
    /// The others.
    Joining,
}

/// What came of handing a batch to the kernel.
#[derive(Debug)]
pub(crate) enum SendOutcome {
    /// It took the batch, or the batch is lost as any packet may be.
    Sent,
    /// Its buffer is full; the byte offset from which on to try again once the socket is writable.
    Blocked(usize),
    /// The batch cannot leave: no route, interface down, forbidden.
    Failed(io::Error),
}

/// A bound socket. Shared between the worker and the task that waits for ICMP errors.
#[derive(Debug)]
pub(crate) struct LinkSocket {
    /// Watched for what arrives only: a socket that is watched for room, too, wakes its task with every packet that leaves it.
    io: AsyncFd<UdpSocket>,
    /// Watched while it had no room.
    writable: Writable,
    /// Offloads, marks and destinations; `None` where the kernel refuses what they need, so that datagrams go one by one.
    state: Option<UdpSocketState>,
    local: SocketAddr,
    is_dual_stack: bool,
    link: Option<LinkId>,
    /// Whether its messages say more than quinn-udp has room for.
    has_large_control: AtomicBool,
    /// Codepoint of its packets, which quinn-udp would clear.
    dscp: u8,
}

impl LinkSocket {
    /// Binds. Must be called inside a tokio runtime.
    //= rfc9000-14-2: datagrams are not fragmented
    //= rfc9000-14-3: the Don't Fragment bit is set
    pub(crate) fn bind(
        binding: &Binding,
        options: SocketOptions,
        factory: Option<&dyn SocketFactory>,
    ) -> io::Result<Arc<LinkSocket>> {
        let request = SocketRequest { address: binding.address, device: binding.device.as_deref() };
        let io = match factory {
            Some(factory) => factory.bind(&request)?,
            None => Self::open(binding, options.buffer_bytes)?,
        };
        Self::adopt(io, binding.link, binding.report_errors, options.dscp)
    }

    fn open(binding: &Binding, buffer_bytes: usize) -> io::Result<UdpSocket> {
        let domain = Domain::for_address(binding.address);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        let is_dual_stack = binding.address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        if domain == Domain::IPV6 {
            socket.set_only_v6(!is_dual_stack)?;
        }
        if let Some(device) = &binding.device
            && let Err(error) = socket.bind_device(Some(device.as_bytes()))
        {
            // Old kernels and sandboxes want privileges for it. The address names the link as well, if it has one and the
            // routing table agrees.
            let is_refused =
                matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
                    || error.raw_os_error() == Some(Errno::ENOPROTOOPT as i32);
            if !is_refused || binding.address.ip().is_unspecified() {
                return Err(error);
            }
            tracing::debug!(%error, %device, "a socket is bound to the address of its link only");
        }
        enlarge_buffers(&socket, buffer_bytes);
        if binding.sharing == Sharing::Joining {
            socket.set_reuse_port(true)?;
        }
        socket.bind(&binding.address.into())?;
        if binding.sharing == Sharing::First {
            socket.set_reuse_port(true)?;
        }
        Ok(socket.into())
    }

    /// Takes a bound socket, made here or by the application. Must be called inside a tokio runtime.
    pub(crate) fn adopt(
        io: UdpSocket,
        link: Option<LinkId>,
        report_errors: bool,
        dscp: u8,
    ) -> io::Result<Arc<LinkSocket>> {
        io.set_nonblocking(true)?;
        if dscp != 0 {
            classed::set(&io, dscp)?;
        }
        let state = offloads(&io);
        // quinn-udp 0.6.3 asks for receive times, but its control buffer (88 bytes) can not hold them besides GRO size,
        // destination and ECN: the kernel then drops the ECN mark. See `enable_receive_times`.
        if let Err(error) = setsockopt(&io, sockopt::ReceiveTimestampns, &false) {
            tracing::debug!(%error, "the kernel does not know receive times");
        }
        if let Some(state) = state.as_ref().filter(|_| report_errors)
            && let Err(error) = state.enable_transport_errors((&io).into())
        {
            tracing::debug!(%error, "a port that refuses will be told only by its silence");
        }
        let local = io.local_addr()?;
        let is_dual_stack =
            local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && !SockRef::from(&io).only_v6()?;
        Ok(Arc::new(LinkSocket {
            io: writable::watch(io, Interest::READABLE | Interest::ERROR)?,
            writable: Writable::default(),
            state,
            local,
            is_dual_stack,
            link,
            has_large_control: AtomicBool::new(false),
            dscp,
        }))
    }

    /// Has the kernel note when each message arrives. Their control data then only fits what quinn-udp provides for it if
    /// it leaves out the destination, which a socket bound to one address knows anyway; a wildcard socket receives with a
    /// larger buffer of its own (`timed`).
    pub(crate) fn enable_receive_times(&self) {
        let is_wildcard = self.local.ip().is_unspecified();
        let without_destination = match self.local {
            _ if is_wildcard => Ok(()),
            SocketAddr::V4(_) => setsockopt(self.io.get_ref(), sockopt::Ipv4PacketInfo, &false),
            SocketAddr::V6(_) => setsockopt(self.io.get_ref(), sockopt::Ipv6RecvPacketInfo, &false),
        };
        if is_wildcard {
            self.has_large_control.store(true, Ordering::Release);
        }
        let enabled = without_destination
            .and_then(|()| setsockopt(self.io.get_ref(), sockopt::ReceiveTimestampns, &true));
        if let Err(error) = enabled {
            tracing::debug!(%error, "the kernel does not note when datagrams arrive");
        }
    }

    /// Bound address; the port is the real one.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// The link it stands for.
    pub(crate) fn link(&self) -> Option<LinkId> {
        self.link
    }

    /// Whether packets of this 4-tuple leave through this socket.
    pub(crate) fn carries(&self, tuple: &FourTuple) -> bool {
        if self.local == tuple.local {
            return true;
        }
        self.local.ip().is_unspecified()
            && self.local.port() == tuple.local.port()
            && (self.is_dual_stack || self.local.is_ipv4() == tuple.local.is_ipv4())
    }

    /// Waits until something may be received.
    pub(crate) fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_ready(cx).map_ok(drop)
    }

    /// Waits until something may be sent, if the last attempt found no room.
    pub(crate) fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writable.poll_ready(cx)
    }

    /// Nothing is left that waits for room.
    pub(crate) fn stop_waiting_to_send(&self) {
        self.writable.forget();
    }

    /// Receives up to `limit` messages (at most [`SLOTS`]) and hands each to `deliver`. Returns how many; `WouldBlock`
    /// when none waits.
    pub(crate) fn receive(
        &self,
        buffers: &mut ReceiveBuffers,
        limit: usize,
        mut deliver: impl FnMut(Message),
    ) -> io::Result<usize> {
        if self.has_large_control.load(Ordering::Acquire) {
            return self.receive_timed(buffers, limit, deliver);
        }
        let Some(state) = &self.state else { return self.receive_plain(buffers, limit, deliver) };
        let mut meta = [RecvMeta::default(); SLOTS];
        let (limit, mut count) = (limit.clamp(1, SLOTS), 0);
        let received = self.io.try_io(Interest::READABLE, |io| {
            count = state.recv(io.into(), &mut buffers.slots()[..limit], &mut meta[..limit])?;
            // Fewer than there was room for: that was all, and what comes from now on is reported. Asking once more would cost a
            // system call for each packet.
            if count < limit { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        if let Err(error) = received
            && count == 0
        {
            return Err(error);
        }
        for (index, meta) in meta.iter().enumerate().take(count) {
            if meta.len == 0 {
                continue;
            }
            deliver(Message {
                tuple: self.tuple_of(meta.addr, meta.dst_ip),
                ecn: meta.ecn.map(from_codepoint),
                segment_size: meta.stride.clamp(1, meta.len),
                received_at: meta.timestamp,
                bytes: buffers.take(index, meta.len),
            });
        }
        Ok(count)
    }

    /// The same one by one, with all that the kernel says of each.
    fn receive_timed(
        &self,
        buffers: &mut ReceiveBuffers,
        limit: usize,
        mut deliver: impl FnMut(Message),
    ) -> io::Result<usize> {
        for index in 0..limit.clamp(1, SLOTS) {
            let received =
                self.io.try_io(Interest::READABLE, |io| timed::receive(io, &mut buffers.slots()[index]));
            let message = match received {
                Ok(message) => message,
                // What came before counts; an error that stays is met again.
                Err(_) if index > 0 => return Ok(index),
                Err(error) => return Err(error),
            };
            if message.length > 0 {
                deliver(Message {
                    tuple: self.tuple_of(message.remote, message.destination),
                    ecn: message.ecn,
                    segment_size: message.segment_size.clamp(1, message.length),
                    received_at: message.received_at,
                    bytes: buffers.take(index, message.length),
                });
            }
        }
        Ok(limit.clamp(1, SLOTS))
    }

    fn tuple_of(&self, remote: SocketAddr, destination: Option<IpAddr>) -> FourTuple {
        // A socket bound to one address knows it; only a wildcard socket needs to be told by the packet. Replies then
        // leave from the address that the peer wrote to.
        let ip = match destination {
            Some(ip) if self.local.ip().is_unspecified() => ip.to_canonical(),
            _ => self.local.ip(),
        };
        FourTuple { local: SocketAddr::new(ip, self.local.port()), remote: canonical(remote) }
    }

    /// Sends a batch of datagrams, all `segment_size` long but the last, starting at byte `from`.
    pub(crate) fn send(
        &self,
        tuple: &FourTuple,
        ecn: Option<Ecn>,
        segment_size: usize,
        batch: &[u8],
        from: usize,
    ) -> SendOutcome {
        let segment_size = segment_size.max(1);
        let mut offset = from;
        let Some(state) = &self.state else { return self.send_plain(tuple, segment_size, batch, from) };
        while offset < batch.len() {
            let rest = &batch[offset..];
            let segments = state.max_gso_segments().min((MAX_MESSAGE / segment_size).max(1));
            let length = rest.len().min(segments * segment_size);
            let message = quinn_udp::Transmit {
                destination: self.destination(tuple.remote),
                ecn: ecn.map(to_codepoint),
                contents: &rest[..length],
                segment_size: (length > segment_size).then_some(segment_size),
                src_ip: self.local.ip().is_unspecified().then(|| tuple.local.ip()),
            };
            match self.send_message(state, &message) {
                Ok(()) => offset += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return SendOutcome::Blocked(offset);
                }
                // The kernel or the device refused segmentation and `max_gso_segments` is 1 from now on: the same
                // bytes again, one datagram at a time.
                Err(_) if length > segment_size && state.max_gso_segments() == 1 => {}
                // A probe above the interface's MTU: lost, as path MTU discovery expects (RFC 8899).
                Err(error) if quinn_udp::is_msg_size_err(&error) => offset += length,
                Err(error) => return SendOutcome::Failed(error),
            }
        }
        SendOutcome::Sent
    }

    fn send_message(&self, state: &UdpSocketState, message: &quinn_udp::Transmit<'_>) -> io::Result<()> {
        let dscp = self.dscp;
        self.try_twice(|| match dscp {
            0 => state.try_send(self.io.get_ref().into(), message),
            dscp => classed::send(self.io.get_ref(), dscp, message),
        })
    }

    /// Sends, once more where the first attempt only told news.
    fn try_twice(&self, attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.writable.attempt(self.io.get_ref(), attempt)
            }
            // An ICMP error for an earlier packet is reported instead of sending this one: it is news for the
            // task that watches errors, and no reason to lose the packet.
            Err(error) if is_icmp_news(&error) => attempt(),
            result => result,
        }
    }

    fn destination(&self, remote: SocketAddr) -> SocketAddr {
        match remote {
            SocketAddr::V4(v4) if self.is_dual_stack => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            other => other,
        }
    }

    /// Waits for the next "connection refused" that a host sent back, and returns that host's address.
    pub(crate) async fn refusal(&self) -> io::Result<IpAddr> {
        let Some(state) = &self.state else { return Err(io::ErrorKind::Unsupported.into()) };
        loop {
            // Taken before waiting: an entry may be older than the call.
            while let Some(error) = state.recv_transport_error(self.io.get_ref().into())? {
                let refused =
                    io::Error::from_raw_os_error(error.raw_errno).kind() == io::ErrorKind::ConnectionRefused;
                if let (true, TransportErrorPayload::Unreachable, Some(host)) =
                    (refused, error.payload, error.addr)
                {
                    return Ok(host.ip().to_canonical());
                }
            }
            drop(self.io.ready(Interest::ERROR).await?);
            let _ = self.io.try_io(Interest::ERROR, |io| match io.take_error()? {
                Some(_) => Ok(()),
                None => Err::<(), _>(io::ErrorKind::WouldBlock.into()),
            });
        }
    }
}

/// What quinn-udp does for a socket. It insists on the destination of each datagram, which only a socket bound to every
/// address needs; kernels and sandboxes that refuse the option are no reason to do without the link.
fn offloads(io: &UdpSocket) -> Option<UdpSocketState> {
    match UdpSocketState::new(io.into()) {
        Ok(state) => Some(state),
        Err(error) => {
            tracing::debug!(%error, "datagrams are sent and received one by one, without ECN marks");
            // It may have been switched on before something else failed.
            let _ = setsockopt(io, sockopt::UdpGroSegment, &false);
            None
        }
    }
}

/// Datagrams that arrived in one message, all `segment_size` long but the last.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) tuple: FourTuple,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) segment_size: usize,
    /// When the kernel received it, since 1970, if it was asked to note that.
    pub(crate) received_at: Option<Duration>,
    pub(crate) bytes: BytesMut,
}

impl Message {
    /// Takes out the first datagrams.
    pub(crate) fn split_to(&mut self, datagrams: usize) -> Message {
        let length = (datagrams * self.segment_size).min(self.bytes.len());
        Message { bytes: self.bytes.split_to(length), ..*self }
    }
}

/// A buffer that holds a bandwidth-delay product saves up to a fifth of the throughput. The privileged options go beyond
/// net.core.rmem_max and wmem_max, the plain ones up to them; with less it works all the same.
fn enlarge_buffers(socket: &Socket, bytes: usize) {
    if setsockopt(socket, sockopt::RcvBufForce, &bytes).is_err() {
        let _ = socket.set_recv_buffer_size(bytes);
    }
    if setsockopt(socket, sockopt::SndBufForce, &bytes).is_err() {
        let _ = socket.set_send_buffer_size(bytes);
    }
}

/// An address that may serve as the source towards `remote`.
pub(crate) fn wildcard_for(remote: SocketAddr) -> SocketAddr {
    match remote {
        SocketAddr::V4(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        SocketAddr::V6(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

/// IPv4 addresses seen through an IPv6 socket, as IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_canonical() {
            IpAddr::V4(v4) => SocketAddr::new(v4.into(), v6.port()),
            IpAddr::V6(_) => address,
        },
        SocketAddr::V4(_) => address,
    }
}

fn is_icmp_news(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable
    )
}

fn from_codepoint(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

fn to_codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

#[cfg(test)]
mod tests;
