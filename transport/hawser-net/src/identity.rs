//! The certificate and key of a server, or of a client that shows one.

use std::fs;
use std::io;
#[cfg(feature = "self-signed")]
use std::io::Write;
#[cfg(feature = "self-signed")]
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hawser_core::crypto::default_provider;
#[cfg(feature = "self-signed")]
use rcgen::PublicKeyData;
use rustls::InconsistentKeys;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::Pin;

/// A certificate chain and the private key of its first certificate.
pub struct Identity {
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has not the expected content.
    #[error("{} holds no {expected} in PEM form: {source}", .path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
        /// What the parser said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Of the two files of a kept identity only one is there.
    #[error("{} exists but {} does not; restore it, or remove both to have a new certificate made", .present.display(), .missing.display())]
    Incomplete {
        /// The file that is there.
        present: PathBuf,
        /// The file that is not.
        missing: PathBuf,
    },
    /// The private key is not that of the certificate.
    #[error("the key in {} is not that of the certificate in {}", .key.display(), .certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The certificate could not be made or read.
    #[error("certificate: {0}")]
    Certificate(String),
}

/// File names of a kept identity.
const CERTIFICATE_FILE: &str = "certificate.pem";
#[cfg(feature = "self-signed")]
const KEY_FILE: &str = "key.pem";

impl Identity {
    /// A fresh key and a certificate signed by itself, for these DNS names and IP addresses.
    ///
    /// ECDSA P-256, because browsers accept no Ed25519 certificates. The certificate does not expire: it is trusted
    /// by its pin, and a pin has no date. With the feature `self-signed`.
    ///
    /// # Errors
    /// A name that can not stand in a certificate.
    #[cfg(feature = "self-signed")]
    pub fn self_signed(names: &[&str]) -> Result<Self, IdentityError> {
        let (certificate, key) = generate(names)?;
        let key = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|reason| IdentityError::Certificate(reason.to_owned()))?;
        Ok(Identity { certificates: vec![certificate.der().clone()], key })
    }

    /// The identity kept in `folder`; made and kept there the first time. With the feature `self-signed`.
    ///
    /// # Errors
    /// See [`IdentityError`]. Nothing is overwritten.
    #[cfg(feature = "self-signed")]
    pub fn load_or_create(folder: &Path, names: &[&str]) -> Result<Self, IdentityError> {
        let certificate_path = folder.join(CERTIFICATE_FILE);
        let key_path = folder.join(KEY_FILE);
        match (certificate_path.exists(), key_path.exists()) {
            (true, true) => {}
            (true, false) => {
                return Err(IdentityError::Incomplete { present: certificate_path, missing: key_path });
            }
            (false, true) => {
                return Err(IdentityError::Incomplete { present: key_path, missing: certificate_path });
            }
            (false, false) => {
                let (certificate, key) = generate(names)?;
                fs::create_dir_all(folder)
                    .map_err(|source| IdentityError::Write { path: folder.to_owned(), source })?;
                write_new(&key_path, key.serialize_pem().as_bytes(), 0o600)?;
                write_new(&certificate_path, certificate.pem().as_bytes(), 0o644)?;
            }
        }
        Self::from_pem_files(&certificate_path, &key_path)
    }

    /// A certificate chain and key made elsewhere, in PEM files.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub fn from_pem_files(certificates: &Path, key: &Path) -> Result<Self, IdentityError> {
        let key_path = key;
        let chain = read_certificates(certificates)?;
        let key_text = read(key_path)?;
        if is_readable_by_all(key_path) {
            tracing::warn!(
                "every user of this machine can read the private key {0}; keep it to its owner: chmod o-rwx {0}",
                key_path.display()
            );
        }
        let key = PrivateKeyDer::from_pem_slice(&key_text).map_err(|source| IdentityError::Malformed {
            path: key_path.to_owned(),
            expected: "private key",
            source: source.into(),
        })?;
        let identity = Identity { certificates: chain, key };
        if identity.is_mismatched() {
            let (certificate, key) = (certificates.to_owned(), key_path.to_owned());
            return Err(IdentityError::Mismatch { certificate, key });
        }
        Ok(identity)
    }

    /// Whether the key is known not to be that of the certificate.
    fn is_mismatched(&self) -> bool {
        let (chain, key) = (self.certificates.clone(), self.key.clone_key());
        let checked = CertifiedKey::from_der(chain, key, &default_provider());
        matches!(checked, Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)))
    }

    /// The pin of the key: what a client needs to know this server.
    ///
    /// # Errors
    /// When the certificate can not be parsed.
    pub fn pin(&self) -> Result<Pin, IdentityError> {
        let certificate = self
            .certificates
            .first()
            .ok_or_else(|| IdentityError::Certificate("the chain is empty".into()))?;
        Pin::of(certificate)
    }

    /// The pin of the certificate in a PEM file, whose key need not be there.
    ///
    /// # Errors
    /// When the file cannot be read or has no certificate.
    pub fn pin_of_pem_file(certificates: &Path) -> Result<Pin, IdentityError> {
        let chain = read_certificates(certificates)?;
        let first = chain.first().ok_or_else(|| IdentityError::Certificate("the chain is empty".into()))?;
        Pin::of(first)
    }

    /// Where `load_or_create` keeps the certificate in its folder.
    pub fn kept_certificate(folder: &Path) -> PathBuf {
        folder.join(CERTIFICATE_FILE)
    }

    /// A key for stateless resets ([`EndpointBuilder::reset_key`](crate::EndpointBuilder::reset_key)) that outlives the
    /// process: it follows from the private key and from `scope`, which tells the endpoints of one identity apart. Two
    /// that shared a key could be made to reset each other's connections (RFC 9000 section 21.11).
    pub fn reset_key(&self, scope: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"hawser stateless reset");
        hash.update((scope.len() as u64).to_be_bytes());
        hash.update(scope);
        hash.update(self.key.secret_der());
        hash.finalize().into()
    }

    /// The chain, the server's own certificate first.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Identity { certificates: self.certificates.clone(), key: self.key.clone_key() }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.certificates.len()).finish_non_exhaustive()
    }
}

/// The certificates in a PEM file; at least one.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let text = read(path)?;
    let malformed = |source: pem::Error| IdentityError::Malformed {
        path: path.to_owned(),
        expected: "certificate",
        source: source.into(),
    };
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().map_err(malformed)?;
    if chain.is_empty() { Err(malformed(pem::Error::NoItemsFound)) } else { Ok(chain) }
}

#[cfg(feature = "self-signed")]
fn generate(names: &[&str]) -> Result<(rcgen::Certificate, rcgen::KeyPair), IdentityError> {
    let failed = |error: rcgen::Error| IdentityError::Certificate(error.to_string());
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = rcgen::CertificateParams::new(names).map_err(failed)?;
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    // A name of its own for each key: of two issuers with one name, verifiers report a broken signature.
    let digest = Sha256::digest(key.subject_public_key_info());
    let name = format!("hawser {:08x}", u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]));
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    Ok((certificate, key))
}

fn read(path: &Path) -> Result<Vec<u8>, IdentityError> {
    fs::read(path).map_err(|source| IdentityError::Read { path: path.to_owned(), source })
}

/// Whether anybody with an account can read a file. Groups are left alone: some systems have one for keys.
fn is_readable_by_all(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

#[cfg(feature = "self-signed")]
fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), IdentityError> {
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(|source| IdentityError::Write { path: path.to_owned(), source })
}

#[cfg(all(test, feature = "self-signed"))]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("state");
        let first = Identity::load_or_create(&folder, &["localhost", "192.0.2.1"]).unwrap();
        let second = Identity::load_or_create(&folder, &["other"]).unwrap();
        assert_eq!(first.certificates(), second.certificates());
        assert_eq!(first.pin().unwrap(), second.pin().unwrap());
        let mode = fs::metadata(folder.join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_half_lost_identity_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        Identity::load_or_create(folder.path(), &["localhost"]).unwrap();
        fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
        let error = Identity::load_or_create(folder.path(), &["localhost"]).unwrap_err();
        assert!(matches!(error, IdentityError::Incomplete { .. }), "{error}");
        assert!(!folder.path().join(KEY_FILE).exists());
    }

    #[test]
    fn a_file_that_is_no_certificate_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pem");
        fs::write(&path, "hello").unwrap();
        let error = Identity::from_pem_files(&path, &path).unwrap_err();
        assert!(error.to_string().contains("x.pem holds no certificate"), "{error}");
    }
}
