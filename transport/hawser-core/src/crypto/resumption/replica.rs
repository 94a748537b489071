//! A handshake in memory, from which a stored ticket comes back as rustls has it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use ::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use ::rustls::client::{Resumption, Tls13ClientSessionValue};
use ::rustls::crypto::CryptoProvider;
use ::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use ::rustls::server::{ClientHello, ResolvesServerCert};
use ::rustls::sign::{CertifiedKey, Signer, SigningKey};
use ::rustls::time_provider::TimeProvider;
use ::rustls::{
    ClientConfig, DigitallySignedStruct, Error, NoKeyLog, ServerConfig, SignatureAlgorithm, SignatureScheme,
    quic,
};

use super::ticket::Ticket;
use super::{Slot, tap};

/// Bytes of the signature of a replica: nobody guesses it.
const SIGNATURE_LEN: usize = 32;

thread_local! {
    /// The signature of the replica that this thread shakes hands with.
    static SIGNATURE: Cell<Option<[u8; SIGNATURE_LEN]>> = const { Cell::new(None) };
}

/// The ticket as a connection with this configuration takes it; `None` if it would not trust the server any more, does not
/// offer the cipher suite, or has a provider without [`tap`].
pub(super) fn restore(
    config: &ClientConfig,
    name: &ServerName<'static>,
    ticket: &Ticket,
) -> Option<Tls13ClientSessionValue> {
    let mut signature = [0; SIGNATURE_LEN];
    config.crypto_provider().secure_random.fill(&mut signature).ok()?;
    SIGNATURE.set(Some(signature));
    let restored = shake_hands(config, name, ticket, signature);
    SIGNATURE.set(None);
    restored
}

fn shake_hands(
    config: &ClientConfig,
    name: &ServerName<'static>,
    ticket: &Ticket,
    signature: [u8; SIGNATURE_LEN],
) -> Option<Tls13ClientSessionValue> {
    let restored = Arc::new(Slot::new(true));
    let mut client_config = config.clone();
    client_config.resumption = Resumption::store(restored.clone());
    client_config.enable_early_data = false;
    client_config.alpn_protocols.clear();
    client_config.key_log = Arc::new(NoKeyLog);
    let received_at = UnixTime::since_unix_epoch(Duration::from_secs(ticket.received_at));
    client_config.time_provider = Arc::new(Then(received_at));
    let server_config = replica_config(config.crypto_provider(), ticket, signature)?;
    let version = quic::Version::V1;
    let mut client =
        quic::ClientConnection::new(Arc::new(client_config), version, name.clone(), Vec::new()).ok()?;
    let mut server =
        quic::ServerConnection::new(Arc::new(server_config), version, ticket.parameters.clone()).ok()?;
    let mut flight = Vec::new();
    while client.write_hs(&mut flight).is_some() {}
    server.read_hs(&flight).ok()?;
    // Each call gives what belongs to one encryption level, and is to be read so.
    loop {
        let mut part = Vec::new();
        let change = server.write_hs(&mut part);
        if !part.is_empty() {
            client.read_hs(&part).ok()?;
        }
        if change.is_none() && part.is_empty() {
            break;
        }
    }
    while client.write_hs(&mut flight).is_some() {}
    let (read, key) = tap::watch(Some(&ticket.key), || client.read_hs(&ticket.message));
    read.ok()?;
    restored.take().filter(|_| key.as_ref() == Some(&ticket.key))
}

fn replica_config(
    provider: &Arc<CryptoProvider>,
    ticket: &Ticket,
    signature: [u8; SIGNATURE_LEN],
) -> Option<ServerConfig> {
    let mut provider = (**provider).clone();
    provider.cipher_suites.retain(|suite| suite.suite() == ticket.suite);
    let certified = CertifiedKey::new(ticket.chain.clone(), Arc::new(ReplicaKey(signature)));
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&::rustls::version::TLS13])
        .ok()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Replica(Arc::new(certified))));
    config.send_tls13_tickets = 0;
    Some(config)
}

/// Asks the verifier within about everything but the signature of a replica, which is no proof of a key: what the server
/// proved in the connection that the ticket is from, resuming the session proves again. Clients that keep their sessions in
/// a [`SessionStore`](super::SessionStore) need one around theirs.
#[derive(Debug)]
pub struct ResumableVerifier(Arc<dyn ServerCertVerifier>);

impl ResumableVerifier {
    /// Around this verifier.
    pub fn new(inner: Arc<dyn ServerCertVerifier>) -> Self {
        ResumableVerifier(inner)
    }
}

impl ServerCertVerifier for ResumableVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if SIGNATURE.get().is_some_and(|signature| signature == signed.signature()) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The time at which the ticket came.
#[derive(Debug)]
struct Then(UnixTime);

impl TimeProvider for Then {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// The certificates of the server that the ticket is from.
#[derive(Debug)]
struct Replica(Arc<CertifiedKey>);

impl ResolvesServerCert for Replica {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// In place of its key, which only the server has.
#[derive(Clone, Debug)]
struct ReplicaKey([u8; SIGNATURE_LEN]);

impl SigningKey for ReplicaKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = *offered.first()?;
        Some(Box::new(ReplicaSigner { signature: self.0, scheme }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

#[derive(Debug)]
struct ReplicaSigner {
    signature: [u8; SIGNATURE_LEN],
    scheme: SignatureScheme,
}

impl Signer for ReplicaSigner {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.signature.to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
