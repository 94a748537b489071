//! The named attacks of a peer that has made a connection.

use hawser_core::Code;
use hawser_policy::Side;
use hawser_wire::frame::{
    AckFrequency, AckHeader, Crypto, Datagram, MessageDelivery, NewConnectionId, ObservedAddress, PathStatus,
    PolicyMessage, Repair, RepairCode, ResetStream, SourceRange, SourceRangeList, StopSending, Stream,
    StreamDirection, StreamSkip, write_ack,
};
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer, varint};

use super::peer::{Conduct, Pen};

/// A named attack of a peer.
#[derive(Clone, Copy, Debug)]
pub struct PeerAttack {
    /// Short, unique.
    pub name: &'static str,
    /// What the peer does, in one line.
    pub about: &'static str,
    /// Who attacks.
    pub by: Side,
    /// How it sends.
    pub conduct: Conduct,
    /// With which code the victim closes the connection; `None`: it goes on.
    pub ends: Option<Code>,
    /// Bytes of the answer to each request, if the victim is a server that answers.
    pub response: u64,
    /// Memory that it may have the victim hold whatever it sends, in bytes: the caps of what it fills.
    pub holds: u64,
}

const fn of(name: &'static str, about: &'static str, packets: u64, frames: fn(&mut Pen<'_>)) -> PeerAttack {
    PeerAttack {
        name,
        about,
        by: Side::Client,
        conduct: Conduct::of(packets, frames),
        ends: None,
        response: 0,
        holds: 256 << 10,
    }
}

/// All of them.
pub const PEER_ATTACKS: &[PeerAttack] = &[
    PeerAttack {
        ends: Some(Code::CRYPTO_BUFFER_EXCEEDED),
        ..of("crypto-gaps", "CRYPTO data of one byte each, with gaps, at 1-RTT level", 400, |pen| {
            pen.fill(|n| Frame::Crypto(Crypto { offset: 1 + n * 2, data: b"x" }));
        })
    },
    PeerAttack {
        holds: RANGES,
        ..of("stream-pieces", "single bytes of one stream with gaps between them", 400, |pen| {
            pen.fill(|n| stream(0, 1 + n * 2 % WINDOW, b"x"));
        })
    },
    PeerAttack {
        holds: RANGES,
        ..of(
            "stream-pieces-of-many",
            "single bytes with gaps between them on each of 100 streams",
            400,
            |pen| {
                pen.fill(|n| stream(n % STREAMS * 4, 1 + n / STREAMS * 2 % 500, b"x"));
            },
        )
    },
    of("empty-stream-frames", "STREAM frames without data", 400, |pen| {
        pen.fill(|n| stream(n % STREAMS * 4, 0, b""));
    }),
    PeerAttack {
        conduct: Conduct { acknowledges: true, ..Conduct::of(1_000, rapid_reset) },
        ..of("rapid-reset", "streams opened and reset at once, as fast as they are granted", 0, rapid_reset)
    },
    of("stop-and-go", "STOP_SENDING and credit for each of 100 streams, again and again", 400, |pen| {
        pen.fill(|n| match n % 2 {
            0 => Frame::StopSending(StopSending { stream_id: n / 2 % STREAMS * 4, error_code: n }),
            _ => Frame::MaxStreamData { stream_id: n / 2 % STREAMS * 4, maximum: n },
        });
    }),
    of("blocked", "DATA_BLOCKED, STREAM_DATA_BLOCKED and STREAMS_BLOCKED in turns", 400, |pen| {
        pen.fill(|n| match n % 3 {
            0 => Frame::DataBlocked(n),
            1 => Frame::StreamDataBlocked { stream_id: n % STREAMS * 4, limit: n },
            _ => Frame::StreamsBlocked { direction: StreamDirection::Bidirectional, limit: n },
        });
    }),
    PeerAttack {
        response: 1 << 20,
        ..of("stalled-reader", "100 requests, and nothing is acknowledged", 100, |pen| {
            let id = pen.turn % STREAMS * 4;
            pen.write(&Frame::Stream(Stream { stream_id: id, offset: 0, fin: true, data: b"request" }));
        })
    },
    PeerAttack {
        ends: Some(Code::CONNECTION_ID_LIMIT_ERROR),
        ..of(
            "connection-ids",
            "NEW_CONNECTION_ID that retire all before, of which nothing is acknowledged",
            400,
            |pen| {
                pen.fill(|n| new_connection_id(None, 10 + n));
            },
        )
    },
    PeerAttack {
        ends: Some(Code::CONNECTION_ID_LIMIT_ERROR),
        ..of("path-connection-ids", "the same for each of eight paths", 400, |pen| {
            pen.fill(|n| new_connection_id(Some((n % 8) as u32), 10 + n / 8));
        })
    },
    of("path-challenges", "PATH_CHALLENGE frames of which no answer is acknowledged", 400, |pen| {
        pen.fill(|n| Frame::PathChallenge(n.to_be_bytes()));
    }),
    of("path-responses", "PATH_RESPONSE frames that nobody asked for", 400, |pen| {
        pen.fill(|n| Frame::PathResponse(n.to_be_bytes()));
    }),
    of("path-frames", "status, limits and wants of paths, most of which do not exist", 400, |pen| {
        pen.fill(|n| match n % 4 {
            0 => {
                let status = if n % 8 == 0 { PathStatus::Available } else { PathStatus::Backup };
                Frame::PathStatus { path_id: (n / 8 % 8) as u32, sequence_number: n, status }
            }
            1 => Frame::MaxPathId((8 + n) as u32),
            2 => Frame::PathsBlocked(7),
            _ => Frame::PathCidsBlocked { path_id: (n / 4 % 8) as u32, next_sequence_number: 0 },
        });
    }),
    PeerAttack {
        conduct: Conduct { acknowledges: true, ..Conduct::of(1_000, path_churn) },
        ..of("path-churn", "paths abandoned unused, as fast as their ids are granted", 0, path_churn)
    },
    PeerAttack {
        conduct: Conduct { ports: 5_000, ..Conduct::of(2_000, ping) },
        ..of("moving-ports", "each packet from another port, as if a NAT forgot", 0, ping)
    },
    PeerAttack {
        conduct: Conduct { paths: 8, ports: 5_000, ..Conduct::of(2_000, ping) },
        ..of("moving-paths", "the same on eight paths in turns", 0, ping)
    },
    of("pings", "a PING in each packet, and nothing is acknowledged", 2_000, ping),
    PeerAttack {
        conduct: Conduct { skips: 1, ..Conduct::of(2_000, ping) },
        ..of("number-gaps", "every second packet number is left out", 0, ping)
    },
    of("acknowledged-ranges", "64 ranges in each ACK frame, of which most say nothing new", 400, |pen| {
        write_ack_ranges(pen);
    }),
    PeerAttack {
        ends: Some(Code::PROTOCOL_VIOLATION),
        ..of("optimistic-ack", "an acknowledgement of packets that were not sent", 10, |pen| {
            let mut bytes = [0; 64];
            let mut writer = Writer::new(&mut bytes);
            let header = AckHeader { path_id: Some(0), ..AckHeader::default() };
            let largest = pen.turn + 1_000_000;
            if write_ack(&mut writer, &header, [largest - 10..=largest], 64).is_ok() {
                pen.raw(writer.written());
            }
        })
    },
    PeerAttack {
        conduct: Conduct { updates_keys: true, ..Conduct::of(400, ping) },
        ..of("key-updates", "a new key phase with each packet, as far as there are keys", 0, ping)
    },
    of("small-datagrams", "DATAGRAM frames of a byte that nobody reads", 400, |pen| {
        pen.fill(|_| Frame::Datagram(Datagram { data: b"x" }));
    }),
    of("large-datagrams", "DATAGRAM frames of 1100 bytes that nobody reads", 400, |pen| {
        pen.fill(|_| Frame::Datagram(Datagram { data: &FILLER[..1_100] }));
    }),
    of("policy-messages", "messages to policies: of each feature and path", 400, |pen| {
        pen.fill(|n| message(n, MessageDelivery::Latest, n));
    }),
    PeerAttack {
        ends: Some(Code::PROTOCOL_VIOLATION),
        ..of("policy-messages-ahead", "reliable messages to policies that wait for the first", 400, |pen| {
            pen.fill(|n| message(n, MessageDelivery::Reliable, 1 + n / 5));
        })
    },
    of("repair-symbols", "repair symbols over 64 ranges each that never bring anything back", 400, repair),
    PeerAttack {
        holds: 1 << 20,
        ..of("given-up-ranges", "STREAM_SKIP of every second byte", 400, |pen| {
            pen.fill(|n| {
                Frame::StreamSkip(StreamSkip { stream_id: 0, offset: 1 + n * 2 % WINDOW, length: 1 })
            });
        })
    },
    of("ack-frequency", "another ACK_FREQUENCY and IMMEDIATE_ACK after each other", 400, |pen| {
        pen.fill(|n| match n % 2 {
            0 => Frame::ImmediateAck,
            _ => Frame::AckFrequency(AckFrequency {
                sequence_number: n,
                ack_eliciting_threshold: n % 5,
                requested_max_ack_delay: 25_000,
                reordering_threshold: n % 4,
            }),
        });
    }),
    PeerAttack {
        by: Side::Server,
        ..of("address-tokens", "NEW_TOKEN frames of 1000 bytes", 400, |pen| {
            let mut token = [7; 1_000];
            token[..8].copy_from_slice(&pen.turn.to_be_bytes());
            pen.write(&Frame::NewToken(&token));
        })
    },
    PeerAttack {
        by: Side::Server,
        ends: Some(Code::PROTOCOL_VIOLATION),
        ..of("observed-addresses", "OBSERVED_ADDRESS frames that nobody asked for", 400, |pen| {
            pen.fill(|n| {
                Frame::ObservedAddress(ObservedAddress {
                    sequence_number: n,
                    address: ([192, 0, 2, n as u8], (n >> 8) as u16).into(),
                })
            });
        })
    },
    PeerAttack {
        by: Side::Server,
        holds: RANGES,
        ..of("server-streams", "a server that opens all streams with a byte beyond a gap", 400, |pen| {
            pen.fill(|n| stream(n % STREAMS * 4 + 1, 1 + n / STREAMS * 2 % 500, b"x"));
        })
    },
];

/// Bytes that a victim lets a peer send on a stream.
pub(super) const WINDOW: u64 = 60_000;
/// Streams that a victim lets a peer have open.
pub(super) const STREAMS: u64 = 100;

/// 16,384 ranges with what it takes to find one's way in them: `MAX_DISJOINT_RANGES` of the core.
const RANGES: u64 = 4 << 20;

static FILLER: [u8; 1_200] = [0x5a; 1_200];

fn message(n: u64, delivery: MessageDelivery, sequence_number: u64) -> Frame<'static> {
    let path_id = (delivery == MessageDelivery::Latest && n / 8 % 2 == 1).then_some((n / 16 % 8) as u32);
    Frame::PolicyMessage(PolicyMessage {
        // Those of the codepoints 3 and 4 have frames of their own, and no messages.
        feature: [1, 2, 5, 6, 7][(n % 5) as usize],
        delivery,
        path_id,
        sequence_number,
        payload: &FILLER[..4],
    })
}

fn stream(stream_id: u64, offset: u64, data: &'static [u8]) -> Frame<'static> {
    Frame::Stream(Stream { stream_id, offset, fin: false, data })
}

fn ping(pen: &mut Pen<'_>) {
    pen.write(&Frame::Ping);
}

fn rapid_reset(pen: &mut Pen<'_>) {
    let granted = pen.victim.streams_granted.max(STREAMS);
    while pen.count < granted {
        let stream_id = pen.count * 4;
        let reset = ResetStream { stream_id, error_code: 0, final_size: 0 };
        if !pen.write(&Frame::ResetStream(reset)) {
            break;
        }
    }
    pen.raw(&[1]);
}

/// Abandons each path that it may open, as soon as its id is granted: seven from the beginning.
fn path_churn(pen: &mut Pen<'_>) {
    let granted = u64::from(pen.victim.path_id_granted.max(7));
    while pen.count < granted {
        let path_id = (pen.count + 1) as u32;
        if !pen.write(&Frame::PathAbandon { path_id, error_code: 0 }) {
            break;
        }
    }
    pen.raw(&[1]);
}

fn write_ack_ranges(pen: &mut Pen<'_>) {
    let mut bytes = [0; 1_100];
    let mut writer = Writer::new(&mut bytes);
    let path_zero = AckHeader { path_id: Some(0), ..AckHeader::default() };
    let numbers: Vec<u64> = pen.victim.numbers(super::Space::Path(0)).rev().collect();
    let ranges = numbers.iter().step_by(2).take(64).map(|number| *number..=*number);
    while write_ack(&mut writer, &path_zero, ranges.clone(), 64).is_ok() && writer.remaining() > 300 {}
    pen.raw(writer.written());
    pen.raw(&[1]);
}

fn repair(pen: &mut Pen<'_>) {
    let mut list = SourceRangeList::default();
    for n in 0..64 {
        let (stream_id, offset) = (n % STREAMS * 4, 1 + n * 150 % 400);
        list.push(SourceRange { stream_id, offset, length: 100, fin: false });
    }
    let sources = list.encode();
    pen.write(&Frame::Repair(Repair {
        block: pen.turn,
        code: RepairCode::ReedSolomon,
        first: 0,
        index: 0,
        sources: sources.as_ranges(),
        symbol: &FILLER[..100],
    }));
}

/// A connection id that retires all before it.
fn new_connection_id(path_id: Option<u32>, sequence_number: u64) -> Frame<'static> {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&(sequence_number + 1).to_be_bytes());
    bytes[8..].copy_from_slice(&path_id.unwrap_or(u32::MAX).to_be_bytes());
    let mut token = [9; StatelessResetToken::LEN];
    token[..12].copy_from_slice(&bytes);
    Frame::NewConnectionId(NewConnectionId {
        path_id,
        sequence_number: sequence_number.min(varint::MAX),
        retire_prior_to: sequence_number,
        connection_id: ConnectionId::new(&bytes).unwrap_or_default(),
        reset_token: StatelessResetToken(token),
    })
}
