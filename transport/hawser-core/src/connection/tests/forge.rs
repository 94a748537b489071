//! Packets with contents that no honest end would send.

use hawser_policy::{PathId, Side};
use hawser_wire::frame::{AckHeader, write_ack};
use hawser_wire::packet::{LongHeader, LongPacketType, ShortHeader, TruncatedPacketNumber};
use hawser_wire::{ConnectionId, Frame, Writer};

use super::pair::{Pair, at_server, client_address, from};
use crate::Connection;
use crate::crypto::Level;

const TAG: usize = 16;

/// Frames one after the other.
pub(super) fn encode(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; 4_096];
    let mut w = Writer::new(&mut bytes);
    frames.iter().for_each(|frame| frame.encode(&mut w).unwrap());
    let length = w.position();
    bytes.truncate(length);
    bytes
}

/// An acknowledgement of all numbers in the range.
pub(super) fn acknowledgement(path_id: Option<u32>, range: std::ops::RangeInclusive<u64>) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let mut w = Writer::new(&mut bytes);
    let header = AckHeader { path_id, delay: 0, ecn: None };
    write_ack(&mut w, &header, std::iter::once(range), 1).unwrap();
    let length = w.position();
    bytes.truncate(length);
    bytes
}

/// What no honest header has.
#[derive(Default)]
pub(super) struct Oddities {
    /// Further bits of the first byte.
    pub(super) bits: u8,
    /// The token of an Initial packet.
    pub(super) token: &'static [u8],
}

impl Connection {
    /// A 1-RTT packet with this payload, of which recovery does not know.
    pub(super) fn forge(&mut self, id: PathId, payload: &[u8]) -> Vec<u8> {
        self.forge_with_bits(id, payload, 0)
    }

    /// The same with further bits in the first byte.
    pub(super) fn forge_with_bits(&mut self, id: PathId, payload: &[u8], bits: u8) -> Vec<u8> {
        let destination_cid = self.paths.remote_cid(id, None).unwrap();
        let random = self.next_random();
        let keys = self.handshake.one_rtt.as_mut().unwrap();
        let space = &mut self.paths.get_mut(id).unwrap().space;
        let number = space.next_packet_number(random);
        space.on_unrecorded_sent();
        let truncated = TruncatedPacketNumber::new(number, space.largest_acked());
        let mut packet = vec![0; payload.len() + 64];
        let mut w = Writer::new(&mut packet);
        let header = ShortHeader { destination_cid, spin: false, key_phase: keys.phase() };
        let header = header.encode(&mut w, truncated).unwrap();
        w.write_bytes(payload).unwrap();
        w.write_zeros(header.padding_for_sample(payload.len(), TAG)).unwrap();
        let length = w.position() + TAG;
        packet.truncate(length);
        packet[0] |= bits;
        keys.local().seal(id.0, number, &mut packet, header.payload_offset);
        keys.header_local.protect(header.packet_number_offset, &mut packet);
        packet
    }

    /// An Initial or Handshake packet, padded to `size` bytes.
    pub(super) fn forge_long(
        &mut self,
        level: Level,
        from: Option<ConnectionId>,
        payload: &[u8],
        size: usize,
    ) -> Vec<u8> {
        self.forge_long_with(level, from, payload, size, &Oddities::default())
    }

    /// The same, with oddities in its header.
    pub(super) fn forge_long_with(
        &mut self,
        level: Level,
        from: Option<ConnectionId>,
        payload: &[u8],
        size: usize,
        oddities: &Oddities,
    ) -> Vec<u8> {
        let destination_cid = self.paths.remote_cid(PathId::ZERO, None).unwrap();
        let source_cid = from.unwrap_or(self.ends.identity.local_cid);
        let random = self.next_random();
        let version = self.handshake.version.current();
        let long = self.handshake.long_level(level).unwrap();
        let number = long.space.next_packet_number(random);
        long.space.on_unrecorded_sent();
        let mut packet = vec![0; size.max(payload.len() + 100)];
        let mut w = Writer::new(&mut packet);
        let packet_type = match level {
            Level::Initial => LongPacketType::Initial { token: oddities.token },
            _ => LongPacketType::Handshake,
        };
        let header = LongHeader { version, packet_type, destination_cid, source_cid };
        let header = header.encode(&mut w, TruncatedPacketNumber::new(number, None)).unwrap();
        w.write_bytes(payload).unwrap();
        let short_of = size.saturating_sub(w.position() + TAG);
        w.write_zeros(short_of.max(header.padding_for_sample(payload.len(), TAG))).unwrap();
        header.finish(&mut w, TAG).unwrap();
        let length = w.position() + TAG;
        packet.truncate(length);
        packet[0] |= oddities.bits;
        long.packet_local().seal(0, number, &mut packet, header.payload_offset);
        long.header_local().protect(header.packet_number_offset, &mut packet);
        packet
    }
}

impl Pair {
    /// `by` sends a 1-RTT packet with this payload, from its usual address.
    pub(super) fn inject(&mut self, by: Side, id: PathId, payload: &[u8]) {
        let tuple = if by.is_client() { from(client_address(0)) } else { at_server(client_address(0)) };
        let packet = self.end(by).connection.as_mut().unwrap().forge(id, payload);
        self.send(by, tuple, packet);
    }

    /// The client sends one from its `n`-th address.
    pub(super) fn inject_from(&mut self, n: u16, id: PathId, payload: &[u8]) {
        let packet = self.client().forge(id, payload);
        self.send(Side::Client, from(client_address(n)), packet);
    }
}
