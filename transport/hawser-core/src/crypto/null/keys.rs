//! Packet and header keys of the null session.

use hawser_policy::Side;

use super::checksum::Secret;
use crate::crypto::{HeaderKey, Keys, OpenError, PacketKey, PacketKeys};

const TAG_LEN: usize = 16;

/// Both directions' keys under `secret`, as seen from `side`.
pub(super) fn keys(secret: Secret, side: Side) -> Keys {
    Keys {
        header_remote: Box::new(NullHeaderKey),
        header_local: Box::new(NullHeaderKey),
        packet: key_pair(secret, side),
    }
}

pub(super) fn key_pair(secret: Secret, side: Side) -> PacketKeys {
    let key = |sender: Side| {
        let label: &[u8] = if sender.is_client() { b"client" } else { b"server" };
        Box::new(NullPacketKey(secret.derive(label)))
    };
    PacketKeys { remote: key(side.peer()), local: key(side) }
}

/// Leaves the payload as it is and checks it.
struct NullPacketKey(Secret);

impl NullPacketKey {
    #[inline]
    fn tag(&self, path: u32, packet_number: u64, header: &[u8], payload: &[u8]) -> [u8; TAG_LEN] {
        let mut checksum = self.0.checksum();
        checksum.absorb_word(u64::from(path));
        checksum.absorb_word(packet_number);
        checksum.absorb(header);
        checksum.absorb(payload);
        checksum.finish()
    }
}

impl PacketKey for NullPacketKey {
    #[inline]
    fn seal(&self, path: u32, packet_number: u64, packet: &mut [u8], header_length: usize) {
        let (header, payload) = packet.split_at_mut(header_length);
        let (plain, tag) = payload.split_at_mut(payload.len() - TAG_LEN);
        tag.copy_from_slice(&self.tag(path, packet_number, header, plain));
    }

    #[inline]
    fn open(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError> {
        let (plain, tag) = payload.split_last_chunk::<TAG_LEN>().ok_or(OpenError)?;
        if self.tag(path, packet_number, header, plain) != *tag {
            return Err(OpenError);
        }
        Ok(plain.len())
    }

    #[inline]
    fn tag_length(&self) -> usize {
        TAG_LEN
    }

    /// That of AES-GCM (RFC 9001 section 6.6), so that keys are updated as often.
    fn confidentiality_limit(&self) -> u64 {
        1 << 23
    }

    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

/// Masks nothing, but asks for a sample, so that packets are padded as with TLS.
struct NullHeaderKey;

impl HeaderKey for NullHeaderKey {
    fn sample_length(&self) -> usize {
        16
    }

    fn protect(&self, _offset: usize, _packet: &mut [u8]) {}

    fn unprotect(&self, _offset: usize, _packet: &mut [u8]) {}
}
