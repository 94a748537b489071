//! What probes carry while no acknowledgement arrives (RFC 9002 section 6.2.4).

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{ControllerInit, PathId, PathState, SchedulerInit, Side, StreamId, Time};
use hawser_sched::MinRtt;
use hawser_wire::Frame;
use hawser_wire::frame::RetireConnectionId;

use super::forge::encode;
use super::pair::{DELAY, Pair, Sent, Settings, client_address, from, transport_with};
use super::scheduling::Fixed;
use super::sent_packets::frame_kinds;
use crate::Code;

/// When the connection is at rest and the trouble begins.
const TROUBLE: Time = Time::from_millis(1_000);

/// When packets of the client arrive again; it hears nothing for the rest of the test.
const HEARD_AGAIN: Time = Time::from_millis(1_300);

/// From [`TROUBLE`] on nothing arrives, from [`HEARD_AGAIN`] on what the client sends.
fn deaf_client(sent: &Sent) -> bool {
    sent.at >= TROUBLE && (!sent.by.is_client() || sent.at < HEARD_AGAIN)
}

fn at_rest(paths: u16) -> Pair {
    let mut pair = Pair::connected(Settings::default());
    for n in 1..=paths {
        pair.open(n);
    }
    pair.run(TROUBLE.since(pair.now));
    pair.lose = deaf_client;
    pair
}

/// Bytes of a stream that the server can read now.
fn read(pair: &mut Pair, id: StreamId) -> usize {
    pair.server().accept_stream(false);
    let mut total = 0;
    while let Ok(Some(chunk)) = pair.server().read_chunk(id, 1 << 20) {
        total += chunk.len();
    }
    total
}

/// Runs until the server has read `length` bytes of a stream, at most until `limit`; says when, and how many it read.
fn run_until_read(pair: &mut Pair, id: StreamId, length: usize, limit: Time) -> (Time, usize) {
    let mut total = read(pair, id);
    while total < length && pair.now < limit {
        pair.run(Duration::from_millis(10));
        total += read(pair, id);
    }
    (pair.now, total)
}

/// Runs until the server knows that the paths are abandoned, at most until `limit`; says when it knew of each.
fn run_until_abandoned<const N: usize>(
    pair: &mut Pair,
    paths: [PathId; N],
    limit: Time,
) -> [Option<Time>; N] {
    let mut known = [None; N];
    while known.contains(&None) && pair.now < limit {
        pair.run(Duration::from_millis(10));
        for (id, at) in paths.into_iter().zip(&mut known) {
            if pair.server().paths.get(id).is_none_or(|path| path.life().is_abandoned()) {
                at.get_or_insert(pair.now);
            }
        }
    }
    known
}

/// Nine packets in flight: five probe timeouts of two probes each repeat them all, and the first two of these, which
/// were lost themselves, are made good by two more.
#[test]
fn probes_retransmit_what_was_not_retransmitted_yet() {
    let mut pair = at_rest(0);
    let id = pair.write(Side::Client, 10_000);
    let (at, total) = run_until_read(&mut pair, id, 10_000, Time::from_secs(25));
    assert_eq!(total, 10_000);
    let arrived = pair.datagrams(Side::Client, HEARD_AGAIN).count();
    assert!(at <= Time::from_secs(10) && arrived <= 14, "at {at:?}, after {arrived} probes");
}

/// More than the window lets out: about half of the probes carry what never left.
//= rfc9002-6.2.4-4
#[test]
fn probes_carry_new_data_although_the_window_is_full() {
    let mut pair = at_rest(0);
    let window = pair.client().paths.get(PathId::ZERO).unwrap().recovery.window();
    pair.write(Side::Client, 100_000);
    pair.run(Duration::from_millis(20));
    let first = pair.client().stats();
    assert!(first.stream_bytes_sent < window && first.stream_bytes_retransmitted == 0);
    // Until the send buffer, which is a few windows, is empty.
    pair.run(Duration::from_secs(3));
    let probes = pair.datagrams(Side::Client, TROUBLE + Duration::from_millis(30)).count() as u64;
    let last = pair.client().stats();
    let (new, again) = (last.stream_bytes_sent - first.stream_bytes_sent, last.stream_bytes_retransmitted);
    assert!(probes >= 14, "{probes} probes");
    for (what, bytes) in [("new", new), ("again", again)] {
        assert!(bytes > probes * 2 / 5 * 1_100, "{bytes} bytes {what} in {probes} probes");
    }
}

//= rfc9000-13.3-3
#[test]
fn every_control_frame_is_retransmitted_by_probes() {
    let mut pair = at_rest(2);
    let now = pair.now;
    for id in [1, 2] {
        pair.client().abandon_path(now, PathId(id), Code::NO_ERROR).unwrap();
        pair.run(Duration::from_nanos(1));
    }
    let known = run_until_abandoned(&mut pair, [PathId(1), PathId(2)], Time::from_secs(10));
    for at in known {
        assert!(at.is_some_and(|at| at < Time::from_millis(1_800)), "{known:?}");
    }
}

/// The path was silent while there was another one. When that is gone, all depends on it.
#[test]
fn a_suspect_path_that_is_left_alone_carries_what_is_outstanding() {
    let mut pair = at_rest(2);
    let id = pair.write(Side::Client, 5_000);
    let now = pair.now;
    pair.client().abandon_path(now, PathId(1), Code::NO_ERROR).unwrap();
    pair.run(Duration::from_millis(150));
    let first = pair.client().paths()[0].clone();
    assert_eq!((first.id, first.state), (PathId::ZERO, PathState::Suspect));
    let now = pair.now;
    pair.client().abandon_path(now, PathId(2), Code::NO_ERROR).unwrap();
    let known = run_until_abandoned(&mut pair, [PathId(1), PathId(2)], Time::from_secs(10));
    for at in known {
        assert!(at.is_some_and(|at| at < Time::from_millis(2_500)), "{known:?}");
    }
    let (at, total) = run_until_read(&mut pair, id, 5_000, Time::from_secs(25));
    assert!(total == 5_000 && at < Time::from_secs(5), "{total} bytes at {at:?}");
    assert_eq!(pair.client().paths()[0].state, PathState::Suspect, "it never answered");
}

/// Without data probes back off to two seconds. The link is back in both directions when the peer is heard, and nothing has to wait for
/// the timer to find that out.
#[test]
fn a_path_that_backs_off_is_probed_when_the_peer_is_heard() {
    let mut pair = Pair::connected(Settings::default());
    pair.run(Time::from_secs(1).since(pair.now));
    pair.lose = |sent| (Time::from_secs(1)..Time::from_secs(6)).contains(&sent.at);
    pair.server().paths.get_mut(PathId::ZERO).unwrap().probes = 1;
    pair.run(Time::from_secs(6).since(pair.now));
    let count = |pair: &mut Pair| pair.server().paths.get(PathId::ZERO).unwrap().recovery.pto_count();
    assert!(count(&mut pair) > 2);
    pair.write(Side::Client, 100);
    pair.run(3 * DELAY + Duration::from_millis(1));
    assert_eq!(count(&mut pair), 0, "answered");
}

/// The kinds of frames that the client sent from then on.
fn client_frames(pair: &Pair, since: Time) -> Vec<String> {
    pair.datagrams(Side::Client, since).flat_map(|sent| frame_kinds(&sent.payload)).collect()
}

/// A peer may grant credit only when it hears that it is lacking.
#[test]
fn what_holds_the_client_back_is_said_again_when_it_was_lost() {
    let mut settings = Settings::default();
    settings.server.max_unidirectional_streams = 1;
    let mut pair = Pair::connected(settings);
    pair.run(TROUBLE.since(pair.now));
    pair.lose = deaf_client;
    assert!(pair.client().open_stream(false).is_some() && pair.client().open_stream(false).is_none());
    pair.run(Duration::from_millis(1));
    assert!(client_frames(&pair, TROUBLE).contains(&"StreamsBlocked".into()), "said once");
    pair.run(Duration::from_secs(2));
    let later = client_frames(&pair, HEARD_AGAIN);
    assert!(later.contains(&"StreamsBlocked".into()), "{later:?}");
}

/// All windows are full, and all acknowledgements are lost: who waits for what a control frame says gets it in a probe.
#[test]
fn control_frames_leave_in_probes_where_no_window_has_room() {
    let client = transport_with(
        Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
        Arc::new(|_: &ControllerInit| Box::new(Fixed(6_000)) as Box<_>),
    );
    let mut pair = Pair::connected(Settings { client, ..Settings::default() });
    pair.open(1);
    pair.run(TROUBLE.since(pair.now));
    // What the client sends arrives all the time.
    pair.lose = |sent| sent.at >= TROUBLE && !sent.by.is_client();
    let id = pair.write(Side::Client, 40_000);
    pair.run(Duration::from_millis(20));
    let given_up = pair.now;
    pair.client().reset(id, 7).expect("open");
    pair.run(Duration::from_secs(1));
    let frames = client_frames(&pair, given_up);
    assert!(frames.contains(&"ResetStream".into()), "{frames:?}");
}

/// A connection id that the server wants is all that is outstanding. A probe of that frame alone would be a probing packet, after which
/// a server does not follow a client whose NAT forgot it.
#[test]
fn probes_show_the_address_of_a_client() {
    let mut pair = Pair::connected(Settings::default());
    pair.run(TROUBLE.since(pair.now));
    pair.lose = |sent| sent.at >= TROUBLE && sent.by.is_client();
    let retired = [Frame::RetireConnectionId(RetireConnectionId { path_id: None, sequence_number: 1 })];
    let packet = pair.server().forge(PathId::ZERO, &encode(&retired));
    pair.receive(Side::Client, from(client_address(0)), &packet);
    pair.run(Duration::from_secs(2));
    let probes: Vec<_> =
        pair.datagrams(Side::Client, TROUBLE + DELAY).map(|it| frame_kinds(&it.payload)).collect();
    let is_probing = |kind: &String| {
        ["NewConnectionId", "PathChallenge", "PathResponse", "Padding"].contains(&kind.as_str())
    };
    assert!(probes.iter().flatten().any(|kind| kind == "NewConnectionId"), "{probes:?}");
    assert!(probes.iter().all(|kinds| !kinds.iter().all(is_probing)), "{probes:?}");
}
