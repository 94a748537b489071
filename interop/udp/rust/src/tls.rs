//! TLS for all three: they take a configuration of rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::quic::Suite;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};

use crate::Error;
use crate::options::{Get, Serve};

/// HTTP/0.9 as quic-interop-runner has it.
const ALPN: &[u8] = b"hq-interop";

/// With tickets, as the library gives them by itself.
pub(crate) fn server_config(options: &Serve) -> Result<ServerConfig, Error> {
    let key = PrivateKeyDer::from_pem_file(&options.key)
        .map_err(|error| format!("{}: {error}", options.key.display()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates(&options.cert)?, key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    if options.early {
        // RFC 9001 section 4.6.1: nothing else is allowed.
        config.max_early_data_size = u32::MAX;
    }
    Ok(config)
}

/// Keeps tickets for connections of the same configuration.
pub(crate) fn client_config(options: &Get) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&options.ca)? {
        roots.add(certificate)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider(options)))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_early_data = options.early;
    Ok(config)
}

/// What Initial packets are protected with (RFC 9001 section 5.2), whichever suites are offered.
pub(crate) fn initial_suite() -> Result<Suite, Error> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    Ok(suite.tls13().and_then(|suite| suite.quic_suite()).ok_or("the library has no QUIC")?)
}

fn provider(options: &Get) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if options.chacha20 {
        provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
    }
    provider
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |error| format!("{}: {error}", file.display());
    let certificates = CertificateDer::pem_file_iter(file).map_err(wrong)?;
    Ok(certificates.collect::<Result<_, _>>().map_err(wrong)?)
}
