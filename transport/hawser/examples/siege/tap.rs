//! TLS that gives its keys away, so that the attacker writes packets of its own, and reads what the server sends.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser::policy::Side;
use hawser::{TransportError, Version};
use hawser_core::crypto::{
    ClientFactory, EarlyKeys, HeaderKey, KeyChange, Keys, Level, OpenError, PacketKey, PacketKeys,
    RustlsClient, ServerId, Session,
};
use hawser_wire::{ConnectionId, Frame, FrameIter};

/// What a connection gave away.
#[derive(Default)]
pub(crate) struct Secrets {
    /// The 1-RTT keys that the client sends with.
    pub(crate) keys: Option<SendingKeys>,
    /// To which connection id the last packet of path 0 went, and its number.
    pub(crate) last: Option<(ConnectionId, u64)>,
    /// The largest number on path 0 that the server has acknowledged.
    pub(crate) acknowledged: Option<u64>,
}

/// Keys of one direction.
#[derive(Clone)]
pub(crate) struct SendingKeys {
    pub(crate) header: Arc<dyn HeaderKey>,
    pub(crate) packet: Arc<dyn PacketKey>,
}

/// Makes sessions as rustls does, of one connection.
#[derive(Clone)]
pub(crate) struct Tap {
    tls: Arc<RustlsClient>,
    secrets: Arc<Mutex<Secrets>>,
}

impl Tap {
    pub(crate) fn new(tls: Arc<RustlsClient>) -> Self {
        Tap { tls, secrets: Arc::default() }
    }

    pub(crate) fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientFactory for Tap {
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError> {
        let session = self.tls.start(version, server, parameters)?;
        Ok(Box::new(Tapped { session, tap: self.clone() }))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        self.tls.initial_keys(version, destination, side)
    }
}

struct Tapped {
    session: Box<dyn Session>,
    tap: Tap,
}

impl Tapped {
    /// The same keys, of which the attacker has those that send.
    fn share(&self, keys: Keys) -> Keys {
        let Keys { header_remote, header_local, packet: PacketKeys { remote, local } } = keys;
        let (header, packet): (Arc<dyn HeaderKey>, Arc<dyn PacketKey>) = (header_local.into(), local.into());
        self.tap.secrets().keys = Some(SendingKeys { header: header.clone(), packet: packet.clone() });
        let watched = |key: Arc<dyn PacketKey>| Box::new(Watched { key, tap: self.tap.clone() });
        Keys {
            header_remote,
            header_local: Box::new(Shared(header)),
            packet: PacketKeys { remote: watched(remote.into()), local: watched(packet) },
        }
    }
}

impl Session for Tapped {
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(level, data)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange> {
        match self.session.write_handshake(buffer) {
            Some(KeyChange::OneRtt(keys)) => Some(KeyChange::OneRtt(self.share(keys))),
            other => other,
        }
    }

    fn set_version(&mut self, version: Version) {
        self.session.set_version(version);
    }

    fn peer_transport_parameters(&self) -> Option<&[u8]> {
        self.session.peer_transport_parameters()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn next_packet_keys(&mut self) -> Option<PacketKeys> {
        self.session.next_packet_keys()
    }

    fn early_keys(&self) -> Option<EarlyKeys> {
        self.session.early_keys()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }

    fn application_protocol(&self) -> Option<Vec<u8>> {
        self.session.application_protocol()
    }

    fn server_name(&self) -> Option<String> {
        self.session.server_name()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError> {
        self.session.export_keying_material(output, label, context)
    }
}

struct Shared(Arc<dyn HeaderKey>);

impl HeaderKey for Shared {
    fn sample_length(&self) -> usize {
        self.0.sample_length()
    }

    fn protect(&self, offset: usize, packet: &mut [u8]) {
        self.0.protect(offset, packet);
    }

    fn unprotect(&self, offset: usize, packet: &mut [u8]) {
        self.0.unprotect(offset, packet);
    }
}

/// A 1-RTT key that reads what passes it.
struct Watched {
    key: Arc<dyn PacketKey>,
    tap: Tap,
}

impl PacketKey for Watched {
    fn seal(&self, path: u32, packet_number: u64, packet: &mut [u8], header_length: usize) {
        // A first byte, whose low bits are the length of the number less one, the connection id, the number.
        let number_length = usize::from(packet[0] & 3) + 1;
        let destination = packet.get(1..header_length - number_length).and_then(ConnectionId::new);
        if let (0, Some(destination)) = (path, destination) {
            self.tap.secrets().last = Some((destination, packet_number));
        }
        self.key.seal(path, packet_number, packet, header_length);
    }

    fn open(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError> {
        let length = self.key.open(path, packet_number, header, payload)?;
        for frame in FrameIter::new(&payload[..length]).flatten() {
            if let Frame::Ack(ack) = frame
                && ack.path_id.is_none_or(|path| path == 0)
            {
                let mut secrets = self.tap.secrets();
                secrets.acknowledged = secrets.acknowledged.max(Some(ack.ranges.largest()));
            }
        }
        Ok(length)
    }

    fn tag_length(&self) -> usize {
        self.key.tag_length()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
