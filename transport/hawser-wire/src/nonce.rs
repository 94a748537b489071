//! The AEAD nonce of a multipath packet.

/// The nonce of a 1-RTT packet once multipath is in use: the IV, exclusive-or the path id (32 bits), two zero bits
/// and the packet number (62 bits) (draft-ietf-quic-multipath-21 section 2.4).
///
/// With `path_id` 0 it equals the nonce of RFC 9001 section 5.3.
#[inline]
pub fn multipath_nonce(iv: &[u8; 12], path_id: u32, packet_number: u64) -> [u8; 12] {
    let path_and_packet_number = (u128::from(path_id) << 64) | u128::from(packet_number & crate::varint::MAX);
    let mut nonce = *iv;
    for (byte, mask) in nonce.iter_mut().zip(path_and_packet_number.to_be_bytes().into_iter().skip(4)) {
        *byte ^= mask;
    }
    nonce
}

#[cfg(test)]
mod tests;
