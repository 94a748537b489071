use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hawser_wire::{ConnectionId, Version};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{AddressToken, MAX_LEN, RetryToken, Token, TokenKey};

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(|bytes| IpAddr::from(bytes).to_canonical())
    ]
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(&Version::ALL[..])
}

fn connection_id() -> impl Strategy<Value = ConnectionId> {
    prop::collection::vec(any::<u8>(), 0..=20).prop_map(|bytes| ConnectionId::new(&bytes).unwrap())
}

fn token() -> impl Strategy<Value = Token> {
    prop_oneof![
        (version(), ip(), any::<u64>()).prop_map(|(version, ip, issued)| Token::Address(AddressToken {
            version,
            ip,
            issued
        })),
        (version(), ip(), any::<u16>(), connection_id(), connection_id(), any::<u64>()).prop_map(
            |(version, ip, port, original_destination, retry_source, issued)| {
                let remote = SocketAddr::new(ip, port);
                Token::Retry(RetryToken { version, remote, original_destination, retry_source, issued })
            }
        ),
    ]
}

proptest! {
    //= rfc9000-8.1.4-2, rfc9000-19.7-1
    #[test]
    fn a_sealed_token_opens_to_itself_and_only_unchanged(
        token in token(), seed: [u8; 32], byte: prop::sample::Index, bit in 0..8_u32,
    ) {
        let key = TokenKey::new(&seed);
        let mut sealed = key.seal(&token, &mut ChaCha20Rng::from_seed(seed));
        prop_assert!(sealed.len() <= MAX_LEN);
        prop_assert_eq!(key.open(&sealed).map(|(token, _)| token), Some(token));
        prop_assert!(TokenKey::new(&[0; 32]).open(&sealed).is_none());
        let byte = byte.index(sealed.len());
        sealed[byte] ^= 1_u8 << bit;
        prop_assert!(key.open(&sealed).is_none());
    }

    //= rfc9000-8.1.4-1
    #[test]
    fn arbitrary_bytes_are_no_token(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(TokenKey::new(&[3; 32]).open(&bytes).is_none());
    }
}

//= rfc9000-8.1.3-4, rfc9000-8.1.3-5, rfc9001-9.2-2
#[test]
fn equal_contents_give_unlinkable_tokens() {
    let mut random = ChaCha20Rng::from_seed([1; 32]);
    let key = TokenKey::new(&[2; 32]);
    let token =
        Token::Address(AddressToken { version: Version::V2, ip: Ipv4Addr::LOCALHOST.into(), issued: 1 });
    let (one, two) = (key.seal(&token, &mut random), key.seal(&token, &mut random));
    assert_ne!(one[..16], two[..16]);
    assert_ne!(one[16..], two[16..]);
    assert_ne!(key.open(&one).unwrap().1, key.open(&two).unwrap().1);
}

#[test]
fn mapped_addresses_are_written_plain() {
    let plain = Ipv4Addr::new(192, 0, 2, 7);
    let mapped =
        Token::Address(AddressToken { version: Version::V2, ip: plain.to_ipv6_mapped().into(), issued: 5 });
    let key = TokenKey::new(&[2; 32]);
    let sealed = key.seal(&mapped, &mut ChaCha20Rng::from_seed([1; 32]));
    let opened = key.open(&sealed).unwrap().0;
    assert_eq!(opened, Token::Address(AddressToken { version: Version::V2, ip: plain.into(), issued: 5 }));
}
