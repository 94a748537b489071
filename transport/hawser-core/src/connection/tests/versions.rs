//! Which version a connection ends up with, and what strangers can do about it (RFC 9368, RFC 9369).

use std::time::Duration;

use hawser_policy::{PathId, Side, Time};
use hawser_wire::packet::{PacketType, write_version_negotiation};
use hawser_wire::{ConnectionId, Frame, PartialHeader, Writer};

use super::forge::encode;
use super::pair::{Pair, Sent, Settings, at_server, client_address, from};
use crate::crypto::Level;
use crate::crypto::null::NullHandshake;
use crate::{Code, ConnectionError, Event, TransportError, Version, VersionPreference, Versions};

fn versions(text: &str) -> Versions {
    text.parse().unwrap()
}

/// The versions that client and server speak.
fn settings(client: &str, server: &str) -> Settings {
    let client_versions = versions(client);
    Settings {
        first_version: client_versions.first_flight(),
        client_versions,
        server_versions: versions(server),
        ..Settings::default()
    }
}

/// Type and version of each packet with a long header in a datagram.
fn long_packets(sent: &Sent) -> Vec<(PacketType, Option<Version>)> {
    let mut rest = &sent.payload[..];
    let mut found = Vec::new();
    while let Ok(header) = PartialHeader::decode(rest, 8) {
        match &header {
            PartialHeader::Protected(header) if header.packet_type != PacketType::OneRtt => {
                found.push((header.packet_type, header.version));
            }
            PartialHeader::Retry(retry) => found.push((PacketType::Retry, Some(retry.version))),
            PartialHeader::VersionNegotiation(_) => found.push((PacketType::VersionNegotiation, None)),
            _ => {}
        }
        rest = &rest[header.packet_len(rest)..];
    }
    found
}

fn packets(pair: &Pair, by: Side) -> Vec<(PacketType, Option<Version>)> {
    pair.datagrams(by, Time::ZERO).flat_map(long_packets).collect()
}

/// When the client's handshake was complete, over links of 10 ms.
fn connected_at(pair: &mut Pair) -> Time {
    while !pair.client.events.contains(&Event::Connected) {
        assert!(pair.now < Time::from_secs(5), "{:?}", pair.client.events);
        pair.run(Duration::from_millis(1));
    }
    pair.now
}

fn is_transport_error(pair: &Pair, code: Code) -> bool {
    matches!(pair.client.closed(), Some(ConnectionError::Transport(TransportError { code: at, .. })) if *at == code)
}

#[test]
fn both_ends_agree_as_the_preferences_have_it() {
    for (client, server, preference, expected) in [
        ("1,2", "1,2", VersionPreference::Client, Version::V1),
        ("2,1", "1,2", VersionPreference::Client, Version::V2),
        ("1,2", "2,1", VersionPreference::Server, Version::V2),
        ("2,1", "1,2", VersionPreference::Server, Version::V1),
        ("2,1", "1", VersionPreference::Server, Version::V1),
        ("1", "2,1", VersionPreference::Server, Version::V1),
        ("2", "1,2", VersionPreference::Server, Version::V2),
        ("2", "2", VersionPreference::Client, Version::V2),
    ] {
        let mut pair = Pair::connected(Settings { preference, ..settings(client, server) });
        assert_eq!(pair.client().version(), expected, "{client} with {server}, {preference:?}");
        assert_eq!(pair.server().version(), expected);
        pair.write(Side::Client, 50_000);
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.server().stats().packets_undecryptable, 0);
    }
}

/// RFC 9369 section 4.1: no round trip more, CRYPTO frames in the negotiated version only.
#[test]
fn a_server_moves_a_client_to_version_2_without_a_round_trip() {
    let mut stays = Pair::new(settings("1,2", "1,2"));
    let mut moves = Pair::new(settings("2,1", "1,2"));
    assert_eq!(connected_at(&mut moves), connected_at(&mut stays));
    moves.run(Duration::from_millis(100));
    let by_client = packets(&moves, Side::Client);
    assert_eq!(by_client[0], (PacketType::Initial, Some(Version::V1)));
    assert!(by_client[1..].iter().all(|(_, version)| *version == Some(Version::V2)), "{by_client:?}");
    let by_server = packets(&moves, Side::Server);
    assert!(by_server.iter().all(|(_, version)| *version == Some(Version::V2)), "{by_server:?}");
}

/// A ClientHello of two datagrams: the first is acknowledged before the version is known, in the client's.
#[test]
fn long_client_hellos_are_acknowledged_in_the_original_version() {
    let handshake = NullHandshake { client_hello: 2_300, ..NullHandshake::default() };
    let mut pair = Pair::new(Settings { handshake, ..settings("2,1", "1,2") });
    // Only the first of two datagrams arrives at once.
    let now = pair.now;
    let mut buffer = Vec::new();
    let size = pair.client().poll_transmit(now, &mut buffer).unwrap().size;
    pair.receive(Side::Server, at_server(client_address(0)), &buffer[..size]);
    pair.lose = |sent| sent.by.is_client() && sent.at == Time::ZERO;
    pair.run(Duration::from_secs(5));
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
    let by_server = packets(&pair, Side::Server);
    assert_eq!(by_server[0], (PacketType::Initial, Some(Version::V1)), "{by_server:?}");
    assert!(by_server.iter().skip(1).any(|packet| *packet == (PacketType::Initial, Some(Version::V2))));
    assert_eq!((pair.client().version(), pair.server().version()), (Version::V2, Version::V2));
}

/// RFC 9368 section 2.1: the client starts again, which costs a round trip.
#[test]
fn a_client_of_version_2_falls_back_where_the_server_only_knows_version_1() {
    let mut pair = Pair::new(Settings { first_version: Version::V2, ..settings("2,1", "1") });
    let fallen_back = connected_at(&mut pair);
    let direct = connected_at(&mut Pair::new(settings("1", "1")));
    assert_eq!(fallen_back.since(direct), Duration::from_millis(20));
    pair.run(Duration::from_millis(200));
    assert_eq!(packets(&pair, Side::Server)[0], (PacketType::VersionNegotiation, None));
    assert_eq!((pair.client().version(), pair.server().version()), (Version::V1, Version::V1));
    pair.write(Side::Client, 50_000);
    pair.run(Duration::from_secs(1));
    assert!(pair.server().stats().bytes_received > 50_000);
    assert_eq!(pair.server().stats().packets_undecryptable, 0);
}

#[test]
fn without_a_common_version_there_is_no_connection() {
    let mut pair = Pair::new(settings("2", "1"));
    pair.run(Duration::from_millis(100));
    let Some(ConnectionError::VersionMismatch { ours, theirs }) = pair.client.closed() else {
        panic!("{:?}", pair.client.events)
    };
    assert_eq!((ours, theirs[0]), (&versions("2"), 1));
    let text = pair.client.closed().unwrap().to_string();
    assert!(text.starts_with("the server speaks none of our QUIC versions (2), but 1, 0x"), "{text}");
    assert!(pair.server.connection.is_none());
}

/// A Version Negotiation packet for the client's first Initial.
fn negotiation(pair: &mut Pair, versions: &[u32]) -> Vec<u8> {
    let identity = &pair.client().ends.identity;
    let (ours, original) = (identity.local_cid, identity.original_destination);
    let mut bytes = vec![0; 100];
    let mut w = Writer::new(&mut bytes);
    write_version_negotiation(&mut w, original.as_bytes(), ours.as_bytes(), versions, 0).unwrap();
    w.written().to_vec()
}

/// RFC 9368 section 4: the attack that the server's list is there for.
#[test]
fn a_forged_version_negotiation_is_found_out() {
    let mut pair = Pair::new(Settings { first_version: Version::V2, ..settings("2,1", "1,2") });
    let forged = negotiation(&mut pair, &[0x0a0a_0a0a, 1]);
    pair.receive(Side::Client, from(client_address(0)), &forged);
    pair.run(Duration::from_secs(1));
    assert!(is_transport_error(&pair, Code::VERSION_NEGOTIATION_ERROR), "{:?}", pair.client.events);
    assert!(!pair.client.events.contains(&Event::Connected));
    let told = matches!(pair.server.closed(), Some(ConnectionError::PeerTransport(error))
        if error.code == Code::VERSION_NEGOTIATION_ERROR);
    assert!(told, "{:?}", pair.server.events);
}

#[test]
fn version_negotiation_is_followed_once_and_never_back() {
    // With the version that the client uses in it, after one was followed, and after an answer of the server.
    let mut pair = Pair::new(Settings { first_version: Version::V2, ..settings("2,1", "1") });
    for (list, expected) in [
        (&[Version::V2.number(), 1][..], Version::V2),
        (&[1], Version::V1),
        (&[Version::V2.number()], Version::V1),
    ] {
        let packet = negotiation(&mut pair, list);
        pair.receive(Side::Client, from(client_address(0)), &packet);
        assert_eq!(pair.client().version(), expected);
    }
    let mut pair = Pair::new(settings("1,2", "1,2"));
    pair.run(Duration::from_millis(25));
    let late = negotiation(&mut pair, &[Version::V2.number()]);
    pair.receive(Side::Client, from(client_address(0)), &late);
    pair.run(Duration::from_millis(100));
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed));
    assert_eq!(pair.client().version(), Version::V1);
    // Servers take none at all.
    let id = pair.server().ends.identity.local_cid;
    let mut bytes = [0; 100];
    let mut w = Writer::new(&mut bytes);
    write_version_negotiation(&mut w, &[1; 8], id.as_bytes(), &[Version::V2.number()], 0).unwrap();
    let packet = w.written().to_vec();
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.server.closed(), None);
}

/// RFC 9368 section 4: a forged version of long headers is found out by what TLS vouches for.
#[test]
fn a_forged_initial_of_another_version_does_not_go_unnoticed() {
    let mut pair = Pair::new(settings("1,2", "1,2"));
    let first = pair.client().ends.identity.original_destination;
    pair.run(Duration::from_millis(5));
    let forged = initial_in(&mut pair, Version::V2, first);
    pair.receive(Side::Client, from(client_address(0)), &forged);
    assert_eq!(pair.client().version(), Version::V2);
    pair.run(Duration::from_secs(60));
    assert!(!pair.client.events.contains(&Event::Connected), "the server spoke version 1");
}

/// An Initial packet with a PING as a server in this version would send it.
fn initial_in(pair: &mut Pair, version: Version, original: ConnectionId) -> Vec<u8> {
    use hawser_wire::packet::{LongHeader, LongPacketType, TruncatedPacketNumber};

    use crate::crypto::ServerFactory;
    use crate::crypto::null::NullServer;

    let destination_cid = pair.client().ends.identity.local_cid;
    let source_cid = ConnectionId::new(&[9; 8]).unwrap();
    let packet_type = LongPacketType::Initial { token: &[] };
    let mut packet = vec![0; 1_200];
    let mut w = Writer::new(&mut packet);
    let header = LongHeader { version, packet_type, destination_cid, source_cid };
    let header = header.encode(&mut w, TruncatedPacketNumber::new(0, None)).unwrap();
    w.write_bytes(&encode(&[Frame::Ping])).unwrap();
    w.write_zeros(1_200 - 16 - w.position()).unwrap();
    header.finish(&mut w, 16).unwrap();
    let keys = NullServer::default().initial_keys(version, &original, Side::Server);
    keys.packet.local.seal(0, 0, &mut packet, header.payload_offset);
    keys.header_local.protect(header.packet_number_offset, &mut packet);
    packet
}

/// RFC 9369 section 4.1: Retry in the original version, and the connection in another one after it.
#[test]
fn a_retry_comes_in_the_version_of_the_client() {
    for (client, first, expected) in
        [("1", Version::V1, Version::V1), ("2", Version::V2, Version::V2), ("2,1", Version::V1, Version::V2)]
    {
        let mut pair = Pair::new(Settings { always_retry: true, ..settings(client, "1,2") });
        pair.run(Duration::from_secs(1));
        assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
        assert!(pair.client().ends.identity.retry_source.is_some());
        let by_server = packets(&pair, Side::Server);
        assert_eq!(by_server[0], (PacketType::Retry, Some(first)));
        assert!(by_server[1..].iter().all(|(_, version)| *version == Some(expected)), "{by_server:?}");
        // The first Initial with the token, too.
        assert_eq!(packets(&pair, Side::Client)[1], (PacketType::Initial, Some(first)));
    }
}

/// RFC 9369 section 4.1: packets of any other version are dropped once the version is settled.
#[test]
fn other_versions_are_dropped_once_it_is_settled() {
    let mut pair = Pair::new(settings("1,2", "1,2"));
    let first = pair.client().ends.identity.original_destination;
    pair.run(Duration::from_millis(15));
    pair.run(Duration::from_millis(6));
    assert!(pair.client().handshake.handshake.is_some(), "the server's flight is there");
    let late = initial_in(&mut pair, Version::V2, first);
    let dropped = pair.client().stats().packets_dropped;
    pair.receive(Side::Client, from(client_address(0)), &late);
    assert_eq!((pair.client().version(), pair.client().stats().packets_dropped), (Version::V1, dropped + 1));
}

#[test]
fn several_paths_and_key_updates_in_version_2() {
    let mut pair = Pair::connected(settings("2,1", "1,2"));
    let second = pair.open(1);
    for _ in 0..3 {
        pair.write(Side::Client, 100_000);
        pair.write(Side::Server, 100_000);
        pair.run(Duration::from_secs(1));
        let now = pair.now;
        assert!(pair.client().initiate_key_update(now));
        pair.run(Duration::from_secs(1));
    }
    assert_eq!((pair.client().stats().key_updates, pair.server().stats().key_updates), (3, 3));
    for side in [Side::Client, Side::Server] {
        let connection = pair.end(side).connection.as_ref().unwrap();
        assert_eq!(connection.stats().packets_undecryptable, 0);
        for id in [PathId::ZERO, second] {
            assert!(
                connection.path_stats(id).is_some_and(|path| path.bytes_received > 10_000),
                "{side:?} {id}"
            );
        }
    }
}

/// Losses at every point of the handshake do not lead to different versions.
#[test]
fn losses_do_not_separate_the_ends() {
    for client_hello in [300, 1_150, 2_300] {
        for drop in 0..6 {
            let handshake = NullHandshake { client_hello, ..NullHandshake::default() };
            let mut pair = Pair::new(Settings { handshake, ..settings("2,1", "1,2") });
            pair.lose_nth = Some(drop);
            pair.run(Duration::from_secs(20));
            assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{client_hello} {drop}");
            assert_eq!((pair.client().version(), pair.server().version()), (Version::V2, Version::V2));
        }
    }
}

/// The server keeps what there is of the ClientHello, but not any number of bytes.
#[test]
fn a_client_hello_without_end_is_refused() {
    let mut pair = Pair::new(settings("1,2", "1,2"));
    pair.lose = |_| true;
    let hello = [1, 1, 0, 0];
    let crypto = Frame::Crypto(hawser_wire::frame::Crypto { offset: 0, data: &hello });
    let packet = pair.client().forge_long(Level::Initial, None, &encode(&[crypto]), 1_200);
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    let error = pair.server.closed();
    let refused = matches!(error, Some(ConnectionError::Transport(TransportError { code, .. }))
        if *code == Code::CRYPTO_BUFFER_EXCEEDED);
    assert!(refused, "{error:?}");
}
