//! How connections end (RFC 9000 section 10).

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{PathId, Side, Time};
use hawser_wire::Frame;
use hawser_wire::frame::{ConnectionClose, Stream};
use hawser_wire::packet::{PacketType, PartialHeader};

use super::forge::encode;
use super::pair::{DELAY, Pair, Settings, client_address, transport};
use crate::{Code, ConnectionError, Event, TransportConfig, TransportError};

const SOON: Duration = Duration::from_millis(100);

fn impatient(idle: u64, keep_alive: Option<u64>) -> TransportConfig {
    TransportConfig {
        max_idle_timeout: Some(Duration::from_secs(idle)),
        keep_alive_interval: keep_alive.map(Duration::from_millis),
        ..transport()
    }
}

fn close(pair: &mut Pair, side: Side) {
    let now = pair.now;
    pair.end(side).connection.as_mut().unwrap().close(now, 42, Bytes::from_static(b"bye"));
}

fn by_application() -> ConnectionError {
    ConnectionError::PeerApplication { code: 42, reason: Bytes::from_static(b"bye") }
}

//= multipath-2.6-1, rfc9000-10.2-1, rfc9000-10.2-2, rfc9000-10.2-3, rfc9000-10.2.2-1, rfc9000-10.2.2-2,
//= rfc9000-10.2.3-1
#[test]
fn a_close_delivers_its_reason_and_is_answered_once() {
    for side in [Side::Client, Side::Server] {
        let other = if side.is_client() { Side::Server } else { Side::Client };
        let mut pair = Pair::connected(Settings::default());
        let began = pair.now;
        let period = pair.end(side).connection.as_ref().unwrap().three_pto();
        close(&mut pair, side);
        pair.run(SOON);
        assert_eq!(pair.end(side).closed(), Some(&ConnectionError::LocallyClosed));
        assert_eq!(pair.end(other).closed(), Some(&by_application()));
        assert_eq!((pair.datagrams(side, began).count(), pair.datagrams(other, began).count()), (1, 1));

        let rest = period - SOON - Duration::from_millis(1);
        pair.run(rest);
        assert!(
            !pair.end(side).connection.as_ref().unwrap().is_drained(),
            "three probe timeouts are not over"
        );
        pair.run(DELAY + Duration::from_millis(30));
        for end in [&pair.client, &pair.server] {
            assert!(end.connection.as_ref().unwrap().is_drained());
            assert_eq!(end.endpoint.connections(), 0);
            assert_eq!(end.events.iter().filter(|event| matches!(event, Event::Closed(_))).count(), 1);
        }
    }
}

/// On each path that is in use, once: the peer knows when the first of them arrives.
#[test]
fn a_close_is_lost_only_if_all_paths_lose_it() {
    let mut pair = Pair::connected(Settings::default());
    let other = pair.open(2);
    // The link of the first path is gone, and nobody has noticed.
    pair.lose = |sent| sent.by.is_client() && sent.tuple.local == client_address(0);
    let began = pair.now;
    close(&mut pair, Side::Client);
    pair.run(DELAY);
    assert_eq!(pair.datagrams(Side::Client, began).count(), 2);
    assert_eq!(pair.server.closed(), Some(&by_application()));
    assert!(!pair.client().is_draining(), "nobody has answered yet");
    pair.run(DELAY);
    // The answer comes where the close was heard, and ends the waiting.
    let answers: Vec<_> = pair.datagrams(Side::Server, began).map(|sent| sent.tuple.remote).collect();
    assert_eq!(answers, [client_address(2)], "path {other}");
    assert!(pair.client().is_draining() && pair.server().is_draining());
    assert!(!pair.client().is_drained());
}

/// RFC 9000 section 10.2.3: anyone who sees Initial packets can read them. The peer has the keys of some level at least.
//= rfc9000-10.2.3-5, rfc9000-10.2.3-6
#[test]
fn an_applications_close_in_the_handshake_says_neither_code_nor_reason() {
    let hushed = ConnectionError::PeerTransport(TransportError::new(Code::APPLICATION_ERROR, ""));
    for side in [Side::Client, Side::Server] {
        let other = if side.is_client() { Side::Server } else { Side::Client };
        let mut pair = Pair::new(Settings::default());
        // The server has answered, and its answer is lost.
        pair.lose = |sent| !sent.by.is_client() && sent.at < Time::from_millis(15);
        pair.run(Duration::from_millis(15));
        let began = pair.now;
        close(&mut pair, side);
        pair.run(SOON);
        assert_eq!(pair.end(other).closed(), Some(&hushed), "{side:?} closed");
        let first = pair.datagrams(side, began).next().unwrap().payload.clone();
        let (kinds, in_the_open) = long_packets(&first);
        let all = [PacketType::Initial, PacketType::Handshake];
        assert_eq!(kinds, if side.is_client() { &all[..1] } else { &all }, "{side:?}");
        assert!(!in_the_open.windows(3).any(|window| window == b"bye"));
    }
}

/// The packets with long headers at the start of a datagram: their types and their bytes.
fn long_packets(datagram: &[u8]) -> (Vec<PacketType>, &[u8]) {
    let (mut types, mut length) = (Vec::new(), 0);
    while let Ok(PartialHeader::Protected(header)) = PartialHeader::decode(&datagram[length..], 8)
        && header.packet_type != PacketType::OneRtt
    {
        types.push(header.packet_type);
        length += header.packet_len;
    }
    (types, &datagram[..length])
}

//= rfc9000-10.2.1-1, rfc9000-11.1-2
#[test]
fn a_lost_close_is_repeated_ever_more_rarely_to_who_goes_on_sending() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = |sent| sent.by.is_client();
    let began = pair.now;
    close(&mut pair, Side::Client);
    for _ in 0..20 {
        pair.inject(Side::Server, PathId::ZERO, &encode(&[Frame::Ping]));
        pair.run(Duration::from_millis(1));
    }
    pair.run(DELAY);
    // The first one, and those after 1, 2, 4 and 8 packets.
    assert_eq!(pair.datagrams(Side::Client, began).count(), 5);
    pair.lose = |_| false;
    for _ in 0..16 {
        pair.inject(Side::Server, PathId::ZERO, &encode(&[Frame::Ping]));
    }
    pair.run(SOON);
    assert_eq!(pair.server.closed(), Some(&by_application()));
}

#[test]
fn who_closes_over_and_over_prolongs_nothing() {
    let mut pair = Pair::connected(Settings::default());
    let again =
        encode(&[Frame::ConnectionClose(ConnectionClose::Application { error_code: 1, reason: b"" })]);
    let until = pair.now + pair.server().three_pto() + DELAY + Duration::from_millis(5);
    while pair.now < until {
        pair.inject(Side::Client, PathId::ZERO, &again);
        pair.run(Duration::from_millis(5));
    }
    pair.run(DELAY);
    assert!(pair.server().is_drained());
    assert_eq!(pair.server.endpoint.connections(), 0);
}

#[test]
fn data_that_comes_with_the_close_is_told_first() {
    let mut pair = Pair::connected(Settings::default());
    let close = ConnectionClose::Application { error_code: 42, reason: b"bye" };
    let data = Stream { stream_id: 3, offset: 0, fin: true, data: b"last words" };
    pair.inject(Side::Server, PathId::ZERO, &encode(&[Frame::Stream(data), Frame::ConnectionClose(close)]));
    pair.run(SOON);
    let events = &pair.client.events;
    assert!(events.iter().any(|event| matches!(event, Event::Stream(_))), "{events:?}");
    assert_eq!(events.last(), Some(&Event::Closed(by_application())));
    let id = pair.client().accept_stream(false).unwrap();
    assert_eq!(pair.client().read_chunk(id, 100), Ok(Some(Bytes::from_static(b"last words"))));
}

//= rfc9000-10.3.1-1, rfc9000-10.3.1-4
#[test]
fn a_server_that_lost_its_state_resets() {
    let mut pair = Pair::connected(Settings::default());
    pair.run(Duration::from_secs(3));
    pair.restart_server();
    let began = pair.now;
    let id = pair.client().open_stream(true).unwrap();
    pair.client().write(id, &[1; 500]).unwrap();
    let probe_timeout = pair.client().largest_probe_timeout();
    pair.run(probe_timeout);
    assert_eq!(pair.client.closed(), Some(&ConnectionError::Reset));
    assert_eq!(pair.datagrams(Side::Server, began).count(), 1);
    let sent = pair.datagrams(Side::Client, began).count();
    pair.run(Duration::from_secs(3));
    assert_eq!(pair.datagrams(Side::Client, began).count(), sent, "nothing more is sent");
    assert!(pair.client().is_drained());
}

#[test]
fn a_reset_of_another_path_is_understood_too() {
    let mut pair = Pair::connected(Settings::default());
    let id = pair.open(1);
    let now = pair.now;
    pair.client().abandon_path(now, PathId::ZERO, crate::Code::NO_ERROR).unwrap();
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.client().paths().iter().map(|path| path.id).collect::<Vec<_>>(), [id]);
    pair.restart_server();
    pair.inject_from(1, id, &encode(&[Frame::Ping]));
    pair.run(SOON);
    assert_eq!(pair.client.closed(), Some(&ConnectionError::Reset));
}

#[test]
fn silence_ends_both_ends_after_the_shorter_timeout() {
    let settings = Settings { client: impatient(2, None), server: impatient(5, None), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    pair.run(Duration::from_millis(1_500));
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    let began = pair.now;
    pair.run(Duration::from_secs(1));
    for side in [Side::Client, Side::Server] {
        assert_eq!(pair.end(side).closed(), Some(&ConnectionError::TimedOut));
        assert_eq!(pair.datagrams(side, began).count(), 0, "nobody is told");
        assert!(pair.end(side).connection.as_ref().unwrap().is_drained());
    }
}

#[test]
fn a_keep_alive_keeps_alive() {
    let settings =
        Settings { client: impatient(2, Some(500)), server: impatient(5, None), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    let began = pair.now;
    pair.run(Duration::from_secs(10));
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    let sent = pair.datagrams(Side::Client, began).count();
    assert!((18..=21).contains(&sent), "one packet each half second: {sent}");
}

#[test]
fn a_keep_alive_that_nobody_answers_neither_spins_nor_keeps_alive() {
    let settings = Settings { client: impatient(2, Some(500)), ..Settings::default() };
    let mut pair = Pair::connected(settings);
    pair.lose = |_| true;
    let began = pair.now;
    pair.run(Duration::from_secs(4));
    assert_eq!(pair.client.closed(), Some(&ConnectionError::TimedOut));
    let sent = pair.datagrams(Side::Client, began).count();
    assert!(sent < 40, "{sent}");
    let last = pair.datagrams(Side::Client, began).last().map_or(Time::ZERO, |sent| sent.at);
    assert!(last < began + Duration::from_millis(2_600), "{last}");
}
