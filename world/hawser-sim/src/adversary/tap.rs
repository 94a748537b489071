//! The null session, with a copy of its keys for the attacker.
//!
//! Alongside every session runs a second one with the same input. Nothing in a null session is random, so both come to
//! the same keys.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_core::TransportError;
use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::crypto::{
    ClientFactory, ClientHello, EarlyKeys, KeyChange, Keys, Level, OpenError, PacketKeys, ServerFactory,
    ServerId, Session,
};
use hawser_policy::Side;
use hawser_wire::{ConnectionId, Role, TransportParameters, Version};

/// Changes the transport parameters that one end sends.
pub type Forgery = Box<dyn Fn(&mut TransportParameters) + Send + Sync>;

/// What one end's sessions gave away.
#[derive(Default)]
pub struct Secrets {
    /// From what the Initial keys derive (client).
    pub initial: ConnectionId,
    /// Of Handshake packets.
    pub handshake: Option<Keys>,
    /// By key phase.
    pub one_rtt: Vec<PacketKeys>,
}

/// One end's session factory. Clones share what it gave away.
#[derive(Clone)]
pub struct Tap {
    secrets: Arc<Mutex<Secrets>>,
    forgery: Option<Arc<Forgery>>,
}

impl Tap {
    /// An end that sends its transport parameters as they are, or forged.
    pub fn new(forgery: Option<Forgery>) -> Self {
        Tap { secrets: Arc::default(), forgery: forgery.map(Arc::new) }
    }

    /// What it gave away so far.
    pub fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, sessions: [Box<dyn Session>; 2]) -> Box<dyn Session> {
        let [session, shadow] = sessions;
        let mut secrets = self.secrets();
        *secrets = Secrets { initial: secrets.initial, ..Secrets::default() };
        Box::new(Tapped { session, shadow, tap: self.clone() })
    }

    fn forge(&self, parameters: Vec<u8>, sender: Role) -> Vec<u8> {
        let Some(forgery) = &self.forgery else { return parameters };
        let Ok(mut decoded) = TransportParameters::decode(&parameters, sender) else { return parameters };
        forgery(&mut decoded);
        decoded.to_vec(None)
    }
}

impl ClientFactory for Tap {
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError> {
        let parameters = self.forge(parameters, Role::Client);
        let start = || NullClient::default().start(version, server, parameters.clone());
        Ok(self.session([start()?, start()?]))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        self.secrets().initial = *destination;
        NullClient::default().initial_keys(version, destination, side)
    }
}

impl ServerFactory for Tap {
    fn look_into<'a>(&self, client_hello: &'a [u8]) -> Option<ClientHello<'a>> {
        NullServer::default().look_into(client_hello)
    }

    fn start(&self, version: Version, parameters: Vec<u8>) -> Result<Box<dyn Session>, TransportError> {
        let parameters = self.forge(parameters, Role::Server);
        let start = || NullServer::default().start(version, parameters.clone());
        Ok(self.session([start()?, start()?]))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        NullServer::default().initial_keys(version, destination, side)
    }
}

struct Tapped {
    session: Box<dyn Session>,
    shadow: Box<dyn Session>,
    tap: Tap,
}

impl Session for Tapped {
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError> {
        let _ = self.shadow.read_handshake(level, data);
        self.session.read_handshake(level, data)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange> {
        match self.shadow.write_handshake(&mut Vec::new()) {
            Some(KeyChange::Handshake(keys)) => self.tap.secrets().handshake = Some(keys),
            Some(KeyChange::OneRtt(keys)) => self.tap.secrets().one_rtt.push(keys.packet),
            None => {}
        }
        self.session.write_handshake(buffer)
    }

    fn set_version(&mut self, version: Version) {
        self.shadow.set_version(version);
        self.session.set_version(version);
    }

    fn peer_transport_parameters(&self) -> Option<&[u8]> {
        self.session.peer_transport_parameters()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn next_packet_keys(&mut self) -> Option<PacketKeys> {
        let keys = self.shadow.next_packet_keys();
        self.tap.secrets().one_rtt.extend(keys);
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

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("forges", &self.forgery.is_some()).finish_non_exhaustive()
    }
}
