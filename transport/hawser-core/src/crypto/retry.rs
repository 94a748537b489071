//! The integrity tag of Retry packets (RFC 9001 section 5.8, RFC 9369 section 3.3.3).
//!
//! Its key is public: the tag proves only that the sender saw the client's Initial, and finds corruption.

use std::sync::LazyLock;

use hawser_wire::packet::write_retry_pseudo_packet;
use hawser_wire::{ConnectionId, Version, Writer};

use super::provider::aead;

/// What a version seals its tags with.
struct Sealer {
    key: aead::LessSafeKey,
    nonce: [u8; 12],
}

impl Sealer {
    fn new(key: u128, nonce: [u8; 12]) -> Self {
        let key = aead::UnboundKey::new(&aead::AES_128_GCM, &key.to_be_bytes());
        Sealer { key: aead::LessSafeKey::new(key.expect("the key has the length of AES-128 keys")), nonce }
    }
}

static V1: LazyLock<Sealer> = LazyLock::new(|| {
    let nonce = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
    Sealer::new(0xbe0c_690b_9f66_575a_1d76_6b54_e368_c84e, nonce)
});

static V2: LazyLock<Sealer> = LazyLock::new(|| {
    let nonce = [0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a];
    Sealer::new(0x8fb4_b01b_56ac_48e2_60fb_cbce_ad7c_cc92, nonce)
});

fn sealer(version: Version) -> &'static Sealer {
    match version {
        Version::V1 => &V1,
        Version::V2 => &V2,
    }
}

/// The tag for `packet`, a Retry packet without its tag, sent in answer to an Initial for `original`.
pub(super) fn tag(version: Version, original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
    let mut pseudo_packet = vec![0; 1 + original.len() + packet.len()];
    let written = write_retry_pseudo_packet(&mut Writer::new(&mut pseudo_packet), original, packet);
    debug_assert!(written.is_ok(), "the buffer has the length of its content");
    let sealer = sealer(version);
    let nonce = aead::Nonce::assume_unique_for_key(sealer.nonce);
    let sealed = sealer.key.seal_in_place_separate_tag(nonce, aead::Aad::from(&pseudo_packet[..]), &mut []);
    let mut tag = [0; 16];
    tag.copy_from_slice(sealed.expect("an empty plain text is not too long").as_ref());
    tag
}

/// Whether `packet`, a whole Retry packet, ends in the right tag.
//= rfc9000-17.2.5.2-3: a Retry with a wrong integrity tag is dropped
pub(super) fn is_valid(version: Version, original: &ConnectionId, packet: &[u8]) -> bool {
    // The comparison need not take constant time: anybody can compute the tag.
    packet.split_last_chunk::<16>().is_some_and(|(packet, sent)| tag(version, original, packet) == *sent)
}

#[cfg(test)]
mod tests;
