use std::net::{IpAddr, SocketAddr};

use bytes::BytesMut;
use hawser_core::{Ecn, FourTuple};
use hawser_link::{Frame, flip_bit, mix, prefetch_bytes};
use hawser_policy::Time;

use crate::trace_hash::fingerprint;

/// A UDP datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Addresses as the sender sees them: `local` is the source.
    pub tuple: FourTuple,
    /// The ECN field.
    pub ecn: Option<Ecn>,
    /// The UDP payload.
    pub payload: BytesMut,
    /// What its sender calls it, to follow it through the network; copies share it. Zero: nobody follows it.
    pub label: u64,
    /// Of the payload as it is now, once the packet is on its way; for the trace hash.
    pub(crate) fingerprint: u64,
}

impl Packet {
    /// A packet that nobody follows.
    pub fn new(tuple: FourTuple, ecn: Option<Ecn>, payload: BytesMut) -> Self {
        Packet { tuple, ecn, payload, label: 0, fingerprint: 0 }
    }

    /// Bytes on the link: the payload with UDP and IP headers.
    pub fn ip_length(&self) -> u32 {
        let headers = if self.tuple.remote.is_ipv4() { 28 } else { 48 };
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX).saturating_add(headers)
    }
}

impl Frame for Packet {
    fn is_ecn_capable(&self) -> bool {
        self.ecn.is_some()
    }

    fn mark_congestion_experienced(&mut self) {
        self.ecn = Some(Ecn::Ce);
    }

    fn flow(&self) -> u64 {
        mix(address_hash(self.tuple.local)) ^ address_hash(self.tuple.remote)
    }

    fn corrupt(&mut self, position: u64) {
        flip_bit(&mut self.payload, position);
        self.fingerprint = fingerprint(&self.payload);
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn prefetch(&self, _others: usize) {
        prefetch_bytes(&self.payload);
    }
}

fn address_hash(address: SocketAddr) -> u64 {
    let ip = match address.ip() {
        IpAddr::V4(ip) => u64::from(ip.to_bits()),
        IpAddr::V6(ip) => mix(ip.to_bits() as u64) ^ (ip.to_bits() >> 64) as u64,
    };
    mix(ip ^ u64::from(address.port()).rotate_right(16))
}

/// Something that sends and receives datagrams and owns no clock.
pub trait Node {
    /// A datagram arrived. `packet.tuple.remote` is this node's address.
    fn handle_packet(&mut self, now: Time, packet: Packet);

    /// The next datagram to send; called until it returns `None`.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;

    /// When [`handle_timeout`](Node::handle_timeout) should be called.
    fn poll_timeout(&mut self) -> Option<Time>;

    /// The time asked for has come.
    fn handle_timeout(&mut self, now: Time);
}
