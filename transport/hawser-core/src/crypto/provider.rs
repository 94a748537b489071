//! The library that does the arithmetic: *ring* or aws-lc-rs, chosen by cargo feature. Both offer the same calls.

use std::sync::{Arc, LazyLock};

use ::rustls::crypto::CryptoProvider;
use ::rustls::server::ProducesTickets;

use super::resumption::tap::tapped;

#[cfg(feature = "aws-lc-rs")]
pub(crate) use aws_lc_rs::{aead, hmac};
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
pub(crate) use ring::{aead, hmac};

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
compile_error!(
    "the cryptography is a feature, `ring` or `aws-lc-rs`, and neither is on (what follows this error follows from it): write \
     hawser = { version = \"0.1\", default-features = false, features = [\"ring\"] }"
);

/// The rustls provider of the cryptographic library this crate was built with, for TLS configurations. With another one
/// sessions cannot be kept in a [`SessionStore`](super::SessionStore).
pub fn default_provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| {
        #[cfg(feature = "aws-lc-rs")]
        let provider = ::rustls::crypto::aws_lc_rs::default_provider();
        #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
        let provider = ::rustls::crypto::ring::default_provider();
        Arc::new(CryptoProvider { cipher_suites: tapped(&provider.cipher_suites), ..provider })
    });
    PROVIDER.clone()
}

/// Seals session tickets with keys of this process that change every six hours; a ticket is good for twice that. For
/// [`ServerConfig::ticketer`](::rustls::ServerConfig).
///
/// # Errors
/// The random generator failed.
pub fn default_ticketer() -> Result<Arc<dyn ProducesTickets>, ::rustls::Error> {
    #[cfg(feature = "aws-lc-rs")]
    return ::rustls::crypto::aws_lc_rs::Ticketer::new();
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    ::rustls::crypto::ring::Ticketer::new()
}
