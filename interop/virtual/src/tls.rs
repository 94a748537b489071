//! One self-signed certificate, and rustls configurations around it.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name in the certificate.
pub const SERVER_NAME: &str = "server.test";

const ALPN: &[u8] = b"hawser-interop";

/// An Ed25519 private key in PKCS #8 (RFC 8410 section 7), but for its 32 bytes.
const PKCS8_PREFIX: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// A server's key and certificate, always the same, so that packet sizes are: a certificate's serial number and a
/// signature other than Ed25519's vary in length.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// The identity of all test servers.
    pub fn new() -> Self {
        let der = PrivatePkcs8KeyDer::from([&PKCS8_PREFIX[..], &[42; 32]].concat());
        let key = rcgen::KeyPair::try_from(&der).expect("an Ed25519 key");
        let parameters = rcgen::CertificateParams::new([SERVER_NAME.to_owned()]).expect("a valid name");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Identity { certificate: certificate.der().clone(), key: der.into() }
    }

    /// A server with this identity.
    pub fn server(&self) -> ServerConfig {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("the provider has TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .expect("key and certificate match");
        config.alpn_protocols = vec![ALPN.to_vec()];
        config
    }

    /// The same, which takes 0-RTT from clients that have been there before.
    pub fn early_server(&self) -> ServerConfig {
        let mut config = self.server();
        config.max_early_data_size = u32::MAX;
        config
    }

    /// A client that offers 0-RTT where it has been before. Its clones share what they remember.
    pub fn early_client(&self) -> ClientConfig {
        let mut config = self.client();
        config.enable_early_data = true;
        config
    }

    /// A client that trusts this identity alone.
    pub fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate that can be a root");
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("the provider has TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
