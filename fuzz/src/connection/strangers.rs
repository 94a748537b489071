//! Connections from addresses where nobody is: a server may answer them, and not more than three times what they sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::{
    ClientConfig, Connection, ConnectionHandle, Datagram, Endpoint, FourTuple, Incoming, ServerConfig,
    TransportConfig,
};
use hawser_policy::Time;

use super::world::endpoint_config;

/// Connections at a time; more are ignored.
const MAX_STRANGERS: usize = 8;

/// Those of a server.
#[derive(Default)]
pub struct Strangers {
    config: Option<Arc<ServerConfig>>,
    connections: BTreeMap<usize, Connection>,
    buffer: Vec<u8>,
}

impl Strangers {
    pub fn new(transport: Arc<TransportConfig>) -> Self {
        let config = ServerConfig::new(Arc::new(NullServer::default()), transport, [3; 32]);
        Strangers { config: Some(Arc::new(config)), ..Strangers::default() }
    }

    pub fn len(&self) -> usize {
        self.connections.len()
    }

    pub fn accept(&mut self, now: Time, endpoint: &mut Endpoint, incoming: Incoming) {
        if self.len() >= MAX_STRANGERS {
            return endpoint.ignore(incoming);
        }
        if let Ok((handle, connection)) = endpoint.accept(now, incoming, self.config.clone()) {
            self.connections.insert(handle.0, connection);
        }
    }

    pub fn handle_datagram(&mut self, now: Time, handle: ConnectionHandle, datagram: Datagram) {
        let connection = self.connections.get_mut(&handle.0).expect("routed to a connection that exists");
        connection.handle_datagram(now, datagram);
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        self.connections.values().filter_map(Connection::poll_timeout).min()
    }

    pub fn handle_timeouts(&mut self, now: Time) {
        for connection in self.connections.values_mut() {
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    /// What they send; those that are over are forgotten.
    pub fn service(&mut self, now: Time, endpoint: &mut Endpoint) -> Vec<(FourTuple, Vec<u8>)> {
        let mut sent = Vec::new();
        let buffer = &mut self.buffer;
        self.connections.retain(|handle, connection| {
            while connection.poll_event().is_some() {}
            while let Some(transmit) = connection.poll_transmit(now, buffer) {
                let size = transmit.segment_size.unwrap_or(transmit.size);
                let segments = buffer[..transmit.size].chunks(size);
                sent.extend(segments.map(|segment| (transmit.tuple, segment.to_vec())));
            }
            while let Some(event) = connection.poll_endpoint_event() {
                endpoint.handle_event(ConnectionHandle(*handle), event);
            }
            !connection.is_drained()
        });
        sent
    }
}

/// Begins them.
pub struct Forger {
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
    /// Stolen from the client.
    token: Option<Vec<u8>>,
}

impl Forger {
    pub fn new(transport: Arc<TransportConfig>, token: Option<Vec<u8>>) -> Self {
        Forger { endpoint: Endpoint::new(endpoint_config([6; 32]), None, [7; 32]), transport, token }
    }

    /// The first datagram of a connection.
    pub fn initial(&mut self, now: Time, tuple: FourTuple) -> Option<Vec<u8>> {
        let crypto = Arc::new(NullClient::default());
        let config =
            ClientConfig { token: self.token.clone(), ..ClientConfig::new(crypto, self.transport.clone()) };
        let (handle, mut connection) = self.endpoint.connect(now, config, tuple, "fuzz").ok()?;
        let mut buffer = Vec::new();
        let transmit = connection.poll_transmit(now, &mut buffer)?;
        // Nobody is there who would go on with it.
        self.endpoint.handle_event(handle, hawser_core::EndpointEvent::Drained);
        Some(buffer[..transmit.segment_size.unwrap_or(transmit.size)].to_vec())
    }
}
