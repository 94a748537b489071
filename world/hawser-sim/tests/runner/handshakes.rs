//! Cases about the beginning of a connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use hawser_core::{ServerConfig, VersionPreference};
use hawser_policy::Side;
use hawser_sim::tls;
use hawser_wire::packet::PacketType;
use rustls::CipherSuite;
use rustls::client::Resumption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::bed::{Bed, Case, KB, SIMPLE, V1, V2};
use crate::wire::{Header, Opened};

/// All packets with a long header have this version.
fn assert_version(bed: &Bed, version: u32) {
    let packets = bed.network.client.packets().chain(bed.network.server.packets());
    let other = packets.map(|(_, header)| header).find(|header| ![0, version].contains(&header.version));
    assert_eq!(other, None, "a packet of another version");
}

fn count(bed: &Bed, kind: PacketType) -> usize {
    bed.network.server.of_kind(kind).count()
}

#[test]
fn handshake() {
    let mut bed = Case::new(SIMPLE, &[KB]).start();
    // Two round trips of 30 ms: the handshake, request and file.
    bed.finish(0.070);
    assert_version(&bed, V1);
    assert_eq!(count(&bed, PacketType::Retry), 0);
}

#[test]
fn longrtt() {
    let mut bed = Case::new("simple-p2p --delay=750ms --bandwidth=10Mbps --queue=25", &[KB]).start();
    bed.finish(3.05);
    assert_version(&bed, V1);
    // The probe timeout before the first sample is a second: the ClientHello is sent again.
    let records = bed.records(Side::Client);
    let hellos = bed.sent(Side::Client, &records).into_iter().filter(|packet| {
        packet.header.kind == PacketType::Initial && packet.frames("crypto").any(|frame| frame["offset"] == 0)
    });
    assert!(hellos.count() >= 2, "ClientHellos");
}

#[test]
fn chacha20() {
    let mut provider = (*tls::provider()).clone();
    let wanted = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
    provider.cipher_suites.retain(|suite| suite.suite() == wanted);
    assert_eq!(provider.cipher_suites.len(), 1, "the client offers nothing else");
    let client_tls = tls::client_config_with(Arc::new(provider)).unwrap();
    let mut bed = Case { client_tls, ..Case::new(SIMPLE, &[3 * KB * KB]) }.start();
    bed.finish(3.0);
}

#[test]
fn retry() {
    let case = Case::new(SIMPLE, &[10 * KB]);
    let mut bed = Case { server: |server| server.retry_above_handshakes = 0, ..case }.start();
    // A round trip more, and TLS in a larger flight.
    bed.finish(0.115);
    let retries: Vec<_> = bed.network.server.of_kind(PacketType::Retry).map(|(_, header)| header).collect();
    assert_eq!(retries.len(), 1);
    let records = bed.records(Side::Client);
    let sent = bed.sent(Side::Client, &records);
    let initials = sent.iter().filter(|packet| packet.header.kind == PacketType::Initial);
    let (without, with): (Vec<&Opened<'_>>, Vec<_>) =
        initials.partition(|packet| packet.header.token.is_empty());
    assert!(!with.is_empty() && with.iter().all(|packet| packet.header.token == retries[0].token));
    let last = without.iter().map(|packet| packet.number).max().unwrap();
    assert!(with.iter().all(|packet| packet.number > last), "packet numbers go on after a Retry");
    assert_eq!(with[0].header.destination, retries[0].source);
}

/// Bytes of Handshake CRYPTO frames that the server sent: up to where, per connection.
fn server_flights(bed: &Bed) -> Vec<u64> {
    let of_trace = |records: Vec<serde_json::Value>| {
        let sent = records.iter().filter(|record| record["name"] == "quic:packet_sent");
        let handshakes = sent.filter(|record| record["data"]["header"]["packet_type"] == "handshake");
        let frames = handshakes.flat_map(|record| record["data"]["frames"].as_array().unwrap());
        let ends = frames.filter(|frame| frame["frame_type"] == "crypto").map(|frame| {
            frame["offset"].as_u64().unwrap() + frame["raw"]["payload_length"].as_u64().unwrap()
        });
        ends.max().unwrap_or_default()
    };
    bed.all_records(Side::Server).into_iter().map(of_trace).collect()
}

#[test]
fn resumption() {
    let mut case = Case::new(SIMPLE, &[]);
    case.connections = vec![vec![5 * KB], vec![10 * KB]];
    case.client_tls.resumption = Resumption::in_memory_sessions(4);
    case.server_tls.send_tls13_tickets = 2;
    let mut bed = case.start();
    bed.finish(0.16);
    let flights = server_flights(&bed);
    // Certificate and CertificateVerify are what the second handshake lacks (RFC 8446 section 2.2).
    assert!(flights[0] > 700, "the first has a certificate: {flights:?}");
    assert!(flights[1] < 300, "the second has none: {flights:?}");
}

/// Bytes of requests that the client sent on a connection in packets of this type.
fn requested(records: &[serde_json::Value], packet_type: &str) -> u64 {
    let sent = records.iter().filter(|record| record["name"] == "quic:packet_sent");
    let packets = sent.filter(|record| record["data"]["header"]["packet_type"] == packet_type);
    let frames = packets.flat_map(|record| record["data"]["frames"].as_array().unwrap());
    let streams = frames.filter(|frame| frame["frame_type"] == "stream");
    streams.map(|frame| frame["raw"]["payload_length"].as_u64().unwrap()).sum()
}

/// The runner lets at most half of the requests come after the handshake. Here none does, and each is answered a round trip
/// sooner.
#[test]
fn zerortt() {
    const FILES: usize = 40;
    const REQUEST: usize = 250;
    let mut case = Case::new(SIMPLE, &[]);
    case.connections = vec![vec![32], vec![32; FILES]];
    case.client_tls.resumption = Resumption::in_memory_sessions(4);
    case.client_tls.enable_early_data = true;
    case.server_tls.send_tls13_tickets = 2;
    case.server_tls.max_early_data_size = u32::MAX;
    let mut bed = case.start();
    bed.network.client.node.application.request_length = REQUEST;
    // Two round trips of 30 ms, then one with 10 kB of requests.
    bed.finish(0.125);
    let traces = bed.all_records(Side::Client);
    assert_eq!(requested(&traces[0], "0RTT"), 0);
    assert_eq!(requested(&traces[1], "0RTT"), (FILES * REQUEST) as u64);
    assert_eq!(requested(&traces[1], "1RTT"), 0, "nothing is sent twice");
    let flights = server_flights(&bed);
    assert!(flights[1] < 300, "resumed: {flights:?}");
}

/// A client that begins with version 1 is moved to version 2 without a round trip (RFC 9368 section 2.1).
#[test]
fn v2() {
    let case = Case::new(SIMPLE, &[KB]);
    let prefers_2 = |server: &mut ServerConfig| {
        server.versions = "2,1".parse().unwrap();
        server.version_preference = VersionPreference::Server;
    };
    let mut bed = Case { server: prefers_2, ..case }.start();
    bed.finish(0.070);
    let first = bed.network.client.packets().next().unwrap().1;
    assert_eq!((first.kind, first.version), (PacketType::Initial, V1));
    let (client, server) = (&bed.network.client, &bed.network.server);
    let handshake = client.of_kind(PacketType::Handshake).chain(server.of_kind(PacketType::Handshake));
    let versions: BTreeSet<u32> = handshake.map(|(_, header)| header.version).collect();
    assert_eq!(versions, [V2].into());
    assert_eq!(count(&bed, PacketType::VersionNegotiation), 0);
}

/// Sends a chain of certificates instead of one.
#[derive(Debug)]
struct Chain {
    inner: Arc<dyn ResolvesServerCert>,
    length: usize,
}

impl ResolvesServerCert for Chain {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let one = self.inner.resolve(hello)?;
        let chain = one.cert.iter().cycle().take(self.length * one.cert.len()).cloned().collect();
        Some(Arc::new(CertifiedKey::new(chain, one.key.clone())))
    }
}

#[test]
fn amplificationlimit() {
    // The runner's chain of nine is larger: what counts is that a server's flight has more than three datagrams.
    let link = "droplist --delay=15ms --bandwidth=10Mbps --queue=25 --drops_to_server=2,3,4,5,6,7";
    let mut case = Case::new(link, &[5 * KB]);
    let inner = case.server_tls.cert_resolver.clone();
    case.server_tls.cert_resolver = Arc::new(Chain { inner, length: 12 });
    let mut bed = case.start();
    // Six datagrams of the client are lost: probe timeouts that double, from 90 ms on.
    bed.finish(0.45);
    assert!(server_flights(&bed)[0] >= 7_500, "{:?}", server_flights(&bed));
    assert_eq!(bed.network.server.harmed, 6);

    // A Handshake packet, or an Initial packet to the server's connection id, proves the address (RFC 9000 section 8.1).
    let chosen = &bed.network.server.of_kind(PacketType::Initial).next().unwrap().1.source;
    let proves = |header: &Header| {
        header.kind == PacketType::Handshake
            || header.kind == PacketType::Initial && header.destination == *chosen
    };
    let received = &bed.network.server.received;
    let validated_at = received.iter().find(|received| received.packets.iter().any(proves)).unwrap().at;
    let mut spent = 0;
    for sent in bed.network.server.sent.iter().filter(|sent| sent.at < validated_at) {
        spent += sent.bytes;
        let before = received.iter().filter(|received| received.at <= sent.at);
        let limit = 3 * before.map(|received| received.bytes).sum::<usize>();
        assert!(spent <= limit, "{spent} bytes of {limit} at {}", sent.at);
    }
    assert!(spent > 2_400, "the limit was tested: {spent}");
}

#[test]
fn ipv6() {
    let mut bed = Case { is_ipv6: true, ..Case::new(SIMPLE, &[5 * KB, 10 * KB]) }.start();
    bed.finish(0.11);
    let sent = bed.network.client.sent.iter().chain(&bed.network.server.sent);
    assert!(sent.into_iter().all(|sent| sent.tuple.local.is_ipv6() && sent.tuple.remote.is_ipv6()));
}
