//! REPAIR, RECOVERED and PROTECTED frames that no honest peer would send.

use std::time::Duration;

use hawser_policy::{PathId, Side, StreamId};
use hawser_wire::codepoints::frame;
use hawser_wire::frame::{Frame, Recovered, Repair, RepairCode, SourceRange, SourceRangeList, Stream};

use super::forge::encode;
use super::pair::{Pair, Settings, transport};
use crate::{Code, ConnectionError, TransportConfig};

const SOON: Duration = Duration::from_millis(100);

/// A client's stream to the server.
const STREAM: u64 = 2;

fn settings() -> Settings {
    let limits = TransportConfig {
        max_unidirectional_streams: 4,
        initial_stream_window: 10_000,
        initial_connection_window: 15_000,
        repair_buffer: Some(100_000),
        ..transport()
    };
    Settings { client: limits.clone(), server: limits, ..Settings::default() }
}

fn source(stream_id: u64, offset: u64, length: u64, fin: bool) -> SourceRange {
    SourceRange { stream_id, offset, length, fin }
}

/// A repair symbol of these ranges.
fn repair(block: u64, index: u32, sources: &[SourceRange], symbol: &[u8]) -> Vec<u8> {
    let mut list = SourceRangeList::default();
    sources.iter().for_each(|source| assert!(list.push(*source)));
    let sources = list.encode();
    let sources = sources.as_ranges();
    encode(&[Frame::Repair(Repair { block, code: RepairCode::Xor, first: 0, index, sources, symbol })])
}

/// How the server closes after this packet of the client.
#[track_caller]
fn answer(settings: Settings, payload: &[u8]) -> (Code, Option<u64>) {
    let mut pair = Pair::connected(settings);
    pair.inject(Side::Client, PathId::ZERO, payload);
    pair.run(SOON);
    match pair.server.closed() {
        Some(ConnectionError::Transport(error)) => (error.code, error.frame),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_repair_symbol_says_counts_as_if_a_stream_frame_said_it() {
    let one = |source: SourceRange| repair(0, 0, &[source], &vec![7; source.length as usize]);
    let (repair_frame, stream_frame) = (Some(frame::REPAIR), Some(frame::STREAM));
    for (name, payload, said) in [
        ("on a stream of the server", one(source(3, 0, 9, false)), (Code::STREAM_STATE_ERROR, repair_frame)),
        (
            "on a stream that the server did not open",
            one(source(1, 0, 9, false)),
            (Code::STREAM_STATE_ERROR, repair_frame),
        ),
        (
            "on a stream above the limit",
            one(source(STREAM + 16, 0, 9, false)),
            (Code::STREAM_LIMIT_ERROR, repair_frame),
        ),
        (
            "beyond flow control",
            one(source(STREAM, 10_001, 9, false)),
            (Code::FLOW_CONTROL_ERROR, stream_frame),
        ),
    ] {
        assert_eq!(answer(settings(), &payload), said, "{name}");
    }
    // The stream ends at 20; a symbol that can be solved for says that there is more.
    let mut pair = Pair::connected(settings());
    let data = Stream { stream_id: STREAM, offset: 0, fin: true, data: &[7; 20] };
    pair.inject(Side::Client, PathId::ZERO, &encode(&[Frame::Protected, Frame::Stream(data)]));
    pair.inject(Side::Client, PathId::ZERO, &one(source(STREAM, 15, 9, false)));
    pair.run(SOON);
    assert!(
        matches!(pair.server.closed(), Some(ConnectionError::Transport(error)) if error.code == Code::FINAL_SIZE_ERROR)
    );
}

#[test]
fn frames_that_were_not_negotiated() {
    let recovered = Frame::Recovered(Recovered { block: 0, first: 0, bitmap: 1 });
    for payload in [
        encode(&[Frame::Protected]),
        encode(&[recovered]),
        repair(0, 0, &[source(STREAM, 0, 9, false)], &[7; 9]),
    ] {
        let mut without = settings();
        without.server.repair_buffer = None;
        assert_eq!(answer(without, &payload).0, Code::PROTOCOL_VIOLATION);
    }
}

/// A repair symbol of a single source symbol is that symbol: it is delivered, end and all, and flow control and final size are
/// as exact as with STREAM frames.
#[test]
fn a_stream_may_come_in_repair_symbols_alone() {
    let mut pair = Pair::connected(settings());
    pair.inject(Side::Client, PathId::ZERO, &repair(0, 0, &[source(STREAM, 10, 5, true)], &[2; 5]));
    pair.inject(Side::Client, PathId::ZERO, &repair(1, 0, &[source(STREAM, 0, 10, false)], &[1; 10]));
    pair.run(SOON);
    assert_eq!(pair.server.closed(), None);
    assert_eq!(pair.server().accept_stream(false), Some(StreamId(STREAM)));
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = pair.server().read_chunk(StreamId(STREAM), 100) {
        read.extend_from_slice(&chunk);
    }
    assert_eq!(read, [[1; 10].as_slice(), &[2; 5]].concat());
    assert_eq!(pair.server().stats().stream_bytes_recovered, 15);
}

/// Blocks by the thousand that never complete: memory stays within the caps, and the connection works on.
#[test]
fn floods_of_repair_symbols() {
    let mut pair = Pair::connected(settings());
    let sources: Vec<SourceRange> = (0..64).map(|at| source(STREAM, at * 150, 150, false)).collect();
    for block in 0..3_000_u64 {
        pair.inject(Side::Client, PathId::ZERO, &repair(block % 700, block as u32, &sources, &[7; 1_000]));
        if block % 50 == 0 {
            pair.run(Duration::from_millis(1));
            let held = pair.server().extensions.repair.memory();
            assert!(held < 500_000, "{held} bytes after {block} frames");
        }
    }
    pair.run(SOON);
    assert_eq!(pair.server.closed(), None);
    assert_eq!(pair.server().stats().repair_symbols_received, 3_000);
    pair.write(Side::Server, 100_000);
    pair.run(Duration::from_secs(2));
    assert_eq!(
        pair.client().stats().stream_bytes_received,
        10_000,
        "as far as the window of a reader that sleeps"
    );
}

/// RECOVERED of what was never protected, or never sent, acknowledges nothing.
#[test]
fn a_receiver_cannot_acknowledge_by_lies() {
    let mut pair = Pair::connected(settings());
    let id = pair.write(Side::Client, 9_000);
    for block in 0..200 {
        let lie = Recovered { block, first: block, bitmap: u64::MAX };
        pair.inject(Side::Server, PathId::ZERO, &encode(&[Frame::Recovered(lie)]));
    }
    pair.run(Duration::from_secs(1));
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    while pair.server().accept_stream(false).is_some() {}
    let read: usize =
        std::iter::from_fn(|| pair.server().read_chunk(id, 9_000).ok().flatten()).map(|c| c.len()).sum();
    assert_eq!(read, 9_000);
    assert_eq!(pair.client().stats().stream_bytes_recovered_by_peer, 0);
}
