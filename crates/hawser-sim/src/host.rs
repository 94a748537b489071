use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::BytesMut;
use hawser_core::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, Datagram, Endpoint, FourTuple, Routed,
    StatelessDatagram, Transmit,
};
use hawser_policy::Time;

use crate::{Application, Node, Packet};

/// A connection of a [`Host`].
pub struct Peer {
    /// The connection itself: tests look into it freely.
    pub connection: Connection,
}

/// A simulated host: a core endpoint, its connections and one application for all of them.
pub struct Host<A> {
    /// The application.
    pub application: A,
    endpoint: Endpoint,
    peers: BTreeMap<usize, Peer>,
    stateless: Vec<StatelessDatagram>,
    /// The batch being taken apart: what is left of it, and how.
    batch: Option<(Transmit, usize)>,
    buffer: Vec<u8>,
}

impl<A: Application> Host<A> {
    /// A host with this endpoint.
    pub fn new(endpoint: Endpoint, application: A) -> Self {
        Host {
            application,
            endpoint,
            peers: BTreeMap::new(),
            stateless: Vec::new(),
            batch: None,
            buffer: Vec::new(),
        }
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
        let (handle, connection) =
            self.endpoint.connect(now, config, FourTuple { local, remote }, server_name)?;
        self.peers.insert(handle.0, Peer { connection });
        Ok(handle)
    }

    /// A connection.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.peers.get_mut(&handle.0).map(|peer| &mut peer.connection)
    }

    /// The connection with the lowest handle: the only one in most scenarios.
    pub fn first_connection(&mut self) -> Option<&mut Connection> {
        self.peers.values_mut().next().map(|peer| &mut peer.connection)
    }

    /// Connections that are not drained.
    pub fn connections(&self) -> usize {
        self.peers.len()
    }

    fn service(&mut self, now: Time) {
        for (&handle, peer) in &mut self.peers {
            while let Some(event) = peer.connection.poll_event() {
                self.application.on_event(now, ConnectionHandle(handle), &mut peer.connection, &event);
            }
            while let Some(event) = peer.connection.poll_endpoint_event() {
                self.endpoint.handle_event(ConnectionHandle(handle), event);
            }
        }
        self.peers.retain(|_, peer| !peer.connection.is_drained());
    }

    fn next_segment(&mut self) -> Option<Packet> {
        let (transmit, offset) = self.batch.take()?;
        let end = transmit.segment_size.map_or(transmit.size, |size| (offset + size).min(transmit.size));
        let payload = BytesMut::from(self.buffer.get(offset..end)?);
        let packet = Packet { tuple: transmit.tuple, ecn: transmit.ecn, payload };
        if end < transmit.size {
            self.batch = Some((transmit, end));
        }
        Some(packet)
    }
}

impl<A: Application> Node for Host<A> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let tuple = FourTuple { local: packet.tuple.remote, remote: packet.tuple.local };
        let datagram = Datagram { tuple, ecn: packet.ecn, received_at: now, payload: packet.payload };
        match self.endpoint.handle_datagram(now, datagram, &mut self.stateless) {
            Some(Routed::Connection(handle, datagram)) => {
                if let Some(peer) = self.peers.get_mut(&handle.0) {
                    peer.connection.handle_datagram(now, datagram);
                }
            }
            Some(Routed::Incoming(incoming)) => match self.endpoint.accept(now, incoming, None) {
                Ok((handle, connection)) => {
                    self.peers.insert(handle.0, Peer { connection });
                }
                Err(error) => self.stateless.extend(error.response.map(|response| *response)),
            },
            None => {}
        }
        self.service(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let Some(packet) = self.next_segment() {
            return Some(packet);
        }
        if let Some(response) = self.stateless.pop() {
            let payload = BytesMut::from(&response.bytes[..]);
            return Some(Packet { tuple: response.transmit.tuple, ecn: None, payload });
        }
        self.service(now);
        let buffer = &mut self.buffer;
        let transmit = self.peers.values_mut().find_map(|peer| peer.connection.poll_transmit(now, buffer));
        if let Some(transmit) = transmit {
            self.batch = Some((transmit, 0));
            return self.next_segment();
        }
        None
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.peers.values_mut().filter_map(|peer| peer.connection.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        for peer in self.peers.values_mut() {
            if peer.connection.poll_timeout().is_some_and(|at| at <= now) {
                peer.connection.handle_timeout(now);
            }
        }
        self.service(now);
    }
}
