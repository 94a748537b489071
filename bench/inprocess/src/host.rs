//! One end: an endpoint and its connections, driven as a socket driver drives them.

use bytes::BytesMut;
use hawser_core::{
    ClientConfig, Connection, ConnectionHandle, Datagram, Endpoint, Event, FourTuple, Routed,
    StatelessDatagram, Transmit,
};
use hawser_policy::Time;

use crate::heap::{Party, on_behalf_of};

/// What the host's user does when something happens to a connection.
pub(crate) trait User {
    fn on_event(&mut self, now: Time, connection: &mut Connection, event: &Event);
}

/// An end of all connections of a [`World`](crate::world::World).
pub(crate) struct Host<U> {
    pub(crate) user: U,
    pub(crate) party: Party,
    endpoint: Endpoint,
    /// By handle.
    connections: Vec<Option<Connection>>,
    /// Those that have to be asked what they want to send.
    dirty: Vec<usize>,
    stateless: Vec<StatelessDatagram>,
    buffer: Vec<u8>,
}

impl<U: User> Host<U> {
    pub(crate) fn new(party: Party, endpoint: Endpoint, user: U) -> Self {
        Host {
            user,
            party,
            endpoint,
            connections: Vec::new(),
            dirty: Vec::new(),
            stateless: Vec::new(),
            buffer: Vec::new(),
        }
    }

    pub(crate) fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        tuple: FourTuple,
    ) -> Result<usize, String> {
        let connected = on_behalf_of(self.party, || {
            self.endpoint.connect(now, config, tuple, bench_harness::tls::SERVER_NAME)
        });
        let (handle, connection) = connected.map_err(|error| error.to_string())?;
        self.insert(handle, connection);
        Ok(handle.0)
    }

    pub(crate) fn connections(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.connections.iter_mut().flatten()
    }

    pub(crate) fn connection(&mut self, index: usize) -> Option<&mut Connection> {
        self.dirty.push(index);
        self.connections.get_mut(index)?.as_mut()
    }

    fn insert(&mut self, ConnectionHandle(index): ConnectionHandle, connection: Connection) {
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(connection);
        self.dirty.push(index);
    }

    /// Takes one datagram in.
    pub(crate) fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        let routed =
            on_behalf_of(self.party, || self.endpoint.handle_datagram(now, datagram, &mut self.stateless));
        match routed {
            Some(Routed::Connection(ConnectionHandle(index), datagram)) => {
                if let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) {
                    on_behalf_of(self.party, || connection.handle_datagram(now, datagram));
                    if self.dirty.last() != Some(&index) {
                        self.dirty.push(index);
                    }
                }
            }
            Some(Routed::Incoming(incoming)) => {
                if let Ok((handle, connection)) =
                    on_behalf_of(self.party, || self.endpoint.accept(now, incoming, None))
                {
                    self.insert(handle, connection);
                }
            }
            None => {}
        }
    }

    /// Timers that are due.
    pub(crate) fn handle_timeouts(&mut self, now: Time) {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                on_behalf_of(self.party, || connection.handle_timeout(now));
                self.dirty.push(index);
            }
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.connections.iter().flatten().filter_map(Connection::poll_timeout).min()
    }

    /// Events, then everything that is to be sent now, batch by batch.
    pub(crate) fn turn(&mut self, now: Time, mut send: impl FnMut(&Transmit, &[u8])) {
        while let Some(index) = self.dirty.pop() {
            let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else { continue };
            loop {
                on_behalf_of(self.party, || {
                    while let Some(event) = connection.poll_event() {
                        self.user.on_event(now, connection, &event);
                    }
                    while let Some(event) = connection.poll_endpoint_event() {
                        self.endpoint.handle_event(ConnectionHandle(index), event);
                    }
                });
                let transmit = on_behalf_of(self.party, || connection.poll_transmit(now, &mut self.buffer));
                let Some(transmit) = transmit else { break };
                send(&transmit, &self.buffer[..transmit.size]);
            }
        }
        for datagram in self.stateless.drain(..) {
            send(&datagram.transmit, &datagram.bytes);
        }
    }
}

/// A received batch, as a driver has it: one buffer, split without copying.
pub(crate) struct Batch {
    pub(crate) due: Time,
    pub(crate) tuple: FourTuple,
    pub(crate) transmit: Transmit,
    pub(crate) bytes: BytesMut,
}

impl Batch {
    /// Splits the next datagram off.
    pub(crate) fn next(&mut self) -> Option<Datagram> {
        if self.bytes.is_empty() {
            return None;
        }
        let size = self.transmit.segment_size.unwrap_or(self.bytes.len()).min(self.bytes.len());
        let payload = self.bytes.split_to(size);
        Some(Datagram { tuple: self.tuple, ecn: self.transmit.ecn, received_at: self.due, payload })
    }
}
