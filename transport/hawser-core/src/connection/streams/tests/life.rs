//! Streams come, are heard of, and go.

use bytes::Bytes;
use hawser_policy::{Side, StreamId};

use super::super::{ReadError, ReadOutcome, ResetAtError, StreamEvent, Streams, WriteError};
use super::pair::{acked, build, check, flush, lost, pair, receive, small_config};
use super::test_config;

fn events(streams: &mut Streams) -> Vec<StreamEvent> {
    std::iter::from_fn(|| streams.poll_event()).collect()
}

//= rfc9000-3.2-1
#[test]
fn the_peers_last_stream_opens_all_before_it_for_the_price_of_one() {
    let mut config = (*test_config()).clone();
    config.max_bidirectional_streams = 1_000_000;
    let mut streams = Streams::new(Side::Server, &config);
    let last = StreamId::new(Side::Client, true, 999_999);
    streams.on_stream(last, 0, false, Bytes::from_static(b"x")).expect("allowed");
    assert_eq!(streams.table.len(), 1);
    assert_eq!(
        events(&mut streams),
        [StreamEvent::Opened { bidirectional: true }, StreamEvent::Readable(last)]
    );
    assert_eq!(streams.accept(true), Some(StreamId::new(Side::Client, true, 0)));
    assert_eq!(streams.accept(true), Some(StreamId::new(Side::Client, true, 1)));
    assert!(streams.memory() < 100_000, "{} bytes", streams.memory());
}

//= rfc9000-2.1-1, rfc9000-4.6-6
#[test]
fn streams_end_and_make_room_for_others() {
    let [mut client, mut server] = pair(&small_config());
    for round in 0..20 {
        let id = client.open(false).unwrap_or_else(|| panic!("room for stream {round}"));
        client.finish(id).expect("open");
        flush(&mut client, &mut server);
        assert_eq!(server.accept(false), Some(id));
        assert_eq!(server.read(id, &mut [0; 10]), Ok(ReadOutcome::Finished));
        assert_eq!(server.read(id, &mut [0; 10]), Err(ReadError::ClosedStream));
        flush(&mut server, &mut client);
        assert!(events(&mut client).contains(&StreamEvent::Finished(id)));
        assert_eq!((client.table.len(), server.table.len()), (0, 0));
    }
}

//= rfc9000-4.6-2, rfc9000-4.6-5, rfc9000-19.11-3, rfc9000-19.14-1
#[test]
fn who_could_not_open_a_stream_is_told_when_it_can() {
    let [mut client, mut server] = pair(&small_config());
    let ids: Vec<_> = std::iter::from_fn(|| client.open(false)).collect();
    assert_eq!(ids.len(), 2);
    let blocked = build(&mut client, 1_200, 0).expect("STREAMS_BLOCKED");
    receive(&mut server, &blocked.payload).expect("allowed");
    assert_eq!(client.open(false), None);
    assert!(build(&mut client, 1_200, 0).is_none(), "said once per limit");
    client.finish(ids[0]).expect("open");
    flush(&mut client, &mut server);
    server.read(ids[0], &mut [0; 1]).expect("the end");
    flush(&mut server, &mut client);
    assert!(events(&mut client).contains(&StreamEvent::Available { bidirectional: false }));
    assert!(client.open(false).is_some());
    lost(&mut client, &blocked);
    assert!(build(&mut client, 1_200, 0).is_none(), "not blocked any more: stale news is not repeated");
}

#[test]
fn readers_are_woken_once_per_wait() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    for _ in 0..3 {
        client.write(id, b"data").expect("room");
        flush(&mut client, &mut server);
    }
    assert_eq!(events(&mut server), [StreamEvent::Opened { bidirectional: true }, StreamEvent::Readable(id)]);
    assert_eq!(server.read(id, &mut [0; 100]), Ok(ReadOutcome::Data(12)));
    client.write(id, b"data").expect("room");
    flush(&mut client, &mut server);
    assert_eq!(events(&mut server), [], "the reader did not run dry");
    assert_eq!(server.read(id, &mut [0; 100]), Ok(ReadOutcome::Data(4)));
    assert_eq!(server.read(id, &mut [0; 100]), Err(ReadError::Blocked));
    client.finish(id).expect("open");
    flush(&mut client, &mut server);
    assert_eq!(events(&mut server), [StreamEvent::Readable(id)], "the end is news");
}

//= rfc9000-3.5-2, rfc9000-3.5-4
#[test]
fn a_stopped_stream_is_reset_and_its_writer_told() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    client.write(id, &[1; 1_000]).expect("room");
    flush(&mut client, &mut server);
    client.write(id, &[1; 1_000]).expect("room");
    server.stop(id, 42).expect("open");
    assert_eq!(server.read(id, &mut [0; 1]), Err(ReadError::ClosedStream));
    flush(&mut server, &mut client);
    assert!(events(&mut client).contains(&StreamEvent::Stopped { id, code: 42 }));
    assert_eq!(client.queue().total(), 0, "what was written is not sent");
    flush(&mut client, &mut server);
    assert_eq!(client.stopped(id), Some(42));
    assert_eq!(client.write(id, b"x"), Err(WriteError::ClosedStream), "told before");
    // The server got its size and forgot the half; all its credit is free again.
    assert!(server.shared.window.is_settled());
    server.finish(id).expect("open");
    flush(&mut server, &mut client);
    assert_eq!(client.read(id, &mut [0; 1]), Ok(ReadOutcome::Finished));
    assert_eq!((client.table.len(), server.table.len()), (0, 0));
}

//= rfc9000-3.3-2, rfc9000-11.2-1
#[test]
fn a_reset_cuts_off_what_was_not_read() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    client.write(id, &[1; 1_500]).expect("room");
    flush(&mut client, &mut server);
    assert_eq!(server.read(id, &mut [0; 100]), Ok(ReadOutcome::Data(100)));
    client.reset(id, 9).expect("open");
    assert_eq!(client.write(id, b"x"), Err(WriteError::ClosedStream));
    let reset = build(&mut client, 1_200, 0).expect("RESET_STREAM");
    lost(&mut client, &reset);
    flush(&mut client, &mut server);
    assert_eq!(server.read(id, &mut [0; 100]), Err(ReadError::Reset(9)));
    assert!(server.shared.window.is_settled());
    assert!(client.table.send_mut(client.table.find_ref(id).expect("bidirectional")).is_none());
}

#[test]
fn a_reset_at_a_point_delivers_up_to_there() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    client.write(id, &[7; 2_000]).expect("room");
    let first = build(&mut client, 300, 0).expect("data");
    assert_eq!(client.reset_at(id, 9, 2_001), Err(ResetAtError::NotWritten { asked: 2_001, written: 2_000 }));
    client.reset_at(id, 9, 1_000).expect("open");
    check(&client);
    assert!(!client.has_pending_control(), "the reset waits for the data it promises");
    flush(&mut client, &mut server);
    lost(&mut client, &first);
    flush(&mut client, &mut server);
    let mut read = 0;
    while let Ok(ReadOutcome::Data(count)) = server.read(id, &mut [0; 600]) {
        read += count;
    }
    assert_eq!(read, 1_000);
    assert_eq!(server.read(id, &mut [0; 1]), Err(ReadError::ClosedStream), "the reset was seen");
    assert!(server.shared.window.is_settled());

    client.set_peer_limits(&hawser_wire::TransportParameters::default());
    let id = client.open(true).expect("allowed");
    assert_eq!(client.reset_at(id, 9, 0), Err(ResetAtError::Unsupported));
}

//= rfc9000-3.5-3, rfc9000-13.3-1
#[test]
fn a_stream_can_be_stopped_reset_and_acknowledged_in_any_order() {
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(true).expect("allowed");
    client.write(id, &[1; 800]).expect("room");
    let data = build(&mut client, 1_200, 0).expect("data");
    client.reset(id, 1).expect("open");
    let reset = build(&mut client, 1_200, 0).expect("RESET_STREAM");
    // The reset overtakes the data.
    receive(&mut server, &reset.payload).expect("allowed");
    receive(&mut server, &data.payload).expect("ignored");
    server.stop(id, 2).expect("the reset was not seen yet");
    assert!(!server.has_pending_control(), "nothing left to stop");
    acked(&mut client, &reset);
    acked(&mut client, &data);
    lost(&mut client, &data);
    check(&client);
    assert_eq!(client.queue().total(), 0);
    assert!(server.shared.window.is_settled());
}
