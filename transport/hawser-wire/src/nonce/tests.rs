use super::multipath_nonce;

fn bytes<const N: usize>(text: &str) -> [u8; N] {
    hex::decode(text).unwrap().try_into().unwrap()
}

/// draft-ietf-quic-multipath-21 section 2.4.
#[test]
fn example_of_the_draft() {
    let nonce = multipath_nonce(&bytes("6b26114b9cba2b63a9e8dd4f"), 3, 54_321);
    assert_eq!(nonce, bytes("6b2611489cba2b63a9e8097e"));
}

/// RFC 9001 appendix A.5: path 0 is what it was without multipath.
#[test]
fn path_0_is_the_nonce_of_version_1() {
    let nonce = multipath_nonce(&bytes("e0459b3474bdd0e44a41c144"), 0, 654_360_564);
    assert_eq!(nonce, bytes("e0459b3474bdd0e46d417eb0"));
}

#[test]
fn all_bits_of_path_and_number_are_used() {
    let nonce = multipath_nonce(&[0; 12], u32::MAX, crate::varint::MAX);
    assert_eq!(nonce, bytes("ffffffff3fffffffffffffff"));
}
