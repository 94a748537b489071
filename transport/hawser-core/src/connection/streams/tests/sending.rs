//! What goes into packets, and in which order.

use std::ops::ControlFlow;

use hawser_policy::{PathId, SendQueue, StreamId};
use hawser_wire::frame::Frame;
use hawser_wire::{FrameIter, Writer};

use super::super::outgoing::WrittenData;
use super::super::{Segments, Streams};
use super::pair::{
    Packet, acked, build, build_copy, build_counted, check, flush, lost, pair, receive, small_config,
};
use super::test_config;
use crate::TransportConfig;
use crate::connection::frames::{SentFrame, SentFrames};

/// Limits that do not matter.
pub(super) fn wide() -> TransportConfig {
    TransportConfig { max_send_buffer: 100 << 20, ..(*test_config()).clone() }
}

pub(super) fn client() -> Streams {
    let [mut client, _] = pair(&wide());
    client.set_send_buffer_limit(50 << 20, u64::MAX);
    client
}

pub(super) fn stream_with(streams: &mut Streams, bytes: usize) -> StreamId {
    let id = streams.open(true).expect("allowed");
    assert_eq!(streams.write(id, &vec![3; bytes]), Ok(bytes));
    id
}

/// Stream ranges of a packet: stream, offset, length.
pub(super) fn ranges(packet: &Packet) -> Vec<(StreamId, u64, u32)> {
    let range = |frame: &SentFrame| match frame {
        SentFrame::Stream(range) => Some((range.id, range.offset, range.length)),
        _ => None,
    };
    packet.frames.iter().filter_map(range).collect()
}

#[test]
fn a_packet_is_filled_to_its_end() {
    for room in 10..400 {
        let mut streams = client();
        let id = stream_with(&mut streams, 10_000);
        let packet = build(&mut streams, room, 0).expect("data");
        assert_eq!(packet.payload.len(), room);
        let last = FrameIter::new(&packet.payload).last().expect("frames").expect("well formed");
        assert!(matches!(last, Frame::Stream(stream) if StreamId(stream.stream_id) == id));
    }
}

#[test]
fn data_of_every_length_fits_where_it_can() {
    // A frame without length field takes 1 byte of type and 1 of stream id; with length one or two more.
    for length in 1..200usize {
        for room in length + 2..length + 6 {
            let mut streams = client();
            stream_with(&mut streams, length);
            let packet = build(&mut streams, room, 0).expect("data");
            assert_eq!(ranges(&packet)[0].2 as usize, length, "{length} bytes in a room of {room}");
            assert!(build(&mut streams, room, 0).is_none());
            let data: usize = FrameIter::new(&packet.payload)
                .map(|frame| match frame.expect("well formed") {
                    Frame::Stream(stream) => stream.data.len(),
                    _ => 0,
                })
                .sum();
            assert_eq!(data, length, "the peer reads as much");
        }
    }
}

#[test]
fn streams_of_equal_priority_take_turns() {
    let mut streams = client();
    let ids: Vec<_> = (0..3).map(|_| stream_with(&mut streams, 80_000)).collect();
    let packets = std::iter::from_fn(|| build(&mut streams, 1_000, 0));
    let order: Vec<_> = packets.map(|packet| ranges(&packet)[0].0).collect();
    let turns: Vec<_> = order.chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect();
    // A turn is 64 kB. One that had its turn is next after as much of those that begin.
    let (whole, rest) = (66, 15);
    assert_eq!(turns[..3], [(ids[0], whole), (ids[1], whole), (ids[0], rest)]);
    assert_eq!(turns[3..], [(ids[2], whole), (ids[1], rest), (ids[2], rest - 1)]);
}

//= rfc9000-2.3-1
#[test]
fn urgent_streams_go_first_and_so_do_their_losses() {
    let mut streams = client();
    let slow = stream_with(&mut streams, 1_000);
    let urgent = stream_with(&mut streams, 1_000);
    streams.set_priority(urgent, 1).expect("open");
    assert_eq!((streams.priority(urgent), streams.priority(slow)), (Ok(1), Ok(0)));
    let packet = build(&mut streams, 1_500, 0).expect("data");
    assert_eq!(ranges(&packet).iter().map(|range| range.0).collect::<Vec<_>>(), [urgent, slow]);
    stream_with(&mut streams, 1_000);
    build(&mut streams, 1_500, 0).expect("data");
    lost(&mut streams, &packet);
    let again = build(&mut streams, 1_030, 0).expect("lost data");
    assert_eq!(ranges(&again)[0], (urgent, 0, 1_000));
}

/// Lost data goes before new data of its own priority and of lower ones, and no further.
#[test]
fn new_data_goes_before_lost_data_of_less_urgent_streams() {
    let mut streams = client();
    let mut stream = |priority| {
        let id = stream_with(&mut streams, 1_000);
        streams.set_priority(id, priority).expect("open");
        id
    };
    let (bulk, plain) = (stream(-10), stream(0));
    let sent = build(&mut streams, 3_000, 0).expect("data");
    assert_eq!(ranges(&sent).iter().map(|range| range.0).collect::<Vec<_>>(), [plain, bulk]);
    lost(&mut streams, &sent);
    let mut stream = |priority| {
        let id = stream_with(&mut streams, 1_000);
        streams.set_priority(id, priority).expect("open");
        id
    };
    let (urgent, second_plain, second_bulk) = (stream(10), stream(0), stream(-10));
    let expected = [urgent, plain, second_plain, bulk, second_bulk];
    let mut seen = Vec::new();
    Segments(&streams).segments(&mut |segment| {
        seen.push(segment.stream);
        ControlFlow::Continue(())
    });
    assert_eq!(seen, expected, "as schedulers see it");
    let packets: Vec<_> = std::iter::from_fn(|| build(&mut streams, 1_030, 0)).collect();
    let mut order: Vec<_> = packets.iter().flat_map(ranges).map(|range| range.0).collect();
    order.dedup();
    assert_eq!(order, expected);
    check(&streams);
}

#[test]
fn a_skipped_head_is_left_for_later() {
    let mut streams = client();
    let first = stream_with(&mut streams, 3_000);
    let second = stream_with(&mut streams, 3_000);
    streams.set_priority(first, 1).expect("open");
    assert_eq!(ranges(&build(&mut streams, 504, 1_000).expect("data")), [(first, 1_000, 500)]);
    // The head is still 1000 bytes, now a gap; then the tail.
    assert_eq!(ranges(&build(&mut streams, 504, 1_000).expect("data")), [(first, 1_500, 500)]);
    assert_eq!(ranges(&build(&mut streams, 504, 4_000).expect("data")), [(second, 2_000, 500)]);
    assert_eq!(ranges(&build(&mut streams, 502, 0).expect("data")), [(first, 0, 500)]);
    // Not within a packet of the head's: the gap of 500 bytes is one.
    let packet = build(&mut streams, 504, 100).expect("data");
    assert_eq!(ranges(&packet), [(first, 2_000, 500)]);
    let sent = 2_000 + ranges(&packet).iter().map(|range| u64::from(range.2)).sum::<u64>();
    check(&streams);
    assert!(build(&mut streams, 504, 6_000).is_none(), "nothing behind the end");
    let mut rest = 0;
    while let Some((_, written)) = build_counted(&mut streams, 1_200, 0) {
        rest += written.new_bytes;
    }
    assert_eq!(rest, 6_000 - sent);
    assert_eq!(streams.queue().total(), 0);
}

/// What was lost is left to another path, and so are the bytes that are skipped.
#[test]
fn new_data_goes_without_what_was_lost() {
    let mut streams = client();
    let id = stream_with(&mut streams, 3_000);
    let packet = build(&mut streams, 1_000, 0).expect("data");
    let sent = ranges(&packet)[0].2;
    lost(&mut streams, &packet);
    let (mut frames, mut buffer) = (SentFrames::new(), vec![0; 504]);
    let mut written = WrittenData::default();
    streams.write_new(&mut Writer::new(&mut buffer), &mut frames, PathId::ZERO, 500, &mut written);
    assert_eq!((written.retransmitted_bytes, written.new_bytes), (0, 500));
    assert_eq!(
        (streams.queue().retransmit, streams.queue().unsent),
        (u64::from(sent), 2_500 - u64::from(sent))
    );
    let again = build(&mut streams, 1_010, 0).expect("what was lost");
    assert_eq!(ranges(&again)[0], (id, 0, sent));
    check(&streams);
}

/// Two paths that share a stream, one of them always ahead of the other: neither cuts the other's packets.
#[test]
fn what_is_skipped_fills_whole_packets() {
    let mut streams = client();
    let id = stream_with(&mut streams, 400_000);
    // Offsets take four bytes from here on.
    while streams.queue().unsent > 380_000 {
        build(&mut streams, 1_200, 0).expect("data");
    }
    let (mut frames, mut packets) = (0, 0);
    while let Some(ahead) = build(&mut streams, 1_200, 10_000) {
        let head = build(&mut streams, 1_200, 0).expect("what was skipped");
        packets += 2;
        frames += ranges(&ahead).len() + ranges(&head).len();
        assert!(ranges(&ahead).iter().chain(&ranges(&head)).all(|range| range.0 == id));
    }
    assert!(packets > 300, "{packets} packets");
    assert!(frames <= packets + 2, "{frames} frames in {packets} packets");
}

/// The same, where now and then a packet has less room for data, since it carries acknowledgements as well.
#[test]
fn whole_packets_are_found_again_after_a_packet_that_was_none() {
    let mut streams = client();
    stream_with(&mut streams, 1_000_000);
    // Offsets take four bytes from here on.
    while streams.queue().unsent > 980_000 {
        build(&mut streams, 1_200, 0).expect("data");
    }
    let (mut frames, mut packets, mut odd) = (0, 0, 0);
    while streams.queue().unsent > 30_000 {
        for skip in [10_000, 0] {
            packets += 1;
            let acks = if packets % 37 == 0 { 50 } else { 0 };
            odd += usize::from(acks > 0);
            frames += stream_frames_after_acks(&mut streams, acks, skip);
        }
    }
    assert!(odd > 20, "{odd} of {packets} packets");
    assert!(frames <= packets + odd * 2, "{frames} frames in {packets} packets, {odd} of them odd");
    check(&streams);
}

/// Builds a packet of 1,200 bytes, of which acknowledgements take `acks`, and counts its STREAM frames.
fn stream_frames_after_acks(streams: &mut Streams, acks: usize, skip: u64) -> usize {
    let (mut frames, mut buffer) = (SentFrames::new(), [0; 1_200]);
    let mut w = Writer::new(&mut buffer);
    if acks > 0 {
        w.take(acks).expect("room");
        frames.push(SentFrame::Ack { path: PathId::ZERO, largest: 1 });
    }
    streams.write_data(&mut w, &mut frames, PathId::ZERO, skip);
    frames.iter().filter(|frame| matches!(frame, SentFrame::Stream(_))).count()
}

//= rfc9000-4.1-1
#[test]
fn skipping_keeps_the_connections_credit_for_the_head() {
    let config = small_config();
    let [mut client, mut server] = pair(&config);
    client.set_send_buffer_limit(20_000, u64::MAX);
    for _ in 0..3 {
        stream_with(&mut client, 2_000);
    }
    assert_eq!(client.queue().unsent, 5_000, "the connection allows 5000");
    assert!(build(&mut client, 1_200, 5_000).is_none());
    let packet = build(&mut client, 1_200, 4_900).expect("100 bytes");
    assert_eq!(ranges(&packet).iter().map(|range| range.2).sum::<u32>(), 100);
    receive(&mut server, &packet.payload).expect("within limits");
    flush(&mut client, &mut server);
    assert_eq!(client.queue().unsent, 0);
    assert!(client.queue().connection_window_left == 0);
}

/// A reader waits for the lowest byte first: what was skipped and lies before lost data leaves before it, but not on a path
/// that skips the head.
#[test]
fn a_gap_before_lost_data_goes_before_it() {
    let mut streams = client();
    let id = stream_with(&mut streams, 10_000);
    build(&mut streams, 1_004, 0).expect("the head");
    let ahead: Vec<_> = (0..2).map(|_| build(&mut streams, 1_004, 2_000).expect("what is ahead")).collect();
    lost(&mut streams, &ahead[0]);
    let starts: Vec<_> = ahead.iter().map(|packet| ranges(packet)[0].1).collect();
    let mut seen = Vec::new();
    Segments(&streams).segments(&mut |segment| {
        seen.push((segment.range.start, segment.retransmission));
        ControlFlow::Continue(())
    });
    let gap = 1_002;
    assert_eq!(seen[..2], [(gap, false), (starts[0], true)], "as schedulers see it");
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "{seen:?}");
    // The path that was ahead takes what it lost, the other one the gap, then the rest of what was lost.
    assert_eq!(ranges(&build(&mut streams, 504, 2_000).expect("data")), [(id, starts[0], 500)]);
    let mut at = gap;
    while at < starts[0] {
        let packet = build(&mut streams, 504, 0).expect("data");
        assert_eq!(ranges(&packet)[0].1, at, "in order");
        at = ranges(&packet).iter().map(|range| range.1 + u64::from(range.2)).max().unwrap();
        check(&streams);
    }
    let rest = ranges(&build(&mut streams, 1_204, 0).expect("data"));
    assert!(rest[0].1 <= starts[0] + 1_000, "{rest:?}");
    assert_eq!(streams.queue().retransmit, 0);
}

//= rfc9000-13.3-4, rfc9000-13.3-6
#[test]
fn lost_data_goes_first_and_only_what_is_still_missing() {
    let mut streams = client();
    let id = stream_with(&mut streams, 5_000);
    let packets: Vec<_> = (0..4).map(|_| build(&mut streams, 1_000, 0).expect("data")).collect();
    lost(&mut streams, &packets[1]);
    lost(&mut streams, &packets[1]);
    lost(&mut streams, &packets[2]);
    acked(&mut streams, &packets[2]);
    let (_, offset, length) = ranges(&packets[1])[0];
    assert_eq!(
        streams.queue().retransmit,
        u64::from(length),
        "lost twice, queued once; acknowledged late, not at all"
    );
    let again = build(&mut streams, 1_300, 1_000).expect("data");
    assert_eq!(ranges(&again)[0], (id, offset, length));
    assert!(ranges(&again).len() > 1, "skipped data follows");
    // The first copy arrives after all: the retransmission's fate does not matter.
    acked(&mut streams, &packets[1]);
    lost(&mut streams, &again);
    assert!(ranges(&build(&mut streams, 100, 0).expect("data"))[0].1 >= 3_000);
    check(&streams);
}

#[test]
fn the_loss_of_a_copy_changes_nothing_and_its_arrival_all() {
    let mut streams = client();
    let id = stream_with(&mut streams, 800);
    streams.finish(id).expect("open");
    let original = build(&mut streams, 1_000, 0).expect("data");
    let copy = build_copy(&mut streams, 1_000, &original).expect("data");
    assert_eq!(ranges(&copy), ranges(&original));
    lost(&mut streams, &copy);
    assert_eq!(streams.queue().total(), 0);
    assert!(!streams.has_pending_control());
    let copy = build_copy(&mut streams, 1_000, &original).expect("data");
    acked(&mut streams, &copy);
    lost(&mut streams, &original);
    assert_eq!(streams.queue().total(), 0);
    assert!(build_copy(&mut streams, 1_000, &original).is_none(), "nothing to copy");
}

#[test]
fn copies_leave_out_what_has_arrived() {
    let mut streams = client();
    stream_with(&mut streams, 3_000);
    let whole = build(&mut streams, 4_000, 0).expect("data");
    // Acknowledged by parts, as packets of other sizes would.
    let SentFrame::Stream(range) = whole.frames[0].clone() else { panic!("stream data") };
    for (offset, length) in [(0, 500), (1_000, 500)] {
        streams.on_acked(&crate::connection::frames::SentStream { offset, length, ..range });
    }
    let (mut frames, mut buffer) = (SentFrames::new(), [0; 1_000]);
    let copy = crate::connection::frames::SentStream { copy: true, ..range };
    let rest = streams.write_copy(&mut Writer::new(&mut buffer), &mut frames, PathId(1), copy).expect("more");
    let parts: Vec<_> = frames
        .iter()
        .map(|frame| match frame {
            SentFrame::Stream(part) => (part.offset, part.length, part.copy),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(parts[0], (500, 500, true));
    assert_eq!(parts[1].0, 1_500);
    assert_eq!(rest.offset, parts[1].0 + u64::from(parts[1].1));
    assert_eq!(rest.end(), 3_000);
}

#[test]
fn the_loss_of_a_copy_counts_if_it_answers_for_the_range() {
    for (copy, queued) in [(true, 0), (false, 3_000)] {
        let mut streams = client();
        stream_with(&mut streams, 3_000);
        let original = build(&mut streams, 4_000, 0).expect("data");
        let SentFrame::Stream(range) = original.frames[0].clone() else { panic!("stream data") };
        let (mut frames, mut buffer) = (SentFrames::new(), [0; 4_000]);
        let range = crate::connection::frames::SentStream { copy, ..range };
        assert_eq!(streams.write_copy(&mut Writer::new(&mut buffer), &mut frames, PathId(1), range), None);
        let SentFrame::Stream(sent) = frames[0].clone() else { panic!("stream data") };
        streams.on_lost(&sent, Some(PathId(1)));
        assert_eq!(streams.queue().retransmit, queued, "copy: {copy}");
    }
}

#[test]
fn an_end_without_data_is_control() {
    let mut streams = client();
    let id = stream_with(&mut streams, 100);
    let data = build(&mut streams, 1_000, 0).expect("data");
    streams.finish(id).expect("open");
    assert!(streams.has_pending_control());
    assert_eq!(streams.queue().total(), 0, "no scheduler is asked");
    let end = build(&mut streams, 1_000, 0).expect("the end");
    assert_eq!(ranges(&end), [(id, 100, 0)]);
    lost(&mut streams, &end);
    assert!(streams.has_pending_control());
    lost(&mut streams, &data);
    // Data that ends the stream carries the end; if it arrives otherwise, the end goes alone.
    acked(&mut streams, &data);
    assert!(streams.has_pending_control());
    let end = build(&mut streams, 1_000, 0).expect("the end");
    acked(&mut streams, &end);
    assert!(streams.table.find_ref(id).is_some_and(|key| streams.table.send_mut(key).is_none()));
}

//= rfc9000-4.1-4, rfc9000-19.12-1, rfc9000-19.13-1
#[test]
fn blocked_frames_are_not_repeated_once_untrue() {
    let [mut client, mut server] = pair(&small_config());
    client.set_send_buffer_limit(20_000, u64::MAX);
    let ids: Vec<_> = (0..3).map(|_| stream_with(&mut client, 2_000)).collect();
    client.write(ids[0], b"x").expect_err("the stream allows no more");
    let mut blocked = Vec::new();
    while let Some(packet) = build(&mut client, 1_200, 0) {
        receive(&mut server, &packet.payload).expect("allowed");
        blocked.push(packet);
    }
    let kinds = |packets: &[Packet]| {
        let control = packets.iter().flat_map(|packet| &packet.frames);
        control.filter(|frame| matches!(frame, SentFrame::StreamControl(_))).count()
    };
    assert_eq!(kinds(&blocked), 2, "DATA_BLOCKED and STREAM_DATA_BLOCKED");
    client.write(ids[2], b"x").expect_err("full as well");
    let again = build(&mut client, 1_200, 0).expect("STREAM_DATA_BLOCKED");
    assert_eq!((kinds(std::slice::from_ref(&again)), again.frames.len()), (1, 1), "each limit is named once");
    client.on_max_data(100_000);
    client.on_max_stream_data(ids[0], 100_000).expect("open");
    for packet in &blocked {
        lost(&mut client, packet);
    }
    assert!(!client.has_pending_control());
    // While true, they are.
    let again = build(&mut client, 1_200, 0).expect("lost data");
    assert_eq!(kinds(&[again]), 0);
}
