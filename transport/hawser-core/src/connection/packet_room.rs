//! How much room packets need, and the buffer they are written into.

use hawser_wire::packet::MIN_INITIAL_DATAGRAM_LEN;

use crate::crypto::Level;

/// Room below which no further packet with a long header is put into a datagram: header, tag and a small frame.
pub(super) const MIN_LONG_ROOM: usize = 96;

/// The least that an address must be allowed to be sent for a 1-RTT packet to leave: a short header with the longest
/// connection id, the tag, and a challenge or an acknowledgement with ECN counts whose numbers are as long as they can
/// be. What is due always fits. Any datagram that may hold a packet for us allows so much: by RFC 9001 section 5.4.2 and
/// with our connection ids it has at least 29 bytes.
pub(super) const MIN_ONE_RTT_ROOM: usize = 1 + 20 + 4 + 16 + 42;

/// The least that an address must be allowed to be sent for a handshake packet of this level to leave. RFC 9000 section
/// 14.1: datagrams with Initial packets have 1200 bytes, a server's too.
pub(super) fn handshake_room(level: Level) -> usize {
    if level == Level::Initial { MIN_INITIAL_DATAGRAM_LEN } else { MIN_LONG_ROOM }
}

/// Makes room. The buffer is not cleared between calls, so that a steady sender pays for zeroing only once.
pub(super) fn reserve(buffer: &mut Vec<u8>, size: usize) {
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
}
