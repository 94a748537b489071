//! What passes the two ends of the link, as the runner's captures show it.

use std::net::SocketAddr;

use hawser_core::{Ecn, FourTuple};
use hawser_policy::Time;
use hawser_sim::{Node, Packet};
use hawser_wire::packet::{PacketType, PartialHeader};
use serde_json::Value;

use crate::link::{ErrorModel, Outcome};

/// Length of the connection ids of Hawser's endpoints.
const CID_LEN: usize = 8;

/// A datagram that left a host or came to it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    /// As its sender sees it.
    pub(crate) tuple: FourTuple,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) bytes: usize,
    pub(crate) packets: Vec<Header>,
}

impl Sent {
    fn new(at: Time, packet: &Packet) -> Self {
        let packets = headers(&packet.payload);
        Sent { at, tuple: packet.tuple, ecn: packet.ecn, bytes: packet.payload.len(), packets }
    }
}

/// What anybody can read of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: PacketType,
    /// Zero: a short header does not say.
    pub(crate) version: u32,
    pub(crate) destination: Vec<u8>,
    pub(crate) source: Vec<u8>,
    pub(crate) token: Vec<u8>,
}

/// A host behind a device that drops and damages what arrives, and a record of all that the host sends.
pub(crate) struct Edge<N> {
    pub(crate) node: N,
    model: ErrorModel,
    pub(crate) sent: Vec<Sent>,
    /// What the device let through.
    pub(crate) received: Vec<Sent>,
    /// Datagrams that the device dropped or damaged.
    pub(crate) harmed: u64,
}

impl<N> Edge<N> {
    pub(crate) fn new(node: N, model: ErrorModel) -> Self {
        Edge { node, model, sent: Vec::new(), received: Vec::new(), harmed: 0 }
    }

    /// All packets in the order in which they were sent, with their datagrams.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Sent, &Header)> {
        self.sent.iter().flat_map(|sent| sent.packets.iter().map(move |header| (sent, header)))
    }

    /// Those of one kind.
    pub(crate) fn of_kind(&self, kind: PacketType) -> impl Iterator<Item = (&Sent, &Header)> {
        self.packets().filter(move |(_, header)| header.kind == kind)
    }
}

impl<N: Node> Node for Edge<N> {
    fn handle_packet(&mut self, now: Time, mut packet: Packet) {
        let outcome = self.model.treat(now, &mut packet);
        self.harmed += u64::from(outcome != Outcome::Whole);
        if outcome != Outcome::Dropped {
            self.received.push(Sent::new(now, &packet));
            self.node.handle_packet(now, packet);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.node.poll_transmit(now)?;
        self.sent.push(Sent::new(now, &packet));
        Some(packet)
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.node.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node.handle_timeout(now);
    }
}

/// The packets of a datagram.
fn headers(mut datagram: &[u8]) -> Vec<Header> {
    let mut found = Vec::new();
    while !datagram.is_empty() {
        let Ok(partial) = PartialHeader::decode(datagram, CID_LEN) else { break };
        let version = match datagram[0] & 0x80 {
            0 => 0,
            _ => u32::from_be_bytes([datagram[1], datagram[2], datagram[3], datagram[4]]),
        };
        found.push(match &partial {
            PartialHeader::Protected(header) => Header {
                kind: header.packet_type,
                version,
                destination: header.destination_cid.as_bytes().to_vec(),
                source: header.source_cid.as_bytes().to_vec(),
                token: header.token(datagram).to_vec(),
            },
            PartialHeader::Retry(retry) => Header {
                kind: PacketType::Retry,
                version,
                destination: retry.destination_cid.as_bytes().to_vec(),
                source: retry.source_cid.as_bytes().to_vec(),
                token: retry.token.to_vec(),
            },
            PartialHeader::VersionNegotiation(_) | PartialHeader::UnknownVersion(_) => Header {
                kind: PacketType::VersionNegotiation,
                version,
                destination: Vec::new(),
                source: Vec::new(),
                token: Vec::new(),
            },
        });
        datagram = &datagram[partial.packet_len(datagram).min(datagram.len())..];
    }
    found
}

/// A datagram and one of its packets, opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) sent: &'a Sent,
    pub(crate) header: &'a Header,
    pub(crate) number: u64,
    /// When its sender had changed its keys so many times.
    pub(crate) key_phase: u64,
    frames: &'a [Value],
}

impl<'a> Opened<'a> {
    /// Frames of this type.
    pub(crate) fn frames(&self, name: &'static str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.frames.iter().filter(move |frame| frame["frame_type"] == name)
    }

    /// Where its sender sent it.
    pub(crate) fn remote(&self) -> SocketAddr {
        self.sent.tuple.remote
    }
}

/// Joins what a host sent with its trace, which has the frames: the trace of the only connection names the same packets in
/// the same order, or the test fails. What an endpoint sends on behalf of no connection is left out.
pub(crate) fn open<'a, N>(edge: &'a Edge<N>, records: &'a [Value]) -> Vec<Opened<'a>> {
    let mut key_phase = 0;
    let mut traced = records.iter().filter_map(|record| match record["name"].as_str()? {
        "quic:key_updated" => {
            key_phase = record["data"]["key_phase"].as_u64().unwrap_or(key_phase);
            None
        }
        "quic:packet_sent" => Some((key_phase, &record["data"])),
        _ => None,
    });
    let is_stateless = |kind| matches!(kind, PacketType::Retry | PacketType::VersionNegotiation);
    let packets = edge.packets().filter(|(_, header)| !is_stateless(header.kind));
    let opened = packets.map(|(sent, header)| {
        let (key_phase, data) = traced.next().expect("each packet is traced");
        assert_eq!(data["header"]["packet_type"], type_in_traces(header.kind), "the same packet");
        Opened {
            sent,
            header,
            number: data["header"]["packet_number"].as_u64().expect("a number"),
            key_phase,
            frames: data["frames"].as_array().map_or(&[], Vec::as_slice),
        }
    });
    opened.collect()
}

fn type_in_traces(kind: PacketType) -> &'static str {
    match kind {
        PacketType::Initial => "initial",
        PacketType::ZeroRtt => "0RTT",
        PacketType::Handshake => "handshake",
        PacketType::Retry => "retry",
        PacketType::VersionNegotiation => "version_negotiation",
        PacketType::OneRtt => "1RTT",
    }
}
