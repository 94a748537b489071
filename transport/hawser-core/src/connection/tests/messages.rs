//! Datagrams, and streams that are given up.

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::PathId;

use super::pair::{Pair, Settings, transport};
use crate::{Event, ReadError, SendDatagramError, StreamEvent, TransportConfig, WriteError};

const SOON: Duration = Duration::from_millis(100);

fn message(byte: u8, length: usize) -> Bytes {
    Bytes::from(vec![byte; length])
}

#[test]
fn datagrams_go_where_they_are_told_to() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    for (hint, byte) in [(Some(PathId::ZERO), 1), (Some(second), 2), (None, 3)] {
        let before = [PathId::ZERO, second].map(|id| pair.client().path_stats(id).unwrap().bytes_sent);
        pair.client().send_datagram(message(byte, 900), hint).unwrap();
        pair.run(SOON);
        assert_eq!(pair.server().read_datagram(), Some(message(byte, 900)));
        let after = [PathId::ZERO, second].map(|id| pair.client().path_stats(id).unwrap().bytes_sent);
        let used = [0, 1].map(|n| after[n] - before[n] >= 900);
        assert!(
            hint.is_none_or(|id| used[usize::from(id == second)]) && used[0] != used[1],
            "{hint:?}: {used:?}"
        );
    }
    assert!(pair.server.events.contains(&Event::DatagramReceived));
}

/// RFC 9221 section 4 permits a DATAGRAM frame without data.
#[test]
fn an_empty_datagram_leaves_by_itself_and_is_acknowledged() {
    for path in [None, Some(PathId::ZERO)] {
        let mut pair = Pair::connected(Settings::default());
        pair.run(SOON);
        let acked = |pair: &mut Pair| pair.client().path_stats(PathId::ZERO).unwrap().packets_acked;
        let before = acked(&mut pair);
        for _ in 0..3 {
            pair.client().send_datagram(Bytes::new(), path).unwrap();
        }
        pair.run(SOON);
        let received: Vec<_> = std::iter::from_fn(|| pair.server().read_datagram()).collect();
        assert_eq!(received, [Bytes::new(), Bytes::new(), Bytes::new()], "{path:?}");
        assert_eq!(acked(&mut pair) - before, 1, "all in one packet, which is ack-eliciting");
    }
}

#[test]
fn datagrams_that_cannot_be_sent_are_refused() {
    let mut pair = Pair::connected(Settings::default());
    let max = pair.client().max_datagram_size().unwrap();
    assert!(max > 1_100, "{max}");
    let too_large = pair.client().send_datagram(message(0, max + 1), None);
    assert_eq!(too_large, Err(SendDatagramError::TooLarge { max }));
    pair.client().send_datagram(message(0, max), None).unwrap();
    let nowhere = pair.client().send_datagram(message(0, 9), Some(PathId(3)));
    assert_eq!(nowhere, Err(SendDatagramError::NoPath(PathId(3))));
    pair.run(SOON);
    assert_eq!(pair.server().read_datagram().map(|message| message.len()), Some(max));

    let client = TransportConfig { datagram_receive_buffer: None, ..transport() };
    let mut pair = Pair::connected(Settings { client, ..Settings::default() });
    assert_eq!(pair.server().send_datagram(message(0, 9), None), Err(SendDatagramError::Unsupported));
    assert_eq!(pair.server().max_datagram_size(), None);
}

#[test]
fn datagrams_of_a_path_that_goes_take_another() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().send_datagram(message(5, 100), Some(second)).unwrap();
    pair.client().abandon_path(now, second, crate::Code::NO_ERROR).unwrap();
    pair.run(SOON);
    assert_eq!(pair.server().read_datagram(), Some(message(5, 100)));
}

#[test]
fn what_is_dropped_is_counted() {
    let client = TransportConfig { datagram_send_buffer: 2_500, ..transport() };
    let server = TransportConfig { datagram_receive_buffer: Some(1_300), ..transport() };
    let mut pair = Pair::connected(Settings { client, server, ..Settings::default() });
    for byte in 1..=4 {
        pair.client().send_newest_datagram(message(byte, 1_000), None).unwrap();
    }
    assert_eq!(pair.client().send_datagram(message(5, 1_000), None), Err(SendDatagramError::Blocked));
    pair.run(SOON);
    assert!(pair.client.events.contains(&Event::DatagramsUnblocked));
    assert_eq!(pair.client().stats().messages_dropped_unsent, 2);
    assert_eq!(pair.server().stats().messages_dropped_unread, 1);
    assert_eq!(pair.server().read_datagram(), Some(message(4, 1_000)), "the newest");
}

#[test]
fn streams_are_given_up_by_either_end() {
    let mut pair = Pair::connected(Settings::default());
    let reset = pair.client().open_stream(true).unwrap();
    let stopped = pair.client().open_stream(true).unwrap();
    for id in [reset, stopped] {
        pair.client().write(id, &[1; 3_000]).unwrap();
    }
    pair.run(SOON);
    pair.client().reset(reset, 11).unwrap();
    pair.server().stop(stopped, 22).unwrap();
    pair.run(SOON);
    let mut read = 0;
    let outcome = loop {
        match pair.server().read_chunk(reset, 1 << 20) {
            Ok(Some(chunk)) => read += chunk.len(),
            other => break other,
        }
    };
    assert_eq!(outcome, Err(ReadError::Reset(11)), "after {read} bytes");
    assert!(pair.client.events.contains(&Event::Stream(StreamEvent::Stopped { id: stopped, code: 22 })));
    assert_eq!(pair.client().write(stopped, &[1]), Err(WriteError::Stopped(22)));
    pair.run(SOON);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}
