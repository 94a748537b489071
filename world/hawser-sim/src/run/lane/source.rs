//! Packets of programs behind a tunnel.

use std::time::Duration;

use hawser_masque::packet::{self, Packet, UDP};
use hawser_policy::Time;
use hawser_scenario::MixPackets;

use super::Part;

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// The port of the first part; each has its own.
const FIRST_PORT: u16 = 5_000;
/// Addresses of the two programs (RFC 5737).
const ADDRESSES: [[u8; 4]; 2] = [[192, 0, 2, 1], [198, 51, 100, 1]];

/// A program that sends a packet from time to time.
pub(super) struct Source {
    part: Part,
    every: Duration,
    bytes: Vec<u8>,
    read: Packet,
    first_at: Time,
    /// `None` until the tunnel is there.
    next_at: Option<Time>,
    sent: u64,
}

impl Source {
    /// Scenarios have packets with room for number and time.
    pub(super) fn new(part: Part, packets: MixPackets) -> Self {
        let mut bytes = vec![0; HEADERS + packets.size.max(16) as usize];
        let length = bytes.len() as u16;
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[8..10].copy_from_slice(&[64, UDP]);
        bytes[12..20].copy_from_slice(ADDRESSES.as_flattened());
        let port = (FIRST_PORT + part as u16).to_be_bytes();
        bytes[20..22].copy_from_slice(&port);
        bytes[22..24].copy_from_slice(&port);
        bytes[24..26].copy_from_slice(&(length - 20).to_be_bytes());
        let read = Packet {
            source: ADDRESSES[0].into(),
            destination: ADDRESSES[1].into(),
            protocol: UDP,
            payload: 20,
            is_fragment: false,
            is_whole: false,
            hops: 64,
            traffic_class: 0,
        };
        debug_assert_eq!(packet::read(&bytes), Ok(read));
        Source { part, every: packets.every, bytes, read, first_at: Time::ZERO, next_at: None, sent: 0 }
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// What its packets say of themselves.
    pub(super) fn read(&self) -> &Packet {
        &self.read
    }

    pub(super) fn start(&mut self, now: Time) {
        (self.first_at, self.next_at) = (now, Some(now));
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.next_at
    }

    /// The next packet, if it is due.
    pub(super) fn next_due(&mut self, now: Time) -> Option<Vec<u8>> {
        let due = self.next_at.filter(|at| *at <= now)?;
        self.bytes[HEADERS..HEADERS + 8].copy_from_slice(&due.as_nanos().to_be_bytes());
        self.sent += 1;
        self.next_at = Some(due + self.every);
        Some(self.bytes.clone())
    }

    /// How many were sent until then.
    pub(super) fn sent_until(&self, then: Time) -> u64 {
        match then >= self.first_at && self.sent > 0 {
            true => {
                let intervals = then.since(self.first_at).as_nanos() / self.every.as_nanos().max(1);
                u64::try_from(intervals).unwrap_or(u64::MAX).saturating_add(1).min(self.sent)
            }
            false => 0,
        }
    }
}

/// What a packet is of, and when it was sent.
pub(super) fn received(packet: &[u8]) -> Option<(Part, Time)> {
    let port = u16::from_be_bytes(*packet.get(22..24)?.first_chunk()?);
    let part = *Part::ALL.get(usize::from(port.checked_sub(FIRST_PORT)?))?;
    let sent = u64::from_be_bytes(*packet.get(HEADERS..HEADERS + 8)?.first_chunk()?);
    Some((part, Time::from_nanos(sent)))
}
