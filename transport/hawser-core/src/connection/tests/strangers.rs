//! What strangers may make a server send, and for how long it may be kept busy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hawser_policy::{PathEvent, PathId, PathStatus, Side, Time};
use hawser_wire::Frame;

use super::forge::{acknowledgement, encode};
use super::pair::{Pair, Settings, at_server, client_address, from, server_address, transport};
use crate::crypto::Level;
use crate::crypto::null::{NullClient, NullHandshake};
use crate::{ClientConfig, Datagram, Endpoint, EndpointConfig, Event, FourTuple, Routed};

/// RFC 9000 section 8.2.2: a datagram allows three times its size, however many challenges it brings.
//= rfc9000-8.2.2-5, rfc9000-8.2.2-6
#[test]
fn challenges_of_one_datagram_share_its_allowance() {
    for count in 1..=8 {
        let mut pair = Pair::connected(Settings::default());
        let victim = client_address(500);
        pair.dead.push(victim);
        let began = pair.now;
        let frames: Vec<Frame<'_>> = (0..count).map(|i| Frame::PathChallenge([i + 1; 8])).collect();
        let mut received = 0;
        for _ in 0..3 {
            let packet = pair.client().forge(PathId::ZERO, &encode(&frames));
            received += packet.len();
            pair.receive(Side::Server, at_server(victim), &packet);
            pair.run(Duration::from_millis(5));
        }
        pair.run(Duration::from_secs(2));
        let sent = pair.bytes_to(Side::Server, victim, began);
        assert!(sent <= 3 * received, "{count} challenges: {sent} bytes for {received}");
        assert!(sent > 0, "honest clients are answered");
    }
}

/// RFC 9000 section 10.1 ends silent connections only: a client that says PING in Initial packets is not silent, and not
/// getting anywhere.
#[test]
fn a_handshake_that_does_not_end_is_given_up() {
    let mut pair = Pair::new(Settings::default());
    pair.lose = |sent| !sent.by.is_client();
    pair.run(Duration::from_millis(15));
    let mut client = pair.client.connection.take().unwrap();
    assert_eq!(pair.server.endpoint.handshakes(), 1);
    for _ in 0..2 {
        let packet = client.forge_long(Level::Initial, None, &encode(&[Frame::Ping]), 1_200);
        pair.receive(Side::Server, at_server(client_address(0)), &packet);
        pair.run(Duration::from_secs(20));
    }
    assert!(pair.server.closed().is_some(), "within the idle timeout of 30 s");
    assert_eq!(pair.server.endpoint.handshakes(), 0);
}

/// Makes a server give out address tokens again while its client's path 0 seems to have moved to `victim`.
///
/// The client drops what it would say when the tokens come, so that they count as lost; then a packet of it comes from the
/// victim's address, and its second path acknowledges everything but the packet with the tokens.
fn provoke_tokens(pair: &mut Pair, victim: SocketAddr) -> Vec<Vec<u8>> {
    let tokens = |pair: &Pair| pair.client.events.iter().filter(|e| matches!(e, Event::NewToken(_))).count();
    while tokens(pair) == 0 {
        // What the client says in the very instant in which the tokens come is dropped: it would acknowledge them.
        if pair.now >= Time::from_millis(58) {
            pair.lose = |sent| sent.by.is_client();
        }
        pair.run(Duration::from_millis(1));
        assert!(pair.now < Time::from_secs(5), "tokens come");
    }
    pair.lose = |_| false;
    pair.client().paths.get_mut(PathId::ZERO).unwrap().space.received = Default::default();
    let now = pair.now;
    let second = pair.client().open_path(now, from(client_address(1)), PathStatus::Available, None).unwrap();
    pair.dead.push(victim);
    pair.lose = |sent| sent.by.is_client() && sent.tuple.local == client_address(0);
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(victim), &packet);
    let established = Event::Path(PathEvent::Established(second));
    while !pair.server.events.contains(&established) {
        pair.run(Duration::from_millis(1));
        assert!(pair.now < Time::from_secs(10), "the second path opens");
    }
    for _ in 0..50 {
        let end = pair.server().paths.get(PathId::ZERO).map_or(0, |path| path.space.end());
        if end > 1 {
            let packet = pair.client().forge(second, &acknowledgement(Some(0), 1..=end - 1));
            pair.receive(Side::Server, at_server(client_address(1)), &packet);
        }
        pair.run(Duration::from_millis(10));
    }
    let events = pair.client.events.iter();
    events
        .filter_map(|event| if let Event::NewToken(token) = event { Some(token.clone()) } else { None })
        .collect()
}

/// RFC 9000 sections 8.1.3 and 8.1.4: a token says that its holder can receive at an address. Nobody else may get it.
//= rfc9000-8.1.4-5
#[test]
fn tokens_are_for_addresses_that_answered() {
    let handshake = NullHandshake { server_flight: 12_000, ..NullHandshake::default() };
    let mut pair = Pair::new(Settings { handshake: handshake.clone(), ..Settings::default() });
    let victim: SocketAddr = "203.0.113.9:443".parse().unwrap();
    let tokens = provoke_tokens(&mut pair, victim);
    assert!(tokens.len() <= 4, "{} tokens", tokens.len());
    for (n, token) in (8..).zip(tokens) {
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new([9; 32])), None, [n; 32]);
        let crypto = Arc::new(NullClient(handshake.clone()));
        let config = ClientConfig { token: Some(token), ..ClientConfig::new(crypto, Arc::new(transport())) };
        let now = pair.now;
        let tuple = FourTuple { local: victim, remote: server_address() };
        let (_, mut client) = endpoint.connect(now, config, tuple, "server.test").unwrap();
        let mut buffer = Vec::new();
        let size = client.poll_transmit(now, &mut buffer).unwrap().size;
        let payload = BytesMut::from(&buffer[..size]);
        let datagram = Datagram { tuple: at_server(victim), ecn: None, received_at: now, payload };
        let routed = pair.server.endpoint.handle_datagram(now, datagram, &mut Vec::new());
        let Some(Routed::Incoming(incoming)) = routed else { panic!("a new connection") };
        assert!(!incoming.is_address_validated(), "token {n} is for the victim");
    }
}

/// RFC 9000 section 9: a client discards what comes from an address that is not the server's.
//= rfc9000-9-5
#[test]
fn a_client_takes_the_handshake_from_its_server_alone() {
    let mut pair = Pair::new(Settings::default());
    pair.lose = |sent| !sent.by.is_client();
    pair.run(Duration::from_millis(15));
    let elsewhere: SocketAddr = "203.0.113.66:666".parse().unwrap();
    for _ in 0..3 {
        let from_server = pair.sent.iter().filter(|sent| !sent.by.is_client());
        let payloads: Vec<Vec<u8>> = from_server.map(|sent| sent.payload.clone()).collect();
        assert!(!payloads.is_empty());
        for payload in payloads {
            let tuple = FourTuple { local: client_address(0), remote: elsewhere };
            pair.receive(Side::Client, tuple, &payload);
        }
        pair.run(Duration::from_millis(100));
    }
    assert!(!pair.client.events.contains(&Event::Connected));
}

/// Anyone who saw an old packet can send it again. That says nothing about the path.
//= rfc9000-12.3-4, rfc9000-12.3-5
#[test]
fn a_replayed_packet_is_not_heard() {
    let mut pair = Pair::connected(Settings::default());
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    pair.run(Duration::from_secs(5));
    let heard_at = |pair: &mut Pair| pair.server().paths.get(PathId::ZERO).unwrap().heard_at;
    let before = heard_at(&mut pair);
    pair.receive(Side::Server, at_server(client_address(900)), &packet);
    assert_eq!(heard_at(&mut pair), before);
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    assert!(heard_at(&mut pair) > before, "a new packet is");
}

/// Copies of the client's packets, each from an address of its own and quicker than the original, make the server begin
/// validations that the original ends. When that is over, the client opens a path.
#[test]
fn moves_that_were_forged_do_not_delay_a_path_for_long() {
    let mut pair = Pair::connected(Settings::default());
    for n in 0..200 {
        let elsewhere = client_address(500 + n);
        pair.dead.push(elsewhere);
        for source in [elsewhere, client_address(0)] {
            let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
            pair.receive(Side::Server, at_server(source), &packet);
        }
        pair.run(Duration::from_millis(2));
    }
    pair.run(Duration::from_secs(5));
    let now = pair.now;
    let id = pair.client().open_path(now, from(client_address(1)), PathStatus::Available, None).unwrap();
    pair.run(Duration::from_millis(500));
    assert!(pair.server.events.contains(&Event::Path(PathEvent::Established(id))));
}
