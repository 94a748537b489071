use std::collections::BTreeSet;

use super::{CidIssuer, CidScheme, ResetKey};
use crate::EndpointConfig;
use crate::quic_lb::{QuicLbCodec, QuicLbServer};

//= multipath-2.1-3, rfc9000-5.1-1, rfc9000-5.1-2, rfc9000-10.3.2-2
#[test]
fn ids_are_new_of_the_length_asked_and_the_same_for_the_same_seed() {
    let issuer = |seed| CidIssuer::new(CidScheme::random(12), ResetKey::new(&[1; 32]), [seed; 32]);
    let (mut one, mut same, mut other) = (issuer(1), issuer(1), issuer(2));
    let mut seen = BTreeSet::new();
    for _ in 0..1_000 {
        let (id, token) = one.issue();
        assert_eq!(id.len(), 12);
        assert_eq!(same.issue(), (id, token));
        assert!(seen.insert(id) && seen.insert(other.issue().0));
    }
}

//= rfc9000-10.3.2-1, rfc9000-10.3.2-5
#[test]
fn tokens_depend_on_key_and_id_only() {
    let (id, token) = CidIssuer::new(CidScheme::random(8), ResetKey::new(&[1; 32]), [3; 32]).issue();
    assert_eq!(ResetKey::new(&[1; 32]).token(id.as_bytes()), token, "found again after a restart");
    assert_ne!(ResetKey::new(&[2; 32]).token(id.as_bytes()), token);
    assert_ne!(ResetKey::new(&[1; 32]).token(&id.as_bytes()[..7]), token);
}

/// draft-ietf-quic-load-balancers section 9.5.
#[test]
fn tokens_depend_on_the_configuration_of_balancers() {
    let token = |key: [u8; 16]| {
        let codec = QuicLbCodec::new(0, 2, 6, Some(key)).unwrap();
        let quic_lb = Some(QuicLbServer::new(codec, &[1, 2]).unwrap());
        let config = EndpointConfig { quic_lb, ..EndpointConfig::new([1; 32]) };
        ResetKey::of(&config).token(&[7; 9])
    };
    assert_eq!(token([1; 16]), token([1; 16]), "found again after a restart");
    assert_ne!(token([1; 16]), token([2; 16]));
    assert_eq!(
        ResetKey::of(&EndpointConfig::new([1; 32])).token(&[7; 9]),
        ResetKey::new(&[1; 32]).token(&[7; 9])
    );
}
