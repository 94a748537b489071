//! How packets come in: their packet number space, their way here, and those that wait for keys.

use bytes::BytesMut;
use hawser_policy::{PathId, Time};

use crate::crypto::Level;
use crate::{Ecn, FourTuple};

/// Packets kept because their keys do not exist yet: 1-RTT packets can overtake the end of the handshake, 0-RTT packets the
/// end of the ClientHello.
pub(super) const MAX_EARLY_PACKETS: usize = 16;

/// Which packet-number space a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpaceId {
    Initial,
    Handshake,
    /// The space of a path; there is one for each (draft-ietf-quic-multipath-21 section 2.4).
    Path(PathId),
}

impl SpaceId {
    pub(crate) fn level(self) -> Level {
        match self {
            SpaceId::Initial => Level::Initial,
            SpaceId::Handshake => Level::Handshake,
            SpaceId::Path(_) => Level::OneRtt,
        }
    }

    /// The path whose recovery governs the space: the handshake runs on path 0.
    pub(crate) fn path(self) -> PathId {
        match self {
            SpaceId::Initial | SpaceId::Handshake => PathId::ZERO,
            SpaceId::Path(id) => id,
        }
    }
}

/// How a packet came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    pub(crate) tuple: FourTuple,
    pub(crate) ecn: Option<Ecn>,
    /// When the socket received it; not later than `now`.
    pub(crate) received_at: Time,
    /// Bytes of the datagram.
    pub(crate) datagram_bytes: usize,
    /// Which datagram of the connection it is: packets of one have the same number.
    pub(crate) datagram_number: u64,
}

/// A packet that waits for its keys.
pub(crate) struct EarlyPacket {
    pub(crate) arrival: Arrival,
    pub(crate) packet: BytesMut,
}

/// Packets that wait for their keys.
#[derive(Default)]
pub(crate) struct EarlyPackets {
    packets: Vec<EarlyPacket>,
    /// Keys came while packets waited.
    are_ready: bool,
}

impl EarlyPackets {
    /// Keeps a packet; `false` if there is no room. It gets memory of its own: as a slice it would keep a whole receive
    /// buffer alive, for the price of a few bytes of somebody who has not proven anything.
    pub(crate) fn keep(&mut self, arrival: &Arrival, packet: &[u8]) -> bool {
        let fits = self.packets.len() < MAX_EARLY_PACKETS;
        if fits {
            self.packets.push(EarlyPacket { arrival: *arrival, packet: BytesMut::from(packet) });
        }
        fits
    }

    /// Keys came for which packets may have waited.
    pub(crate) fn on_keys(&mut self) {
        self.are_ready = !self.packets.is_empty();
    }

    /// Whether packets wait whose keys may have come.
    #[inline]
    pub(crate) fn are_ready(&self) -> bool {
        self.are_ready
    }

    /// The packets that wait, in the order in which they came.
    pub(crate) fn take(&mut self) -> Vec<EarlyPacket> {
        self.are_ready = false;
        std::mem::take(&mut self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_wait_for_keys_are_few_and_pin_no_receive_buffers() {
        let address = ([127, 0, 0, 1], 1).into();
        let arrival = Arrival {
            now: Time::ZERO,
            tuple: FourTuple { local: address, remote: address },
            ecn: None,
            received_at: Time::ZERO,
            datagram_bytes: 40,
            datagram_number: 0,
        };
        let mut early = EarlyPackets::default();
        for n in 0..2 * MAX_EARLY_PACKETS {
            let mut buffer = BytesMut::zeroed(65_536);
            let packet = buffer.split_to(40);
            assert_eq!(early.keep(&arrival, &packet), n < MAX_EARLY_PACKETS);
            drop(packet);
            buffer.clear();
            assert!(buffer.try_reclaim(65_536), "nothing refers to the receive buffer");
        }
        assert_eq!(early.take().len(), MAX_EARLY_PACKETS);
    }
}
