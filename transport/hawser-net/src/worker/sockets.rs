//! The sockets of a worker, and the batches that they could not take at once.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use hawser_core::{ConnectionHandle, Ecn, FourTuple, Transmit};
use hawser_policy::LinkId;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::task::AbortHandle;

use crate::socket::{Binding, LinkSocket, SendOutcome, Sharing, SocketFactory, SocketOptions};

/// Batches kept for a socket that is not writable before its connections have to wait.
///
/// More than none, so that a link is not left idle between two passes; few, so that what waits is still fresh when it leaves.
const BACKLOG_LIMIT: usize = 4;

/// Beyond this, acknowledgements and probes for a link that is backed up are dropped, as on the wire.
const MOST_BACKLOG: usize = 16;

/// Where a batch went.
#[derive(Debug)]
pub(crate) enum Sent {
    /// Out, or into the backlog.
    Yes,
    /// Into the backlog, which is full now: its paths over this socket wait until there is room, its other paths do not.
    Wait,
    /// Nowhere.
    Failed(io::Error),
}

/// All sockets.
#[derive(Debug, Default)]
pub(crate) struct SocketSet {
    /// What makes them, if it is the application.
    factory: Option<Arc<dyn SocketFactory>>,
    entries: Vec<Entry>,
    /// The entry that sent last.
    recent: usize,
    /// The entry that receives first in the next pass.
    turn: usize,
    /// Empty buffers for the backlog.
    spare: Vec<Vec<u8>>,
    /// Some peer wants to know when its packets arrived.
    receive_times: bool,
    /// Whether the kernel has taken something since this was last noted.
    has_sent: bool,
    /// When it took the first datagram, and the last.
    sent_span: Option<(Instant, Instant)>,
}

#[derive(Debug)]
struct Entry {
    socket: Arc<LinkSocket>,
    binding: Binding,
    backlog: VecDeque<Batch>,
    waiting: Vec<ConnectionHandle>,
    /// The task that waits for ICMP errors.
    watcher: Option<AbortHandle>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}

#[derive(Debug)]
struct Batch {
    tuple: FourTuple,
    ecn: Option<Ecn>,
    segment_size: usize,
    bytes: Vec<u8>,
    offset: usize,
}

impl SocketSet {
    /// No sockets yet, and what will make them.
    pub(crate) fn made_by(factory: Option<Arc<dyn SocketFactory>>) -> Self {
        SocketSet { factory, ..SocketSet::default() }
    }

    /// Takes a socket that the application bound, to accept connections at its address.
    pub(crate) fn adopt(&mut self, socket: UdpSocket, dscp: u8) -> io::Result<SocketAddr> {
        let socket = LinkSocket::adopt(socket, None, false, dscp)?;
        let address = socket.local();
        let binding =
            Binding { address, device: None, link: None, report_errors: false, sharing: Sharing::Alone };
        self.add(socket, binding, None);
        Ok(address)
    }

    fn add(&mut self, socket: Arc<LinkSocket>, binding: Binding, watcher: Option<AbortHandle>) {
        if self.receive_times {
            socket.enable_receive_times();
        }
        self.entries.push(Entry { socket, binding, backlog: VecDeque::new(), waiting: Vec::new(), watcher });
    }

    /// The sockets' addresses, in the order of binding.
    pub(crate) fn locals(&self) -> Vec<SocketAddr> {
        self.entries.iter().map(|entry| entry.socket.local()).collect()
    }

    /// When the kernel took the first datagram, and the last.
    pub(crate) fn sent_span(&self) -> Option<(Instant, Instant)> {
        self.sent_span
    }

    /// Reads the clock if anything was sent since the last call.
    pub(crate) fn note_sent(&mut self) {
        if std::mem::take(&mut self.has_sent) {
            let now = Instant::now();
            self.sent_span = Some((self.sent_span.map_or(now, |(first, _)| first), now));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A socket bound like this: an existing one, or a new one, for which `watch` may start a task that waits for ICMP
    /// errors.
    pub(crate) fn bind(
        &mut self,
        binding: Binding,
        options: SocketOptions,
        watch: impl FnOnce(&Arc<LinkSocket>) -> Option<AbortHandle>,
    ) -> io::Result<SocketAddr> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.binding == binding) {
            return Ok(entry.socket.local());
        }
        let socket = self.bind_unique(&binding, options)?;
        let local = socket.local();
        let watcher = if binding.report_errors { watch(&socket) } else { None };
        self.add(socket, binding, watcher);
        Ok(local)
    }

    /// From now on the kernel notes when datagrams arrive, on these sockets and those to come.
    pub(crate) fn enable_receive_times(&mut self) {
        if !self.receive_times {
            self.receive_times = true;
            self.entries.iter().for_each(|entry| entry.socket.enable_receive_times());
        }
    }

    /// Two modems of one make may have the same private address. A 4-tuple names a socket, so their ports must differ,
    /// which the kernel does not see to when the sockets are bound to different devices.
    fn bind_unique(&self, binding: &Binding, options: SocketOptions) -> io::Result<Arc<LinkSocket>> {
        let mut rejected = Vec::new();
        loop {
            let socket = LinkSocket::bind(binding, options, self.factory.as_deref())?;
            if !self.entries.iter().any(|entry| entry.socket.local() == socket.local()) {
                return Ok(socket);
            }
            if rejected.len() == 16 {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            // Kept open, so that the next attempt gets another port.
            rejected.push(socket);
        }
    }

    /// The link behind the socket that carries this 4-tuple.
    pub(crate) fn link_of(&mut self, tuple: &FourTuple) -> Option<LinkId> {
        self.find(tuple).and_then(|index| self.entries[index].socket.link())
    }

    /// Whether a socket carries this 4-tuple.
    pub(crate) fn carries(&mut self, tuple: &FourTuple) -> bool {
        self.find(tuple).is_some()
    }

    /// Closes the sockets for which `gone` holds, given link and address.
    pub(crate) fn retire(&mut self, gone: impl Fn(Option<LinkId>, IpAddr) -> bool) {
        self.entries.retain(|entry| !gone(entry.socket.link(), entry.socket.local().ip()));
        (self.recent, self.turn) = (0, 0);
    }

    fn find(&mut self, tuple: &FourTuple) -> Option<usize> {
        if self.entries.get(self.recent).is_some_and(|entry| entry.socket.carries(tuple)) {
            return Some(self.recent);
        }
        let found = self.entries.iter().position(|entry| entry.socket.carries(tuple))?;
        self.recent = found;
        Some(found)
    }

    /// Hands a batch to the socket that its 4-tuple names.
    pub(crate) fn send(
        &mut self,
        connection: ConnectionHandle,
        transmit: &Transmit,
        buffer: &mut Vec<u8>,
    ) -> Sent {
        let Some(index) = self.find(&transmit.tuple) else {
            return Sent::Failed(io::ErrorKind::AddrNotAvailable.into());
        };
        let segment_size = transmit.segment_size.unwrap_or(transmit.size);
        let entry = &mut self.entries[index];
        let offset = if entry.backlog.is_empty() {
            let bytes = &buffer[..transmit.size];
            match entry.socket.send(&transmit.tuple, transmit.ecn, segment_size, bytes, 0) {
                SendOutcome::Sent => {
                    self.has_sent = true;
                    return Sent::Yes;
                }
                SendOutcome::Failed(error) => return Sent::Failed(error),
                SendOutcome::Blocked(offset) => offset,
            }
        } else {
            0
        };
        if entry.backlog.len() >= MOST_BACKLOG {
            return Sent::Wait;
        }
        let mut bytes = std::mem::replace(buffer, self.spare.pop().unwrap_or_default());
        bytes.truncate(transmit.size);
        entry.backlog.push_back(Batch {
            tuple: transmit.tuple,
            ecn: transmit.ecn,
            segment_size,
            bytes,
            offset,
        });
        if entry.backlog.len() < BACKLOG_LIMIT {
            return Sent::Yes;
        }
        if !entry.waiting.contains(&connection) {
            entry.waiting.push(connection);
        }
        Sent::Wait
    }

    /// Whether the socket that a 4-tuple names takes more, or is gone, which sending will tell.
    pub(crate) fn has_room(&mut self, tuple: &FourTuple) -> bool {
        self.find(tuple).is_none_or(|index| self.entries[index].backlog.len() < BACKLOG_LIMIT)
    }

    /// Sends a datagram that belongs to no connection. It is dropped if that is not possible now.
    pub(crate) fn send_stateless(&mut self, transmit: &Transmit, bytes: &[u8]) {
        if let Some(index) = self.find(&transmit.tuple) {
            let segment_size = transmit.segment_size.unwrap_or(transmit.size);
            self.entries[index].socket.send(&transmit.tuple, transmit.ecn, segment_size, bytes, 0);
        }
    }

    /// Works off the backlogs; connections that waited for one are added to `ready`. Returns whether a socket that
    /// claims to be writable is not, and has to be asked again soon: after an ICMP error the runtime's idea of a socket
    /// stays "writable".
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>, ready: &mut Vec<ConnectionHandle>) -> bool {
        let mut retry = false;
        for entry in self.entries.iter_mut().filter(|entry| !entry.backlog.is_empty()) {
            let mut attempts = 0;
            while !entry.backlog.is_empty() && entry.socket.poll_send_ready(cx).is_ready() {
                if attempts == 2 {
                    retry = true;
                    break;
                }
                attempts += 1;
                self.has_sent |= entry.work_off(&mut self.spare);
            }
            if entry.backlog.is_empty() {
                entry.socket.stop_waiting_to_send();
            }
            if entry.backlog.len() < BACKLOG_LIMIT {
                ready.append(&mut entry.waiting);
            }
        }
        retry
    }

    /// Lets each socket with something to receive be read in turn: `read` gets it until it returns `false`. Returns
    /// whether any was left with more to read.
    pub(crate) fn for_each_readable(
        &mut self,
        cx: &mut Context<'_>,
        mut read: impl FnMut(&LinkSocket) -> ReadMore,
    ) -> bool {
        let count = self.entries.len();
        let mut unfinished = false;
        for step in 0..count {
            let socket = &self.entries[(self.turn + step) % count].socket;
            loop {
                match socket.poll_recv_ready(cx) {
                    Poll::Pending => break,
                    Poll::Ready(Err(_)) => break,
                    Poll::Ready(Ok(())) => {}
                }
                match read(socket) {
                    ReadMore::Continue => {}
                    ReadMore::Enough => {
                        unfinished = true;
                        break;
                    }
                }
            }
        }
        self.turn = if count == 0 { 0 } else { (self.turn + 1) % count };
        unfinished
    }
}

/// Whether to go on with a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMore {
    Continue,
    Enough,
}

impl Entry {
    /// Returns whether anything left.
    fn work_off(&mut self, spare: &mut Vec<Vec<u8>>) -> bool {
        let mut has_sent = false;
        while let Some(batch) = self.backlog.front_mut() {
            let bytes = &batch.bytes;
            match self.socket.send(&batch.tuple, batch.ecn, batch.segment_size, bytes, batch.offset) {
                SendOutcome::Blocked(offset) => {
                    batch.offset = offset;
                    return has_sent;
                }
                SendOutcome::Sent => has_sent = true,
                // A batch that cannot leave any more is lost, as on the wire.
                SendOutcome::Failed(_) => {}
            }
            if let Some(batch) = self.backlog.pop_front()
                && spare.len() < 2 * BACKLOG_LIMIT
            {
                spare.push(batch.bytes);
            }
        }
        has_sent
    }
}

/// The binding with the address that the routing table gives, if it leaves it open. A socket that is bound to every
/// address would not know which of them its packets leave from.
pub(crate) fn concrete(mut binding: Binding, remote: SocketAddr) -> io::Result<Binding> {
    if binding.address.ip().is_unspecified() {
        let probe = Socket::new(Domain::for_address(remote), Type::DGRAM, Some(Protocol::UDP))?;
        if let Some(device) = &binding.device {
            probe.bind_device(Some(device.as_bytes()))?;
        }
        probe.connect(&remote.into())?;
        let local = probe.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        binding.address.set_ip(local.ip());
    }
    Ok(binding)
}
