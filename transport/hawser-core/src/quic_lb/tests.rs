use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{CidCipher, QuicLbCodec, QuicLbError, QuicLbServer};

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn key(text: &str) -> [u8; 16] {
    bytes(text).try_into().unwrap()
}

/// Server id, nonce and the id of the draft, whose servers encode the length.
fn check(config_id: u8, key: Option<[u8; 16]>, server_id: &str, nonce: &str, id: &str) {
    let (server_id, nonce, id) = (bytes(server_id), bytes(nonce), bytes(id));
    let codec = QuicLbCodec::new(config_id, server_id.len(), nonce.len(), key).unwrap();
    let server = QuicLbServer::new(codec.clone(), &server_id).unwrap().encode_length(true);
    assert_eq!(server.finish(&nonce, [0xa5; 20]).unwrap().as_bytes(), id);
    let plaintext = codec.decode(&id).unwrap();
    assert_eq!((plaintext.server_id(), plaintext.nonce()), (&server_id[..], &nonce[..]));
}

#[test]
fn unencrypted_vectors_of_the_draft() {
    check(0, None, "c4605e", "4504cc4f", "07c4605e4504cc4f");
    // The draft prints nine digits of the nonce, and the zero before them within the id's first octet.
    check(1, None, "350d28b420", "03487d970b", "2a350d28b42003487d970b");
}

#[test]
fn encrypted_vectors_of_the_draft() {
    let key = Some(key("8f95f09245765f80256934e50c66207f"));
    check(0, key, "ed793a", "ee080dbf", "0720b1d07b359d3c");
    check(1, key, "ed793a51d49b8f5fab65", "ee080dbf48", "2fcc381bc74cb4fbad2823a3d1f8fed2");
    check(2, key, "ed793a51d49b8f5f", "ee080dbf48c0d1e5", "504dd2d05a7b0de9b2b9907afb5ecf8cc3");
    // Where configuration 3 should be in the first octet the draft has 0.
    let id = "725779c9cc86beb3a3a4a3ca96fce4bfe0cdbc";
    check(3, key, "ed793a51d49b8f5fab", "ee080dbf48c0d1e55d", id);
}

/// The example that goes through all steps (section 5.4.2.4).
#[test]
fn four_passes_of_the_drafts_example() {
    let key = key("fdf726a9893ec05c0632d3956680baf0");
    check(0, Some(key), "31441a", "9c69c275", "0767947d29be054a");
}

#[test]
fn lengths_out_of_range_are_refused_with_what_is_expected() {
    let refused =
        |config_id, server_id, nonce| QuicLbCodec::new(config_id, server_id, nonce, None).unwrap_err();
    assert_eq!(refused(7, 1, 4), QuicLbError::ConfigId(7));
    assert_eq!(refused(0, 0, 4), QuicLbError::ServerIdLength(0));
    assert_eq!(refused(0, 16, 4), QuicLbError::ServerIdLength(16));
    assert_eq!(refused(0, 1, 3), QuicLbError::NonceLength(3));
    assert_eq!(refused(0, 1, 19), QuicLbError::NonceLength(19));
    assert_eq!(refused(0, 2, 18), QuicLbError::TooLong { server_id: 2, nonce: 18 });
    let codec = QuicLbCodec::new(0, 2, 4, None).unwrap();
    assert_eq!(QuicLbServer::new(codec, &[1]).unwrap_err(), QuicLbError::ServerId { is: 1, should: 2 });
}

#[test]
fn ids_shorter_than_eight_bytes_are_filled_up() {
    let codec = QuicLbCodec::new(5, 1, 4, Some([3; 16])).unwrap();
    let server = QuicLbServer::new(codec.clone(), &[9]).unwrap().encode_length(true);
    let id = server.finish(&[1, 2, 3, 4], [0x77; 20]).unwrap();
    assert_eq!((id.len(), id.as_bytes()[0]), (8, 5 << 5 | 7));
    assert_eq!(id.as_bytes()[6..], [0x77; 2]);
    assert_eq!(codec.decode(id.as_bytes()).unwrap().server_id(), [9]);
}

#[test]
fn what_cannot_be_routed_says_so() {
    let codec = QuicLbCodec::new(1, 3, 8, None).unwrap();
    let unroutable = QuicLbServer::new(codec.clone(), &[1, 2, 3]).unwrap().unroutable([0; 20]).unwrap();
    assert_eq!((unroutable.len(), unroutable.as_bytes()[0]), (12, 0xe0 | 11));
    assert_eq!(codec.decode(unroutable.as_bytes()), None);
    assert_eq!(codec.decode(&[0x20; 11]), None, "a byte too short");
    assert_eq!(codec.decode(&[]), None);
}

/// All strings of a length have another image each: of two bytes all can be tried.
#[test]
fn the_cipher_is_a_permutation() {
    let cipher = CidCipher::new(&[7; 16]);
    let image = |number: u16| {
        let mut text = number.to_be_bytes();
        cipher.encrypt(&mut text);
        text
    };
    assert_eq!((0..=u16::MAX).map(image).collect::<BTreeSet<_>>().len(), 1 << 16);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        config_id in 0..7u8,
        (server_id, nonce) in (1..=15_usize).prop_flat_map(|server_id| {
            let nonce = prop::collection::vec(any::<u8>(), 4..=19 - server_id);
            (prop::collection::vec(any::<u8>(), server_id), nonce)
        }),
        key in any::<Option<[u8; 16]>>(),
        low_bits in any::<u8>(),
        appended in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let codec = QuicLbCodec::new(config_id, server_id.len(), nonce.len(), key).unwrap();
        let id = codec.encode(low_bits, &server_id, &nonce).unwrap();
        prop_assert_eq!(id.len(), 1 + server_id.len() + nonce.len());
        prop_assert_eq!(id.as_bytes()[0], config_id << 5 | low_bits & 0x1f);
        let plaintext = codec.decode(&[id.as_bytes(), &appended].concat()).unwrap();
        prop_assert_eq!((plaintext.server_id(), plaintext.nonce()), (&server_id[..], &nonce[..]));
    }

    #[test]
    fn anything_may_be_decoded(id in prop::collection::vec(any::<u8>(), 0..40), key in any::<Option<[u8; 16]>>()) {
        let codec = QuicLbCodec::new(2, 4, 9, key).unwrap();
        let is_routable = id.len() >= 14 && id[0] >> 5 == 2;
        prop_assert_eq!(codec.decode(&id).is_some(), is_routable);
    }
}
