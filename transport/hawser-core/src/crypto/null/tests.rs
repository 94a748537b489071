use hawser_policy::Side;
use hawser_wire::{ConnectionId, Version};
use proptest::prelude::*;

use super::{NullClient, NullHandshake, NullServer};
use crate::Code;
use crate::crypto::tests::{Pair, check_keys_match, server_id};
use crate::crypto::{ClientFactory, Level, OpenError, ServerFactory};

fn protocols(names: &[&[u8]]) -> NullHandshake {
    NullHandshake {
        application_protocols: names.iter().map(|name| name.to_vec()).collect(),
        ..Default::default()
    }
}

fn pair(client: NullHandshake, server: NullHandshake) -> Pair {
    Pair::new(
        NullClient(client)
            .start(Version::V1, server_id("server.test"), b"client parameters".to_vec())
            .unwrap(),
        NullServer(server).start(Version::V1, b"server parameters".to_vec()).unwrap(),
    )
}

#[test]
fn handshake_yields_matching_keys_and_parameters() {
    let mut pair = pair(protocols(&[b"other", b"hawser"]), protocols(&[b"hawser"]));
    pair.handshake().unwrap();
    check_keys_match(&mut pair);
    assert_eq!(pair.client.session.peer_transport_parameters(), Some(&b"server parameters"[..]));
    assert_eq!(pair.server.session.peer_transport_parameters(), Some(&b"client parameters"[..]));
    assert_eq!(pair.client.session.application_protocol().as_deref(), Some(&b"hawser"[..]));
    assert_eq!(pair.server.session.server_name().as_deref(), Some("server.test"));
}

#[test]
fn flights_have_the_sizes_and_levels_of_tls() {
    let mut pair =
        pair(NullHandshake::default(), NullHandshake { server_flight: 4_000, ..Default::default() });
    pair.handshake().unwrap();
    assert_eq!(pair.client.sent, [(Level::Initial, 300), (Level::Handshake, 36)]);
    assert_eq!(pair.server.sent, [(Level::Initial, 90), (Level::Handshake, 4_000)]);
}

#[test]
fn equal_inputs_give_equal_bytes_and_other_parameters_other_keys() {
    let hello = |parameters: &[u8]| {
        let mut bytes = Vec::new();
        NullClient::default()
            .start(Version::V1, server_id("a"), parameters.to_vec())
            .unwrap()
            .write_handshake(&mut bytes);
        bytes
    };
    assert_eq!(hello(b"one"), hello(b"one"));
    assert_ne!(hello(b"one"), hello(b"two"));
}

#[test]
fn failures_are_tls_alerts() {
    let error = pair(protocols(&[b"one"]), protocols(&[b"two"])).handshake().unwrap_err();
    assert_eq!(error.code, Code::crypto(120));
    let mut pair = pair(NullHandshake::default(), NullHandshake::default());
    let error = pair.server.session.read_handshake(Level::Initial, &[20; 36]).unwrap_err();
    assert_eq!(error.code, Code::crypto(50), "too long: {error}");
    let mut pair = self::pair(NullHandshake::default(), NullHandshake::default());
    pair.handshake().unwrap();
    let error = pair.server.session.read_handshake(Level::Handshake, &[20; 36]).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

proptest! {
    #[test]
    fn a_changed_handshake_never_completes(byte in 4..300_usize, bit in 0..8_u32) {
        let mut pair = pair(NullHandshake::default(), NullHandshake::default());
        let mut hello = Vec::new();
        pair.client.session.write_handshake(&mut hello);
        hello[byte] ^= 1_u8 << bit;
        if pair.server.session.read_handshake(Level::Initial, &hello).is_ok() {
            let mut flight = Vec::new();
            pair.server.session.write_handshake(&mut flight);
            pair.client.session.read_handshake(Level::Initial, &flight).unwrap();
            pair.client.session.write_handshake(&mut Vec::new());
            flight.clear();
            pair.server.session.write_handshake(&mut flight);
            let error = pair.client.session.read_handshake(Level::Handshake, &flight).unwrap_err();
            prop_assert_eq!(error.code, Code::crypto(51));
        }
    }

    #[test]
    fn arbitrary_handshake_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..21_u8) {
        let mut message = vec![kind, 0, (bytes.len() >> 8) as u8, bytes.len() as u8];
        message.extend_from_slice(&bytes);
        let _ = NullServer::default().start(Version::V1, Vec::new()).unwrap().read_handshake(Level::Initial, &message);
        let _ = NullClient::default().start(Version::V1, server_id(""), Vec::new()).unwrap().read_handshake(Level::Initial, &message);
    }

    #[test]
    fn corruption_is_found(payload in prop::collection::vec(any::<u8>(), 0..100), change in 1..=255_u8, at: prop::sample::Index) {
        let id = ConnectionId::new(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let (client, server) = (NullClient::default(), NullServer::default());
        let (sender, receiver) = (client.initial_keys(Version::V1, &id, Side::Client), server.initial_keys(Version::V1, &id, Side::Server));
        let mut packet = [&[0xc0, 0][..], &payload, &[0; 16]].concat();
        sender.packet.local.seal(0, 1, &mut packet, 2);
        let at = at.index(packet.len());
        packet[at] ^= change;
        let (header, sealed) = packet.split_at_mut(2);
        prop_assert_eq!(receiver.packet.remote.open(0, 1, header, sealed), Err(OpenError));
    }
}
