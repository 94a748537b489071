//! Half of a path works, or none at all for a while: what must not end the connection.

use std::time::Duration;

use hawser_policy::{PathId, PathState, PathStatus, Side, Time};
use hawser_wire::Frame;

use super::forge::encode;
use super::pair::{DELAY, Pair, Sent, Settings, client_address, transport};
use crate::{Code, Event, TransportConfig};

/// What the server sends on path 0 within half a second after the first one.
fn answers_on_path_zero(sent: &Sent) -> bool {
    let trouble = Time::from_millis(1_000)..Time::from_millis(1_500);
    !sent.by.is_client() && sent.tuple.remote == client_address(0) && trouble.contains(&sent.at)
}

/// draft-ietf-quic-multipath-21 section 3.4: an end that abandoned a path may not send there any more, so that the peer who did
/// not hear of it gets no answer on it.
//= multipath-3.4-3
#[test]
fn abandonment_is_repeated_while_the_peer_goes_on_sending() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    pair.run(Time::from_millis(1_000).since(pair.now));
    pair.lose = answers_on_path_zero;
    let now = pair.now;
    pair.server().abandon_path(now, second, Code::NO_ERROR).unwrap();
    let probe_timeout = pair.server().largest_probe_timeout();
    assert!(probe_timeout < Duration::from_millis(80), "{probe_timeout:?}");
    while pair.client().paths().len() > 1 && pair.now < Time::from_secs(5) {
        pair.inject_from(1, second, &encode(&[Frame::Ping]));
        pair.run(Duration::from_millis(10));
    }
    let latest = Time::from_millis(1_500) + probe_timeout + DELAY + Duration::from_millis(20);
    assert!(pair.now <= latest, "heard at {:?}, expected by {latest:?}", pair.now);
    // Acknowledgements of every second packet, probes, and one repetition for each probe timeout.
    let datagrams = pair.datagrams(Side::Server, Time::from_millis(1_000)).count();
    assert!(datagrams <= 30 + 6 + 10, "{datagrams} datagrams of the server");
}

/// The client's answers to challenges, which stand at the front of their packets, for the first ten seconds.
fn path_responses(sent: &Sent) -> bool {
    const PATH_RESPONSE: u8 = 0x1b;
    let first = sent.payload[0];
    let frames = 1 + 8 + usize::from(first & 3) + 1;
    sent.by.is_client()
        && sent.at < Time::from_secs(10)
        && first & 0x80 == 0
        && sent.payload.get(frames) == Some(&PATH_RESPONSE)
}

/// RFC 9000 section 8.2.4: a validation takes three probe timeouts, here three seconds. One packet in that time tells
/// that the path works in this direction.
#[test]
fn a_validation_goes_on_when_anything_was_heard_in_its_period() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = path_responses;
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    let of_server =
        |pair: &mut Pair| pair.server().paths().iter().find(|path| path.id == second).map(|path| path.state);
    while pair.now < Time::from_millis(7_500) {
        pair.write(Side::Client, 100);
        pair.run(Duration::from_millis(2_300));
        assert_eq!(of_server(&mut pair), Some(PathState::Validating), "at {:?}", pair.now);
    }
    pair.write(Side::Client, 100);
    pair.run(Duration::from_secs(3));
    assert_eq!(of_server(&mut pair), Some(PathState::Active));
}

/// All that the server sends, and what the client sends from its first two addresses.
fn dead_zone(sent: &Sent) -> bool {
    let end = Time::from_secs(8);
    let old = |address| address == client_address(0) || address == client_address(1);
    sent.at >= Time::from_secs(1)
        && (old(sent.tuple.local) || old(sent.tuple.remote) || sent.at < end)
        && !(sent.by.is_client() && sent.at < Time::from_millis(1_100))
}

/// Each end gave up another path, and only the client could say so. It comes back over a third link seven seconds later:
/// only the idle timeout may end what waits for that.
#[test]
fn a_server_without_paths_waits_for_the_client_to_return() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    pair.run(Time::from_secs(1).since(pair.now));
    pair.lose = dead_zone;
    let now = pair.now;
    pair.server().abandon_path(now, second, Code::NO_ERROR).unwrap();
    pair.client().abandon_path(now, PathId::ZERO, Code::NO_ERROR).unwrap();
    pair.run(Duration::from_millis(500));
    assert!(pair.server().paths().is_empty(), "{:?}", pair.server().paths());
    pair.run(Time::from_millis(8_010).since(pair.now));
    assert_eq!(pair.server.closed(), None);
    let third = pair.open(2);
    pair.run(Duration::from_millis(200));
    let established = Event::Path(hawser_policy::PathEvent::Established(third));
    assert!(pair.server.events.contains(&established), "{:?}", pair.server.events);
    let id = pair.write(Side::Client, 5_000);
    pair.run(Duration::from_millis(200));
    pair.server().accept_stream(false);
    let read = pair.server().read_chunk(id, 1 << 20).unwrap().map_or(0, |chunk| chunk.len());
    assert!(read > 1_000, "{read} bytes");
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
}

/// Nothing that the server sends arrives for ten seconds.
fn server_unheard(sent: &Sent) -> bool {
    !sent.by.is_client() && (Time::from_secs(1)..Time::from_secs(11)).contains(&sent.at)
}

/// A path that is given up is lost for good, and PATH_ABANDON has to arrive on another one. As long as that does not answer
/// either, both are all that the connection has.
#[test]
fn no_path_is_given_up_for_another_that_is_silent_too() {
    let quick = || TransportConfig { suspect_path_timeout: Duration::from_secs(1), ..transport() };
    let mut pair = Pair::connected(Settings { client: quick(), server: quick(), ..Settings::default() });
    let second = pair.open(1);
    pair.run(Time::from_secs(1).since(pair.now));
    pair.lose = server_unheard;
    let (up, down) = (pair.write(Side::Client, 30_000), pair.write(Side::Server, 30_000));
    pair.run(Time::from_secs(11).since(pair.now));
    for side in [Side::Client, Side::Server] {
        let paths = pair.end(side).connection.as_mut().unwrap().paths();
        let known: Vec<_> = paths.iter().map(|path| path.id).collect();
        assert_eq!(known, [PathId::ZERO, second], "{side:?}");
    }
    // Two seconds until the next probe, and a round trip.
    pair.run(Duration::from_millis(2_100));
    for (side, id) in [(Side::Server, up), (Side::Client, down)] {
        let connection = pair.end(side).connection.as_mut().unwrap();
        assert!(connection.paths().iter().all(|path| path.state == PathState::Active), "{side:?}");
        connection.accept_stream(false);
        let mut read = 0;
        while let Ok(Some(chunk)) = connection.read_chunk(id, 1 << 20) {
            read += chunk.len();
        }
        assert_eq!(read, 30_000, "{side:?}");
    }
}

/// Between one and ten seconds only the first packets on the second path arrive, and nothing on the first.
fn only_the_first_challenge(sent: &Sent) -> bool {
    let trouble = Time::from_secs(1)..Time::from_secs(10);
    let is_second = [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    trouble.contains(&sent.at) && !(is_second && sent.at < Time::from_millis(1_005))
}

/// draft-ietf-quic-multipath-21 section 3.1: a path that cannot be validated is closed, by a frame on another path. Where none
/// answers, that would not arrive, and the path is as good as any other: it is tried for as long as the connection lasts.
//= multipath-3.1-8
#[test]
fn a_path_that_cannot_be_validated_is_kept_while_no_other_answers() {
    let mut pair = Pair::connected(Settings::default());
    pair.run(Time::from_secs(1).since(pair.now));
    pair.lose = only_the_first_challenge;
    let (up, down) = (pair.write(Side::Client, 30_000), pair.write(Side::Server, 30_000));
    pair.run(Duration::from_nanos(1));
    let second = pair.open(1);
    pair.run(Time::from_millis(10_000).since(pair.now));
    // A challenge a second, or a probe every other.
    pair.run(Duration::from_millis(3_100));
    for (side, id) in [(Side::Server, up), (Side::Client, down)] {
        let connection = pair.end(side).connection.as_mut().unwrap();
        let states: Vec<_> = connection.paths().iter().map(|path| (path.id, path.state)).collect();
        assert_eq!(states, [(PathId::ZERO, PathState::Active), (second, PathState::Active)], "{side:?}");
        connection.accept_stream(false);
        let mut read = 0;
        while let Ok(Some(chunk)) = connection.read_chunk(id, 1 << 20) {
            read += chunk.len();
        }
        assert_eq!(read, 30_000, "{side:?}");
    }
}

/// A full window of a quick path is a minute's worth of a slow one: what arrived is not sent again because the path was abandoned while it
/// was under way.
#[test]
fn what_arrives_of_an_abandoned_path_is_not_sent_again() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    pair.run(Duration::from_millis(200));
    let read = |pair: &mut Pair| {
        while let Some(id) = pair.client().accept_stream(false) {
            while pair.client().read_chunk(id, 1 << 20).is_ok_and(|chunk| chunk.is_some()) {}
        }
    };
    for _ in 0..10 {
        pair.write(Side::Server, 150_000);
        pair.run(Duration::from_millis(200));
        read(&mut pair);
    }
    let under_way = 300_000;
    pair.write(Side::Server, under_way);
    pair.run(Duration::from_micros(1));
    let in_flight = pair.server().path_stats(second).map_or(0, |stats| stats.bytes_in_flight);
    assert!(in_flight > 100_000, "{in_flight}");
    let before = pair.server().stats().stream_bytes_retransmitted;
    let now = pair.now;
    pair.client().abandon_path(now, second, Code::APPLICATION_ABANDON_PATH).unwrap();
    pair.run(Duration::from_secs(3));
    let again = pair.server().stats().stream_bytes_retransmitted - before;
    // The windows of the round trip until the acknowledgements come.
    assert!(again <= 45_000, "{again} of {in_flight} bytes are sent again");
    assert_eq!(pair.client().stats().stream_bytes_received, 10 * 150_000 + under_way as u64);
}

/// After four seconds nothing that the client sends on the second path arrives.
fn second_path_is_mute(sent: &Sent) -> bool {
    sent.by.is_client() && sent.tuple.local == client_address(1) && sent.at >= Time::from_secs(4)
}

/// A path that is abandoned because nothing comes through took the last acknowledgements with it: what they reported is not sent again.
#[test]
fn what_an_abandoned_path_did_not_report_goes_along_with_the_abandonment() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    pair.run(Duration::from_millis(200));
    for _ in 0..10 {
        pair.write(Side::Server, 150_000);
        pair.run(Duration::from_millis(200));
        while let Some(id) = pair.client().accept_stream(false) {
            while pair.client().read_chunk(id, 1 << 20).is_ok_and(|chunk| chunk.is_some()) {}
        }
    }
    pair.run(Time::from_secs(4).since(pair.now));
    pair.lose = second_path_is_mute;
    let before = pair.server().stats().stream_bytes_retransmitted;
    pair.write(Side::Server, 100_000);
    // All of it arrived, and the server does not wonder yet.
    pair.run(Duration::from_millis(25));
    let in_flight = pair.server().path_stats(second).map_or(0, |stats| stats.bytes_in_flight);
    assert!(in_flight > 90_000, "{in_flight}");
    let now = pair.now;
    pair.client().abandon_path(now, second, Code::APPLICATION_ABANDON_PATH).unwrap();
    pair.run(Duration::from_secs(3));
    let again = pair.server().stats().stream_bytes_retransmitted - before;
    assert!(again <= 5_000, "{again} of {in_flight} bytes are sent again");
}
