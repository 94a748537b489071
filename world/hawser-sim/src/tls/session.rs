//! The sessions of `hawser-core`, each with randomness of its own.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hawser_core::TransportError;
use hawser_core::crypto::{
    ClientFactory, ClientHello, EarlyKeys, KeyChange, Keys, Level, OpenError, PacketKeys, RustlsClient,
    RustlsServer, ServerFactory, ServerId, Session, TlsConfigError,
};
use hawser_link::derive_seed;
use hawser_policy::Side;
use hawser_wire::{ConnectionId, Version};
use rustls::{ClientConfig, ServerConfig};

use super::Randomness;

/// Randomness for one session after another.
struct Seeds {
    seed: u64,
    started: AtomicU64,
}

impl Seeds {
    fn new(seed: u64) -> Self {
        Seeds { seed, started: AtomicU64::new(0) }
    }

    fn next(&self) -> Randomness {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Randomness::new(derive_seed(self.seed, &number.to_string()))
    }
}

/// Starts client sessions.
pub(super) struct SeededClient {
    inner: RustlsClient,
    seeds: Seeds,
}

impl SeededClient {
    pub(super) fn new(config: ClientConfig, seed: u64) -> Result<Self, TlsConfigError> {
        // It tries a session to hear of mistakes.
        let inner = Randomness::new(seed).lend(|| RustlsClient::new(Arc::new(config)))?;
        Ok(SeededClient { inner, seeds: Seeds::new(seed) })
    }
}

impl ClientFactory for SeededClient {
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError> {
        let mut randomness = self.seeds.next();
        let inner = randomness.lend(|| self.inner.start(version, server, parameters))?;
        Ok(Box::new(SeededSession { inner, randomness }))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(version, destination, side)
    }
}

/// Starts server sessions.
pub(super) struct SeededServer {
    inner: RustlsServer,
    seeds: Seeds,
}

impl SeededServer {
    pub(super) fn new(config: ServerConfig, seed: u64) -> Result<Self, TlsConfigError> {
        let inner = Randomness::new(seed).lend(|| RustlsServer::new(Arc::new(config)))?;
        Ok(SeededServer { inner, seeds: Seeds::new(seed) })
    }
}

impl ServerFactory for SeededServer {
    fn look_into<'a>(&self, client_hello: &'a [u8]) -> Option<ClientHello<'a>> {
        self.inner.look_into(client_hello)
    }

    fn start(&self, version: Version, parameters: Vec<u8>) -> Result<Box<dyn Session>, TransportError> {
        let mut randomness = self.seeds.next();
        let inner = randomness.lend(|| self.inner.start(version, parameters))?;
        Ok(Box::new(SeededSession { inner, randomness }))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(version, destination, side)
    }
}

/// A session that draws while it reads and writes handshake messages, and only then.
struct SeededSession {
    inner: Box<dyn Session>,
    randomness: Randomness,
}

impl Session for SeededSession {
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError> {
        self.randomness.lend(|| self.inner.read_handshake(level, data))
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange> {
        self.randomness.lend(|| self.inner.write_handshake(buffer))
    }

    fn set_version(&mut self, version: Version) {
        self.inner.set_version(version);
    }

    fn peer_transport_parameters(&self) -> Option<&[u8]> {
        self.inner.peer_transport_parameters()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn next_packet_keys(&mut self) -> Option<PacketKeys> {
        self.inner.next_packet_keys()
    }

    fn early_keys(&self) -> Option<EarlyKeys> {
        self.inner.early_keys()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_resumed(&self) -> bool {
        self.inner.is_resumed()
    }

    fn application_protocol(&self) -> Option<Vec<u8>> {
        self.inner.application_protocol()
    }

    fn server_name(&self) -> Option<String> {
        self.inner.server_name()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError> {
        self.inner.export_keying_material(output, label, context)
    }
}
