//! The integrity tag of Retry packets (RFC 9001 section 5.8).
//!
//! Its key is public: the tag proves only that the sender saw the client's Initial, and finds corruption.

use std::sync::LazyLock;

use hawser_wire::packet::write_retry_pseudo_packet;
use hawser_wire::{ConnectionId, Writer};

use super::provider::aead;

const KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

static SEALER: LazyLock<aead::LessSafeKey> = LazyLock::new(|| {
    let key =
        aead::UnboundKey::new(&aead::AES_128_GCM, &KEY).expect("the key has the length of AES-128 keys");
    aead::LessSafeKey::new(key)
});

/// The tag for `packet`, a Retry packet without its tag, sent in answer to an Initial for `original`.
pub(super) fn tag(original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
    let mut pseudo_packet = vec![0; 1 + original.len() + packet.len()];
    let written = write_retry_pseudo_packet(&mut Writer::new(&mut pseudo_packet), original, packet);
    debug_assert!(written.is_ok(), "the buffer has the length of its content");
    let nonce = aead::Nonce::assume_unique_for_key(NONCE);
    let sealed = SEALER.seal_in_place_separate_tag(nonce, aead::Aad::from(&pseudo_packet[..]), &mut []);
    let mut tag = [0; 16];
    tag.copy_from_slice(sealed.expect("an empty plain text is not too long").as_ref());
    tag
}

/// Whether `packet`, a whole Retry packet, ends in the right tag.
pub(super) fn is_valid(original: &ConnectionId, packet: &[u8]) -> bool {
    // The comparison need not take constant time: anybody can compute the tag.
    packet.split_last_chunk::<16>().is_some_and(|(packet, sent)| tag(original, packet) == *sent)
}

#[cfg(test)]
mod tests;
