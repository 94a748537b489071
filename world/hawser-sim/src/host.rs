use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::BytesMut;
use hawser_core::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, Datagram, Endpoint, FourTuple, Incoming,
    Routed, StatelessDatagram, Transmit,
};
use hawser_policy::{Earliest, LinkId, Time};

use crate::deadlines::Deadlines;
use crate::{Application, Node, Packet};

/// A simulated host: a core endpoint, its connections and one application for all of them.
///
/// Only connections to which something happened are looked at, so that a thousand idle ones cost nothing.
pub struct Host<A> {
    /// The application.
    pub application: A,
    sockets: Sockets,
}

/// The transport of a host, as its application sees it.
pub struct Sockets {
    endpoint: Endpoint,
    /// By handle.
    connections: Vec<Option<Slot>>,
    /// Handles of connections that may have something to tell or to send.
    ready: VecDeque<usize>,
    /// When which connection wants attention.
    timers: Deadlines,
    stateless: Vec<StatelessDatagram>,
    /// The batch being taken apart, and how far that has got.
    batch: Option<(Transmit, usize)>,
    /// Of the last datagram of a connection.
    label: u64,
    buffer: Vec<u8>,
    /// Where payloads are put, one behind the other: a buffer of its own for each would cost more than the copy.
    payloads: BytesMut,
}

/// Bytes of payloads that share a buffer, which is freed with the last of them.
const SHARED_PAYLOADS: usize = 16 << 10;

struct Slot {
    connection: Connection,
    is_ready: bool,
}

impl<A: Application> Host<A> {
    /// A host with this endpoint.
    pub fn new(endpoint: Endpoint, application: A) -> Self {
        let sockets = Sockets {
            endpoint,
            connections: Vec::new(),
            ready: VecDeque::new(),
            timers: Deadlines::default(),
            stateless: Vec::new(),
            batch: None,
            label: 0,
            buffer: Vec::new(),
            payloads: BytesMut::new(),
        };
        Host { application, sockets }
    }

    /// Labels the datagrams of its connections from here on, so that they differ from those of other hosts.
    #[must_use]
    pub(crate) fn labelled_from(mut self, label: u64) -> Self {
        self.sockets.label = label;
        self
    }

    /// Starts a connection.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        local: SocketAddr,
        remote: SocketAddr,
        server_name: &str,
    ) -> Result<ConnectionHandle, ConnectError> {
        self.sockets.connect(now, config, FourTuple { local, remote }, server_name)
    }

    /// A connection, to be looked into or changed.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.sockets.connection(handle)
    }

    /// A connection, to be looked at.
    pub fn peek(&self, handle: ConnectionHandle) -> Option<&Connection> {
        self.sockets.connections.get(handle.0)?.as_ref().map(|slot| &slot.connection)
    }

    /// The connection with the lowest handle, to be looked at.
    pub fn peek_first(&self) -> Option<&Connection> {
        self.sockets.connections.iter().flatten().next().map(|slot| &slot.connection)
    }

    /// The connection with the lowest handle: the only one in most tests. It is asked afterwards what it wants to send.
    pub fn first_connection(&mut self) -> Option<&mut Connection> {
        let handle = self.sockets.connections.iter().position(Option::is_some)?;
        self.sockets.connection(ConnectionHandle(handle))
    }

    /// Connections that are not drained.
    pub fn connections(&self) -> usize {
        self.sockets.connections.iter().flatten().count()
    }

    /// Lets the application hear what a connection has to tell.
    fn service(&mut self, now: Time, handle: usize) {
        let Some(slot) = self.sockets.connections.get_mut(handle).and_then(Option::as_mut) else { return };
        self.application.on_traffic(now, ConnectionHandle(handle), &mut slot.connection);
        while let Some(event) = slot.connection.poll_event() {
            self.application.on_event(now, ConnectionHandle(handle), &mut slot.connection, &event);
        }
        while let Some(event) = slot.connection.poll_endpoint_event() {
            self.sockets.endpoint.handle_event(ConnectionHandle(handle), event);
        }
        if slot.connection.is_drained() {
            self.application.on_drained(now, ConnectionHandle(handle), &mut slot.connection);
            self.sockets.connections[handle] = None;
            self.sockets.timers.set(handle, None);
        }
    }

    fn accept(&mut self, now: Time, incoming: Incoming) {
        let config = self.application.server_config(incoming.remote_address());
        match self.sockets.endpoint.accept(now, incoming, config) {
            Ok((handle, connection)) => self.sockets.insert(handle, connection),
            Err(error) => self.sockets.stateless.extend(error.response.map(|response| *response)),
        }
    }
}

impl Sockets {
    /// Starts a connection.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        tuple: FourTuple,
        server_name: &str,
    ) -> Result<ConnectionHandle, ConnectError> {
        self.connect_over(now, config, tuple, None, server_name)
    }

    /// The same over a local link that is known.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_over(
        &mut self,
        now: Time,
        config: ClientConfig,
        tuple: FourTuple,
        link: Option<LinkId>,
        server_name: &str,
    ) -> Result<ConnectionHandle, ConnectError> {
        let (handle, connection) = self.endpoint.connect_over(now, config, tuple, link, server_name)?;
        self.insert(handle, connection);
        Ok(handle)
    }

    /// A connection, to be looked into or changed.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.wake(handle.0);
        self.connections.get_mut(handle.0)?.as_mut().map(|slot| &mut slot.connection)
    }

    fn insert(&mut self, handle: ConnectionHandle, connection: Connection) {
        if self.connections.len() <= handle.0 {
            self.connections.resize_with(handle.0 + 1, || None);
        }
        self.connections[handle.0] = Some(Slot { connection, is_ready: false });
        self.wake(handle.0);
    }

    /// Puts a connection into the queue of those to be looked at.
    fn wake(&mut self, handle: usize) {
        if let Some(Some(slot)) = self.connections.get_mut(handle)
            && !slot.is_ready
        {
            slot.is_ready = true;
            self.ready.push_back(handle);
        }
    }

    /// Takes a connection out of the queue and notes its deadline.
    fn rest(&mut self, handle: usize) {
        if let Some(Some(slot)) = self.connections.get_mut(handle) {
            slot.is_ready = false;
            self.timers.set(handle, slot.connection.poll_timeout());
        }
    }

    fn next_segment(&mut self) -> Option<Packet> {
        let (transmit, offset) = self.batch.as_mut()?;
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        let bytes = self.buffer.get(*offset..(*offset + segment).min(transmit.size))?;
        *offset += segment;
        let (tuple, ecn, is_last) = (transmit.tuple, transmit.ecn, *offset >= transmit.size);
        if self.payloads.capacity() < bytes.len() {
            self.payloads = BytesMut::with_capacity(SHARED_PAYLOADS.max(bytes.len()));
        }
        // Cut off before it is filled: the atomic count of the buffer's users would have to wait for the bytes.
        let rest = self.payloads.split_off(bytes.len());
        let mut payload = std::mem::replace(&mut self.payloads, rest);
        payload.extend_from_slice(bytes);
        if is_last {
            self.batch = None;
        }
        self.label += 1;
        Some(Packet { tuple, ecn, payload, label: self.label, fingerprint: 0 })
    }
}

impl<A: Application> Node for Host<A> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let tuple = FourTuple { local: packet.tuple.remote, remote: packet.tuple.local };
        let datagram = Datagram { tuple, ecn: packet.ecn, received_at: now, payload: packet.payload };
        let sockets = &mut self.sockets;
        match sockets.endpoint.handle_datagram(now, datagram, &mut sockets.stateless) {
            Some(Routed::Connection(handle, datagram)) => {
                if let Some(connection) = sockets.connection(handle) {
                    connection.handle_datagram(now, datagram);
                }
            }
            Some(Routed::Incoming(incoming)) => self.accept(now, incoming),
            None => {}
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        loop {
            if self.sockets.batch.is_some() {
                return self.sockets.next_segment();
            }
            if let Some(response) = self.sockets.stateless.pop() {
                let payload = BytesMut::from(&response.bytes[..]);
                return Some(Packet::new(response.transmit.tuple, None, payload));
            }
            let &handle = self.sockets.ready.front()?;
            self.service(now, handle);
            let sockets = &mut self.sockets;
            sockets.ready.pop_front();
            let Some(Some(slot)) = sockets.connections.get_mut(handle) else { continue };
            match slot.connection.poll_transmit(now, &mut sockets.buffer) {
                // The others have their turn before this one goes on.
                Some(transmit) => {
                    let label = sockets.label + 1;
                    self.application.on_transmit(ConnectionHandle(handle), &mut slot.connection, label);
                    sockets.batch = Some((transmit, 0));
                    sockets.ready.push_back(handle);
                }
                None => sockets.rest(handle),
            }
        }
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        Earliest::NONE.or(self.sockets.timers.next()).or(self.application.next_timeout()).time()
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(handle) = self.sockets.timers.pop_due(now) {
            if let Some(Some(slot)) = self.sockets.connections.get_mut(handle) {
                slot.connection.handle_timeout(now);
            }
            self.sockets.wake(handle);
        }
        if self.application.next_timeout().is_some_and(|at| at <= now) {
            self.application.on_timeout(now, &mut self.sockets);
        }
    }
}
