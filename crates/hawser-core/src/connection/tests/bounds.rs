//! What a peer can make wait for an application that looks at nothing.

use bytes::BytesMut;
use hawser_policy::{PathEvent, PathId};
use hawser_wire::Frame;

use super::forge::encode;
use super::pair::{Pair, Settings, client_address, from};
use crate::{Datagram, Event};

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
