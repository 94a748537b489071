//! The library that does the arithmetic: *ring* or aws-lc-rs, chosen by cargo feature. Both offer the same calls.

use std::sync::Arc;

use ::rustls::crypto::CryptoProvider;

#[cfg(feature = "aws-lc-rs")]
pub(crate) use aws_lc_rs::{aead, hmac};
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
pub(crate) use ring::{aead, hmac};

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
compile_error!("hawser-core needs one of its features `ring` and `aws-lc-rs`");

/// The rustls provider of the cryptographic library this crate was built with, for TLS configurations.
pub fn default_provider() -> Arc<CryptoProvider> {
    #[cfg(feature = "aws-lc-rs")]
    let provider = ::rustls::crypto::aws_lc_rs::default_provider();
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    let provider = ::rustls::crypto::ring::default_provider();
    Arc::new(provider)
}
