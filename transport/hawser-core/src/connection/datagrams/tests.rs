use std::sync::Arc;

use bytes::Bytes;
use hawser_policy::PathId;
use hawser_wire::frame::Frame;
use hawser_wire::{FrameIter, Writer};

use super::*;
use crate::connection::streams::test_config;

const ROOM: usize = 1_300;

fn queue(send: usize, receive: Option<usize>) -> DatagramQueue {
    let mut config = test_config();
    let transport = Arc::make_mut(&mut config);
    transport.datagram_send_buffer = send;
    transport.datagram_receive_buffer = receive;
    let mut queue = DatagramQueue::new(&config);
    queue.set_peer_max_frame_size(65_535);
    queue
}

fn to(path: Option<PathId>) -> DatagramInfo {
    DatagramInfo::default().with(|info| info.path = path)
}

fn packet(queue: &mut DatagramQueue, path: PathId, room: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0xff; room];
    let mut w = Writer::new(&mut buffer);
    let written = queue.write(&mut w, path, ROOM);
    let mut messages = Vec::new();
    if w.position() == 0 {
        return messages;
    }
    for frame in FrameIter::new(w.written()) {
        match frame.expect("well formed") {
            Frame::Datagram(datagram) => messages.push(datagram.data.to_vec()),
            Frame::Padding(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(written, messages.len());
    messages
}

fn message(byte: u8, length: usize) -> Bytes {
    Bytes::from(vec![byte; length])
}

#[test]
fn messages_bound_to_a_path_leave_only_there_and_age_decides() {
    let mut queue = queue(1 << 16, None);
    for (byte, path) in [(1, None), (2, Some(PathId(1))), (3, None), (4, Some(PathId(2)))] {
        queue.send(message(byte, 10), &to(path), ROOM, WhenFull::Refuse).expect("room");
    }
    assert_eq!(queue.queued_for_any(), 22, "two frames");
    assert!(queue.has_bound(PathId(2)) && !queue.has_bound(PathId(3)));
    let sent = packet(&mut queue, PathId(1), ROOM);
    assert_eq!(sent.iter().map(|message| message[0]).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(!queue.has_pending(PathId(1)));
    queue.on_path_gone(PathId(2));
    assert_eq!(packet(&mut queue, PathId(1), ROOM)[0][0], 4);
    assert_eq!(queue.memory(), 0);
}

#[test]
fn every_room_is_filled_or_left_to_the_next_packet() {
    for room in 0..140 {
        let mut queue = queue(1 << 16, None);
        queue.send(message(7, 100), &to(None), ROOM, WhenFull::Refuse).expect("room");
        let sent = packet(&mut queue, PathId(0), room);
        assert_eq!(sent.len(), usize::from(room >= 101), "room {room}");
        assert_eq!(queue.has_pending(PathId(0)), room < 101);
    }
}

#[test]
fn a_full_send_queue_refuses_or_drops_the_oldest() {
    let mut queue = queue(1_000, None);
    let mut sent = 0;
    while queue.send(message(sent, 100), &to(None), ROOM, WhenFull::Refuse).is_ok() {
        sent += 1;
    }
    assert!(!queue.take_writable(), "nothing was freed");
    queue.send(message(99, 100), &to(None), ROOM, WhenFull::DropOldest).expect("makes room");
    assert_eq!(queue.drops().send_overflow, 1);
    let first = packet(&mut queue, PathId(0), 1_300);
    assert_eq!((first[0][0], first.last().expect("some")[0]), (1, 99));
    assert!(queue.take_writable() && !queue.take_writable());
    let error = queue.send(message(0, 1_100), &to(None), ROOM, WhenFull::DropOldest);
    assert_eq!(error, Err(SendDatagramError::Blocked), "longer than the whole queue");
}

//= rfc9221-3-1, rfc9221-3-2
#[test]
fn sizes_follow_the_peer_and_the_path() {
    let mut queue = queue(1 << 16, None);
    assert_eq!(queue.max_size(ROOM), Some(ROOM - 3));
    queue.set_peer_max_frame_size(100);
    assert_eq!(queue.max_size(ROOM), Some(97));
    let error = queue.send(message(0, 98), &to(None), ROOM, WhenFull::Refuse);
    assert_eq!(error, Err(SendDatagramError::TooLarge { max: 97 }));
    queue.set_peer_max_frame_size(0);
    assert_eq!(
        queue.send(message(0, 0), &to(None), ROOM, WhenFull::Refuse),
        Err(SendDatagramError::Unsupported)
    );
}

#[test]
fn a_message_too_long_for_a_shrunken_path_is_dropped_and_blocks_nobody() {
    let mut queue = queue(1 << 16, None);
    queue.send(message(1, 1_250), &to(None), ROOM, WhenFull::Refuse).expect("fits");
    queue.send(message(2, 10), &to(None), ROOM, WhenFull::Refuse).expect("fits");
    let mut buffer = [0; 1_100];
    let mut w = Writer::new(&mut buffer);
    assert_eq!(queue.write(&mut w, PathId(0), 1_100), 1);
    assert_eq!(queue.drops().too_large, 1);
}

//= rfc9221-5-2
#[test]
fn the_receive_queue_keeps_the_newest() {
    let mut queue = queue(0, Some(2_000));
    assert_eq!(queue.on_datagram(message(0, 600), 603, false), Ok(true));
    for byte in 1..10 {
        assert_eq!(queue.on_datagram(message(byte, 600), 603, false), Ok(false));
    }
    assert!(queue.memory() <= 2_000);
    let mut kept = Vec::new();
    while let Some(message) = queue.receive() {
        kept.push(message.data[0]);
    }
    assert_eq!(kept, [7, 8, 9]);
    assert_eq!(queue.drops().receive_overflow, 7);
    // A flood of empty messages is bounded too.
    for _ in 0..10_000 {
        queue.on_datagram(Bytes::new(), 2, false).expect("allowed");
    }
    assert!(queue.memory() <= 2_000);
}

//= rfc9221-3-3
#[test]
fn datagrams_we_did_not_offer_close_the_connection() {
    assert!(queue(0, None).on_datagram(Bytes::new(), 2, false).is_err());
    assert!(queue(0, Some(500)).on_datagram(message(0, 600), 603, false).is_err());
}

//= rfc9221-5.1-1
#[test]
fn urgent_messages_leave_first_and_are_the_last_to_be_dropped() {
    let mut queue = queue(8 * (10 + ENTRY_OVERHEAD), None);
    let priorities =
        [(0, None), (2, None), (0, Some(PathId(1))), (2, Some(PathId(1))), (1, None), (-1, None)];
    for (number, (priority, path)) in priorities.into_iter().enumerate() {
        let info = to(path).with(|info| info.priority = priority);
        queue.send(message(number as u8, 10), &info, ROOM, WhenFull::Refuse).expect("room");
    }
    let mut seen = Vec::new();
    queue.visit(&mut |datagram| {
        seen.push((datagram.bytes, datagram.priority));
        ControlFlow::Continue(())
    });
    assert_eq!(seen, [(10, 2), (10, 1), (10, 0), (10, -1)]);
    // Two more fit; then the least urgent give way, old ones first, but not to what is less urgent still.
    for number in 6..9 {
        queue.send(message(number, 10), &to(None), ROOM, WhenFull::DropOldest).expect("makes room");
    }
    let less = to(None).with(|info| info.priority = -2);
    let refused = queue.send(message(9, 10), &less, ROOM, WhenFull::DropOldest);
    assert_eq!(refused, Err(SendDatagramError::Blocked));
    queue.send(message(10, 10), &to(None), ROOM, WhenFull::DropOldest).expect("makes room");
    let sent = packet(&mut queue, PathId(1), ROOM);
    assert_eq!(sent.iter().map(|message| message[0]).collect::<Vec<_>>(), [1, 3, 4, 2, 6, 7, 8, 10]);
    assert_eq!(queue.drops().send_overflow, 2);
    assert_eq!((queue.memory(), queue.queued_for_any()), (0, 0));
}

#[test]
fn messages_expire_unsent() {
    let mut queue = queue(1 << 16, None);
    let at = |millis| Some(Time::from_millis(millis));
    for (number, deadline, path) in
        [(0, at(20), None), (1, None, None), (2, at(10), None), (3, at(10), Some(PathId(1)))]
    {
        let info = to(path).with(|info| info.deadline = deadline);
        queue.send(message(number, 10), &info, ROOM, WhenFull::Refuse).expect("room");
    }
    assert_eq!(queue.next_expiry(), at(10));
    queue.expire(Time::from_millis(9));
    assert_eq!(queue.drops().expired, 0);
    queue.expire(Time::from_millis(10));
    assert_eq!((queue.drops().expired, queue.next_expiry()), (2, at(20)));
    assert!(!queue.has_bound(PathId(1)));
    assert_eq!(packet(&mut queue, PathId(0), 13).iter().map(|message| message[0]).collect::<Vec<_>>(), [0]);
    queue.expire(Time::from_millis(30));
    assert_eq!((queue.drops().expired, queue.next_expiry()), (2, None), "it left in time");
    assert_eq!(packet(&mut queue, PathId(0), ROOM).len(), 1);
    assert_eq!(queue.memory(), 0);
}
