//! The server of all simulations, and rustls configurations around it.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::crypto::default_provider;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{CipherSuite, ClientConfig, Error, RootCertStore, ServerConfig};

use super::exchange::X25519;
use super::randomness::Lent;

/// The name in the certificate.
pub const SERVER_NAME: &str = "server.test";

/// The application protocol of simulated connections.
pub const ALPN: &[u8] = b"hawser-sim";

/// What [`PRIVATE_KEY`] certifies of itself. Its signature is deterministic: a test makes it again.
pub(super) const CERTIFICATE: &[u8] = include_bytes!("certificate.der");

/// An Ed25519 key in PKCS #8 (RFC 8410 section 7): a prefix and 32 bytes. It is no secret.
pub(super) const PRIVATE_KEY: [u8; 48] = {
    let prefix = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    let mut key = [42; 48];
    let mut at = 0;
    while at < prefix.len() {
        key[at] = prefix[at];
        at += 1;
    }
    key
};

/// The provider of this build, with AES-128-GCM first and every random draw from what was
/// [lent](super::Randomness::lend).
pub fn provider() -> Arc<CryptoProvider> {
    let mut provider = CryptoProvider::clone(&default_provider());
    // The longest hash makes the longest messages; those of the null session have SHA-256's length.
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(CryptoProvider { kx_groups: vec![&X25519], secure_random: &Lent, ..provider })
}

/// A client that trusts the [server](server_config) of all simulations. Every session is a full handshake.
///
/// # Errors
/// The TLS library of this build lacks TLS 1.3 or Ed25519.
pub fn client_config() -> Result<ClientConfig, Error> {
    client_config_with(provider())
}

/// The same with a [`provider`] that was changed, to offer other cipher suites for example.
///
/// # Errors
/// As [`client_config`].
pub fn client_config_with(provider: Arc<CryptoProvider>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_slice(CERTIFICATE))?;
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(Standstill))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// A server with the name [`SERVER_NAME`]. It issues no tickets, because no client would use them.
///
/// # Errors
/// The TLS library of this build lacks TLS 1.3 or Ed25519.
pub fn server_config() -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_details(provider(), Arc::new(Standstill))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_slice(CERTIFICATE)],
            PrivatePkcs8KeyDer::from(PRIVATE_KEY.to_vec()).into(),
        )?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Certificates and tickets are judged at one moment, whenever a simulation runs: 2026-01-01.
#[derive(Debug)]
struct Standstill;

impl TimeProvider for Standstill {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_767_225_600)))
    }
}
