use std::collections::BTreeSet;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Nonces, is_routable};
use crate::quic_lb::{QuicLbCodec, QuicLbServer};

const SERVER_ID: [u8; 2] = [0, 9];

fn server(nonce_length: usize, key: Option<[u8; 16]>) -> QuicLbServer {
    QuicLbServer::new(QuicLbCodec::new(3, 2, nonce_length, key).unwrap(), &SERVER_ID).unwrap()
}

fn random(seed: u8) -> ChaCha8Rng {
    ChaCha8Rng::from_seed([seed; 32])
}

#[test]
fn ids_of_every_shape_name_server_and_member() {
    for key in [None, Some([5; 16])] {
        for nonce_length in 4..=17 {
            for (member, members) in [(0, 1), (2, 3), (63, 64)] {
                let server = server(nonce_length, key);
                let random = &mut random(nonce_length as u8);
                let nonces = Nonces::new(server.clone(), (member, members), &[6; 16], random);
                for _ in 0..20 {
                    let id = nonces.next(random).unwrap();
                    assert_eq!(id.len(), server.connection_id_length());
                    assert!(is_routable(&id));
                    assert_eq!(server.codec().decode(id.as_bytes()).unwrap().server_id(), SERVER_ID);
                    assert_eq!(nonces.member_named(id.as_bytes()), Some(member));
                }
            }
        }
    }
}

/// Two members of a group use up all nonces of ten bits between them, each once, and then there are no more.
#[test]
fn no_nonce_is_used_twice() {
    for key in [None, Some([5; 16])] {
        let mut seen = BTreeSet::new();
        for member in 0..2 {
            let random = &mut random(member);
            let nonces = Nonces::with_bits(server(4, key), (member.into(), 2), &[6; 16], random, 10);
            while let Some(id) = nonces.next(random) {
                let plaintext = nonces.server.codec().decode(id.as_bytes()).unwrap();
                assert!(seen.insert(plaintext.nonce().to_vec()), "{plaintext:?}");
            }
            assert_eq!(nonces.next(random), None, "for good");
            assert_eq!(seen.len(), 512 * (usize::from(member) + 1));
        }
    }
}

/// Section 5.4 of the draft: without a key a nonce must have no observable relation to others.
#[test]
fn readable_nonces_do_not_count() {
    let random = &mut random(1);
    let nonces = Nonces::new(server(4, None), (0, 1), &[6; 16], random);
    let mut previous = 0_u32;
    let mut differing = 0;
    for _ in 0..1_000 {
        let id = nonces.next(random).unwrap();
        let plaintext = nonces.server.codec().decode(id.as_bytes()).unwrap();
        let nonce = u32::from_be_bytes(plaintext.nonce().try_into().unwrap());
        differing += (nonce ^ previous).count_ones();
        previous = nonce;
    }
    // Half of 32 bits, on average of a thousand within three standard deviations; of a counter it would be two.
    assert!((15_732..=16_268).contains(&differing), "{differing}");
}

#[test]
fn ids_of_others_name_no_member() {
    let random = &mut random(1);
    let ours = Nonces::new(server(6, Some([5; 16])), (1, 4), &[6; 16], random);
    let theirs = QuicLbServer::new(server(6, Some([5; 16])).codec().clone(), &[0, 8]).unwrap();
    let theirs = Nonces::new(theirs, (1, 4), &[6; 16], random);
    assert_eq!(ours.member_named(theirs.next(random).unwrap().as_bytes()), None, "another server's");
    assert_eq!(ours.member_named(ours.unroutable(random).as_bytes()), None, "nobody's");
    assert!(!is_routable(&ours.unroutable(random)));
}
