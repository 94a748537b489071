//! What a peer can make wait for an application that looks at nothing.

use std::time::Duration;

use bytes::BytesMut;
use hawser_policy::{PathEvent, PathId};
use hawser_wire::Frame;
use hawser_wire::frame::Stream;

use super::forge::encode;
use super::pair::{Pair, Settings, client_address, from};
use crate::connection::events::EventQueue;
use crate::{Code, ConnectionError, Datagram, Event, ReceiveMemory};

/// The client gets a packet of the server with these frames, and nobody asks it for events.
fn receive(pair: &mut Pair, frames: &[Frame<'_>]) {
    let packet = pair.server().forge(PathId::ZERO, &encode(frames));
    let now = pair.now;
    let payload = BytesMut::from(&packet[..]);
    let datagram = Datagram { tuple: from(client_address(0)), ecn: None, received_at: now, payload };
    pair.client().handle_datagram(now, datagram);
}

fn events(pair: &mut Pair) -> Vec<Event> {
    let connection = pair.client();
    std::iter::from_fn(|| connection.poll_event()).collect()
}

/// RFC 9000 section 8.1.3: the newest tokens are worth most.
#[test]
fn the_newest_address_tokens_wait_and_count_as_memory() {
    let mut pair = Pair::connected(Settings::default());
    events(&mut pair);
    let idle = pair.client().buffered();
    for n in 0..500_u32 {
        let mut token = vec![7; 1_000];
        token[..4].copy_from_slice(&n.to_be_bytes());
        receive(&mut pair, &[Frame::NewToken(&token)]);
    }
    let held = pair.client().buffered() - idle;
    assert!((4_000..8_192).contains(&held), "{held} bytes");
    let tokens: Vec<u32> = events(&mut pair)
        .into_iter()
        .map(|event| match event {
            Event::NewToken(token) => u32::from_be_bytes(token[..4].try_into().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tokens, [496, 497, 498, 499]);
    assert_eq!(pair.client().buffered(), idle);
}

#[test]
fn leave_to_open_more_paths_is_told_once() {
    let mut pair = Pair::connected(Settings::default());
    events(&mut pair);
    for maximum in 100..2_100 {
        receive(&mut pair, &[Frame::MaxPathId(maximum)]);
    }
    let waiting = events(&mut pair);
    assert_eq!((waiting.len(), &waiting[0]), (1, &Event::Path(PathEvent::MorePathsAllowed)));
    receive(&mut pair, &[Frame::MaxPathId(3_000)]);
    assert_eq!(events(&mut pair), [Event::Path(PathEvent::MorePathsAllowed)], "and again when it was taken");
}

/// A peer may open and abandon paths as often as it is granted new ids.
#[test]
fn events_of_paths_that_nobody_takes_are_bounded() {
    let mut queue = EventQueue::default();
    for n in 0..10_000 {
        queue.path(PathEvent::Established(PathId(n)));
        let held = queue.memory();
        assert!(held <= 300 * size_of::<Event>() as u64, "{held} bytes after {n} events");
    }
    let newest = std::iter::from_fn(|| queue.pop()).last();
    assert_eq!(newest, Some(Event::Path(PathEvent::Established(PathId(9_999)))), "the oldest gave way");
}

const BYTES: usize = 20_000_000;

/// An upload to a server whose endpoint may hold `limit` bytes; the server reads after each 10 ms, or never. Most that was
/// held at once, how the connection ended, and what was read.
fn upload(limit: u64, reads: bool) -> (u64, Option<ConnectionError>, usize) {
    let mut pair = Pair::connected(Settings::default());
    let memory = ReceiveMemory::new(limit);
    pair.server().shares.memory = memory.join(None);
    let id = pair.client().open_stream(false).unwrap();
    let (mut written, mut read, mut most) = (0, 0, 0);
    for _ in 0..300 {
        written += pair.client().write(id, &vec![7; BYTES - written]).unwrap_or(0);
        pair.run(Duration::from_millis(10));
        most = most.max(memory.held());
        while reads && let Ok(Some(chunk)) = pair.server().read_chunk(id, usize::MAX) {
            read += chunk.len();
        }
    }
    let closed = pair.server.events.iter().find_map(|event| match event {
        Event::Closed(error) => Some(error.clone()),
        _ => None,
    });
    (most, closed, read)
}

#[test]
fn who_reads_nothing_is_closed_when_the_endpoint_holds_too_much() {
    let (most, closed, _) = upload(200_000, false);
    assert!((100_000..240_000).contains(&most), "{most} bytes held of 200000 allowed");
    let is_internal =
        matches!(&closed, Some(ConnectionError::Transport(error)) if error.code == Code::INTERNAL_ERROR);
    assert!(is_internal, "{closed:?}");
}

#[test]
fn who_reads_is_served_however_little_memory_there_is() {
    let limit = 3 * Settings::default().server.initial_connection_window;
    let (most, closed, read) = upload(limit, true);
    assert_eq!((closed, read), (None, BYTES));
    assert!(most > limit / 5, "the windows were used: {most} bytes of {limit}");
}

/// Clients of one address send to applications that do not read. One of another address is served as before, although what it has
/// on the way is more than an equal share for each connection.
#[test]
fn an_upload_goes_on_while_another_source_fills_the_memory() {
    const CROWD: usize = 8;
    let window = Settings::default().server.initial_connection_window;
    let memory = ReceiveMemory::new(3 * window);
    let mut pairs: Vec<_> = (0..=CROWD)
        .map(|index| {
            let mut pair = Pair::connected(Settings::default());
            pair.server().shares.memory =
                memory.join(Some([192, 0, 2, if index == 0 { 1 } else { 2 }].into()));
            let id = pair.client().open_stream(false).unwrap();
            (pair, id, 0)
        })
        .collect();
    let (mut read, mut most) = (0, 0);
    for _ in 0..300 {
        for (index, (pair, id, written)) in pairs.iter_mut().enumerate() {
            *written += pair.client().write(*id, &vec![7; BYTES - *written]).unwrap_or(0);
            pair.run(Duration::from_millis(10));
            most = most.max(memory.held());
            while index == 0
                && let Ok(Some(chunk)) = pair.server().read_chunk(*id, usize::MAX)
            {
                read += chunk.len();
            }
        }
    }
    let is_closed = |pair: &Pair| pair.server.events.iter().any(|event| matches!(event, Event::Closed(_)));
    let closed = pairs.iter().filter(|(pair, ..)| is_closed(pair)).count();
    assert_eq!((read, is_closed(&pairs[0].0)), (BYTES, false), "{closed} of the crowd closed");
    assert!(closed >= CROWD - 4, "{closed} of the crowd");
    assert!(most < 4 * window, "{most} bytes held of {} allowed", 3 * window);
}

/// Data in more ranges than are kept is not acknowledged, so that an honest peer sends it again when others were filled.
#[test]
fn data_in_too_many_ranges_is_not_acknowledged_and_ends_nothing() {
    let mut pair = Pair::connected(Settings::default());
    let byte = |offset: u64| Frame::Stream(Stream { stream_id: 3, offset, fin: false, data: b"x" });
    let mut offset = 1;
    while pair.client().stats().packets_refused == 0 {
        let frames: Vec<_> = (0..256).map(|index| byte(offset + 2 * index)).collect();
        receive(&mut pair, &frames);
        offset += 2 * 256;
        assert!(offset < 100_000, "nothing was refused");
    }
    let largest = |pair: &mut Pair| pair.client().paths.get(PathId::ZERO).unwrap().space.received.largest();
    let before = largest(&mut pair);
    receive(&mut pair, &[byte(offset + 1_000)]);
    assert_eq!((largest(&mut pair), pair.client().stats().packets_refused), (before, 2));
    receive(&mut pair, &[byte(0), byte(2)]);
    receive(&mut pair, &[byte(offset + 1_000)]);
    assert!(largest(&mut pair) > before, "there is room");
    assert_eq!(pair.client().stats().packets_refused, 2);
    assert!(!events(&mut pair).iter().any(|event| matches!(event, Event::Closed(_))));
}
