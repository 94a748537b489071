//! Packets under way, read and written by somebody who has all keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Range, RangeInclusive};

use hawser_core::crypto::null::NullClient;
use hawser_core::crypto::{ClientFactory, PacketKey};
use hawser_policy::Side;
use hawser_wire::frame::{AckHeader, StreamDirection, write_ack};
use hawser_wire::packet::{LongHeader, LongPacketType, PlainHeader, ShortHeader};
use hawser_wire::{
    ConnectionId, Frame, FrameIter, PacketType, PartialHeader, StatelessResetToken, TruncatedPacketNumber,
    Version, Writer,
};

use super::tap::Tap;

const TAG: usize = 16;
/// All endpoints here issue connection ids of this length.
pub const CID_LENGTH: usize = 8;
/// Connection ids, tokens and challenges remembered, of each as many.
const REMEMBERED: usize = 64;
/// Ranges of an honest acknowledgement.
const MAX_ACK_RANGES: usize = 64;

/// A packet-number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Of Initial packets.
    Initial,
    /// Of Handshake packets.
    Handshake,
    /// Of 1-RTT packets on a path.
    Path(u32),
}

/// What a packet says before its frames.
#[derive(Clone, Debug)]
pub struct Header {
    /// Of long headers; a short one does not tell.
    pub version: Version,
    /// Its packet-number space.
    pub space: Space,
    /// Its packet number.
    pub number: u64,
    /// Bytes of the number that are sent, 1 to 4.
    pub number_length: usize,
    /// Whom it is for.
    pub destination: ConnectionId,
    /// Who sends it; of long headers only.
    pub source: ConnectionId,
    /// Of Initial packets only.
    pub token: Vec<u8>,
    /// The spin bit.
    pub spin: bool,
    /// The key phase bit.
    pub phase: bool,
}

/// A packet within a datagram.
#[derive(Debug)]
pub struct Packet {
    /// What it says before its frames.
    pub header: Header,
    /// Where in the datagram it is.
    pub at: Range<usize>,
    /// Its frames.
    pub payload: Range<usize>,
}

/// What one end has sent so far.
#[derive(Debug, Default)]
pub struct Sent {
    /// Numbers that left, by space.
    numbers: BTreeMap<Space, BTreeSet<u64>>,
    /// Connection ids to reach it by, and the path each belongs to.
    pub cids: VecDeque<(ConnectionId, u32)>,
    /// Its latest reset tokens.
    pub tokens: VecDeque<StatelessResetToken>,
    /// Its latest challenges.
    pub challenges: VecDeque<[u8; 8]>,
    /// Bidirectional streams that it has granted in MAX_STREAMS frames, in all.
    pub streams_granted: u64,
    /// The largest path id that it has granted in MAX_PATH_ID frames.
    pub path_id_granted: u32,
    /// Its key phase.
    phase: usize,
    /// In which its last long header was.
    version: Version,
}

impl Sent {
    /// Numbers of packets that left, in order.
    pub fn numbers(&self, space: Space) -> impl DoubleEndedIterator<Item = u64> {
        self.numbers.get(&space).into_iter().flatten().copied()
    }

    /// Spaces in which it has sent anything.
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        self.numbers.keys().copied()
    }

    fn remember_cid(&mut self, cid: ConnectionId, path: u32) {
        if !self.cids.iter().any(|(known, _)| *known == cid) {
            remember(&mut self.cids, (cid, path));
        }
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > REMEMBERED {
        list.pop_front();
    }
}

/// An acknowledgement of all that the peer of `by` has sent in 1-RTT packets, one frame for each path, as far as they fit
/// `room` bytes.
pub fn honest_acks(by: Side, observer: &Observer, room: usize) -> Vec<u8> {
    let mut bytes = vec![0; room];
    let mut w = Writer::new(&mut bytes);
    let sent = observer.sent(by.peer());
    for space in sent.spaces() {
        let Space::Path(path) = space else { continue };
        let header = AckHeader { path_id: (path > 0).then_some(path), ..AckHeader::default() };
        if write_ack(&mut w, &header, ranges(sent.numbers(space)), MAX_ACK_RANGES).is_err() {
            break;
        }
    }
    let length = w.position();
    bytes.truncate(length);
    bytes
}

/// Ranges from the largest number down, as many as an acknowledgement has.
fn ranges(numbers: impl DoubleEndedIterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for number in numbers.rev() {
        let is_full = ranges.len() == MAX_ACK_RANGES;
        match ranges.last_mut() {
            Some(last) if *last.start() == number + 1 => *last = number..=*last.end(),
            _ if is_full => break,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

/// Both ends' packets and keys.
#[derive(Debug)]
pub struct Observer {
    taps: [Tap; 2],
    sent: [Sent; 2],
}

impl Observer {
    /// Of two ends that have not sent anything.
    pub fn new(client: Tap, server: Tap) -> Self {
        Observer { taps: [client, server], sent: Default::default() }
    }

    /// What one end has sent.
    pub fn sent(&self, by: Side) -> &Sent {
        &self.sent[index(by)]
    }

    /// Takes note of a datagram that `by` sends; `visible` unless nobody who might use it sees its challenges.
    pub fn observe(&mut self, by: Side, datagram: &[u8], visible: bool) {
        for packet in self.packets(by, datagram) {
            let sent = &mut self.sent[index(by)];
            let header = &packet.header;
            sent.numbers.entry(header.space).or_default().insert(header.number);
            if let Space::Path(_) = header.space {
                sent.phase += usize::from(header.phase != (sent.phase % 2 == 1));
            } else {
                sent.remember_cid(header.source, 0);
                sent.version = header.version;
            }
            for frame in FrameIter::new(&datagram[packet.payload]).flatten() {
                match frame {
                    Frame::NewConnectionId(new) => {
                        sent.remember_cid(new.connection_id, new.path_id.unwrap_or(0));
                        remember(&mut sent.tokens, new.reset_token);
                    }
                    Frame::MaxStreams { direction: StreamDirection::Bidirectional, maximum } => {
                        sent.streams_granted = sent.streams_granted.max(maximum);
                    }
                    Frame::MaxPathId(maximum) => {
                        sent.path_id_granted = sent.path_id_granted.max(maximum);
                    }
                    Frame::PathChallenge(data) if visible => {
                        remember(&mut sent.challenges, data);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The packets of a datagram, as far as they can be told apart.
    pub fn packets(&self, by: Side, datagram: &[u8]) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut start = 0;
        while let Ok(PartialHeader::Protected(header)) = PartialHeader::decode(&datagram[start..], CID_LENGTH)
        {
            let bytes = &datagram[start..start + header.packet_len];
            let Some(plain) = PlainHeader::decode(bytes, &header) else { break };
            let space = match header.packet_type {
                PacketType::Initial => Some(Space::Initial),
                PacketType::Handshake => Some(Space::Handshake),
                _ => self.path_of(by.peer(), &header.destination_cid).map(Space::Path),
            };
            if let (Some(space), Some(end)) = (space, header.packet_len.checked_sub(TAG))
                && plain.payload_offset <= end
            {
                let largest = self.sent(by).numbers(space).next_back();
                packets.push(Packet {
                    header: Header {
                        version: header.version.unwrap_or_default(),
                        space,
                        number: plain.packet_number.expand(largest),
                        number_length: plain.packet_number.byte_len(),
                        destination: header.destination_cid,
                        source: header.source_cid,
                        token: header.token(bytes).to_vec(),
                        spin: plain.spin,
                        phase: plain.key_phase,
                    },
                    at: start..start + header.packet_len,
                    payload: start + plain.payload_offset..start + end,
                });
            }
            start += header.packet_len;
        }
        packets
    }

    fn path_of(&self, receiver: Side, cid: &ConnectionId) -> Option<u32> {
        self.sent(receiver).cids.iter().find(|(known, _)| known == cid).map(|(_, path)| *path)
    }

    /// The header of a packet that `by` might send next, so many numbers ahead, to one of the peer's connection ids.
    pub fn next_header(&self, by: Side, level: usize, cid: usize, ahead: u64) -> Option<Header> {
        let cids = &self.sent(by.peer()).cids;
        let (destination, path) = match cids.len() {
            0 => (self.taps[0].secrets().initial, 0),
            count => cids[cid % count],
        };
        let space = match level {
            0 => Space::Initial,
            1 => Space::Handshake,
            _ => Space::Path(path),
        };
        self.header(by, space, destination, ahead)
    }

    /// The header of a 1-RTT packet that `by` might send next on a path, so many numbers ahead, to the newest of the peer's
    /// connection ids for it; `None` if it has none.
    pub fn next_on_path(&self, by: Side, path: u32, ahead: u64) -> Option<Header> {
        let mut newest_first = self.sent(by.peer()).cids.iter().rev();
        let (destination, _) = newest_first.find(|(_, known)| *known == path)?;
        self.header(by, Space::Path(path), *destination, ahead)
    }

    fn header(&self, by: Side, space: Space, destination: ConnectionId, ahead: u64) -> Option<Header> {
        let sent = self.sent(by);
        let number = sent.numbers(space).next_back().map_or(0, |largest| largest + 1).checked_add(ahead)?;
        let source = sent.cids.front().map_or(ConnectionId::EMPTY, |(cid, _)| *cid);
        Some(Header {
            version: sent.version,
            space,
            number: number.min(hawser_wire::varint::MAX),
            number_length: 4,
            destination,
            source,
            token: Vec::new(),
            spin: false,
            phase: sent.phase % 2 == 1,
        })
    }

    /// A sealed packet, with the keys that its receiver opens it with; `None` while there are none.
    pub fn write(&self, by: Side, header: &Header, frames: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; frames.len() + header.token.len() + 128];
        let mut w = Writer::new(&mut bytes);
        let number = TruncatedPacketNumber::with_len(header.number, header.number_length);
        let (destination_cid, source_cid) = (header.destination, header.source);
        let packet_type = match header.space {
            Space::Initial => Some(LongPacketType::Initial { token: &header.token }),
            Space::Handshake => Some(LongPacketType::Handshake),
            Space::Path(_) => None,
        };
        let encoded = match packet_type {
            Some(packet_type) => {
                LongHeader { version: header.version, packet_type, destination_cid, source_cid }
                    .encode(&mut w, number)
            }
            None => ShortHeader { destination_cid, spin: header.spin, key_phase: header.phase }
                .encode(&mut w, number),
        }
        .ok()?;
        w.write_bytes(frames).ok()?;
        w.write_zeros(encoded.padding_for_sample(frames.len(), TAG)).ok()?;
        encoded.finish(&mut w, TAG).ok()?;
        let length = w.position() + TAG;
        bytes.truncate(length);
        self.with_key(by, header, |key, path| {
            key.seal(path, header.number, &mut bytes, encoded.payload_offset);
        })?;
        Some(bytes)
    }

    fn with_key(&self, by: Side, header: &Header, seal: impl FnOnce(&dyn PacketKey, u32)) -> Option<()> {
        if header.space == Space::Initial {
            let destination = self.taps[0].secrets().initial;
            let keys = NullClient::default().initial_keys(header.version, &destination, by);
            seal(&*keys.packet.local, 0);
            return Some(());
        }
        let secrets = self.taps[index(by.peer())].secrets();
        match header.space {
            Space::Path(path) => {
                // The phase is known by its lowest bit only: one ahead is the peer's first packet of a new phase.
                let phase = self.sent(by).phase;
                let phase = phase + usize::from(header.phase != (phase % 2 == 1));
                seal(&*secrets.one_rtt.get(phase)?.remote, path);
            }
            _ => seal(&*secrets.handshake.as_ref()?.packet.remote, 0),
        }
        Some(())
    }

    /// A packet was made up: what `by` sends from now on comes after it.
    pub fn note_forged(&mut self, by: Side, header: &Header) {
        let sent = &mut self.sent[index(by)];
        sent.numbers.entry(header.space).or_default().insert(header.number);
        if let Space::Path(_) = header.space {
            sent.phase += usize::from(header.phase != (sent.phase % 2 == 1));
        }
    }
}

fn index(side: Side) -> usize {
    usize::from(side.is_server())
}
