use super::*;
use crate::Identity;

fn check(trust: &Trust, identity: &Identity, name: &str) -> Result<(), CertificateProblem> {
    let provider = hawser_core::crypto::default_provider();
    let verifier = RecordingVerifier::new(trust.verifier(&provider).unwrap());
    let name = ServerName::try_from(name.to_owned()).unwrap();
    // 2026-11-20.
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_795_132_800));
    match verifier.verify_server_cert(&identity.certificates[0], &[], &name, &[], now) {
        Ok(_) => Ok(()),
        Err(_) => Err(verifier.problem(&name).expect("a refusal has a reason")),
    }
}

/// An authority, and a server certificate signed by it for `localhost` that ends in `last_year`.
fn signed_by(name: &str, last_year: i32) -> (CertificateDer<'static>, Identity) {
    let mut authority = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::from_params(&authority, &authority_key);
    let mut server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    server.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    let server_key = rcgen::KeyPair::generate().unwrap();
    let certificate = server.signed_by(&server_key, &issuer).unwrap();
    let key = server_key.serialize_der().try_into().unwrap();
    let identity = Identity { certificates: vec![certificate.der().clone()], key };
    (authority_certificate.der().clone(), identity)
}

#[test]
fn the_pinned_key_is_accepted_whatever_the_name() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![Pin::from([0; 32]), identity.pin().unwrap()]);
    assert_eq!(check(&trust, &identity, "elsewhere.example"), Ok(()));
}

//= rfc9001-4.4-1
#[test]
fn another_key_is_refused_and_both_pins_are_named() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let expected = Pin::from([7; 32]);
    let problem = check(&Trust::Pins(vec![expected]), &identity, "localhost").unwrap_err();
    let presented = identity.pin().unwrap();
    assert_eq!(problem, CertificateProblem::WrongPin { expected: vec![expected], presented });
    assert!(problem.to_string().contains(&presented.to_string()));
}

//= rfc9001-4.4-1, rfc9114-3.1-1
#[test]
fn an_authority_is_believed_for_the_right_name_and_time() {
    let (authority, identity) = signed_by("one", 2090);
    let trust = Trust::Authorities(vec![authority]);
    assert_eq!(check(&trust, &identity, "localhost"), Ok(()));
    let problem = check(&trust, &identity, "other.example").unwrap_err();
    assert!(matches!(problem, CertificateProblem::WrongName { .. }), "{problem}");
}

#[test]
fn an_expired_certificate_says_so() {
    let (authority, identity) = signed_by("one", 2020);
    let problem = check(&Trust::Authorities(vec![authority]), &identity, "localhost").unwrap_err();
    assert_eq!(problem, CertificateProblem::Expired);
}

//= rfc9114-3.1-2
#[test]
fn an_unknown_issuer_is_refused_with_the_pin_to_compare() {
    let (authority, _) = signed_by("one", 2090);
    let (_, identity) = signed_by("another", 2090);
    let problem = check(&Trust::Authorities(vec![authority]), &identity, "localhost").unwrap_err();
    assert_eq!(problem, CertificateProblem::UnknownIssuer { presented: identity.pin().ok() });
}

#[test]
fn insecure_takes_anybody() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    assert_eq!(check(&Trust::Insecure, &identity, "elsewhere.example"), Ok(()));
}

#[test]
fn problems_are_told_in_words() {
    let certificate = CertificateDer::from(vec![1, 2, 3]);
    let of = |problem: &webpki::Error| {
        let other = CertificateError::Other(rustls::OtherError(Arc::new(problem.clone())));
        words(Some(problem), &certificate, &other)
    };
    assert!(of(&webpki::Error::CaUsedAsEndEntity).contains("CA:FALSE"));
    assert_eq!(of(&webpki::Error::PathLenConstraintViolated), "path len constraint violated");
    assert_eq!(words(None, &certificate, &CertificateError::BadSignature), "bad signature");
}
