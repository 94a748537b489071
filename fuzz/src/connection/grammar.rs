//! Payloads that a peer could write if it wanted to do harm: any frame, any number of times, with numbers near those
//! in use or far off.

use hawser_policy::Side;
use hawser_wire::frame::{
    AckFrequency, AckHeader, ConnectionClose, Crypto, Datagram, EcnCounts, MessageDelivery, NewConnectionId,
    ObservedAddress, PathStatus, PolicyMessage, Recovered, Repair, RepairCode, ResetStream, ResetStreamAt,
    RetireConnectionId, SourceRange, SourceRangeList, StopSending, Stream, StreamDirection, StreamSkip,
    TimestampLimits, write_ack, write_ack_with_timestamps,
};
use hawser_wire::{BufferTooShort, ConnectionId, Frame, StatelessResetToken, Writer, varint};

use hawser_sim::adversary::{Observer, Sent, Space};

use super::script::Script;

/// Room for the frames of one packet.
pub const MAX_PAYLOAD: usize = 1300;
/// Groups of frames in one packet.
const MAX_GROUPS: usize = 8;
/// Frames of a group.
const MAX_REPEAT: u64 = 64;

/// Frames for one packet of `by`; `None` at the end of the script.
pub fn payload(script: &mut Script<'_>, by: Side, observer: &Observer) -> Option<Vec<u8>> {
    let mut bytes = vec![0; MAX_PAYLOAD];
    let mut w = Writer::new(&mut bytes);
    for _ in 0..=script.below(MAX_GROUPS)? {
        let Some(group) = Group::read(script) else { break };
        if group.write_all(&mut w, observer.sent(by.peer())).is_err() {
            break;
        }
    }
    let length = w.position();
    bytes.truncate(length);
    Some(bytes)
}

/// Frames of one kind.
struct Group<'a> {
    kind: u8,
    repeat: u64,
    /// What is added to the first number from frame to frame.
    stride: u64,
    a: u64,
    b: u64,
    c: u64,
    raw: &'a [u8],
}

impl<'a> Group<'a> {
    fn read(script: &mut Script<'a>) -> Option<Self> {
        // Our own frames came last and have the last bytes, so that kept scripts mean what they meant.
        let kind = match script.byte()? {
            247..=248 => 35,
            249 => 36,
            250..=252 => 33,
            253..=255 => 34,
            other => other % 33,
        };
        if kind == 0 {
            let length = script.byte()?;
            let raw = script.bytes(usize::from(length))?;
            return Some(Group { kind, repeat: 1, stride: 0, a: 0, b: 0, c: 0, raw });
        }
        let shape = script.byte()?;
        let repeat = if shape & 0x40 == 0 { 1 } else { u64::from(shape & 0x3f) + 1 }.min(MAX_REPEAT);
        let stride = if shape & 0x80 == 0 { 1 } else { 4 };
        let (a, b, c) = (script.number()?, script.number()?, script.number()?);
        Some(Group { kind, repeat, stride, a, b, c, raw: &[] })
    }

    fn write_all(&self, w: &mut Writer<'_>, peer: &Sent) -> Result<(), BufferTooShort> {
        (0..self.repeat).try_for_each(|turn| {
            let a = self.a.saturating_add(turn * self.stride).min(varint::MAX);
            self.write(w, peer, a)
        })
    }

    fn write(&self, w: &mut Writer<'_>, peer: &Sent, a: u64) -> Result<(), BufferTooShort> {
        let Group { b, c, .. } = *self;
        match self.kind {
            0 => w.write_bytes(self.raw),
            1 => self.write_ack(w, peer, None, a),
            2 => self.write_ack(w, peer, Some(path(a)), b),
            3..=12 => self.stream_frame(a, b, c).encode(w),
            13 => Frame::NewConnectionId(NewConnectionId { path_id: None, ..new_cid(a, b, c) }).encode(w),
            14 => Frame::NewConnectionId(NewConnectionId { path_id: Some(path(b)), ..new_cid(a, c, b) })
                .encode(w),
            15 => {
                Frame::RetireConnectionId(RetireConnectionId { path_id: None, sequence_number: a }).encode(w)
            }
            16 => {
                Frame::RetireConnectionId(RetireConnectionId { path_id: Some(path(b)), sequence_number: a })
                    .encode(w)
            }
            17 => Frame::PathChallenge((a + c).to_be_bytes()).encode(w),
            18 => Frame::PathResponse(response(peer, a)).encode(w),
            35 => self.write_repair(w, a),
            _ => self.path_frame(a, b, c).encode(w),
        }
    }

    /// Acknowledges up to one of the peer's latest numbers, or up to any number.
    fn write_ack(
        &self,
        w: &mut Writer<'_>,
        peer: &Sent,
        path_id: Option<u32>,
        below: u64,
    ) -> Result<(), BufferTooShort> {
        let known = peer.numbers(Space::Path(path_id.unwrap_or(0))).next_back().unwrap_or(0);
        let largest = if below < 128 { known.saturating_sub(below) } else { below };
        let count = self.c % 64;
        let ranges = (0..=count).map_while(|n| {
            let end = largest.checked_sub(n * (self.stride + 2))?;
            Some(end.saturating_sub(self.c / 64 % 8)..=end)
        });
        let ecn = (self.c % 3 == 1).then_some(EcnCounts { ect0: self.b, ect1: self.a, ce: self.c });
        let header = AckHeader { path_id, delay: self.b, ecn };
        if self.c % 5 == 4 {
            let limits = TimestampLimits { exponent: (self.a % 21) as u8, max_count: 64 };
            let arrivals = (0..count)
                .map(|n| (largest.saturating_sub(n), self.b.saturating_sub(n.saturating_mul(self.a))));
            return write_ack_with_timestamps(w, &header, ranges, 64, limits, arrivals).map(drop);
        }
        write_ack(w, &header, ranges, 64).map(drop)
    }

    /// A repair symbol of a block with the number that grows, over ranges of one stream.
    fn write_repair(&self, w: &mut Writer<'_>, block: u64) -> Result<(), BufferTooShort> {
        let length = 1 + self.c % 400;
        let mut list = SourceRangeList::default();
        for n in 0..=self.b % 64 {
            let offset = n * length * (1 + self.b / 64 % 2);
            list.push(SourceRange { stream_id: self.c / 400 % 16, offset, length, fin: self.b % 11 == n });
        }
        let codes = [RepairCode::Xor, RepairCode::ReedSolomon, RepairCode::RandomLinear];
        let sources = list.encode();
        Frame::Repair(Repair {
            block,
            code: codes[(self.b / 128 % 3) as usize],
            first: self.b / 512 % 8,
            index: (block % 32) as u32,
            sources: sources.as_ranges(),
            symbol: filler(length),
        })
        .encode(w)
    }

    fn stream_frame(&self, a: u64, b: u64, c: u64) -> Frame<'static> {
        let data = filler(c);
        match self.kind {
            3 => Frame::ResetStream(ResetStream { stream_id: a, error_code: b, final_size: c }),
            4 => Frame::ResetStreamAt(ResetStreamAt {
                stream_id: a,
                error_code: 7,
                final_size: b.max(c),
                reliable_size: c,
            }),
            5 => Frame::StopSending(StopSending { stream_id: a, error_code: b }),
            // The number that grows is the stream's, or the offset.
            6 => Frame::Stream(Stream { stream_id: a, offset: fit(b, data), fin: c.is_multiple_of(7), data }),
            7 => Frame::Stream(Stream { stream_id: b, offset: fit(a, data), fin: c.is_multiple_of(7), data }),
            8 => Frame::MaxData(a),
            9 => Frame::MaxStreamData { stream_id: a, maximum: b },
            10 => Frame::MaxStreams { direction: direction(b), maximum: a.min(1 << 60) },
            11 => Frame::Crypto(Crypto { offset: fit(a, data), data }),
            _ => match b % 3 {
                0 => Frame::DataBlocked(a),
                1 => Frame::StreamDataBlocked { stream_id: a, limit: c },
                _ => Frame::StreamsBlocked { direction: direction(c), limit: a.min(1 << 60) },
            },
        }
    }

    fn path_frame(&self, a: u64, b: u64, c: u64) -> Frame<'static> {
        match self.kind {
            19 => Frame::PathAbandon { path_id: path(a), error_code: b },
            20 => Frame::PathStatus { path_id: path(a), sequence_number: b, status: status(c) },
            21 => Frame::MaxPathId(path(a)),
            22 => Frame::PathsBlocked(path(a)),
            23 => Frame::PathCidsBlocked { path_id: path(a), next_sequence_number: b },
            24 => Frame::Ping,
            25 => Frame::Padding(1 + (a % 64) as usize),
            26 => Frame::NewToken(filler(c.max(1))),
            27 => Frame::ConnectionClose(if b.is_multiple_of(2) {
                ConnectionClose::Transport { error_code: a, frame_type: b, reason: filler(c) }
            } else {
                ConnectionClose::Application { error_code: a, reason: filler(c) }
            }),
            28 => Frame::HandshakeDone,
            29 => Frame::Datagram(Datagram { data: filler(a) }),
            30 => Frame::AckFrequency(AckFrequency {
                sequence_number: a,
                ack_eliciting_threshold: b,
                requested_max_ack_delay: c,
                reordering_threshold: b % 8,
            }),
            31 => Frame::ImmediateAck,
            32 => Frame::ObservedAddress(ObservedAddress {
                sequence_number: a,
                address: std::net::SocketAddr::from(([192, 0, 2, b as u8], c as u16)),
            }),
            33 => Frame::PolicyMessage(PolicyMessage {
                feature: b % 8,
                delivery: [MessageDelivery::Latest, MessageDelivery::Reliable, MessageDelivery::WithAcks]
                    [(b / 8 % 3) as usize],
                path_id: (b / 32 % 2 == 1).then(|| path(c)),
                sequence_number: a,
                payload: filler(c),
            }),
            36 if c.is_multiple_of(4) => Frame::Protected,
            36 => Frame::Recovered(Recovered { block: a, first: b, bitmap: c.max(1) }),
            // The start grows: with a stride, many gaps.
            _ => Frame::StreamSkip(StreamSkip {
                stream_id: b,
                offset: a.min(varint::MAX - 1),
                length: c.clamp(1, varint::MAX - a.min(varint::MAX - 1)),
            }),
        }
    }
}

fn path(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn filler(length: u64) -> &'static [u8] {
    static DATA: [u8; 1200] = [0x5a; 1200];
    let length = usize::try_from(length).unwrap_or(usize::MAX) % (DATA.len() + 1);
    &DATA[..length]
}

/// An offset at which the data still ends within what a stream can have: the encoder takes no other.
fn fit(offset: u64, data: &[u8]) -> u64 {
    offset.min(varint::MAX - data.len() as u64)
}

fn direction(number: u64) -> StreamDirection {
    if number.is_multiple_of(2) { StreamDirection::Bidirectional } else { StreamDirection::Unidirectional }
}

fn status(number: u64) -> PathStatus {
    if number.is_multiple_of(2) { PathStatus::Available } else { PathStatus::Backup }
}

/// A connection id that says whose it is, or one that was given before.
fn new_cid(sequence_number: u64, retire_prior_to: u64, variant: u64) -> NewConnectionId {
    let bytes = (sequence_number ^ (variant << 32)).to_be_bytes();
    let mut token = [variant as u8; StatelessResetToken::LEN];
    token[..8].copy_from_slice(&bytes);
    NewConnectionId {
        path_id: None,
        sequence_number,
        retire_prior_to: retire_prior_to.min(sequence_number),
        connection_id: ConnectionId::new(&bytes).unwrap_or_default(),
        reset_token: StatelessResetToken(token),
    }
}

/// The peer's latest challenge but `back`, or something else.
fn response(peer: &Sent, back: u64) -> [u8; 8] {
    let known = usize::try_from(back).ok().and_then(|back| peer.challenges.iter().rev().nth(back));
    known.copied().unwrap_or(back.to_be_bytes())
}
