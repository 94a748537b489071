//! UDP traffic without a transport.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::BytesMut;
use hawser_core::FourTuple;
use hawser_policy::Time;
use hawser_scenario::Departures;

use super::meter::Meter;
use crate::{Node, Packet};

/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// Sends packets to a sink, at an even rate or at random.
pub(super) struct UdpSource {
    tuple: FourTuple,
    payload: usize,
    departures: Departures,
    pub(super) sent: u64,
}

impl UdpSource {
    /// Packets of `size` bytes with their IP header.
    pub(super) fn new(tuple: FourTuple, size: u32, departures: Departures) -> Self {
        let payload = (size as usize).saturating_sub(HEADERS).max(8);
        UdpSource { tuple, payload, departures, sent: 0 }
    }
}

impl Node for UdpSource {
    fn handle_packet(&mut self, _: Time, _: Packet) {}

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.departures.pop(now.as_nanos())?;
        self.sent += 1;
        let mut payload = BytesMut::zeroed(self.payload);
        payload[..8].copy_from_slice(&now.as_nanos().to_be_bytes());
        Some(Packet::new(self.tuple, None, payload))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.departures.next_at().map(Time::from_nanos)
    }

    fn handle_timeout(&mut self, _: Time) {}
}

/// Receives what sources send.
#[derive(Default)]
pub(super) struct UdpSink {
    /// By source.
    pub(super) meters: BTreeMap<SocketAddr, Meter>,
}

impl Node for UdpSink {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let meter = self.meters.entry(packet.tuple.local).or_default();
        meter.arrived(now, packet.payload.len() as u64);
        meter.completed += 1;
        if let Some(stamp) = packet.payload.first_chunk::<8>() {
            meter.delays.record(now.since(Time::from_nanos(u64::from_be_bytes(*stamp))), 1);
        }
    }

    fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        None
    }

    fn handle_timeout(&mut self, _: Time) {}
}
