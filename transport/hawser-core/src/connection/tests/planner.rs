//! What is planned next, and what waits for it. Nothing is written here but to get it out of the way.

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{PathId, PathStatus, Side};
use hawser_wire::Frame;

use super::forge::encode;
use super::pair::{Pair, at_server, client_address, from};
use super::sent_packets::{at_rest, fill_windows, poll, queue};
use crate::connection::plan::Plan;

const SECOND: PathId = PathId(1);

fn plan(pair: &mut Pair, side: Side) -> Option<Plan> {
    let now = pair.now;
    pair.end(side).connection.as_mut().unwrap().plan(now)
}

/// The client receives two packets on a path: their acknowledgement is due.
fn make_acknowledgement_due(pair: &mut Pair, id: PathId) {
    let tuple = pair.client().paths.get(id).unwrap().tuples.current();
    for _ in 0..2 {
        let packet = pair.server().forge(id, &encode(&[Frame::Ping]));
        pair.receive(Side::Client, tuple, &packet);
    }
}

//= rfc9000-8.2.2-2
#[test]
fn the_most_urgent_comes_first() {
    let mut pair = at_rest(1);
    let (now, elsewhere) = (pair.now, from(client_address(9)));
    let client = pair.client();
    queue(client, 5_000);
    let second = client.paths.get_mut(SECOND).unwrap();
    second.probes = 1;
    for _ in 0..30 {
        second.recovery.rtt.on_sample(now, Duration::from_millis(5), Duration::ZERO, SECOND);
    }
    client.migrate_path(now, PathId::ZERO, elsewhere).unwrap();
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Validation(PathId::ZERO, elsewhere)));
    poll(&mut pair, Side::Client);
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Probe(SECOND)));
    poll(&mut pair, Side::Client);
    pair.client().set_path_status(now, SECOND, PathStatus::Backup).unwrap();
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Control(SECOND)), "the quickest path");
    poll(&mut pair, Side::Client);
    let data = plan(&mut pair, Side::Client);
    assert!(matches!(data, Some(Plan::Data(of)) if of.path == PathId::ZERO), "{data:?}");
    pair.client().close(now, 0, Bytes::new());
    for _ in [PathId::ZERO, SECOND] {
        assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Close));
        poll(&mut pair, Side::Client);
    }
    assert_eq!(plan(&mut pair, Side::Client), None, "said once on each path");
}

//= rfc9000-13.2-1, rfc9000-13.2.1-5
#[test]
fn acknowledgements_and_control_frames_ride_with_data_of_their_path() {
    let mut pair = at_rest(0);
    make_acknowledgement_due(&mut pair, PathId::ZERO);
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Control(PathId::ZERO)));
    queue(pair.client(), 500);
    let with_data = plan(&mut pair, Side::Client);
    assert!(matches!(with_data, Some(Plan::Data(of)) if of.path == PathId::ZERO), "{with_data:?}");
}

/// The scheduler was asked, and its answer must not be lost: it may have counted on it.
#[test]
fn an_assignment_waits_while_something_else_is_sent() {
    let mut pair = at_rest(1);
    let now = pair.now;
    queue(pair.client(), 500);
    let Some(Plan::Data(asked)) = plan(&mut pair, Side::Client) else { panic!("data is queued") };
    // Planned and not sent: the next one is asked for again. One that had to give way is not.
    let other = if asked.path == SECOND { PathId::ZERO } else { SECOND };
    pair.client().set_path_status(now, other, PathStatus::Backup).unwrap();
    let status = pair.client().control_path().unwrap();
    let first = plan(&mut pair, Side::Client);
    if status == asked.path {
        assert_eq!(first, Some(Plan::Data(asked)), "they go together");
    } else {
        assert_eq!(first, Some(Plan::Control(status)));
        poll(&mut pair, Side::Client);
        assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Data(asked)));
    }
}

/// RFC 9002 section 7: acknowledgements are not in flight, and probes leave whatever the window says.
//= rfc9002-7.5-1, rfc9002-7.7-4
#[test]
fn a_full_window_holds_back_neither_acknowledgements_nor_probes() {
    let mut pair = at_rest(0);
    fill_windows(&mut pair);
    let now = pair.now;
    assert_eq!(plan(&mut pair, Side::Client), None, "data waits");
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    let in_flight =
        |pair: &mut Pair| pair.client().paths.get(PathId::ZERO).unwrap().recovery.bytes_in_flight();
    let before = in_flight(&mut pair);
    make_acknowledgement_due(&mut pair, PathId::ZERO);
    // Heard while what fills the window is late to be acknowledged, the peer is asked for it: not here.
    pair.client().paths.get_mut(PathId::ZERO).unwrap().probes = 0;
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Control(PathId::ZERO)));
    let frames = poll(&mut pair, Side::Client).unwrap().frames();
    assert_eq!(frames[0][0], "Ack", "{frames:?}");
    assert!(
        frames[0].iter().all(|kind| ["Ack", "Padding", "PathStatus"].contains(&kind.as_str())),
        "{frames:?}"
    );
    assert!(in_flight(&mut pair) <= before + 60, "the acknowledgement alone is not in flight");
    pair.client().paths.get_mut(PathId::ZERO).unwrap().probes = 1;
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::Probe(PathId::ZERO)));
}

#[test]
fn a_probe_of_the_datagram_size_waits_for_room_and_goes_before_data() {
    let mut pair = at_rest(0);
    let restart = |pair: &mut Pair| {
        let mtu = &mut pair.client().paths.get_mut(PathId::ZERO).unwrap().mtu;
        mtu.reset();
        mtu.start();
        mtu.next_probe().unwrap()
    };
    let size = restart(&mut pair);
    queue(pair.client(), 500);
    assert_eq!(plan(&mut pair, Side::Client), Some(Plan::MtuProbe(PathId::ZERO, size)));
    let mut pair = at_rest(0);
    fill_windows(&mut pair);
    restart(&mut pair);
    assert_eq!(plan(&mut pair, Side::Client), None, "the window is full");
    let mut pair = at_rest(0);
    restart(&mut pair);
    pair.client().handshake.confirmed = false;
    assert_eq!(plan(&mut pair, Side::Client), None, "the peer may not know the keys");
}

/// RFC 9000 section 8.1: three times what came from there. A peer that moved is asked at both addresses; data waits.
#[test]
fn nothing_is_planned_beyond_the_amplification_limit() {
    let mut pair = at_rest(0);
    let (old, new) = (at_server(client_address(0)), at_server("203.0.113.9:4000".parse().unwrap()));
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, new, &packet);
    queue(pair.server(), 5_000);
    let mut sent = Vec::new();
    while let Some(next) = plan(&mut pair, Side::Server) {
        let Plan::Validation(PathId::ZERO, tuple) = next else { panic!("{next:?}") };
        let batch = poll(&mut pair, Side::Server).unwrap();
        assert_eq!(batch.tuple, tuple);
        sent.push((tuple, batch.sizes()));
    }
    // RFC 9000 section 8.2.1: 1200 bytes where the limit allows them.
    assert!(sent.contains(&(old, vec![1_200])), "{sent:?}");
    let to_new: usize = sent.iter().filter(|(tuple, _)| *tuple == new).flat_map(|(_, sizes)| sizes).sum();
    assert!(to_new > 0 && to_new <= 3 * packet.len(), "{to_new} bytes for {}", packet.len());
}

/// A socket that takes nothing more stops its paths, and no others.
#[test]
fn a_path_whose_socket_is_full_waits_and_the_others_go_on() {
    let mut pair = at_rest(1);
    let client = pair.client();
    queue(client, 25_000);
    client.hold_paths(&from(client_address(0)));
    assert!(client.has_held_paths());
    let used = |pair: &mut Pair| -> Vec<_> {
        std::iter::from_fn(|| poll(pair, Side::Client)).map(|batch| batch.tuple.local).collect()
    };
    let first = used(&mut pair);
    assert!(!first.is_empty() && first.iter().all(|local| *local == client_address(1)), "{first:?}");
    let now = pair.now;
    assert!(pair.client().poll_timeout().is_none_or(|at| at > now), "nothing to be done at once");
    make_acknowledgement_due(&mut pair, PathId::ZERO);
    let acknowledgement = plan(&mut pair, Side::Client);
    assert_eq!(acknowledgement, Some(Plan::Control(SECOND)), "it leaves where it can");
    poll(&mut pair, Side::Client);
    pair.client().release_paths(|tuple| tuple.local == client_address(1));
    assert_eq!(used(&mut pair), []);
    pair.client().release_paths(|_| true);
    assert!(!pair.client().has_held_paths());
    assert!(used(&mut pair).contains(&client_address(0)));
}
