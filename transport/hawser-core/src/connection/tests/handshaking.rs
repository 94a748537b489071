//! What the handshake must keep to on the wire, and what strangers can do to it.

use std::time::Duration;

use hawser_policy::{PathId, Side, Time};
use hawser_wire::packet::{LongHeader, LongPacketType, TruncatedPacketNumber, write_version_negotiation};
use hawser_wire::{ConnectionId, Frame, Version, Writer};

use super::forge::{Oddities, acknowledgement, encode};
use super::pair::{DELAY, Pair, Sent, Settings, at_server, client_address, from, transport};
use crate::crypto::Level;
use crate::crypto::null::NullHandshake;
use crate::{ConnectionError, Event, TransportConfig, Versions};

fn sizes(client_hello: usize, server_flight: usize) -> Settings {
    let handshake = NullHandshake { client_hello, server_flight, ..NullHandshake::default() };
    Settings { handshake, ..Settings::default() }
}

fn is_initial(sent: &Sent) -> bool {
    sent.payload[0] & 0xf0 == 0xc0
}

fn is_retry(sent: &Sent) -> bool {
    sent.payload[0] & 0xf0 == 0xf0
}

/// RFC 9000 section 14.1.
//= rfc9000-6-1, rfc9000-8.1-3, rfc9000-8.1-5, rfc9000-14.1-1, rfc9000-14.1-2, rfc9001-9.3-1,
//= rfc9002-6.2.2.1-3
#[test]
fn datagrams_with_initial_packets_have_1200_bytes() {
    let mut seen = 0;
    for client_hello in [250, 1_000, 1_090, 1_150, 2_300] {
        for server_flight in (200..4_000).step_by(173) {
            for lose in
                [|_: &Sent| false, |sent: &Sent| sent.payload.last().is_some_and(|byte| byte % 4 == 1)]
            {
                let mut pair = Pair::new(sizes(client_hello, server_flight));
                pair.lose = lose;
                pair.run(Duration::from_secs(20));
                assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
                for sent in pair.sent.iter().filter(|sent| is_initial(sent)) {
                    // A server's acknowledgement alone need not have them.
                    let is_ack = !sent.by.is_client() && sent.payload.len() < 100;
                    assert!(
                        sent.payload.len() >= 1_200 || is_ack,
                        "{} bytes by {:?}",
                        sent.payload.len(),
                        sent.by
                    );
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 500);
}

/// RFC 9000 section 14.1 asks a server to expand datagrams with ack-eliciting Initial packets. Acknowledgements alone are never
/// acknowledged: padded, they would count as in flight until the handshake ends.
#[test]
fn a_server_pads_no_initial_packet_that_only_acknowledges() {
    let mut pair = Pair::new(sizes(2_300, 1_000));
    // The second half of the ClientHello.
    pair.lose_nth = Some(1);
    pair.run(4 * DELAY);
    let sent: Vec<usize> = pair.datagrams(Side::Server, Time::ZERO).map(|sent| sent.payload.len()).collect();
    assert!(!sent.is_empty() && sent.iter().all(|bytes| *bytes < 100), "{sent:?}");
    assert_eq!(pair.server().paths.get(PathId::ZERO).unwrap().recovery.bytes_in_flight(), 0);
    pair.run(Duration::from_secs(5));
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
}

/// RFC 9002 section 6.2.4: one of two probes is lost, and the other has the ClientHello. It is also the first that the server sees,
/// and a server may insist that this one has a CRYPTO frame (RFC 9000 section 17.2.2), as aioquic does.
#[test]
fn each_probe_of_a_handshake_carries_what_is_outstanding() {
    let mut pair = Pair::new(sizes(300, 1_000));
    pair.lose = |sent| sent.at == Time::ZERO;
    pair.lose_nth = Some(1);
    // The probe timeout of RFC 9002 section 6.2.2, and two round trips.
    pair.run(Duration::from_millis(999) + 4 * DELAY + Duration::from_millis(1));
    let times = pair.datagrams(Side::Client, Time::ZERO).map(|sent| sent.at.as_nanos() / 1_000_000);
    assert_eq!(times.take(3).collect::<Vec<_>>(), [0, 999, 999], "ms");
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
}

/// RFC 9001 section 4.1.2: an end with an acknowledgement of a 1-RTT packet knows as much as from HANDSHAKE_DONE, and has nothing more
/// to say in Handshake packets, which a server that has confirmed the handshake does not read.
#[test]
fn an_acknowledged_1_rtt_packet_confirms_the_handshake() {
    let is_short = |sent: &Sent| sent.payload[0] & 0x80 == 0;
    let mut pair = Pair::new(sizes(300, 1_000));
    pair.lose = |sent| !sent.by.is_client() && sent.payload[0] & 0x80 == 0;
    pair.run(6 * DELAY);
    assert!(
        pair.datagrams(Side::Client, Time::ZERO).any(is_short),
        "connection ids leave with the Finished message"
    );
    assert!(!pair.client.events.contains(&Event::HandshakeConfirmed));

    let packet = pair.server().forge(PathId::ZERO, &acknowledgement(None, 0..=0));
    let since = pair.now;
    pair.receive(Side::Client, from(client_address(0)), &packet);
    pair.run(Duration::from_secs(5));
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed), "{:?}", pair.client.events);
    assert!(pair.datagrams(Side::Client, since).all(is_short));
}

/// Bytes that the server has sent and received at the moment of each of its datagrams.
fn balances(pair: &Pair) -> Vec<(usize, usize)> {
    let mut sent_bytes = 0;
    let of_server = pair.sent.iter().filter(|sent| !sent.by.is_client());
    of_server
        .map(|sent| {
            sent_bytes += sent.payload.len();
            let arrived = |other: &&Sent| other.by.is_client() && other.at + DELAY <= sent.at;
            (sent_bytes, pair.sent.iter().filter(arrived).map(|other| other.payload.len()).sum())
        })
        .collect()
}

/// RFC 9000 section 8.1.
//= rfc9000-8.1-1, rfc9000-14.1-4, rfc9002-6.2.2.1-1
#[test]
fn a_client_that_never_answers_gets_three_times_what_it_sent() {
    let mut pair = Pair::new(sizes(300, 20_000));
    pair.lose = |sent| sent.by.is_client() && sent.at > Time::ZERO || !sent.by.is_client();
    pair.run(Duration::from_secs(20));
    let (sent, received) = *balances(&pair).last().unwrap();
    assert_eq!(received / 1_200 * 1_200, received);
    let first = pair.datagrams(Side::Client, Time::ZERO).next().unwrap().payload.len();
    assert!(sent <= 3 * first && sent >= 2 * first, "{sent} bytes for {first}");
}

//= rfc9000-8.1-4, rfc9002-6.2.2.1-2
#[test]
fn a_long_flight_continues_as_the_client_answers() {
    let mut pair = Pair::new(sizes(300, 20_000));
    pair.run(Duration::from_secs(2));
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed));
}

/// Packets that wait for their keys were counted when they came.
//= rfc9000-8.1-2, rfc9000-12.2-6, rfc9001-4.1.4-1
#[test]
fn packets_that_wait_for_keys_allow_nothing_more() {
    let mut pair = Pair::new(sizes(300, 20_000));
    let now = pair.now;
    let mut buffer = Vec::new();
    let size = pair.client().poll_transmit(now, &mut buffer).unwrap().size;
    let mut datagram = buffer[..size].to_vec();
    let destination_cid = pair.client().paths.remote_cid(PathId::ZERO, None).unwrap();
    for _ in 0..12 {
        let mut noise = [0x55; 100];
        let mut w = Writer::new(&mut noise);
        let header = LongHeader {
            version: Version::V1,
            packet_type: LongPacketType::Handshake,
            destination_cid,
            source_cid: ConnectionId::new(&[9; 8]).unwrap(),
        };
        let header = header.encode(&mut w, TruncatedPacketNumber::new(0, None)).unwrap();
        w.write_bytes(&[0x55; 30]).unwrap();
        header.finish(&mut w, 0).unwrap();
        let length = w.position();
        datagram.extend_from_slice(&noise[..length]);
    }
    pair.lose = |_| true;
    pair.receive(Side::Server, at_server(client_address(0)), &datagram);
    pair.run(Duration::from_secs(10));
    let sent = pair.bytes_to(Side::Server, client_address(0), Time::ZERO);
    assert!(sent > 0 && sent <= 3 * datagram.len(), "{sent} bytes for {}", datagram.len());
}

//= rfc9000-7.2-3, rfc9000-7.2-6, rfc9000-14-4, rfc9000-14.1-3
#[test]
fn initials_that_break_the_rules_do_not_reach_a_connection_either() {
    let mut pair = Pair::new(sizes(2_300, 1_000));
    // The first of two datagrams with the ClientHello is there.
    pair.lose = |sent| sent.payload[0] & 0xf0 == 0xc0 && sent.at > Time::ZERO;
    let now = pair.now;
    let mut buffer = Vec::new();
    let size = pair.client().poll_transmit(now, &mut buffer).unwrap().size;
    pair.receive(Side::Server, at_server(client_address(0)), &buffer[..size]);
    let dropped = pair.server().stats().packets_dropped;
    let ping = encode(&[Frame::Ping]);
    let stranger = ConnectionId::new(&[9; 8]).unwrap();
    let undersized = pair.client().forge_long(Level::Initial, None, &ping, 1_199);
    let foreign = pair.client().forge_long(Level::Initial, Some(stranger), &ping, 1_200);
    let good = pair.client().forge_long(Level::Initial, None, &ping, 1_200);
    for (packet, expected) in [(undersized, 1), (foreign, 2), (good, 2)] {
        pair.receive(Side::Server, at_server(client_address(0)), &packet);
        assert_eq!(pair.server().stats().packets_dropped - dropped, expected);
    }
}

/// RFC 9000 section 17.2.2.
//= rfc9000-17.2.2-1
#[test]
fn a_client_drops_initial_packets_with_a_token() {
    let mut pair = Pair::new(Settings::default());
    pair.run(Duration::from_millis(15));
    let dropped = pair.client().stats().packets_dropped;
    let ping = encode(&[Frame::Ping]);
    for (token, expected) in [(&b"token"[..], 1), (b"", 1)] {
        let oddities = Oddities { token, ..Oddities::default() };
        let packet = pair.server().forge_long_with(Level::Initial, None, &ping, 1_200, &oddities);
        pair.receive(Side::Client, from(client_address(0)), &packet);
        assert_eq!(pair.client().stats().packets_dropped - dropped, expected, "{token:?}");
    }
    assert_eq!(pair.client.closed(), None);
}

//= rfc9000-7.2-4, rfc9000-8.1.2-1, rfc9000-8.1.3-8, rfc9000-17.2.5.1-3, rfc9000-17.2.5.1-4,
//= rfc9000-17.2.5.2-1, rfc9000-17.2.5.2-2, rfc9000-17.2.5.3-1, rfc9001-4.1.2-1
#[test]
fn a_retry_is_followed_once() {
    let mut pair = Pair::new(Settings { always_retry: true, ..Settings::default() });
    pair.run(Duration::from_millis(25));
    let retry = pair.sent.iter().find(|sent| is_retry(sent)).expect("a Retry").payload.clone();
    let source = pair.client().ends.identity.retry_source;
    assert!(source.is_some());
    pair.receive(Side::Client, from(client_address(0)), &retry);
    assert_eq!(pair.client().ends.identity.retry_source, source);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.sent.iter().filter(|sent| is_retry(sent)).count(), 1);
    assert!(pair.client.events.contains(&Event::HandshakeConfirmed));
    assert!(pair.server.events.contains(&Event::HandshakeConfirmed));
}

//= rfc9000-6.2-1, rfc9000-6.2-2, rfc9000-6.2-3
#[test]
fn only_a_fitting_version_negotiation_is_believed() {
    let negotiation = |pair: &mut Pair, source: ConnectionId, versions: &[u32]| {
        let mut bytes = vec![0; 100];
        let mut w = Writer::new(&mut bytes);
        let ours = pair.client().ends.identity.local_cid;
        write_version_negotiation(&mut w, source.as_bytes(), ours.as_bytes(), versions, 0).unwrap();
        let length = w.position();
        pair.receive(Side::Client, from(client_address(0)), &bytes[..length]);
        pair.run(Duration::ZERO);
        pair.client.closed().cloned()
    };
    let mut pair = Pair::new(Settings::default());
    let (original, stranger) =
        (pair.client().ends.identity.original_destination, ConnectionId::new(&[9; 8]).unwrap());
    assert_eq!(negotiation(&mut pair, original, &[0x0a1a_2a3a, 1]), None, "it offers what we speak");
    assert_eq!(negotiation(&mut pair, stranger, &[0x0a1a_2a3a]), None, "from somebody else");
    let ended =
        Some(ConnectionError::VersionMismatch { ours: Versions::default(), theirs: vec![0x0a1a_2a3a] });
    assert_eq!(negotiation(&mut pair, original, &[0x0a1a_2a3a]), ended);

    let mut pair = Pair::new(Settings::default());
    let original = pair.client().ends.identity.original_destination;
    pair.run(Duration::from_millis(25));
    assert_eq!(negotiation(&mut pair, original, &[0x0a1a_2a3a]), None, "the server has answered already");
}

/// RFC 9287.
//= rfc9000-17.2-1, rfc9000-17.3.1-1
#[test]
fn the_fixed_bit_varies_only_for_peers_that_allow_it() {
    for allowed in [true, false] {
        let server = TransportConfig { grease: allowed, ..transport() };
        let mut pair = Pair::connected(Settings { server, ..Settings::default() });
        let began = pair.now;
        pair.write(Side::Client, 100_000);
        pair.run(Duration::from_millis(300));
        let sent: Vec<_> = pair.datagrams(Side::Client, began).map(|sent| sent.payload[0] & 0x40).collect();
        let cleared = sent.iter().filter(|bit| **bit == 0).count();
        assert!(sent.len() > 30);
        if allowed {
            assert!(cleared > sent.len() / 4 && cleared < sent.len() * 3 / 4, "{cleared} of {}", sent.len());
        } else {
            assert_eq!(cleared, 0);
        }
        assert_eq!(pair.server().stats().packets_dropped, 0);
    }
}
