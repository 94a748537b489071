//! What a peer may not do, and what that is answered with.

use bytes::Bytes;
use hawser_policy::{Side, StreamId};

use super::super::Streams;
use super::super::assembler::MAX_DISJOINT_RANGES;
use super::pair::{flush, pair, small_config};
use super::test_config;
use crate::{Code, TransportError};

fn server() -> Streams {
    let [_, server] = pair(&small_config());
    server
}

/// The peer's (client's) stream number `index`.
fn theirs(bidirectional: bool, index: u64) -> StreamId {
    StreamId::new(Side::Client, bidirectional, index)
}

fn ours(bidirectional: bool, index: u64) -> StreamId {
    StreamId::new(Side::Server, bidirectional, index)
}

fn zeros(length: usize) -> Bytes {
    Bytes::from(vec![0; length])
}

#[track_caller]
fn expect(result: Result<(), TransportError>, code: Code, frame: u64) {
    let error = result.expect_err("must be refused");
    assert_eq!((error.code, error.frame), (code, Some(frame)), "{error}");
    assert!(!error.reason.is_empty());
}

//= rfc9000-19.4-1, rfc9000-19.5-2, rfc9000-19.8-1, rfc9000-19.10-2, rfc9000-19.13-2
#[test]
fn frames_for_streams_of_the_wrong_kind() {
    let mut streams = server();
    let send_only = streams.open(false).expect("allowed");
    let receive_only = theirs(false, 0);
    expect(streams.on_stream(send_only, 0, false, zeros(1)), Code::STREAM_STATE_ERROR, 0x08);
    expect(streams.on_reset_stream(send_only, 0, 0), Code::STREAM_STATE_ERROR, 0x04);
    expect(streams.on_reset_stream_at(send_only, 0, 0, 0), Code::STREAM_STATE_ERROR, 0x24);
    expect(streams.on_stream_data_blocked(send_only), Code::STREAM_STATE_ERROR, 0x15);
    expect(streams.on_stop_sending(receive_only, 0), Code::STREAM_STATE_ERROR, 0x05);
    expect(streams.on_max_stream_data(receive_only, 9), Code::STREAM_STATE_ERROR, 0x11);
    // The same, when the streams have state.
    streams.write(send_only, b"x").expect("room");
    expect(streams.on_stream(send_only, 0, false, zeros(1)), Code::STREAM_STATE_ERROR, 0x08);
    streams.on_stream(receive_only, 0, false, zeros(1)).expect("allowed");
    expect(streams.on_stop_sending(receive_only, 0), Code::STREAM_STATE_ERROR, 0x05);
}

//= rfc9000-19.5-1, rfc9000-19.8-1, rfc9000-19.10-1
#[test]
fn frames_for_streams_that_we_did_not_open() {
    let mut streams = server();
    for index in [0, 1, 1 << 50] {
        expect(streams.on_stream(ours(true, index), 0, false, zeros(1)), Code::STREAM_STATE_ERROR, 0x08);
        expect(streams.on_stop_sending(ours(true, index), 0), Code::STREAM_STATE_ERROR, 0x05);
        expect(streams.on_max_stream_data(ours(false, index), 9), Code::STREAM_STATE_ERROR, 0x11);
    }
}

//= rfc9000-4.6-3, rfc9000-19.11-1, rfc9000-19.11-4, rfc9000-19.14-2
#[test]
fn more_streams_than_allowed() {
    let mut streams = server();
    streams.on_stream(theirs(true, 2), 0, false, zeros(1)).expect("three are allowed");
    expect(streams.on_stream(theirs(true, 3), 0, false, zeros(1)), Code::STREAM_LIMIT_ERROR, 0x08);
    expect(streams.on_reset_stream(theirs(false, 2), 0, 0), Code::STREAM_LIMIT_ERROR, 0x04);
    expect(streams.on_stop_sending(theirs(true, 1 << 59), 0), Code::STREAM_LIMIT_ERROR, 0x05);
    assert_eq!(streams.on_max_streams(true, 1 << 60), Ok(()));
    expect(streams.on_max_streams(true, (1 << 60) + 1), Code::FRAME_ENCODING_ERROR, 0x12);
    expect(streams.on_streams_blocked(false, (1 << 60) + 1), Code::FRAME_ENCODING_ERROR, 0x17);
}

//= rfc9000-4.1-2, rfc9000-19.8-2, rfc9000-19.10-4
#[test]
fn more_data_than_the_stream_allows() {
    let mut streams = server();
    let id = theirs(true, 0);
    streams.on_stream(id, 1_000, false, zeros(1_000)).expect("exactly the window");
    expect(streams.on_stream(id, 2_000, false, zeros(1)), Code::FLOW_CONTROL_ERROR, 0x08);
    expect(streams.on_stream(id, 1 << 61, true, zeros(0)), Code::FLOW_CONTROL_ERROR, 0x08);
    expect(streams.on_reset_stream(id, 0, 2_001), Code::FLOW_CONTROL_ERROR, 0x04);
    expect(streams.on_stream(id, (1 << 62) - 1, false, zeros(1)), Code::FRAME_ENCODING_ERROR, 0x08);
    streams.on_stream(id, 500, false, zeros(1_500)).expect("what is known already costs nothing");
}

//= rfc9000-4.1-2, rfc9000-4.5-1, rfc9000-19.9-1, rfc9000-19.9-2
#[test]
fn more_data_than_the_connection_allows() {
    let mut streams = server();
    // Highest offsets count, with whatever lies below them.
    streams.on_stream(theirs(true, 0), 1_999, false, zeros(1)).expect("2000 in all");
    streams.on_stream(theirs(true, 1), 1_999, true, zeros(1)).expect("4000 in all");
    expect(streams.on_stream(theirs(true, 2), 0, false, zeros(1_001)), Code::FLOW_CONTROL_ERROR, 0x08);
    expect(streams.on_reset_stream(theirs(true, 2), 0, 1_001), Code::FLOW_CONTROL_ERROR, 0x04);
    streams.on_stream(theirs(true, 2), 0, false, zeros(1_000)).expect("5000 in all");
}

//= rfc9000-4.5-3
#[test]
fn final_sizes_that_change() {
    let with_end_at_100 = || {
        let mut streams = server();
        streams.on_stream(theirs(true, 0), 90, true, zeros(10)).expect("allowed");
        streams
    };
    let id = theirs(true, 0);
    expect(with_end_at_100().on_stream(id, 100, false, zeros(1)), Code::FINAL_SIZE_ERROR, 0x08);
    expect(with_end_at_100().on_stream(id, 99, true, zeros(0)), Code::FINAL_SIZE_ERROR, 0x08);
    expect(with_end_at_100().on_stream(id, 101, true, zeros(0)), Code::FINAL_SIZE_ERROR, 0x08);
    expect(with_end_at_100().on_reset_stream(id, 0, 99), Code::FINAL_SIZE_ERROR, 0x04);
    expect(with_end_at_100().on_reset_stream(id, 0, 101), Code::FINAL_SIZE_ERROR, 0x04);
    assert_eq!(with_end_at_100().on_reset_stream(id, 0, 100), Ok(()));
    assert_eq!(with_end_at_100().on_stream(id, 0, false, zeros(100)), Ok(()));

    let mut streams = server();
    streams.on_stream(id, 0, false, zeros(100)).expect("allowed");
    expect(streams.on_stream(id, 50, true, zeros(49)), Code::FINAL_SIZE_ERROR, 0x08);
    expect(streams.on_reset_stream(id, 0, 99), Code::FINAL_SIZE_ERROR, 0x04);
    streams.on_reset_stream(id, 0, 150).expect("allowed");
    expect(streams.on_stream(id, 150, false, zeros(1)), Code::FINAL_SIZE_ERROR, 0x08);
    expect(streams.on_reset_stream(id, 0, 151), Code::FINAL_SIZE_ERROR, 0x04);
    // A stream that we stopped still has one final size.
    let id = theirs(true, 1);
    streams.on_stream(id, 0, false, zeros(100)).expect("allowed");
    streams.stop(id, 3).expect("open");
    expect(streams.on_stream(id, 0, true, zeros(99)), Code::FINAL_SIZE_ERROR, 0x08);
}

#[test]
fn resets_that_contradict_themselves() {
    let mut streams = server();
    let id = theirs(true, 0);
    expect(streams.on_reset_stream_at(id, 5, 10, 11), Code::FRAME_ENCODING_ERROR, 0x24);
    streams.on_reset_stream_at(id, 5, 100, 50).expect("allowed");
    expect(streams.on_reset_stream_at(id, 6, 100, 40), Code::STREAM_STATE_ERROR, 0x24);
    streams.on_reset_stream_at(id, 5, 100, 60).expect("reordered: ignored");
    streams.on_reset_stream_at(id, 5, 100, 40).expect("promises less");
}

#[test]
fn frames_for_streams_that_ended_are_ignored() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    client.write(id, b"request").expect("room");
    client.finish(id).expect("open");
    flush(&mut client, &mut server);
    assert_eq!(server.read_chunk(id, 100).expect("data").as_deref(), Some(&b"request"[..]));
    assert_eq!(server.read_chunk(id, 100), Ok(None));
    server.finish(id).expect("open");
    flush(&mut server, &mut client);
    assert_eq!(server.table.len(), 0);
    server.on_stream(id, 0, false, zeros(7)).expect("late copy");
    server.on_stop_sending(id, 0).expect("late");
    server.on_max_stream_data(id, 1 << 40).expect("late");
    server.on_reset_stream(id, 0, 7).expect("late");
    assert_eq!(server.table.len(), 0, "no state comes back");
}

#[test]
fn data_in_too_many_ranges_is_refused_until_there_is_room() {
    let mut config = (*test_config()).clone();
    config.initial_stream_window = 1 << 20;
    let mut streams = Streams::new(Side::Server, &config);
    // Spread over streams: the cap is the connection's.
    let id = |index: u64| theirs(true, index % 4);
    for index in 0..MAX_DISJOINT_RANGES as u64 {
        streams.on_stream(id(index), 1 + 2 * (index / 4), false, zeros(1)).expect("below the cap");
    }
    assert!(!streams.take_refused());
    let arrived = streams.arrived();
    streams.on_stream(id(0), 1_000_000, false, zeros(1)).expect("refused, which is no error");
    assert!(streams.take_refused() && !streams.take_refused());
    assert_eq!(streams.arrived(), arrived);
    // A hole is filled.
    streams.on_stream(id(0), 0, false, zeros(1)).expect("the first byte");
    streams.on_stream(id(0), 1_000_000, false, zeros(1)).expect("the same again");
    assert!(!streams.take_refused());
    assert_eq!(streams.arrived().new, arrived.new + 2);
}
