//! 0-RTT with TLS: taken, not taken, and abused (RFC 9001 sections 4.5 to 4.9).

use std::sync::Arc;
use std::time::Duration;

use ::rustls::pki_types::PrivateKeyDer;
use ::rustls::server::{ServerSessionMemoryCache, StoresServerSessions};
use ::rustls::{ClientConfig, RootCertStore, ServerConfig};
use hawser_policy::{PathId, PathStatus, Side, StreamId};
use hawser_wire::Writer;
use hawser_wire::frame::Frame;
use hawser_wire::packet::{LongHeader, LongPacketType, TruncatedPacketNumber};

use super::forge::encode;
use super::pair::{DELAY, Pair, Sent, Settings, at_server, client_address, from, transport};
use crate::connection::arrival::MAX_EARLY_PACKETS;
use crate::connection::remembered::RememberedLimits;
use crate::crypto::{Level, RustlsClient, RustlsServer, default_provider};
use crate::{Code, ConnectionError, EarlyData, ReadOutcome, StreamEvent, TransportConfig};

const ROUND_TRIP: Duration = DELAY.saturating_mul(2);
const ANSWER: &[u8] = b"answer";

/// A client that keeps tickets, and servers of one identity.
struct World {
    client: Arc<RustlsClient>,
    /// Takes 0-RTT.
    willing: Arc<RustlsServer>,
    /// Knows nothing of the tickets of the other one, and takes no 0-RTT.
    unwilling: Arc<RustlsServer>,
    /// Takes 0-RTT, and does not mind what it promised with the ticket.
    careless: Arc<RustlsServer>,
}

/// Sessions of a server that forgets the limits stored with them: none is too large for it.
#[derive(Debug)]
struct Forgetful(Arc<ServerSessionMemoryCache>);

impl StoresServerSessions for Forgetful {
    fn put(&self, key: Vec<u8>, mut session: Vec<u8>) -> bool {
        session[..RememberedLimits::LEN].fill(0);
        self.0.put(key, session)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.take(key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

fn world() -> World {
    let certified = rcgen::generate_simple_self_signed(vec!["server.test".into()]).unwrap();
    let chain = vec![certified.cert.der().clone()];
    let mut roots = RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let tls13 = &[&::rustls::version::TLS13];
    let server = |max_early_data_size, sessions: Arc<dyn StoresServerSessions>| {
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(default_provider())
            .with_protocol_versions(tls13)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key)
            .unwrap();
        config.alpn_protocols = vec![b"test".to_vec()];
        config.max_early_data_size = max_early_data_size;
        config.session_storage = sessions;
        Arc::new(RustlsServer::new(Arc::new(config)).unwrap())
    };
    let mut client = ClientConfig::builder_with_provider(default_provider())
        .with_protocol_versions(tls13)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"test".to_vec()];
    client.enable_early_data = true;
    World {
        client: Arc::new(RustlsClient::new(Arc::new(client)).unwrap()),
        willing: server(u32::MAX, ServerSessionMemoryCache::new(64)),
        unwilling: server(0, ServerSessionMemoryCache::new(64)),
        careless: server(u32::MAX, Arc::new(Forgetful(ServerSessionMemoryCache::new(64)))),
    }
}

impl World {
    fn pair(&self, settings: Settings, server: &Arc<RustlsServer>) -> Pair {
        Pair::with_crypto(settings, self.client.clone(), server.clone())
    }

    /// One whole connection, after which the client has tickets of a server.
    fn get_tickets(&self, server: &Arc<RustlsServer>) {
        let mut pair = self.pair(Settings::default(), server);
        assert_eq!(pair.client().early_data(), EarlyData::None);
        pair.run(Duration::from_millis(300));
        assert_eq!(pair.client.closed(), None);
    }

    /// A client that has a ticket and is about to connect.
    fn returning(&self, settings: Settings, server: &Arc<RustlsServer>) -> Pair {
        self.get_tickets(if Arc::ptr_eq(server, &self.unwilling) { &self.willing } else { server });
        let mut pair = self.pair(settings, server);
        assert_eq!(pair.client().early_data(), EarlyData::Offered);
        pair
    }
}

/// Bytes that tell their place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at * 31) >> 3) as u8).collect()
}

fn request(pair: &mut Pair, data: &[u8]) -> StreamId {
    let id = pair.client().open_stream(true).unwrap();
    assert_eq!(pair.client().write(id, data), Ok(data.len()));
    pair.client().finish(id).unwrap();
    id
}

/// The server's application: answers each stream when it has all of it, and returns what it read.
#[derive(Default)]
struct Application {
    open: Vec<(StreamId, Vec<u8>)>,
    read: Vec<Vec<u8>>,
}

impl Application {
    fn serve(&mut self, pair: &mut Pair) {
        let Some(server) = pair.server.connection.as_mut() else { return };
        while let Some(id) = server.accept_stream(true) {
            self.open.push((id, Vec::new()));
        }
        self.open.retain_mut(|(id, data)| {
            let mut buffer = [0; 4096];
            loop {
                match server.read(*id, &mut buffer) {
                    Ok(ReadOutcome::Data(count)) => data.extend_from_slice(&buffer[..count]),
                    Ok(ReadOutcome::Finished) => break,
                    _ => return true,
                }
            }
            server.write(*id, ANSWER).unwrap();
            server.finish(*id).unwrap();
            self.read.push(std::mem::take(data));
            false
        });
    }

    /// Runs for so long, and asks the application every millisecond.
    fn run(&mut self, pair: &mut Pair, time: Duration) {
        for _ in 0..time.as_millis() {
            self.serve(pair);
            pair.run(Duration::from_millis(1));
        }
        self.serve(pair);
    }
}

fn answer(pair: &mut Pair, id: StreamId) -> Vec<u8> {
    let mut buffer = [0; 64];
    match pair.client().read(id, &mut buffer) {
        Ok(ReadOutcome::Data(count)) => buffer[..count].to_vec(),
        _ => Vec::new(),
    }
}

fn is_zero_rtt(sent: &Sent) -> bool {
    // RFC 9000 section 17.2: the long header's form, fixed and type bits.
    sent.payload.first().is_some_and(|first| first & 0xf0 == 0xd0)
}

//= rfc9000-13.2.6-3
#[test]
fn a_request_is_answered_in_one_round_trip() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    let id = request(&mut pair, &pattern(3_000));
    let mut application = Application::default();
    application.run(&mut pair, ROUND_TRIP - Duration::from_millis(1));
    assert_eq!(answer(&mut pair, id), b"", "nothing can be there before");
    application.run(&mut pair, Duration::from_millis(2));
    assert_eq!(answer(&mut pair, id), ANSWER);
    assert_eq!(application.read, [pattern(3_000)]);
    assert_eq!(
        (pair.client().early_data(), pair.server().early_data()),
        (EarlyData::Accepted, EarlyData::Accepted)
    );
    // Nothing was lost, so nothing is sent twice, and everything is acknowledged.
    application.run(&mut pair, Duration::from_millis(500));
    assert_eq!(pair.server().stats().stream_bytes_duplicate, 0);
    assert_eq!(pair.client().path_stats(PathId::ZERO).unwrap().bytes_in_flight, 0);
    assert!(pair.client().is_multipath() && !pair.client().is_sending(id));
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}

//= multipath-2.1-6
#[test]
fn paths_are_opened_after_the_handshake_only() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    let (now, tuple) = (pair.now, from(client_address(1)));
    let early = pair.client().open_path(now, tuple, PathStatus::Available, None);
    assert!(early.is_err() && !pair.client().is_multipath());
    request(&mut pair, b"hello");
    Application::default().run(&mut pair, Duration::from_millis(300));
    assert_eq!(pair.open(1), PathId(1));
}

//= rfc9001-4.6.2-1
#[test]
fn what_is_rejected_arrives_once_and_whole() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.unwilling);
    let requests = [pattern(7_000), pattern(10), Vec::new()];
    let ids = requests.each_ref().map(|data| request(&mut pair, data));
    let reset = pair.client().open_stream(true).unwrap();
    pair.client().write(reset, &pattern(500)).unwrap();
    pair.run(Duration::from_millis(1));
    pair.client().reset(reset, 77).unwrap();
    assert!(pair.sent.iter().filter(|sent| is_zero_rtt(sent)).count() >= 6);
    let mut application = Application::default();
    application.run(&mut pair, Duration::from_millis(500));
    assert_eq!(pair.client().early_data(), EarlyData::Rejected);
    assert_eq!(pair.server().early_data(), EarlyData::None);
    let mut read = application.read;
    read.sort_by_key(|data| std::cmp::Reverse(data.len()));
    assert_eq!(read, requests);
    for id in ids {
        assert_eq!(answer(&mut pair, id), ANSWER);
    }
    let stats = pair.server().stats();
    assert_eq!(stats.stream_bytes_duplicate, 0, "no byte of the first flight was taken");
    assert_eq!(pair.client().path_stats(PathId::ZERO).unwrap().packets_lost, 0, "rejection is no congestion");
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}

/// RFC 9000 section 7.4.1: the server has fewer streams and less credit than it had; what is beyond waits.
//= rfc9000-7.4.1-5, rfc9000-7.4.1-6, rfc9000-7.4.1-8
#[test]
fn smaller_limits_reject_and_hold() {
    let world = world();
    let small = TransportConfig {
        max_bidirectional_streams: 2,
        initial_stream_window: 1_000,
        initial_connection_window: 2_500,
        ..transport()
    };
    let mut pair = world.returning(Settings { server: small, ..Settings::default() }, &world.willing);
    let ids: Vec<_> = (0..5).map(|_| request(&mut pair, &pattern(3_000))).collect();
    // A stream that ends without data must wait as well.
    let empty = request(&mut pair, b"");
    let mut application = Application::default();
    application.run(&mut pair, Duration::from_secs(3));
    assert_eq!(pair.client().early_data(), EarlyData::Rejected);
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    assert_eq!(application.read.len(), 6);
    assert!(application.read.iter().all(|data| *data == pattern(3_000) || data.is_empty()));
    for id in ids.into_iter().chain([empty]) {
        assert_eq!(answer(&mut pair, id), ANSWER);
    }
    assert!(
        pair.client
            .events
            .iter()
            .all(|event| !matches!(event, crate::Event::Stream(StreamEvent::Stopped { .. })))
    );
}

#[test]
fn larger_limits_do_not_reject() {
    let world = world();
    let large = TransportConfig { max_bidirectional_streams: 1_000, ..transport() };
    let mut pair = world.returning(Settings { server: large, ..Settings::default() }, &world.willing);
    request(&mut pair, b"hello");
    Application::default().run(&mut pair, Duration::from_millis(300));
    assert_eq!(pair.client().early_data(), EarlyData::Accepted);
}

/// What a client sent before it heard anything, once more: to a server that takes no 0-RTT, and to the one that took it.
//= rfc9001-9.2-1
#[test]
fn a_replay_reaches_no_application() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    request(&mut pair, b"pay the bill");
    let mut application = Application::default();
    application.run(&mut pair, Duration::from_millis(300));
    assert_eq!(application.read.len(), 1);
    let flight: Vec<Vec<u8>> = pair
        .sent
        .iter()
        .filter(|sent| sent.by == Side::Client && sent.at == hawser_policy::Time::ZERO)
        .map(|sent| sent.payload.clone())
        .collect();
    assert!(flight.len() >= 2);
    for server in [&world.unwilling, &world.willing] {
        let mut attack = world.pair(Settings::default(), server);
        attack.client.connection = None;
        let mut victim = Application::default();
        for datagram in &flight {
            attack.receive(Side::Server, at_server(client_address(0)), datagram);
            victim.serve(&mut attack);
        }
        victim.run(&mut attack, Duration::from_secs(1));
        assert!(victim.read.is_empty() && victim.open.is_empty(), "the replay was taken");
        assert!(attack.server().is_handshaking());
    }
}

/// The whole first flight but for the ClientHello is lost.
#[test]
fn lost_packets_are_retransmitted() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    let id = request(&mut pair, &pattern(3_000));
    pair.lose = is_zero_rtt;
    let mut application = Application::default();
    application.run(&mut pair, Duration::from_secs(2));
    assert_eq!(application.read, [pattern(3_000)]);
    assert_eq!(answer(&mut pair, id), ANSWER);
    assert_eq!(pair.client().early_data(), EarlyData::Accepted, "the ticket was taken all the same");
}

/// RFC 9000 section 17.2.5.3: the token comes back with the same ClientHello, and 0-RTT may follow.
//= rfc9000-17.2.3-1
#[test]
fn a_retry_costs_a_round_trip_and_no_data() {
    let world = world();
    let settings = Settings { always_retry: true, ..Settings::default() };
    let mut pair = world.returning(settings, &world.willing);
    let id = request(&mut pair, &pattern(3_000));
    let mut application = Application::default();
    application.run(&mut pair, ROUND_TRIP * 2 + Duration::from_millis(1));
    assert_eq!(application.read, [pattern(3_000)]);
    assert_eq!(answer(&mut pair, id), ANSWER);
    assert_eq!(pair.server().stats().stream_bytes_duplicate, 0);
}

/// What acknowledges the ClientHello arrives, and the rest of the server's flight does not: only 0-RTT packets are
/// outstanding, which have no probe timeout, and the server may send no more (RFC 9002 section 6.2.2.1).
#[test]
fn a_client_with_nothing_but_0_rtt_outstanding_keeps_the_handshake_going() {
    fn early_server(sent: &Sent) -> bool {
        sent.by == Side::Server && sent.at < hawser_policy::Time::from_millis(900)
    }
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    request(&mut pair, &pattern(3_000));
    pair.lose = early_server;
    let mut application = Application::default();
    application.run(&mut pair, Duration::from_secs(5));
    assert!(!pair.client().is_handshaking());
    assert_eq!(application.read, [pattern(3_000)]);
}

/// A 0-RTT packet of this client with frames of our choice.
fn forge(pair: &mut Pair, number: u64, frames: &[Frame<'_>]) -> Vec<u8> {
    let client = pair.client.connection.as_ref().unwrap();
    let keys = client.zero_rtt.keys().unwrap();
    let destination_cid = client.ends.identity.original_destination;
    let source_cid = client.ends.identity.local_cid;
    let mut packet = vec![0; 1_200];
    let mut w = Writer::new(&mut packet[..1_184]);
    let version = client.handshake.version.original();
    let packet_type = LongPacketType::ZeroRtt;
    let header = LongHeader { version, packet_type, destination_cid, source_cid };
    let header = header.encode(&mut w, TruncatedPacketNumber::new(number, None)).unwrap();
    frames.iter().for_each(|frame| frame.encode(&mut w).unwrap());
    w.write_zeros(w.remaining()).unwrap();
    header.finish(&mut w, 16).unwrap();
    keys.packet.seal(0, number, &mut packet, header.payload_offset);
    keys.header.protect(header.packet_number_offset, &mut packet);
    packet
}

fn server_error(pair: &Pair) -> Option<Code> {
    match pair.server.closed() {
        Some(ConnectionError::Transport(error)) => Some(error.code),
        _ => None,
    }
}

//= rfc9001-8.3-2
#[test]
fn frames_that_have_no_place_in_0_rtt_are_a_violation() {
    let crypto = hawser_wire::frame::Crypto { offset: 0, data: b"hello" };
    let forbidden = [
        Frame::Crypto(crypto),
        Frame::HandshakeDone,
        Frame::NewToken(b"token"),
        Frame::PathResponse([1; 8]),
        Frame::MaxPathId(9),
    ];
    for frame in forbidden {
        let world = world();
        let mut pair = world.returning(Settings::default(), &world.willing);
        request(&mut pair, b"hello");
        let forged = forge(&mut pair, 100, &[frame]);
        pair.run(DELAY);
        pair.receive(Side::Server, at_server(client_address(0)), &forged);
        pair.run(DELAY);
        assert_eq!(server_error(&pair), Some(Code::PROTOCOL_VIOLATION), "{:?}", pair.server.events);
    }
}

/// RFC 9000 section 17.2.3.
#[test]
fn a_0_rtt_packet_after_a_1_rtt_packet_is_a_violation() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    request(&mut pair, b"hello");
    let late = forge(&mut pair, 10_000, &[Frame::Ping]);
    pair.run(ROUND_TRIP * 2);
    pair.receive(Side::Server, at_server(client_address(0)), &late);
    pair.run(DELAY);
    assert_eq!(server_error(&pair), Some(Code::PROTOCOL_VIOLATION));
}

/// RFC 9001 section 4.9.3: packets that were overtaken are taken for three probe timeouts, and then no more.
//= rfc9001-4.9.3-2
#[test]
fn the_servers_keys_go_after_a_while() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    request(&mut pair, b"hello");
    // Numbers that this client did not use, below that of its first 1-RTT packet: as a stream frame twice.
    pair.lose = is_zero_rtt;
    pair.run(ROUND_TRIP * 2);
    let first: Vec<_> =
        pair.sent.iter().filter(|sent| is_zero_rtt(sent)).map(|sent| sent.payload.clone()).collect();
    let mut application = Application::default();
    pair.receive(Side::Server, at_server(client_address(0)), &first[0]);
    application.run(&mut pair, Duration::from_millis(1));
    assert_eq!(application.read, [b"hello"], "late, but not too late");
    application.run(&mut pair, Duration::from_secs(5));
    assert!(pair.server().zero_rtt.keys().is_none());
    let dropped = pair.server().stats().packets_dropped;
    pair.receive(Side::Server, at_server(client_address(0)), &first[0]);
    assert_eq!(pair.server().stats().packets_dropped, dropped + 1);
    assert_eq!(pair.server.closed(), None);
}

fn client_error(pair: &Pair) -> Option<Code> {
    match pair.client.closed() {
        Some(ConnectionError::Transport(error)) => Some(error.code),
        _ => None,
    }
}

/// RFC 9000 section 7.4.1: a server that takes 0-RTT and has smaller limits than it had broke its promise, whichever it is. One
/// that has larger ones did not.
//= rfc9000-7.4.1-5, rfc9221-3-7
#[test]
fn a_server_that_takes_0_rtt_and_reduced_a_limit_is_a_violation() {
    let smaller: [fn(&mut TransportConfig); 5] = [
        |config| config.datagram_receive_buffer = None,
        |config| config.max_bidirectional_streams = 2,
        |config| config.max_unidirectional_streams = 1,
        |config| config.initial_stream_window = 1_000,
        |config| config.initial_connection_window = 2_500,
    ];
    for (number, reduce) in smaller.into_iter().enumerate() {
        let world = world();
        let mut server = transport();
        reduce(&mut server);
        let mut pair = world.returning(Settings { server, ..Settings::default() }, &world.careless);
        request(&mut pair, b"hello");
        pair.run(Duration::from_millis(300));
        assert_eq!(
            client_error(&pair),
            Some(Code::PROTOCOL_VIOLATION),
            "limit {number}: {:?}",
            pair.client.events
        );
        assert_eq!(pair.client().early_data(), EarlyData::Accepted, "TLS had nothing against it");
    }
    let world = world();
    let server = TransportConfig { max_bidirectional_streams: 1_000, ..transport() };
    let mut pair = world.returning(Settings { server, ..Settings::default() }, &world.careless);
    request(&mut pair, b"hello");
    pair.run(Duration::from_millis(300));
    assert_eq!((client_error(&pair), pair.client().early_data()), (None, EarlyData::Accepted));
}

/// RFC 9001 section 5.6: a client that has 1-RTT keys sends no more 0-RTT packets, neither new data nor what was lost of them.
//= rfc9000-17.2.3-3, rfc9001-5.6-6
#[test]
fn with_1_rtt_keys_a_client_sends_no_more_0_rtt_packets() {
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    let id = pair.client().open_stream(true).unwrap();
    // Half of the first flight is lost, so that it has to be sent again.
    pair.lose = |sent| is_zero_rtt(sent) && sent.payload.last().is_some_and(|byte| byte % 2 == 0);
    let mut application = Application::default();
    let (mut written, mut done_at) = (0, None);
    for _ in 0..60 {
        written += pair.client().write(id, &pattern(written + 500)[written..]).unwrap_or(0);
        application.run(&mut pair, Duration::from_millis(1));
        if done_at.is_none() && !pair.client().is_handshaking() {
            done_at = Some(pair.now);
        }
    }
    pair.client().finish(id).unwrap();
    application.run(&mut pair, Duration::from_millis(500));
    let done_at = done_at.unwrap();
    let early: Vec<_> = pair.sent.iter().filter(|sent| is_zero_rtt(sent)).map(|sent| sent.at).collect();
    assert!(early.len() >= 10, "{} packets", early.len());
    assert!(early.iter().all(|at| *at < done_at), "{done_at:?}: {early:?}");
    assert_eq!(pair.client().early_data(), EarlyData::Accepted);
    assert_eq!(application.read, [pattern(written)], "what was lost came in other packets");
}

/// A 0-RTT packet of this client with a whole request on its `n`-th stream.
fn forge_request(pair: &mut Pair, n: u64) -> Vec<u8> {
    let stream = hawser_wire::frame::Stream { stream_id: 4 * n, offset: 0, fin: true, data: b"hello" };
    forge(pair, 100 + n, &[Frame::Stream(stream)])
}

/// An Initial packet of this client without a word of TLS.
fn forge_silent_initial(pair: &mut Pair) -> Vec<u8> {
    pair.client().forge_long(Level::Initial, None, &encode(&[Frame::Ping]), 1_200)
}

/// The datagram with the ClientHello, which is lost.
fn client_hello(pair: &mut Pair) -> Vec<u8> {
    pair.lose = |_| true;
    pair.run(Duration::ZERO);
    pair.sent.iter().find(|sent| !is_zero_rtt(sent)).unwrap().payload.clone()
}

/// 0-RTT packets that come before the ClientHello wait for it, so many and no more: their sender has proven nothing.
#[test]
fn the_0_rtt_packets_that_wait_for_the_client_hello_are_few() {
    const COUNT: usize = 3 * MAX_EARLY_PACKETS;
    let world = world();
    let mut pair = world.returning(Settings::default(), &world.willing);
    let from_client = at_server(client_address(0));
    let initial = forge_silent_initial(&mut pair);
    pair.receive(Side::Server, from_client, &initial);
    for n in 0..COUNT as u64 {
        let early = forge_request(&mut pair, n);
        pair.receive(Side::Server, from_client, &early);
    }
    assert_eq!(pair.server().stats().packets_dropped as usize, COUNT - MAX_EARLY_PACKETS);
    let hello = client_hello(&mut pair);
    pair.receive(Side::Server, from_client, &hello);
    assert_eq!(pair.server().early_data(), EarlyData::Accepted);
    let opened: Vec<_> = std::iter::from_fn(|| pair.server().accept_stream(true)).collect();
    assert_eq!(opened.len(), MAX_EARLY_PACKETS, "those that waited are taken");
}

/// RFC 9000 section 8.1: three times what came from an address that proved nothing, 0-RTT packets included, and each once, also
/// where they waited for the ClientHello.
//= rfc9000-8-1
#[test]
fn the_anti_amplification_limit_counts_0_rtt_packets_once() {
    for waits in [false, true] {
        let world = world();
        let mut pair = world.returning(Settings::default(), &world.willing);
        let early = forge_request(&mut pair, 0);
        let initial = forge_silent_initial(&mut pair);
        let hello = client_hello(&mut pair);
        let flight = if waits { vec![initial, early, hello] } else { vec![hello, early] };
        let mut received = 0;
        for datagram in &flight {
            received += datagram.len();
            pair.receive(Side::Server, at_server(client_address(0)), datagram);
        }
        let id = pair.server().accept_stream(true).unwrap();
        pair.server().write(id, &pattern(100_000)).unwrap();
        // Nobody answers: probe timeouts bring no more.
        pair.run(Duration::from_secs(5));
        let sent = pair.bytes_to(Side::Server, client_address(0), hawser_policy::Time::ZERO);
        assert!(sent <= 3 * received, "{sent} bytes for {received}");
        // It is used, but for what is too small for a datagram.
        assert!(sent > 3 * received - 1_200, "{sent} bytes for {received}");
    }
}
