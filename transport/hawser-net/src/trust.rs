//! Whom a client believes; [`clients`]: which clients a server knows.

mod clients;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hawser_core::crypto::default_provider;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

pub use self::clients::ClientAuthorities;

use crate::identity::{IdentityError, read_certificates};
use crate::{ConfigError, Pin, Printable};

/// How a client decides that a server is the one it wants.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Trust {
    /// Certificates signed by an authority of this machine's store, which takes the feature `native-certs`.
    #[default]
    System,
    /// Certificates signed by one of these authorities.
    Authorities(Vec<CertificateDer<'static>>),
    /// Servers that hold the key of one of these pins. Names and dates do not matter then.
    Pins(Vec<Pin>),
    /// Anybody. Encryption without knowing to whom: for tests only.
    Insecure,
}

impl Trust {
    /// The authorities in a PEM file.
    ///
    /// # Errors
    /// When the file can not be read or holds no certificate.
    pub fn authorities_from_file(path: &Path) -> Result<Self, IdentityError> {
        read_certificates(path).map(Trust::Authorities)
    }

    /// Returns a rustls configuration that believes whom this says, for protocols over TCP next to QUIC: all versions of TLS
    /// that rustls is built with, no client certificate, no application protocols. The error of a refused certificate is
    /// [`CertificateError::Other`] with the [`CertificateProblem`].
    ///
    /// # Errors
    /// There are no authorities, or one cannot be used.
    pub fn tls_config(&self) -> Result<rustls::ClientConfig, ConfigError> {
        let provider = default_provider();
        let verifier = ExplainingVerifier(self.verifier(&provider)?);
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::Tls(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(config)
    }

    pub(crate) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, ConfigError> {
        match self {
            Trust::System => web_pki(system_roots()?, provider),
            Trust::Authorities(authorities) => web_pki(roots_of(authorities)?, provider),
            Trust::Pins(pins) => {
                Ok(Arc::new(KeyVerifier { accepted: Some(pins.clone()), provider: provider.clone() }))
            }
            Trust::Insecure => Ok(Arc::new(KeyVerifier { accepted: None, provider: provider.clone() })),
        }
    }
}

/// A store of these authorities.
fn roots_of(authorities: &[CertificateDer<'static>]) -> Result<RootCertStore, ConfigError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone()).map_err(ConfigError::Authority)?;
    }
    Ok(roots)
}

#[cfg(feature = "native-certs")]
fn system_roots() -> Result<RootCertStore, ConfigError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let detail = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        return Err(ConfigError::NoSystemAuthorities { detail });
    }
    Ok(roots)
}

#[cfg(not(feature = "native-certs"))]
fn system_roots() -> Result<RootCertStore, ConfigError> {
    let detail = " that this program reads: it is built without the feature native-certs".to_owned();
    Err(ConfigError::NoSystemAuthorities { detail })
}

fn web_pki(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ConfigError> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| ConfigError::Tls(error.to_string()))?;
    Ok(verifier)
}

/// Why a server's certificate was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateProblem {
    /// The server holds another key than the pinned ones.
    #[error(
        "the server's key is not the pinned one: expected {}, got {presented}. Either the pin is mistyped or \
         out of date, or somebody else answers at this address",
        join(.expected)
    )]
    WrongPin {
        /// What would have been accepted.
        expected: Vec<Pin>,
        /// What the server showed.
        presented: Pin,
    },
    /// Its time is over.
    #[error(
        "the server's certificate has expired; the server needs a new one (or this machine's clock is wrong)"
    )]
    Expired,
    /// Its time has not come.
    #[error("the server's certificate is not valid yet; is this machine's clock right?")]
    NotYetValid,
    /// Nobody we trust signed it.
    #[error(
        "the server's certificate is not signed by an authority that is trusted here. If the server made its \
         own certificate, name its pin ({}) after comparing it with the one the server prints", pin_text(.presented)
    )]
    UnknownIssuer {
        /// The pin of the server's key.
        presented: Option<Pin>,
    },
    /// It is for another name.
    #[error("the server's certificate is not for the name {wanted}{}", for_names(.presented))]
    WrongName {
        /// The name asked for.
        wanted: String,
        /// The names it is for, where known.
        presented: Vec<String>,
    },
    /// It was revoked.
    #[error("the server's certificate has been revoked")]
    Revoked,
    /// Anything else.
    #[error("the server's certificate is not acceptable: {}", Printable::new(.0))]
    Other(String),
}

fn join(pins: &[Pin]) -> String {
    pins.iter().map(Pin::to_string).collect::<Vec<_>>().join(" or ")
}

fn pin_text(pin: &Option<Pin>) -> String {
    pin.map_or_else(|| "unknown".to_owned(), |pin| pin.to_string())
}

fn for_names(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" but for {}", Printable::new(&names.join(", "))) }
}

/// Knows servers by their key alone.
#[derive(Debug)]
struct KeyVerifier {
    /// `None`: all.
    accepted: Option<Vec<Pin>>,
    provider: Arc<CryptoProvider>,
}

/// How a wrong pin travels through rustls, which has no error of its own for it.
#[derive(Debug)]
struct WrongPin {
    expected: Vec<Pin>,
    presented: Pin,
}

impl fmt::Display for WrongPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server's key has the pin {}, not {}", self.presented, join(&self.expected))
    }
}

impl std::error::Error for WrongPin {}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(accepted) = &self.accepted else { return Ok(ServerCertVerified::assertion()) };
        let presented = Pin::of(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        if accepted.contains(&presented) {
            return Ok(ServerCertVerified::assertion());
        }
        let problem = WrongPin { expected: accepted.clone(), presented };
        Err(CertificateError::Other(rustls::OtherError(Arc::new(problem))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Passes questions on and remembers why the answer was no. TLS reduces that to an alert; people need the reason.
#[derive(Debug)]
pub(crate) struct RecordingVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    /// The last refusals, by the name that was asked for.
    problems: Mutex<VecDeque<(ServerName<'static>, CertificateProblem)>>,
}

/// Refusals remembered. One configuration may connect to several servers at a time, but not to many bad ones.
const MAX_PROBLEMS: usize = 16;

impl RecordingVerifier {
    pub(crate) fn new(inner: Arc<dyn ServerCertVerifier>) -> Self {
        RecordingVerifier { inner, problems: Mutex::default() }
    }

    /// Why the last certificate of this server was refused.
    pub(crate) fn problem(&self, name: &ServerName<'_>) -> Option<CertificateProblem> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.iter().rev().find(|(of, _)| of == name).map(|(_, problem)| problem.clone())
    }

    fn record(&self, name: &ServerName<'_>, problem: CertificateProblem) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() == MAX_PROBLEMS {
            problems.pop_front();
        }
        problems.push_back((name.to_owned(), problem));
    }
}

impl ServerCertVerifier for RecordingVerifier {
    //= rfc9001-4.4-1: clients authenticate the server
    //= rfc9114-3.1-1: the certificate must be for the host of the URI
    //= rfc9114-3.1-2: a server whose certificate is for another host is not believed
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let result =
            self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if let Err(error) = &result {
            self.record(server_name, classify(error, end_entity, server_name));
        }
        result
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Passes questions on, and puts the reason into the error when the answer was no.
#[derive(Debug)]
struct ExplainingVerifier(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for ExplainingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map_err(
            |error| {
                let problem = classify(&error, end_entity, server_name);
                CertificateError::Other(rustls::OtherError(Arc::new(problem))).into()
            },
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

fn classify(
    error: &rustls::Error,
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
) -> CertificateProblem {
    let rustls::Error::InvalidCertificate(error) = error else {
        return CertificateProblem::Other(error.to_string());
    };
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => CertificateProblem::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateProblem::NotYetValid
        }
        CertificateError::UnknownIssuer => {
            CertificateProblem::UnknownIssuer { presented: Pin::of(certificate).ok() }
        }
        CertificateError::NotValidForName => {
            CertificateProblem::WrongName { wanted: server_name.to_str().into_owned(), presented: Vec::new() }
        }
        CertificateError::NotValidForNameContext { presented, .. } => CertificateProblem::WrongName {
            wanted: server_name.to_str().into_owned(),
            presented: presented.iter().map(|name| plain_name(name)).collect(),
        },
        CertificateError::Revoked => CertificateProblem::Revoked,
        CertificateError::Other(other) => match other.0.downcast_ref::<WrongPin>() {
            Some(wrong) => {
                CertificateProblem::WrongPin { expected: wrong.expected.clone(), presented: wrong.presented }
            }
            None => CertificateProblem::Other(words(other.0.downcast_ref(), certificate, error)),
        },
        _ => CertificateProblem::Other(words(None, certificate, error)),
    }
}

/// A name in a certificate, out of what the library prints for programmers: `DnsName("example.org")`.
fn plain_name(printed: &str) -> String {
    let inner = printed.strip_suffix(')').and_then(|rest| rest.split_once('('));
    match inner {
        Some(("DnsName" | "IpAddress" | "UniformResourceIdentifier", name)) => {
            name.trim_matches('"').to_owned()
        }
        _ => printed.to_owned(),
    }
}

/// A problem in words: what checks certificates prints the names of its own values.
fn words(
    problem: Option<&webpki::Error>,
    certificate: &CertificateDer<'_>,
    error: &CertificateError,
) -> String {
    if problem == Some(&webpki::Error::CaUsedAsEndEntity) {
        let pin = Pin::of(certificate).map_or_else(|_| "its pin".to_owned(), |pin| format!("its pin, {pin}"));
        return format!(
            "it is one for an authority, which signs others (CA:TRUE). Make one for a server (openssl req -x509 -addext \
             basicConstraints=critical,CA:FALSE), or name {pin}, in place of an authority"
        );
    }
    let text = problem.map_or_else(|| format!("{error:?}"), |problem| format!("{problem:?}"));
    let name = text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut sentence = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push(letter.to_ascii_lowercase());
    }
    sentence
}

#[cfg(test)]
mod tests;
