//! Frames with metadata: what schedulers see of them, and what becomes of those that are given up.

use std::ops::{ControlFlow, Range};
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{FrameInfo, PathId, Reliability, Segment, SegmentKind, SendQueue, StreamId, Time};

use super::super::assembler::MAX_DISJOINT_RANGES;
use super::super::{Chunk, FrameError, ReadError, ReadOutcome, Segments, StreamEvent, Streams, WriteBlock};
use super::pair::{
    Packet, acked, build, build_copy, build_on, check, flush, lost, pair, receive, small_config,
};
use super::sending::{ranges, wide};
use crate::Code;

const NOW: Time = Time::from_nanos(1_000_000_000);

fn ends() -> [Streams; 2] {
    let mut ends = pair(&wide());
    ends.iter_mut().for_each(|streams| streams.set_send_buffer_limit(50 << 20, u64::MAX));
    ends
}

fn frame(id: u64, reliability: Reliability) -> FrameInfo {
    FrameInfo::default().with(|frame| {
        frame.id = id;
        frame.reliability = reliability;
    })
}

fn write(streams: &mut Streams, id: StreamId, info: &FrameInfo, bytes: usize) {
    assert_eq!(streams.write_frame(id, info, Bytes::from(vec![info.id as u8; bytes])), Ok(bytes));
    check(streams);
}

/// Data and gaps up to where the reader must wait.
fn pieces(streams: &mut Streams, id: StreamId) -> Vec<(bool, Range<u64>)> {
    let mut list: Vec<(bool, Range<u64>)> = Vec::new();
    loop {
        let (is_data, range) = match streams.next_chunk(id, usize::MAX) {
            Ok(Chunk::Data { offset, bytes }) => (true, offset..offset + bytes.len() as u64),
            Ok(Chunk::Gap { offset, length }) => (false, offset..offset + length),
            _ => return list,
        };
        match list.last_mut().filter(|last| last.0 == is_data) {
            Some(last) => last.1.end = range.end,
            None => list.push((is_data, range)),
        }
    }
}

fn send(streams: &mut Streams, room: usize) -> Packet {
    build(streams, room, 0).expect("something to send")
}

/// Range, frame, path that it was given to, whether it is a retransmission.
type Seen = (Range<u64>, Option<u64>, Option<PathId>, bool);

fn segments(streams: &Streams) -> Vec<Seen> {
    let mut list = Vec::new();
    Segments(streams).segments(&mut |segment| {
        list.push((segment.range.clone(), segment.id, segment.assigned, segment.retransmission));
        ControlFlow::Continue(())
    });
    list
}

#[test]
fn schedulers_see_what_the_application_said() {
    let [mut client, _] = ends();
    let id = client.open(false).expect("allowed");
    client.write(id, &[0; 10]).expect("room");
    let info = FrameInfo::default().with(|frame| {
        frame.id = 7;
        frame.kind = SegmentKind::DeltaFrame;
        frame.layer = 2;
        frame.deadline = Some(NOW);
        frame.dependencies = (0..40).collect();
        frame.priority = 5;
        frame.reliability = Reliability::UntilDeadline;
    });
    write(&mut client, id, &info, 600);
    write(&mut client, id, &info, 400);
    client.set_class(id, 9).expect("open");
    client.set_priority(id, 3).expect("open");
    let mut seen = 0;
    Segments(&client).segments(&mut |segment: &Segment<'_>| {
        assert_eq!((segment.stream, segment.class, segment.retransmission), (id, 9, false));
        if seen == 0 {
            assert_eq!((segment.range.clone(), segment.id, segment.priority), (0..10, None, 3));
            assert_eq!(segment.extent, 0..10);
            assert_eq!((segment.kind, segment.reliability), (SegmentKind::Bulk, Reliability::Reliable));
        } else {
            assert_eq!((segment.range.clone(), segment.id, segment.priority), (10..1_010, Some(7), 5));
            assert_eq!(segment.extent, 10..1_010);
            assert_eq!((segment.kind, segment.layer, segment.deadline), (info.kind, 2, Some(NOW)));
            assert_eq!(segment.depends_on, &info.dependencies[..FrameInfo::MAX_DEPENDENCIES]);
            assert_eq!(segment.reliability, Reliability::UntilDeadline);
        }
        seen += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(seen, 2);
    // What is lost is shown as well, frame by frame.
    let packet = send(&mut client, 504);
    lost(&mut client, &packet);
    assert_eq!(
        segments(&client),
        [(0..10, None, None, true), (10..502, Some(7), None, true), (502..1_010, Some(7), None, false)]
    );
}

/// How much of a frame has left, and how much of it waits.
#[test]
fn schedulers_see_where_the_whole_frame_lies() {
    let [mut client, _] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::Reliable), 300);
    write(&mut client, id, &frame(2, Reliability::Reliable), 2_000);
    let extents = |client: &Streams| {
        let mut list = Vec::new();
        Segments(client).segments(&mut |segment| {
            list.push((segment.id, segment.range.clone(), segment.extent.clone()));
            ControlFlow::Continue(())
        });
        list
    };
    let first = send(&mut client, 1_000);
    let sent = client.queue().unsent;
    let left = 2_300 - sent..2_300;
    assert_eq!(extents(&client), [(Some(2), left.clone(), 300..2_300)]);
    acked(&mut client, &first);
    write(&mut client, id, &frame(2, Reliability::Reliable), 500);
    assert_eq!(
        extents(&client),
        [(Some(2), left.start..2_800, 300..2_800)],
        "the application wrote more of it"
    );
}

/// The rest is to be written when there is room: no writer should have to fail first to be called.
#[test]
fn who_wrote_a_part_of_a_frame_is_called_for_the_rest() {
    for limit in [WriteBlock::StreamCredit, WriteBlock::Buffer] {
        let is_buffer = limit == WriteBlock::Buffer;
        let [mut client, mut server] = pair(&if is_buffer { wide() } else { small_config() });
        client.set_send_buffer_limit(if is_buffer { 5_000 } else { 20_000 }, u64::MAX);
        let id = client.open(true).expect("allowed");
        let (mut rest, info) = (Bytes::from(vec![7; 9_000]), frame(1, Reliability::Reliable));
        let written = client.write_frame(id, &info, rest.clone()).expect("room");
        assert!(written > 0 && written < rest.len(), "{written}");
        let _ = rest.split_to(written);
        assert_eq!(client.poll_event(), None);
        flush(&mut client, &mut server);
        while let Ok(ReadOutcome::Data(_)) = server.read(id, &mut [0; 9_000]) {}
        flush(&mut server, &mut client);
        assert_eq!(client.poll_event(), Some(StreamEvent::Writable(id)), "{limit:?}");
        assert!(client.write_frame(id, &info, rest).is_ok_and(|written| written > 0), "{limit:?}");
    }
}

#[test]
fn a_discarded_frame_is_a_gap_and_what_follows_is_read() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::Reliable), 500);
    write(&mut client, id, &frame(2, Reliability::UntilDeadline), 3_000);
    write(&mut client, id, &frame(3, Reliability::Reliable), 500);
    assert!(client.discard(id, 0..4_000));
    check(&client);
    assert_eq!(client.queue().unsent, 1_000, "only the second frame may be discarded");
    client.finish(id).expect("open");
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, id), [(true, 0..500), (false, 500..3_500), (true, 3_500..4_000)]);
    assert_eq!(client.skip_totals().bytes_given_up, 3_000);
    assert_eq!(server.skip_totals().bytes_missed, 3_000);
    assert!(server.shared.window.is_settled());
    assert_eq!((client.table.len(), server.table.len()), (0, 0));
}

#[test]
fn expired_frames_are_not_sent_and_not_sent_again() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    let deadline = Some(NOW + Duration::from_millis(50));
    let info = |id| frame(id, Reliability::UntilDeadline).with(|frame| frame.deadline = deadline);
    write(&mut client, id, &info(1), 900);
    write(&mut client, id, &frame(2, Reliability::Reliable).with(|frame| frame.deadline = deadline), 900);
    write(&mut client, id, &info(3), 900);
    let first = send(&mut client, 902);
    assert_eq!(client.next_expiry(), deadline);
    client.expire(NOW);
    assert_eq!(client.queue().unsent, 1_800, "not yet");
    client.expire(NOW + Duration::from_millis(50));
    assert_eq!((client.queue().unsent, client.next_expiry()), (900, None));
    // The first is under way: whether it arrived is not known, so the peer is not told yet.
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, id), []);
    assert_eq!(server.missing(id), vec![0..900], "may still come");
    lost(&mut client, &first);
    assert_eq!(client.queue().total(), 0, "it is too late to send it again");
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, id), [(false, 0..900), (true, 900..1_800), (false, 1_800..2_700)]);
}

/// Only streams whose frames may expire are looked at when a deadline passes, each once.
#[test]
fn a_deadline_concerns_no_other_stream() {
    let [mut client, _] = ends();
    let at = |millis| NOW + Duration::from_millis(millis);
    let mut stream = |deadlines: &[u64]| {
        let id = client.open(false).expect("allowed");
        for (number, millis) in deadlines.iter().enumerate() {
            let info = frame(number as u64, Reliability::UntilDeadline);
            write(&mut client, id, &info.with(|frame| frame.deadline = Some(at(*millis))), 100);
        }
        id
    };
    let (_plain, late, soon) = (stream(&[]), stream(&[90, 80, 70]), stream(&[50, 60]));
    assert_eq!((client.expiring_streams(), client.next_expiry()), (2, Some(at(50))));
    client.expire(at(55));
    assert_eq!(
        (client.queue().unsent, client.expiring_streams(), client.next_expiry()),
        (400, 2, Some(at(60)))
    );
    client.expire(at(75));
    assert_eq!(
        (client.queue().unsent, client.expiring_streams(), client.next_expiry()),
        (200, 1, Some(at(80)))
    );
    client.reset(late, 0).expect("open");
    client.reset(soon, 0).expect("open");
    let packet = send(&mut client, 1_200);
    acked(&mut client, &packet);
    assert_eq!((client.expiring_streams(), client.next_expiry()), (0, None), "the streams are over");
}

#[test]
fn a_deadline_can_be_moved_and_a_frame_cancelled() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    let info = |id| frame(id, Reliability::UntilDeadline).with(|frame| frame.deadline = Some(NOW));
    for frame in 1..4 {
        write(&mut client, id, &info(frame), 1_000);
    }
    write(&mut client, id, &frame(4, Reliability::Reliable), 1_000);
    assert_eq!(client.set_frame_deadline(id, 1, None), Ok(()));
    assert_eq!(client.set_frame_deadline(id, 2, Some(NOW + Duration::from_secs(1))), Ok(()));
    assert_eq!(client.set_frame_deadline(id, 9, None), Err(FrameError::Unknown));
    client.expire(NOW);
    assert_eq!(client.queue().unsent, 3_000, "the third");
    assert_eq!(client.next_expiry(), Some(NOW + Duration::from_secs(1)));
    assert_eq!(client.cancel_frame(id, 4), Ok(()), "its own application may");
    // Its last part was still to be written.
    write(&mut client, id, &frame(4, Reliability::Reliable), 500);
    write(&mut client, id, &frame(5, Reliability::Reliable), 100);
    assert_eq!(client.queue().unsent, 2_100);
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, id), [(true, 0..2_000), (false, 2_000..4_500), (true, 4_500..4_600)]);
    assert_eq!(client.cancel_frame(id, 1), Err(FrameError::Unknown), "it arrived");
    client.set_skip_supported(false);
    write(&mut client, id, &frame(6, Reliability::Unreliable), 100);
    assert_eq!(client.cancel_frame(id, 6), Err(FrameError::Unsupported));
    client.reset(id, 0).expect("open");
    assert_eq!(client.cancel_frame(id, 6), Err(FrameError::ClosedStream));
}

#[test]
fn unreliable_data_is_sent_once() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::Unreliable), 1_000);
    write(&mut client, id, &frame(2, Reliability::UntilDeadline), 1_000);
    write(&mut client, id, &frame(3, Reliability::Reliable), 1_000);
    assert!(client.do_not_retransmit(id, 1_500..3_000));
    let packet = send(&mut client, 4_000);
    lost(&mut client, &packet);
    check(&client);
    assert_eq!(client.queue().retransmit, 500 + 1_000);
    flush(&mut client, &mut server);
    let expected = [(false, 0..1_000), (true, 1_000..1_500), (false, 1_500..2_000), (true, 2_000..3_000)];
    assert_eq!(pieces(&mut server, id), expected);
    // What is lost already is given up at once.
    write(&mut client, id, &frame(4, Reliability::UntilDeadline), 1_000);
    let packet = send(&mut client, 4_000);
    lost(&mut client, &packet);
    assert!(client.do_not_retransmit(id, 0..u64::MAX));
    assert_eq!(client.queue().total(), 0);
}

#[test]
fn a_lost_skip_is_told_again_and_the_stream_waits_for_it() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    client.set_reliability(id, Reliability::UntilDeadline).expect("open");
    client.write(id, &[1; 2_000]).expect("room");
    client.finish(id).expect("open");
    assert!(client.discard(id, 1_000..2_000));
    let told = send(&mut client, 100);
    let data = send(&mut client, 2_000);
    receive(&mut server, &data.payload).expect("fine");
    acked(&mut client, &data);
    lost(&mut client, &told);
    assert_eq!(client.table.len(), 1, "the peer may not know");
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, id), [(true, 0..1_000), (false, 1_000..2_000)]);
    assert_eq!(client.table.len(), 0);
    assert!(std::iter::from_fn(|| client.poll_event()).any(|event| event == StreamEvent::Finished(id)));
}

#[test]
fn an_ordinary_reader_is_told_of_a_gap_and_loses_nothing() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    client.write(id, &[1; 100]).expect("room");
    write(&mut client, id, &frame(1, Reliability::UntilDeadline), 50);
    client.write(id, &[2; 100]).expect("room");
    client.cancel_frame(id, 1).expect("known");
    flush(&mut client, &mut server);
    let mut buffer = [0; 1_000];
    assert_eq!(server.read(id, &mut buffer), Ok(ReadOutcome::Data(100)));
    let gap = ReadError::Gap { offset: 100, length: 50 };
    assert_eq!(server.read(id, &mut buffer), Err(gap));
    assert_eq!(server.read_chunk(id, 10), Err(gap), "as often as it asks");
    assert_eq!(server.next_chunk(id, 10), Ok(Chunk::Gap { offset: 100, length: 50 }));
    assert_eq!(server.read(id, &mut buffer), Ok(ReadOutcome::Data(100)));
    assert!(buffer[..100].iter().all(|&byte| byte == 2));
    assert_eq!(server.read(id, &mut buffer), Err(ReadError::Blocked));
}

#[test]
fn a_waiting_reader_is_woken_by_a_gap() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::Unreliable), 100);
    let packet = send(&mut client, 200);
    assert_eq!(server.accept(false), None);
    client.write(id, &[2; 100]).expect("room");
    flush(&mut client, &mut server);
    assert_eq!(server.next_chunk(id, 10), Err(ReadError::Blocked));
    while server.poll_event().is_some() {}
    lost(&mut client, &packet);
    flush(&mut client, &mut server);
    assert_eq!(server.poll_event(), Some(StreamEvent::Readable(id)));
    assert_eq!(pieces(&mut server, id), [(false, 0..100), (true, 100..200)]);
    // What was taken for lost arrives after all: too late.
    receive(&mut server, &packet.payload).expect("ignored");
    assert_eq!(pieces(&mut server, id), []);
}

#[test]
fn data_counts_for_more_than_the_word_that_it_will_not_come() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::Unreliable), 300);
    let packets: Vec<_> = (0..3).map(|_| send(&mut client, 104)).collect();
    packets.iter().for_each(|packet| lost(&mut client, packet));
    flush(&mut client, &mut server);
    let second = ranges(&packets[1])[0];
    receive(&mut server, &packets[1].payload).expect("fine");
    let (start, end) = (second.1, second.1 + u64::from(second.2));
    assert_eq!(pieces(&mut server, id), [(false, 0..start), (true, start..end), (false, end..300)]);
}

#[test]
fn a_reader_may_go_past_what_may_still_come() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    client.write(id, &[1; 3_000]).expect("room");
    let packets: Vec<_> = (0..3).map(|_| send(&mut client, 1_004)).collect();
    assert_eq!(server.pass_missing(id), Err(super::super::ClosedStream), "nobody knows of it yet");
    receive(&mut server, &packets[2].payload).expect("fine");
    let hole = 0..ranges(&packets[2])[0].1;
    assert_eq!(server.missing(id), vec![hole.clone()]);
    assert_eq!(server.pass_missing(id), Ok(Some(hole.clone())));
    assert_eq!(server.pass_missing(id), Ok(None), "there is data now");
    receive(&mut server, &packets[0].payload).expect("dropped");
    assert_eq!(pieces(&mut server, id), [(true, hole.end..hole.end + u64::from(ranges(&packets[2])[0].2))]);
    assert_eq!(server.pass_missing(id), Ok(None), "nothing is known to be missing");
    assert!(server.shared.window.is_settled());
}

#[test]
fn bytes_beyond_the_connections_credit_are_given_up_when_there_is_more() {
    let [mut client, mut server] = pair(&small_config());
    client.set_send_buffer_limit(20_000, u64::MAX);
    let ids: Vec<_> = (0..3).map(|_| client.open(true).expect("allowed")).collect();
    for id in &ids {
        client.set_reliability(*id, Reliability::UntilDeadline).expect("open");
        assert_eq!(client.write(*id, &[1; 2_000]), Ok(2_000));
    }
    // 5000 bytes of credit; what lies before a discarded range takes some with it.
    assert!(client.discard(ids[0], 500..2_000));
    assert!(client.discard(ids[1], 0..2_000));
    assert!(client.discard(ids[2], 500..2_000));
    check(&client);
    assert_eq!(client.queue().connection_window_left, 0);
    assert_eq!(client.queue().unsent, 500 + 500);
    assert_eq!(client.skip_totals().bytes_given_up, 1_500 + 2_000 + 500);
    flush(&mut client, &mut server);
    for id in &ids {
        pieces(&mut server, *id);
    }
    server.update_windows(Time::ZERO, || (Duration::from_millis(30), u64::MAX));
    flush(&mut server, &mut client);
    check(&client);
    assert_eq!(client.queue().total(), 0, "the rest was given up before it could be sent");
    assert_eq!(client.skip_totals().bytes_given_up, 1_500 + 2_000 + 1_500);
    flush(&mut client, &mut server);
    assert_eq!(pieces(&mut server, ids[2]), [(false, 1_000..2_000)]);
    assert!(server.shared.window.is_settled());
}

#[test]
fn what_was_given_up_is_not_copied() {
    let [mut client, _] = ends();
    let id = client.open(false).expect("allowed");
    write(&mut client, id, &frame(1, Reliability::UntilDeadline), 1_000);
    let packet = send(&mut client, 1_200);
    assert!(client.discard(id, 300..600));
    let copy = build_copy(&mut client, 1_200, &packet).expect("the rest");
    assert_eq!(ranges(&copy), [(id, 0, 300), (id, 600, 400)]);
    assert!(client.discard(id, 0..1_000));
    assert!(build_copy(&mut client, 1_200, &packet).is_none());
}

#[test]
fn what_a_path_was_given_waits_for_it() {
    let [mut client, mut server] = ends();
    let id = client.open(false).expect("allowed");
    client.write(id, &[1; 3_000]).expect("room");
    let (own, other) = (PathId(1), PathId(2));
    assert!(client.assign(id, 0..1_000, own));
    assert!(client.assign(id, 1_000..2_000, other));
    assert!(client.assign(id, 2_500..9_000, own));
    let assigned = [
        (0..1_000, None, Some(own), false),
        (1_000..2_000, None, Some(other), false),
        (2_000..2_500, None, None, false),
        (2_500..3_000, None, Some(own), false),
    ];
    assert_eq!(segments(&client), assigned);
    let (packet, _) = build_on(&mut client, own, 4_000, 0).expect("its own and nobody's");
    assert_eq!(ranges(&packet), [(id, 0, 1_000), (id, 2_000, 500), (id, 2_500, 500)]);
    // Neither is it sent elsewhere after a loss, until it is taken back.
    lost(&mut client, &packet);
    let (again, written) = build_on(&mut client, other, 4_000, 0).expect("its own, and nobody's");
    assert_eq!(ranges(&again), [(id, 1_000, 1_000), (id, 2_000, 500)]);
    assert_eq!(written.retransmitted_bytes, 500);
    assert!(build_on(&mut client, other, 4_000, 0).is_none());
    assert!(client.unassign(id, 2_600..2_700));
    let (packet, _) = build_on(&mut client, other, 4_000, 0).expect("taken back");
    assert_eq!(ranges(&packet), [(id, 2_600, 100)]);
    client.unassign_path(own);
    receive(&mut server, &again.payload).expect("fine");
    receive(&mut server, &packet.payload).expect("fine");
    while let Some((packet, _)) = build_on(&mut client, other, 4_000, 0) {
        receive(&mut server, &packet.payload).expect("fine");
    }
    assert_eq!(pieces(&mut server, id), [(true, 0..3_000)]);
    check(&client);
}

#[test]
fn commands_that_apply_to_nothing_change_nothing() {
    let [mut client, _] = ends();
    let id = client.open(false).expect("allowed");
    client.write(id, &[1; 1_000]).expect("room");
    for (stream, start, end) in
        [(id, 0, 1_000), (id, 5_000, u64::MAX), (id, 900, 100), (StreamId(400), 0, 10), (StreamId(3), 0, 10)]
    {
        assert!(!client.discard(stream, start..end), "{stream} {start}..{end}");
        assert!(!client.do_not_retransmit(stream, start..end), "{stream} {start}..{end}");
        assert!(!client.unassign(stream, start..end), "{stream} {start}..{end}");
        check(&client);
    }
    assert!(!client.assign(id, 1_000..2_000, PathId(1)), "not written yet");
    assert_eq!(client.queue().unsent, 1_000);
    client.set_skip_supported(false);
    client.set_reliability(id, Reliability::Unreliable).expect("open");
    assert!(!client.discard(id, 0..1_000), "the peer would wait for ever");
    assert_eq!(client.queue().unsent, 1_000);
}

#[test]
fn skips_keep_to_the_rules_of_streams() {
    let code = |result: Result<(), crate::TransportError>| result.map_err(|error| error.code);
    let [mut client, mut server] = pair(&small_config());
    let id = client.open(false).expect("allowed");
    assert_eq!(code(server.on_stream_skip(id, 1 << 62, 1)), Err(Code::FRAME_ENCODING_ERROR));
    assert_eq!(code(server.on_stream_skip(StreamId(400), 0, 1)), Err(Code::STREAM_LIMIT_ERROR));
    assert_eq!(code(client.on_stream_skip(id, 0, 1)), Err(Code::STREAM_STATE_ERROR), "it only sends");
    assert_eq!(code(server.on_stream_skip(id, 1_000, 1_001)), Err(Code::FLOW_CONTROL_ERROR));
    assert_eq!(server.on_stream_skip(id, 0, 500), Ok(()));
    assert_eq!(code(server.on_stream(id, 400, true, Bytes::new())), Err(Code::FINAL_SIZE_ERROR));
    assert_eq!(server.on_stream(id, 600, true, Bytes::new()), Ok(()));
    assert_eq!(code(server.on_stream_skip(id, 500, 200)), Err(Code::FINAL_SIZE_ERROR));
    assert_eq!(server.on_stream_skip(id, 400, 200), Ok(()));
    assert_eq!(pieces(&mut server, id), [(false, 0..600)]);
    assert_eq!(server.on_stream_skip(id, 0, 600), Ok(()), "again, after the end");
    assert!(server.shared.window.is_settled() && server.table.len() == 0);
}

#[test]
fn gaps_of_the_peer_are_bounded() {
    let mut config = wide();
    config.initial_stream_window = 1 << 20;
    let [mut client, mut server] = pair(&config);
    let id = client.open(false).expect("allowed");
    let refused = (0..1 << 18).find(|at| {
        server.on_stream_skip(id, 4 * at + 1, 1).expect("within the window");
        server.take_refused()
    });
    assert_eq!(refused, Some(MAX_DISJOINT_RANGES as u64));
    server.stop(id, 0).expect("open");
    assert_eq!(server.shared.budget, Default::default());
}
