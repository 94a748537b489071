//! Cipher suites by name.

use std::fmt;
use std::str::FromStr;

use rustls::CipherSuite;

/// A cipher suite of TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cipher {
    /// TLS_AES_128_GCM_SHA256, `aes128`.
    Aes128,
    /// TLS_AES_256_GCM_SHA384, `aes256`.
    Aes256,
    /// TLS_CHACHA20_POLY1305_SHA256, `chacha20`: the fastest one without AES instructions.
    ChaCha20,
}

impl Cipher {
    /// All of them.
    pub const ALL: [Cipher; 3] = [Cipher::Aes128, Cipher::Aes256, Cipher::ChaCha20];

    /// The name in [`FromStr`].
    pub fn name(self) -> &'static str {
        match self {
            Cipher::Aes128 => "aes128",
            Cipher::Aes256 => "aes256",
            Cipher::ChaCha20 => "chacha20",
        }
    }

    pub(crate) fn suite(self) -> CipherSuite {
        match self {
            Cipher::Aes128 => CipherSuite::TLS13_AES_128_GCM_SHA256,
            Cipher::Aes256 => CipherSuite::TLS13_AES_256_GCM_SHA384,
            Cipher::ChaCha20 => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such cipher suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}`: expected aes128, aes256 or chacha20")]
pub struct UnknownCipher(String);

impl FromStr for Cipher {
    type Err = UnknownCipher;

    fn from_str(text: &str) -> Result<Self, UnknownCipher> {
        Cipher::ALL
            .into_iter()
            .find(|cipher| cipher.name() == text)
            .ok_or_else(|| UnknownCipher(text.to_owned()))
    }
}
