use std::collections::BTreeSet;

use super::{CidIssuer, ResetKey};

#[test]
fn ids_are_new_of_the_length_asked_and_the_same_for_the_same_seed() {
    let issuer = |seed| CidIssuer::new(12, ResetKey::new(&[1; 32]), [seed; 32]);
    let (mut one, mut same, mut other) = (issuer(1), issuer(1), issuer(2));
    let mut seen = BTreeSet::new();
    for _ in 0..1_000 {
        let (id, token) = one.issue();
        assert_eq!(id.len(), 12);
        assert_eq!(same.issue(), (id, token));
        assert!(seen.insert(id) && seen.insert(other.issue().0));
    }
}

#[test]
fn tokens_depend_on_key_and_id_only() {
    let (id, token) = CidIssuer::new(8, ResetKey::new(&[1; 32]), [3; 32]).issue();
    assert_eq!(ResetKey::new(&[1; 32]).token(id.as_bytes()), token, "found again after a restart");
    assert_ne!(ResetKey::new(&[2; 32]).token(id.as_bytes()), token);
    assert_ne!(ResetKey::new(&[1; 32]).token(&id.as_bytes()[..7]), token);
}
