//! TLS 1.3 by rustls.

use std::any::Any;
use std::sync::Arc;

use ::rustls::crypto::CryptoProvider;
use ::rustls::pki_types::ServerName;
use ::rustls::quic::{self, Connection};
use ::rustls::{
    AlertDescription, CertificateError, CipherSuite, ClientConfig, HandshakeKind, HandshakeType, ServerConfig,
};
use hawser_policy::Side;
use hawser_wire::{ConnectionId, Version};

use super::early_sessions::EarlySessions;
use super::resumption::{SessionStore, StoredSessions, TicketKeeper, server_key};
use super::scoped;
use super::secrets::SecretTap;
use super::traffic::{self, KeyDerivation, TrafficSecrets};
use super::{
    ClientFactory, ClientHello, EarlyKeys, HeaderKey, KeyChange, Keys, Level, OpenError, PacketKey,
    PacketKeys, ServerFactory, ServerId, Session, default_provider,
};
use crate::{Code, TransportError};

/// Why a TLS configuration cannot serve QUIC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsConfigError {
    /// There is nothing to negotiate.
    #[error("the TLS provider has no cipher suite of TLS 1.3 that supports QUIC")]
    NoSuite,
    /// The provider's packet keys do not take a path into the nonce (draft-ietf-quic-multipath-21 section 2.4).
    #[error("cipher suite {0:?} of the TLS provider does not support multipath nonces")]
    NoPathNonce(CipherSuite),
    /// Keys in another version than that of the first flight could not be derived.
    #[error("cipher suite {0:?} of the TLS provider is none of those that QUIC names")]
    UnknownSuite(CipherSuite),
    /// 0-RTT data is for one protocol; the server might choose another one, and the data would reach an application that it
    /// is not meant for.
    #[error("0-RTT needs a single application protocol, {0} are offered")]
    EarlyDataProtocols(usize),
    /// rustls takes 0-RTT only with tickets that it can use once, and so must remember.
    #[error("0-RTT needs sessions that the server remembers, not tickets that it seals")]
    EarlyDataTicketer,
    /// rustls itself cannot make a QUIC session of it: no TLS 1.3, or a limit of early data other than 0 and 2^32-1.
    #[error("not a TLS configuration for QUIC: {0}")]
    Rustls(#[from] ::rustls::Error),
}

/// Starts TLS client sessions.
pub struct RustlsClient {
    config: Arc<ClientConfig>,
    /// If sessions are kept in a store.
    sessions: Option<StoredSessions>,
    initial: quic::Suite,
}

impl RustlsClient {
    /// Sessions with this configuration. ALPN protocols, verifier, resumption store and whether 0-RTT is offered are set
    /// there.
    ///
    /// # Errors
    /// The configuration cannot serve QUIC.
    pub fn new(config: Arc<ClientConfig>) -> Result<Self, TlsConfigError> {
        let initial = initial_suite(config.crypto_provider())?;
        if config.enable_early_data && config.alpn_protocols.len() > 1 {
            return Err(TlsConfigError::EarlyDataProtocols(config.alpn_protocols.len()));
        }
        // rustls checks versions and suites when a session starts; start one to hear of a mistake now.
        let name =
            ServerName::try_from("probe.invalid").map_err(|_| ::rustls::Error::HandshakeNotComplete)?;
        quic::ClientConnection::new(config.clone(), quic::Version::V1, name, Vec::new())?;
        Ok(RustlsClient { config, sessions: None, initial })
    }

    /// The same with sessions that are kept in a store, in place of what the configuration says. The provider must be
    /// [`default_provider`], and the verifier a [`ResumableVerifier`](super::ResumableVerifier); else no session is kept, or
    /// none found again.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_sessions(
        config: Arc<ClientConfig>,
        store: Arc<dyn SessionStore>,
    ) -> Result<Self, TlsConfigError> {
        let (sessions, config) = StoredSessions::new(&config, store);
        Ok(RustlsClient { sessions: Some(sessions), ..RustlsClient::new(config)? })
    }

    /// The text by which a [`SessionStore`] knows a server, for connections in this version.
    pub fn server_key(&self, version: Version, server: ServerId<'_>) -> String {
        server_key(version, server, &self.config.alpn_protocols)
    }
}

impl ClientFactory for RustlsClient {
    //= rfc9001-8.2-1: quic_transport_parameters is sent, and its absence is missing_extension
    //= rfc9114-3.2-1: the host is named in the handshake
    //= rfc9114-3.2-2: the host of the URI is sent as SNI
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError> {
        let name = ServerName::try_from(server.name.to_owned()).map_err(|_| {
            TransportError::new(
                Code::INTERNAL_ERROR,
                format!("{:?} is neither a DNS name nor an IP address", server.name),
            )
        })?;
        let failed = |error: ::rustls::Error| TransportError::new(Code::INTERNAL_ERROR, error.to_string());
        // The server may choose another version, and the library derives keys for the one that it is told here.
        let mut config = ClientConfig::clone(&self.config);
        let tap = Arc::new(SecretTap::new(config.key_log));
        config.key_log = tap.clone();
        let config = Arc::new(config);
        let (connection, tickets) = match &self.sessions {
            None => {
                let connection =
                    quic::ClientConnection::new(config, library_version(version), name, parameters);
                (connection.map_err(failed)?, None)
            }
            Some(sessions) => {
                let (connection, tickets) =
                    sessions.connect(&config, version, name, server.port, parameters).map_err(failed)?;
                (connection, Some(tickets))
            }
        };
        let session = RustlsSession::new(connection.into(), version, Some(tap));
        Ok(Box::new(RustlsSession { tickets, ..session }))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        initial_keys(&self.initial, version, destination, side)
    }
}

/// Starts TLS server sessions.
pub struct RustlsServer {
    /// For each version, in the order of [`Version::ALL`].
    configs: [Arc<ServerConfig>; Version::ALL.len()],
    /// The same for those that take 0-RTT.
    early: Option<[EarlySessions; Version::ALL.len()]>,
    initial: quic::Suite,
}

impl RustlsServer {
    /// Sessions with this configuration. With a `max_early_data_size` of 2^32-1 they take 0-RTT, which is up to the
    /// application to make safe: each ticket is good for it once, but only this process knows which were used.
    ///
    /// # Errors
    /// The configuration cannot serve QUIC.
    //= rfc9001-4.6.1-1: early_data says 0xffffffff or nothing
    //= rfc9001-9.2-1: 0-RTT has replay protection
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, TlsConfigError> {
        let initial = initial_suite(config.crypto_provider())?;
        if config.max_early_data_size > 0 && config.ticketer.enabled() {
            return Err(TlsConfigError::EarlyDataTicketer);
        }
        quic::ServerConnection::new(config.clone(), quic::Version::V1, Vec::new())?;
        let configs = Version::ALL.map(|version| scoped::server_config(&config, version));
        let early = (config.max_early_data_size > 0).then(|| configs.clone().map(EarlySessions::new));
        Ok(RustlsServer { configs, early, initial })
    }
}

impl ServerFactory for RustlsServer {
    fn look_into<'a>(&self, client_hello: &'a [u8]) -> Option<ClientHello<'a>> {
        ClientHello::read(client_hello)
    }

    //= rfc9001-8.2-1: quic_transport_parameters is sent, and its absence is missing_extension
    fn start(&self, version: Version, parameters: Vec<u8>) -> Result<Box<dyn Session>, TransportError> {
        let at = match version {
            Version::V1 => 0,
            Version::V2 => 1,
        };
        let config = match &self.early {
            Some(early) => early[at].config(&parameters),
            None => self.configs[at].clone(),
        };
        let connection = quic::ServerConnection::new(config, library_version(version), parameters)
            .map_err(|error| TransportError::new(Code::INTERNAL_ERROR, error.to_string()))?;
        Ok(Box::new(RustlsSession::new(connection.into(), version, None)))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        initial_keys(&self.initial, version, destination, side)
    }
}

/// The suite of Initial packets, once all suites are known to support multipath. It is the same whatever is negotiated
/// (RFC 9001 section 5.2): if the provider offers others only, it comes from the one that this crate was built with.
//= multipath-2.1-5: cipher suites whose nonce is too short do not go with multipath
//= rfc9001-5.3-1: no cipher suite without header protection
fn initial_suite(provider: &CryptoProvider) -> Result<quic::Suite, TlsConfigError> {
    let (mut initial, mut is_empty) = (None, true);
    for offered in &provider.cipher_suites {
        let Some(suite) = offered.tls13().and_then(|suite| suite.quic_suite()) else { continue };
        is_empty = false;
        if !traffic::is_supported(offered.suite()) {
            return Err(TlsConfigError::UnknownSuite(offered.suite()));
        }
        let probe = suite.keys(&[0; 8], ::rustls::Side::Client, quic::Version::V1).local.packet;
        if probe.encrypt_in_place_for_path(1, 0, &[], &mut [0; 4]).is_err() {
            return Err(TlsConfigError::NoPathNonce(offered.suite()));
        }
        if offered.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256 {
            initial = Some(suite);
        }
    }
    if is_empty {
        return Err(TlsConfigError::NoSuite);
    }
    match initial {
        Some(suite) => Ok(suite),
        None => initial_suite(&default_provider()),
    }
}

/// The library's name for a version.
pub(super) fn library_version(version: Version) -> quic::Version {
    match version {
        Version::V1 => quic::Version::V1,
        Version::V2 => quic::Version::V2,
    }
}

//= rfc9001-5.2-2: Initial keys come from HKDF-Expand-Label
fn initial_keys(suite: &quic::Suite, version: Version, destination: &ConnectionId, side: Side) -> Keys {
    let side = match side {
        Side::Client => ::rustls::Side::Client,
        Side::Server => ::rustls::Side::Server,
    };
    suite.keys(destination.as_bytes(), side, library_version(version)).into()
}

/// One rustls connection.
//= rfc9000-7-1: the handshake authenticates, agrees on keys, parameters and protocol
//= rfc9001-4.2-2: an older TLS ends the connection
//= rfc9001-4.4-2: no authentication of clients after the handshake
//= rfc9001-5.3-2: unknown cipher suites in a ClientHello are no error
//= rfc9001-6-1: no TLS KeyUpdate is sent
//= rfc9001-8.3-1: no EndOfEarlyData is sent
//= rfc9001-8.4-1: no compatibility mode of TLS 1.3
struct RustlsSession {
    connection: Connection,
    /// For whose keys the library was asked.
    version: Version,
    /// What is needed for keys of another one (client).
    tap: Option<Arc<SecretTap>>,
    /// The version in whose place another one came, and its secrets of the present key phase.
    switched: Option<Switched>,
    /// Client: keeps the tickets that come, if somebody wants them.
    tickets: Option<TicketKeeper>,
    /// Level at which the peer's next handshake bytes must arrive.
    read_level: Level,
    /// Whether 1-RTT keys were handed out while the client's Finished is still awaited (server).
    one_rtt_after_handshake: bool,
    /// Secrets of the next key phase.
    next_secrets: Option<quic::Secrets>,
    reported_handshake_data: bool,
}

/// A client's session whose server answered in another version.
struct Switched {
    version: Version,
    secrets: Option<TrafficSecrets>,
}

impl RustlsSession {
    fn new(connection: Connection, version: Version, tap: Option<Arc<SecretTap>>) -> Self {
        RustlsSession {
            connection,
            version,
            tap,
            switched: None,
            tickets: None,
            read_level: Level::Initial,
            one_rtt_after_handshake: false,
            next_secrets: None,
            reported_handshake_data: false,
        }
    }

    fn derivation(&self, version: Version) -> Option<KeyDerivation> {
        let suite = self.connection.negotiated_cipher_suite()?.tls13()?;
        let side = match &self.connection {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        };
        Some(KeyDerivation { suite, version, side })
    }

    /// The keys of a level in the version of the connection: those of the library, unless that took another one for it.
    fn keys(&mut self, level: Level, keys: quic::Keys) -> Keys {
        let secrets = self.tap.as_ref().and_then(|tap| tap.take(level));
        if level == Level::OneRtt {
            self.tap = None;
        }
        let Some(version) = self.switched.as_ref().map(|switched| switched.version) else {
            return keys.into();
        };
        let derived = self
            .derivation(version)
            .zip(secrets)
            .and_then(|(derivation, secrets)| Some((derivation.keys(&secrets)?, secrets)));
        debug_assert!(derived.is_some(), "the library logs its secrets, and its suites were checked");
        match (derived, &mut self.switched) {
            (Some((keys, secrets)), Some(switched)) => {
                switched.secrets = Some(secrets);
                keys
            }
            _ => keys.into(),
        }
    }

    /// RFC 9001 section 4.1.3: bytes of an earlier level after its keys were replaced are a violation. rustls is not
    /// told the level, so it cannot see that.
    //= rfc9001-4.1.3-1: no new CRYPTO data at a level whose keys were replaced
    //= rfc9001-4.1.3-2: new CRYPTO data at a level whose keys were replaced: PROTOCOL_VIOLATION
    fn check_level(&self, level: Level) -> Result<(), TransportError> {
        if level == self.read_level {
            return Ok(());
        }
        Err(TransportError::protocol_violation(format!(
            "new handshake data at level {level:?}, expected {:?}",
            self.read_level
        )))
    }

    //= rfc9001-4.6.1-2: another value in early_data: PROTOCOL_VIOLATION
    fn to_transport_error(&self, error: &::rustls::Error) -> TransportError {
        let code = match (self.connection.alert(), error) {
            // RFC 9001 section 4.4: a server cannot ask for a certificate once the handshake is complete.
            //= rfc9001-4.4-3: a CertificateRequest after the handshake: PROTOCOL_VIOLATION
            (_, ::rustls::Error::InappropriateHandshakeMessage { got_type, .. })
                if *got_type == HandshakeType::CertificateRequest && !self.connection.is_handshaking() =>
            {
                Code::PROTOCOL_VIOLATION
            }
            //= rfc9001-4.8-1: each TLS alert is fatal
            //= rfc9001-6-2: a TLS KeyUpdate received: 0x010a
            //= rfc9001-8.1-2: no common application protocol: 0x0178
            //= rfc9001-8.1-3: a client without a common application protocol: 0x0178
            //= rfc9001-8.1-5: a server without a common protocol closes with 0x0178
            //= rfc9001-8.1-6: a client closes with 0x0178 if the server chose another protocol
            (Some(alert), _) => Code::crypto(alert.into()),
            // rustls sets no alert for what fails before it is a message.
            (None, ::rustls::Error::InvalidMessage(_)) => Code::crypto(AlertDescription::DecodeError.into()),
            (None, _) => Code::PROTOCOL_VIOLATION,
        };
        match error {
            ::rustls::Error::NoApplicationProtocol => {
                TransportError::new(code, "no application protocol (ALPN) in common")
            }
            // rustls prints the value, the reason has words.
            ::rustls::Error::InvalidCertificate(CertificateError::Other(reason)) => {
                TransportError::new(code, format!("invalid peer certificate: {reason}"))
            }
            other => TransportError::new(code, other.to_string()),
        }
    }
}

impl Session for RustlsSession {
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError> {
        self.check_level(level)?;
        let read = match &mut self.tickets {
            Some(tickets) if level == Level::OneRtt => {
                let version = self.switched.as_ref().map_or(self.version, |switched| switched.version);
                tickets.read(version, &mut self.connection, data)
            }
            _ => self.connection.read_hs(data),
        };
        read.map_err(|error| self.to_transport_error(&error))?;
        if self.one_rtt_after_handshake && !self.connection.is_handshaking() {
            self.read_level = Level::OneRtt;
        }
        // The server knows name and protocol after the ClientHello, the client the protocol after the server's
        // EncryptedExtensions; without either there is nothing to know before the end.
        let readable = self.application_protocol().is_some()
            || self.server_name().is_some()
            || !self.connection.is_handshaking();
        let newly_readable = readable && !self.reported_handshake_data;
        self.reported_handshake_data |= readable;
        Ok(newly_readable)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange> {
        match self.connection.write_hs(buffer)? {
            quic::KeyChange::Handshake { keys } => {
                self.read_level = Level::Handshake;
                Some(KeyChange::Handshake(self.keys(Level::Handshake, keys)))
            }
            quic::KeyChange::OneRtt { keys, next } => {
                self.next_secrets = Some(next);
                if self.connection.is_handshaking() {
                    self.one_rtt_after_handshake = true;
                } else {
                    self.read_level = Level::OneRtt;
                }
                Some(KeyChange::OneRtt(self.keys(Level::OneRtt, keys)))
            }
        }
    }

    fn set_version(&mut self, version: Version) {
        self.switched = (version != self.version).then_some(Switched { version, secrets: None });
    }

    fn peer_transport_parameters(&self) -> Option<&[u8]> {
        self.connection.quic_transport_parameters()
    }

    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    fn next_packet_keys(&mut self) -> Option<PacketKeys> {
        if let Some(switched) = &self.switched {
            let derivation = self.derivation(switched.version)?;
            let secrets = derivation.update(switched.secrets.as_ref()?)?;
            let keys = derivation.packet_keys(&secrets)?;
            self.switched = Some(Switched { version: derivation.version, secrets: Some(secrets) });
            return Some(keys);
        }
        let keys = self.next_secrets.as_mut()?.next_packet_keys();
        Some(PacketKeys { remote: packet_key(keys.remote), local: packet_key(keys.local) })
    }

    fn early_keys(&self) -> Option<EarlyKeys> {
        let keys = self.connection.zero_rtt_keys()?;
        Some(EarlyKeys { header: header_key(keys.header), packet: packet_key(keys.packet) })
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match &self.connection {
            Connection::Client(client) if !client.is_handshaking() => Some(client.is_early_data_accepted()),
            _ => None,
        }
    }

    fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    //= rfc9000-7-2: an application protocol is negotiated
    //= rfc9001-8.1-1: ALPN is used
    //= rfc9001-8.1-4: the server chooses a protocol that the client offered
    fn application_protocol(&self) -> Option<Vec<u8>> {
        self.connection.alpn_protocol().map(<[u8]>::to_vec)
    }

    fn server_name(&self) -> Option<String> {
        match &self.connection {
            Connection::Client(_) => None,
            Connection::Server(server) => server.server_name().map(str::to_owned),
        }
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let chain: Vec<_> =
            self.connection.peer_certificates()?.iter().map(|item| item.clone().into_owned()).collect();
        Some(Box::new(chain))
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError> {
        self.connection.export_keying_material(output, label, Some(context)).map_err(|_| OpenError)?;
        Ok(())
    }
}

struct RustlsPacketKey(Box<dyn quic::PacketKey>);

fn packet_key(key: Box<dyn quic::PacketKey>) -> Box<dyn PacketKey> {
    Box::new(RustlsPacketKey(key))
}

impl PacketKey for RustlsPacketKey {
    //= rfc9001-9.5-2: adding packet protection shows nothing by its time
    #[inline]
    fn seal(&self, path: u32, packet_number: u64, packet: &mut [u8], header_length: usize) {
        let (header, payload) = packet.split_at_mut(header_length);
        let (plain, tag) = payload.split_at_mut(payload.len() - self.0.tag_len());
        match self.0.encrypt_in_place_for_path(path, packet_number, header, plain) {
            Ok(computed) => tag.copy_from_slice(computed.as_ref()),
            // It was tried when the session factory was made and cannot fail for packets of less than gigabytes. If
            // it ever does, nothing must leave in the clear.
            Err(_) => payload.fill(0),
        }
    }

    //= rfc9001-9.5-1: removing packet protection shows nothing by its time
    #[inline]
    fn open(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError> {
        match self.0.decrypt_in_place_for_path(path, packet_number, header, payload) {
            Ok(plain) => Ok(plain.len()),
            Err(_) => Err(OpenError),
        }
    }

    #[inline]
    fn tag_length(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

struct RustlsHeaderKey(Box<dyn quic::HeaderProtectionKey>);

fn header_key(key: Box<dyn quic::HeaderProtectionKey>) -> Box<dyn HeaderKey> {
    Box::new(RustlsHeaderKey(key))
}

impl RustlsHeaderKey {
    /// The first byte, the four bytes where the packet number may be, and the sample after them.
    #[inline]
    fn parts<'a>(&self, offset: usize, packet: &'a mut [u8]) -> Option<(&'a mut u8, &'a mut [u8], &'a [u8])> {
        let (header, payload) = packet.split_at_mut_checked(offset.checked_add(4)?)?;
        let sample = payload.get(..self.0.sample_len())?;
        let (first, rest) = header.split_first_mut()?;
        Some((first, rest.get_mut(offset.checked_sub(1)?..)?, sample))
    }
}

impl HeaderKey for RustlsHeaderKey {
    fn sample_length(&self) -> usize {
        self.0.sample_len()
    }

    #[inline]
    fn protect(&self, offset: usize, packet: &mut [u8]) {
        let Some((first, packet_number, sample)) = self.parts(offset, packet) else {
            debug_assert!(false, "packet too short for header protection");
            return;
        };
        let masked = self.0.encrypt_in_place(sample, first, packet_number);
        debug_assert!(masked.is_ok(), "sample and packet number have their right lengths");
    }

    #[inline]
    fn unprotect(&self, offset: usize, packet: &mut [u8]) {
        let Some((first, packet_number, sample)) = self.parts(offset, packet) else { return };
        let unmasked = self.0.decrypt_in_place(sample, first, packet_number);
        debug_assert!(unmasked.is_ok(), "sample and packet number have their right lengths");
    }
}

impl From<quic::Keys> for Keys {
    fn from(keys: quic::Keys) -> Self {
        Keys {
            header_remote: header_key(keys.remote.header),
            header_local: header_key(keys.local.header),
            packet: PacketKeys {
                remote: packet_key(keys.remote.packet),
                local: packet_key(keys.local.packet),
            },
        }
    }
}

#[cfg(test)]
mod tests;
