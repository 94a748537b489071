//! Packets full of one kind of frame in its smallest form, from a client that writes them itself.

use std::time::Duration;

use hawser::TransportConfig;
use hawser::policy::{FeatureId, FeatureSet};
use hawser_wire::frame::{
    Ack, AckFrequency, AckRanges, Crypto, Datagram, EcnCounts, MessageDelivery, NewConnectionId, PathStatus,
    PolicyMessage, Repair, RepairCode, ResetStream, RetireConnectionId, SourceRange, SourceRangeList,
    StopSending, Stream, StreamDirection, StreamSkip,
};
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer};

use super::Error;
use super::flood::Flood;
use super::form::{FORM, Form, H3, SERVE, Siege};
use super::raw::Raw;

/// Bytes of frames in a packet.
const ROOM: usize = 1_150;
/// Packets of each kind.
const PACKETS: u64 = 500;
/// What a packet may cost, in microseconds of CPU.
const MOST: f64 = 100.0;

/// Writes the frame of this number; whether it fits.
type Kind = fn(u64, &mut Writer<'_>) -> bool;

fn put(w: &mut Writer<'_>, frame: Frame<'_>) -> bool {
    frame.encoded_len() <= w.remaining() && frame.encode(w).is_ok()
}

fn stream(w: &mut Writer<'_>, stream_id: u64, offset: u64) -> bool {
    put(w, Frame::Stream(Stream { stream_id, offset, fin: false, data: b"x" }))
}

fn ack(w: &mut Writer<'_>, path_id: Option<u32>, ecn: Option<EcnCounts>) -> bool {
    let Some(ranges) = AckRanges::single(0..=0) else { return false };
    put(w, Frame::Ack(Ack { path_id, delay: 0, ranges, ecn, receive_timestamps: None }))
}

fn skip(w: &mut Writer<'_>, offset: u64) -> bool {
    put(w, Frame::StreamSkip(StreamSkip { stream_id: 6, offset, length: 1 }))
}

const UNI: StreamDirection = StreamDirection::Unidirectional;

/// Those that end the connection are here as well: what comes behind them costs something, too.
const KINDS: &[(&str, Kind)] = &[
    ("PADDING", |_, w| put(w, Frame::Padding(1))),
    ("PING", |_, w| put(w, Frame::Ping)),
    ("ACK", |_, w| ack(w, None, None)),
    ("ACK with ECN", |index, w| ack(w, None, Some(EcnCounts { ect0: index, ect1: 0, ce: 0 }))),
    ("PATH_ACK", |_, w| ack(w, Some(0), None)),
    ("RESET_STREAM", |_, w| {
        put(w, Frame::ResetStream(ResetStream { stream_id: 14, error_code: 0, final_size: 0 }))
    }),
    ("STOP_SENDING", |_, w| put(w, Frame::StopSending(StopSending { stream_id: 0, error_code: 0 }))),
    ("CRYPTO with holes", |index, w| {
        put(w, Frame::Crypto(Crypto { offset: 2_000 + 2 * (index % 50), data: b"x" }))
    }),
    ("STREAM in order", |index, w| stream(w, 2, index)),
    ("STREAM with holes", |index, w| stream(w, 4, 2 * (index % 15_000) + 1)),
    ("STREAM backwards", |index, w| stream(w, 4, 40_000 - 2 * (index % 15_000))),
    ("STREAM on many streams", |index, w| stream(w, 4 * (index % 90), 1 + index / 90)),
    ("MAX_DATA", |index, w| put(w, Frame::MaxData((1 << 30) + index))),
    ("MAX_STREAM_DATA", |index, w| put(w, Frame::MaxStreamData { stream_id: 0, maximum: (1 << 30) + index })),
    ("MAX_STREAMS", |index, w| put(w, Frame::MaxStreams { direction: UNI, maximum: 200 + index })),
    ("DATA_BLOCKED", |_, w| put(w, Frame::DataBlocked(5))),
    ("STREAM_DATA_BLOCKED", |_, w| put(w, Frame::StreamDataBlocked { stream_id: 0, limit: 5 })),
    ("STREAMS_BLOCKED", |_, w| put(w, Frame::StreamsBlocked { direction: UNI, limit: 5 })),
    ("NEW_CONNECTION_ID again and again", |_, w| put(w, new_connection_id(1, 0))),
    ("NEW_CONNECTION_ID that retires all before it", |index, w| {
        put(w, new_connection_id(8 + index, 8 + index))
    }),
    ("RETIRE_CONNECTION_ID of one that is gone", |_, w| {
        put(w, Frame::RetireConnectionId(RetireConnectionId { path_id: None, sequence_number: 0 }))
    }),
    ("PATH_RETIRE_CONNECTION_ID", |_, w| {
        put(w, Frame::RetireConnectionId(RetireConnectionId { path_id: Some(1), sequence_number: 0 }))
    }),
    ("PATH_CHALLENGE", |index, w| put(w, Frame::PathChallenge(index.to_be_bytes()))),
    ("PATH_RESPONSE", |index, w| put(w, Frame::PathResponse(index.to_be_bytes()))),
    ("DATAGRAM", |_, w| put(w, Frame::Datagram(Datagram { data: b"" }))),
    ("ACK_FREQUENCY", |index, w| {
        put(
            w,
            Frame::AckFrequency(AckFrequency {
                sequence_number: index,
                ack_eliciting_threshold: 1,
                requested_max_ack_delay: 20_000,
                reordering_threshold: 1,
            }),
        )
    }),
    ("IMMEDIATE_ACK", |_, w| put(w, Frame::ImmediateAck)),
    ("PATH_ABANDON", |index, w| {
        put(w, Frame::PathAbandon { path_id: 1 + (index % 7) as u32, error_code: 0 })
    }),
    ("PATH_STATUS", |index, w| {
        let status = if index.is_multiple_of(2) { PathStatus::Available } else { PathStatus::Backup };
        put(w, Frame::PathStatus { path_id: 1 + (index % 3) as u32, sequence_number: index + 1, status })
    }),
    ("MAX_PATH_ID", |index, w| put(w, Frame::MaxPathId(8 + index as u32))),
    ("PATHS_BLOCKED", |_, w| put(w, Frame::PathsBlocked(3))),
    ("PATH_CIDS_BLOCKED", |_, w| put(w, Frame::PathCidsBlocked { path_id: 1, next_sequence_number: 0 })),
    ("POLICY_MESSAGE", |index, w| {
        put(
            w,
            Frame::PolicyMessage(PolicyMessage {
                feature: SCHEDULER_REQUEST,
                delivery: MessageDelivery::Latest,
                path_id: None,
                sequence_number: index,
                payload: b"abcd",
            }),
        )
    }),
    ("STREAM_SKIP", |index, w| skip(w, 2 * index + 1)),
    ("STREAM_SKIP from both ends to the middle", |index, w| {
        skip(w, if index.is_multiple_of(2) { index + 1 } else { 1_000_001 - index })
    }),
    ("REPAIR that nobody asked for", |index, w| repair(index, w)),
];

/// The feature whose messages a server of `KIND_ARGUMENTS` takes.
const SCHEDULER_REQUEST: u64 = 9;
const KIND_ARGUMENTS: &[&str] = &["serve", "FOLDER", "--allow-scheduler", "minrtt"];
/// A server that takes repair symbols, which is not the default.
const REPAIR_ARGUMENTS: &[&str] = &["serve", "FOLDER", "--protection", "receive"];

fn new_connection_id(sequence_number: u64, retire_prior_to: u64) -> Frame<'static> {
    Frame::NewConnectionId(NewConnectionId {
        path_id: None,
        sequence_number,
        retire_prior_to,
        connection_id: ConnectionId::new(&sequence_number.to_be_bytes()).unwrap_or_default(),
        reset_token: StatelessResetToken([7; 16]),
    })
}

/// A symbol of a byte for 64 bytes of a stream.
fn repair(index: u64, w: &mut Writer<'_>) -> bool {
    let mut sources = SourceRangeList::default();
    for offset in 0..64 {
        sources.push(SourceRange { stream_id: 2, offset, length: 1, fin: false });
    }
    let sources = sources.encode();
    put(
        w,
        Frame::Repair(Repair {
            block: 1,
            code: RepairCode::ReedSolomon,
            first: 0,
            index: (index % 32) as u32,
            sources: sources.as_ranges(),
            symbol: b"x",
        }),
    )
}

/// What offers the server all that it may take.
fn transport() -> TransportConfig {
    let features = [1, 2, 5, 6, 7, 8, SCHEDULER_REQUEST, 10].map(FeatureId);
    hawser::default_transport().with(|transport| {
        transport.features = features.into_iter().fold(FeatureSet::NONE, FeatureSet::with);
        transport.repair_buffer = Some(1 << 20);
    })
}

/// A packet full of such frames, from the `index`-th on.
fn packet(kind: Kind, index: &mut u64) -> Vec<u8> {
    let mut bytes = vec![0; ROOM];
    let mut w = Writer::new(&mut bytes);
    while kind(*index, &mut w) {
        *index += 1;
    }
    w.written().to_vec()
}

/// Sends packets of a kind. What each costs the server, in microseconds.
fn cost(siege: &mut Siege<'_>, raw: &mut Raw, kind: Kind) -> Result<f64, Error> {
    let server = siege.server;
    let (before, mut index) = (server.settled()?, 0);
    for n in 0..PACKETS {
        let bytes = raw.send(&packet(kind, &mut index))?;
        siege.count(bytes);
        if n % 8 == 7 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    Ok((server.settled()? - before).as_secs_f64() * 1e6 / PACKETS as f64)
}

/// Each kind on a connection of its own.
fn kinds(siege: &mut Siege<'_>) -> Result<(), Error> {
    let mut most = (0.0, "");
    for (name, kind) in KINDS {
        let mut raw = Raw::connect(siege.server, H3, &transport())?;
        let micros = cost(siege, &mut raw, *kind)?;
        siege.expect(micros <= MOST, || format!("{name}: {micros:.0} µs"));
        if micros > most.0 {
            most = (micros, *name);
        }
    }
    siege.found = Some(format!("{} kinds, at most {:.0} µs: {}", KINDS.len(), most.0, most.1));
    Ok(())
}

/// Symbols for half of a block that does not come, and then the same ones again and again, while victims ask as well.
fn repairs(siege: &mut Siege<'_>) -> Result<(), Error> {
    let mut raw = Raw::connect(siege.server, H3, &transport())?;
    let protected: Kind = |index, w| index == 0 && put(w, Frame::Protected);
    // Every other byte, so that the stream is never read.
    let holes: Kind = |index, w| index < 24 && stream(w, 2, 2 * index + 1);
    let block: Kind = |index, w| index < 32 && repair(index, w);
    for kind in [protected, holes, block] {
        let bytes = raw.send(&packet(kind, &mut 0))?;
        siege.count(bytes);
    }
    let again = cost(siege, &mut raw, repair)?;
    siege.expect(again <= MOST, || format!("REPAIR: {again:.0} µs"));
    // Each byte of any stream might be one that a symbol waits for.
    let elsewhere = cost(siege, &mut raw, |_, w| stream(w, 4, 1))?;
    siege.expect(elsewhere <= MOST, || format!("STREAM next to symbols that wait: {elsewhere:.0} µs"));
    siege.found = Some(format!("REPAIR {again:.0} µs, STREAM next to it {elsewhere:.0} µs"));
    let full = packet(repair, &mut 0);
    siege.floods.push(Flood::start(Some(Duration::from_micros(3_300)), move || raw.send(&full)));
    Ok(())
}

pub(crate) const FRAMES: &[Form] = &[
    Form {
        name: "frames in their smallest form",
        attacks: &[1],
        arguments: KIND_ARGUMENTS,
        attack: |siege| Box::pin(async { kinds(siege) }),
        ..FORM
    },
    Form {
        name: "repair symbols of a byte",
        attacks: &[1],
        arguments: REPAIR_ARGUMENTS,
        attack: |siege| Box::pin(async { repairs(siege) }),
        ..FORM
    },
    Form {
        name: "repair symbols that nobody asked for",
        attacks: &[1],
        arguments: SERVE,
        attack: |siege| {
            Box::pin(async {
                let mut raw = Raw::connect(siege.server, H3, &transport())?;
                let full = packet(repair, &mut 0);
                siege.floods.push(Flood::start(Some(Duration::from_micros(3_300)), move || raw.send(&full)));
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            })
        },
        ..FORM
    },
];
