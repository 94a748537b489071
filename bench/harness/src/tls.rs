//! TLS as every stack that takes a `rustls` configuration gets it.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};

use crate::Error;
use crate::options::{CommonOptions, Provider};

/// Application protocol of the benchmark.
pub const ALPN: &[u8] = b"hawser-bench";
/// Name in the certificate.
pub const SERVER_NAME: &str = "localhost";

/// Certificate in the identity's directory.
pub const CERTIFICATE_FILE: &str = "certificate.pem";
/// Key in the identity's directory.
pub const KEY_FILE: &str = "key.pem";

/// The chosen library, with TLS_AES_128_GCM_SHA256 only.
pub fn provider(choice: Provider) -> CryptoProvider {
    let mut provider = match choice {
        Provider::AwsLcRs => aws_lc_rs::default_provider(),
        Provider::Ring => ring::default_provider(),
    };
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    // Without this, one library would offer a post-quantum group and the other would not.
    provider.kx_groups.retain(|group| group.name() == rustls::NamedGroup::X25519);
    // AWS-LC gathers entropy when first asked, for more than 20 ms. A server that runs has done that, and no stack is
    // to answer for it.
    provider.secure_random.fill(&mut [0; 32]).expect("the system has entropy");
    provider
}

/// The server's certificate.
///
/// # Errors
/// Fails when the file cannot be read.
pub fn certificate(identity: &Path) -> Result<CertificateDer<'static>, Error> {
    let path = identity.join(CERTIFICATE_FILE);
    CertificateDer::from_pem_file(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The server's key.
///
/// # Errors
/// Fails when the file cannot be read.
pub fn key(identity: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let path = identity.join(KEY_FILE);
    PrivateKeyDer::from_pem_file(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// A server that never resumes: every handshake is a full one.
///
/// # Errors
/// Fails when certificate or key do not fit.
pub fn server_config(options: &CommonOptions) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider(options.provider)))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate(&options.identity)?], key(&options.identity)?)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// A client that verifies the certificate and never resumes.
///
/// # Errors
/// Fails when the certificate cannot be read.
pub fn client_config(options: &CommonOptions) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate(&options.identity)?)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider(options.provider)))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}
