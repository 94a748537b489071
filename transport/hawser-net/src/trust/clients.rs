//! Which clients a server knows by their certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, OtherError, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

use super::roots_of;
use crate::ConfigError;
use crate::identity::{IdentityError, read_certificates};

/// Certificates that a client may show besides its own. Each order in which they could have signed each other is tried: 10 that have one
/// name cost 0.1 s, 3 that have the authority's 0.9 ms, 2 of these (five chains) 0.3 ms.
const MAX_INTERMEDIATES: usize = 2;

/// Authorities whose certificates a server accepts from clients
/// ([`ServerConfigBuilder::client_authorities`](crate::ServerConfigBuilder::client_authorities)).
#[derive(Clone, Debug)]
pub struct ClientAuthorities(Vec<CertificateDer<'static>>);

impl ClientAuthorities {
    /// These certificates of authorities.
    pub fn new(authorities: Vec<CertificateDer<'static>>) -> Self {
        ClientAuthorities(authorities)
    }

    /// The authorities in a PEM file.
    ///
    /// # Errors
    /// When the file cannot be read or holds no certificate.
    pub fn from_file(path: &Path) -> Result<Self, IdentityError> {
        read_certificates(path).map(ClientAuthorities)
    }

    /// Returns what checks the certificates of clients; a client may show none.
    pub(crate) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, ConfigError> {
        let roots = Arc::new(roots_of(&self.0)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| ConfigError::Tls(error.to_string()))?;
        Ok(Arc::new(BoundedVerifier(verifier)))
    }
}

/// A client has shown more certificates than are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} certificates besides the client's own, expected at most {most}", most = MAX_INTERMEDIATES)]
struct TooManyCertificates(usize);

/// Asks another verifier about chains of a bounded length.
#[derive(Debug)]
struct BoundedVerifier(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for BoundedVerifier {
    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if intermediates.len() > MAX_INTERMEDIATES {
            let many = TooManyCertificates(intermediates.len());
            return Err(CertificateError::Other(OtherError(Arc::new(many))).into());
        }
        self.0.verify_client_cert(end_entity, intermediates, now).map_err(|error| match error {
            // An authority of that name is known, and another one signed: the client has to hear the same as of any other.
            rustls::Error::InvalidCertificate(CertificateError::BadSignature) => {
                CertificateError::UnknownIssuer.into()
            }
            other => other,
        })
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

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    /// An authority of its own or, with an issuer, one below that.
    fn authority(
        name: &str,
        issuer: Option<&Issuer<'_, KeyPair>>,
    ) -> (CertificateDer<'static>, Issuer<'static, KeyPair>) {
        let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = match issuer {
            Some(issuer) => parameters.signed_by(&key, issuer),
            None => parameters.self_signed(&key),
        };
        (certificate.unwrap().der().clone(), Issuer::new(parameters, key))
    }

    fn client(issuer: &Issuer<'_, KeyPair>) -> CertificateDer<'static> {
        let parameters = CertificateParams::new(vec!["client".to_owned()]).unwrap();
        parameters.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().clone()
    }

    fn check(root: &CertificateDer<'static>, chain: &[CertificateDer<'static>]) -> Result<(), rustls::Error> {
        let provider = hawser_core::crypto::default_provider();
        let verifier = ClientAuthorities::new(vec![root.clone()]).verifier(&provider).unwrap();
        // 2026-11-20.
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_795_132_800));
        verifier.verify_client_cert(&chain[0], &chain[1..], now).map(|_| ())
    }

    #[test]
    fn a_client_is_known_by_its_authority_also_over_others() {
        let (root, issuer) = authority("root", None);
        assert_eq!(check(&root, &[client(&issuer)]), Ok(()));
        let (middle, below) = authority("middle", Some(&issuer));
        let (lower, lowest) = authority("lower", Some(&below));
        assert_eq!(check(&root, &[client(&lowest), middle, lower]), Ok(()), "in any order");
    }

    #[test]
    fn an_authority_of_the_same_name_is_another_one() {
        let (root, _) = authority("root", None);
        for name in ["root", "elsewhere"] {
            let (_, issuer) = authority(name, None);
            let refused = check(&root, &[client(&issuer)]);
            assert_eq!(refused, Err(CertificateError::UnknownIssuer.into()), "{name}");
        }
    }

    /// All of one name, as if each had signed each: the chains grow with their factorial.
    #[test]
    fn more_certificates_than_a_chain_has_are_not_looked_at() {
        let (root, _) = authority("root", None);
        let (first, issuer) = authority("loop", None);
        let mut chain = vec![client(&issuer), first];
        chain.extend((0..MAX_INTERMEDIATES).map(|_| authority("loop", None).0));
        let refused = check(&root, &chain).unwrap_err();
        let rustls::Error::InvalidCertificate(CertificateError::Other(reason)) = refused else {
            panic!("{refused}")
        };
        let expected = TooManyCertificates(MAX_INTERMEDIATES + 1);
        assert_eq!(reason.0.downcast_ref(), Some(&expected), "{reason}");
        chain.pop();
        assert_eq!(check(&root, &chain), Err(CertificateError::UnknownIssuer.into()));
    }
}
