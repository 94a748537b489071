//! Ranges that a scheduler chose by their place in a stream.

use hawser_policy::{PathId, StreamId};
use hawser_wire::Writer;

use super::super::Streams;
use super::super::outgoing::WrittenData;
use super::pair::{Packet, acked, build, check, flush, lost, pair, receive, small_config};
use super::sending::{client, ranges, stream_with};
use crate::connection::frames::SentFrames;

pub(super) fn build_range(
    streams: &mut Streams,
    path: PathId,
    room: usize,
    id: StreamId,
    start: u64,
    end: u64,
) -> (Packet, WrittenData) {
    let mut frames = SentFrames::new();
    let mut buffer = vec![0xff; room];
    let mut w = Writer::new(&mut buffer);
    let before = streams.queue();
    let written = streams.write_range(&mut w, &mut frames, path, id, start..end);
    let after = streams.queue();
    assert_eq!(before.unsent - after.unsent, written.new_bytes, "what was written left the queue");
    assert_eq!(before.retransmit - after.retransmit, written.retransmitted_bytes);
    check(streams);
    let payload = w.written().to_vec();
    (Packet { payload, frames, delivered: false }, written)
}

#[test]
fn a_named_range_is_sent_and_nothing_beside_it() {
    let mut streams = client();
    let first = stream_with(&mut streams, 3_000);
    let second = stream_with(&mut streams, 3_000);
    let (packet, written) = build_range(&mut streams, PathId::ZERO, 1_200, second, 1_000, 1_500);
    assert_eq!(ranges(&packet), [(second, 1_000, 500)]);
    assert_eq!(written, WrittenData { new_bytes: 500, retransmitted_bytes: 0 });
    // What lies around it goes in its turn, once.
    let (packet, _) = build_range(&mut streams, PathId::ZERO, 4_000, second, 500, 2_000);
    assert_eq!(ranges(&packet), [(second, 500, 500), (second, 1_500, 500)]);
    let mut sent = 0;
    while let Some(packet) = build(&mut streams, 1_200, 0) {
        sent += ranges(&packet).iter().map(|range| u64::from(range.2)).sum::<u64>();
    }
    assert_eq!(sent, 6_000 - 1_500);
    assert_eq!(
        build_range(&mut streams, PathId::ZERO, 1_200, first, 0, 3_000).1,
        WrittenData::default(),
        "all on its way"
    );
}

#[test]
fn a_named_range_holds_what_was_lost_in_it() {
    let mut streams = client();
    let id = stream_with(&mut streams, 5_000);
    let packets: Vec<_> = (0..4).map(|_| build(&mut streams, 1_004, 0).expect("data")).collect();
    lost(&mut streams, &packets[0]);
    lost(&mut streams, &packets[2]);
    let third = ranges(&packets[2])[0];
    let (packet, written) = build_range(&mut streams, PathId::ZERO, 1_200, id, third.1, 10_000);
    assert_eq!(ranges(&packet)[0], third, "the first packet's bytes are not named");
    assert_eq!(written.retransmitted_bytes, u64::from(third.2));
    assert!(written.new_bytes > 0, "what was never sent follows");
    assert_eq!(streams.queue().retransmit, u64::from(ranges(&packets[0])[0].2));
}

#[test]
fn ranges_that_are_not_there_are_cut() {
    let mut streams = client();
    let id = stream_with(&mut streams, 100);
    for (stream, start, end) in [
        (id, 100, 200),
        (id, 60, 20),
        (id, u64::MAX - 1, u64::MAX),
        (StreamId(8), 0, 100),
        (StreamId(3), 0, 9),
    ] {
        let (packet, written) = build_range(&mut streams, PathId::ZERO, 1_200, stream, start, end);
        assert_eq!((ranges(&packet).len(), written), (0, WrittenData::default()), "{stream} {start} {end}");
    }
    let (packet, _) = build_range(&mut streams, PathId::ZERO, 1_200, id, 90, u64::MAX);
    assert_eq!(ranges(&packet), [(id, 90, 10)]);
}

/// Who names all ranges never walks the order of streams: what is sent whole leaves it all the same, and what was lost once
/// leaves that of retransmissions with its stream. Otherwise each look at the queue would pass all streams that ever were.
#[test]
fn streams_sent_by_name_leave_the_order() {
    let mut streams = client();
    let mut packets = Vec::new();
    for number in 0..100 {
        let id = stream_with(&mut streams, 500);
        let (packet, _) = build_range(&mut streams, PathId::ZERO, 1_200, id, 0, 500);
        let open = streams.order.iter().count();
        assert_eq!(open, number + 1, "something may still be written");
        packets.push((id, packet));
    }
    for (id, packet) in packets.drain(..) {
        streams.write(id, b"end").expect("it is open");
        streams.finish(id).expect("it is open");
        let (rest, _) = build_range(&mut streams, PathId::ZERO, 1_200, id, 0, u64::MAX);
        lost(&mut streams, &rest);
        let (again, written) = build_range(&mut streams, PathId::ZERO, 1_200, id, 0, u64::MAX);
        assert_eq!(written.retransmitted_bytes, 3);
        acked(&mut streams, &packet);
        acked(&mut streams, &again);
    }
    assert_eq!((streams.order.iter().count(), streams.retransmissions.iter().count()), (0, 0));
}

//= rfc9000-2.2-3
#[test]
fn a_named_range_keeps_to_the_connections_credit() {
    let [mut client, mut server] = pair(&small_config());
    client.set_send_buffer_limit(20_000, u64::MAX);
    let ids: Vec<_> = (0..3).map(|_| stream_with(&mut client, 2_000)).collect();
    let first = build_range(&mut client, PathId::ZERO, 4_000, ids[2], 0, 2_000).0;
    // 3000 bytes of credit are left; the second half of a stream takes that of the first with it.
    let second = build_range(&mut client, PathId::ZERO, 4_000, ids[1], 1_000, 2_000).0;
    let third = build_range(&mut client, PathId::ZERO, 4_000, ids[0], 0, 2_000).0;
    assert_eq!(ranges(&third), [(ids[0], 0, 1_000)]);
    for packet in [first, second, third] {
        receive(&mut server, &packet.payload).expect("within limits");
        acked(&mut client, &packet);
    }
    flush(&mut client, &mut server);
    assert_eq!((client.queue().unsent, client.queue().connection_window_left), (0, 0));
    check(&client);
}
