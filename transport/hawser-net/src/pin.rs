use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls_pki_types::CertificateDer;
use sha2::{Digest, Sha256};

use crate::IdentityError;

/// A public key by its digest: SHA-256 of the certificate's SubjectPublicKeyInfo, written in base64 (the form of
/// RFC 7469, of `curl --pinnedpubkey` and of Chromium's key lists).
///
/// A pin outlives the certificate: a new certificate for the same key has the same pin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin([u8; 32]);

/// Text that is not a pin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pin: expected 32 bytes in base64 (44 characters), as printed by the server")]
pub struct InvalidPin {
    text: String,
}

impl Pin {
    /// Returns the pin of a certificate's key.
    ///
    /// # Errors
    /// [`IdentityError::Certificate`] if the certificate cannot be parsed.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, IdentityError> {
        let parsed = webpki::EndEntityCert::try_from(certificate);
        let parsed = parsed.map_err(|error| IdentityError::Certificate(error.to_string()))?;
        Ok(Pin(Sha256::digest(parsed.subject_public_key_info()).into()))
    }

    /// The digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Pin {
    fn from(digest: [u8; 32]) -> Self {
        Pin(digest)
    }
}

impl FromStr for Pin {
    type Err = InvalidPin;

    fn from_str(text: &str) -> Result<Self, InvalidPin> {
        let text = text.trim();
        let digits = text.strip_prefix("sha256//").or(text.strip_prefix("sha256/")).unwrap_or(text);
        let unpadded = digits.trim_end_matches('=');
        STANDARD
            .decode(digits)
            .or_else(|_| URL_SAFE_NO_PAD.decode(unpadded))
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Pin)
            .ok_or_else(|| InvalidPin { text: text.to_owned() })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_survives_being_written_and_read() {
        let pin = Pin([0xfb; 32]);
        let text = pin.to_string();
        assert_eq!(text.len(), 44);
        assert_eq!(text.parse(), Ok(pin));
        assert_eq!(format!("sha256//{text}").parse(), Ok(pin));
        let url_safe = text.replace('+', "-").replace('/', "_");
        assert_eq!(url_safe.parse(), Ok(pin));
    }

    #[test]
    fn other_text_is_refused_with_what_was_expected() {
        for text in ["", "abc", "4444", &"A".repeat(88)] {
            let error = text.parse::<Pin>().unwrap_err();
            assert!(error.to_string().contains("44 characters"), "{error}");
        }
    }
}
