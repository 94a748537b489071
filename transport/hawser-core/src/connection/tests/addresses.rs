//! Addresses that change, are forged or shared.

use std::time::Duration;

use hawser_policy::{GroupId, LinkId, PathId, PathState, PathStatus, PathView, Rate, Side, StreamId, Time};
use hawser_wire::{Frame, Writer};

use super::forge::encode;
use super::pair::{Pair, Settings, at_server, client_address, from};
use crate::connection::frames::{PathControl, SentFrame};
use crate::connection::packet_room::MIN_ONE_RTT_ROOM;
use crate::{Event, PathError};

fn read_all(pair: &mut Pair, id: StreamId) -> usize {
    assert_eq!(pair.client().accept_stream(false), Some(id));
    let mut total = 0;
    while let Ok(Some(chunk)) = pair.client().read_chunk(id, 1 << 20) {
        total += chunk.len();
    }
    total
}

/// RFC 9000 section 9.3: an attacker copies a packet of the client and sends it from elsewhere.
//= rfc9000-8-1, rfc9000-9-4, rfc9000-9.3-2, rfc9000-9.3.2-1, rfc9000-9.6.3-3, rfc9000-9.6.3-4
#[test]
fn an_address_that_does_not_answer_gets_three_times_what_came_from_it() {
    let mut pair = Pair::connected(Settings::default());
    let victim = client_address(500);
    pair.dead.push(victim);
    let id = pair.write(Side::Server, 200_000);
    pair.run(Duration::from_millis(30));
    let began = pair.now;
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(victim), &packet);
    pair.run(Duration::from_secs(3));
    let sent = pair.bytes_to(Side::Server, victim, began);
    assert!(sent > 0 && sent <= 3 * packet.len(), "{sent} bytes for {}", packet.len());
    let current = pair.server().paths()[0].tuple.remote;
    assert_eq!(current, client_address(0), "back at the client");
    assert_eq!(read_all(&mut pair, id), 200_000);
}

/// RFC 9000 section 9.3.3: an attacker who is quicker makes a path move, until the peer's next packet. What was known of the
/// path is not lost with that.
#[test]
fn a_forged_move_costs_neither_window_nor_round_trip_time() {
    let mut pair = Pair::connected(Settings::default());
    let victim = "203.0.113.9:4000".parse().unwrap();
    pair.dead.push(victim);
    let id = pair.write(Side::Server, 900_000);
    pair.run(Duration::from_millis(110));
    let before = pair.server().path_stats(PathId::ZERO).unwrap();
    let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(victim), &packet);
    let moved = pair.server().path_stats(PathId::ZERO).unwrap();
    assert_eq!(
        (moved.bytes_in_flight, moved.smoothed_rtt),
        (0, Duration::from_millis(333)),
        "a path of its own"
    );
    assert!(moved.congestion_window <= 14_720, "the initial window");
    pair.run(Duration::from_millis(15));
    let after = pair.server().path_stats(PathId::ZERO).unwrap();
    assert!(after.smoothed_rtt < Duration::from_millis(25), "{:?}", after.smoothed_rtt);
    assert!(after.congestion_window >= before.congestion_window / 2, "{before:?}, then {after:?}");
    assert!(after.bytes_in_flight > 0 && after.bytes_in_flight <= after.congestion_window, "{after:?}");
    pair.run(Duration::from_secs(2));
    assert_eq!(read_all(&mut pair, id), 900_000);
}

/// draft-ietf-quic-multipath-21 section 8.2: the limit is one of each path.
//= multipath-3.1-4, multipath-3.1-7, multipath-3.1-8, rfc9000-8.2.1-4
#[test]
fn a_new_path_to_nobody_gets_three_times_what_came_from_it() {
    let mut pair = Pair::connected(Settings::default());
    let victim = client_address(7);
    pair.dead.push(victim);
    let began = pair.now;
    pair.write(Side::Server, 200_000);
    let now = pair.now;
    pair.client().open_path(now, from(victim), PathStatus::Available, None).unwrap();
    pair.run(Duration::from_secs(8));
    let received: usize = pair
        .datagrams(Side::Client, began)
        .filter(|sent| sent.tuple.local == victim)
        .map(|sent| sent.payload.len())
        .sum();
    let sent = pair.bytes_to(Side::Server, victim, began);
    assert!(sent > 0 && sent <= 3 * received, "{sent} bytes for {received}");
    assert_eq!((pair.client().paths().len(), pair.server().paths().len()), (1, 1), "it was given up");
}

//= rfc9000-8.2.1-6, rfc9000-8.2.2-6
#[test]
fn challenges_from_many_addresses_are_answered_within_the_limit() {
    let mut pair = Pair::connected(Settings::default());
    let began = pair.now;
    let victims: Vec<_> = (500..600).map(client_address).collect();
    pair.dead.clone_from(&victims);
    for victim in &victims {
        let packet = pair.client().forge(PathId::ZERO, &encode(&[Frame::PathChallenge([7; 8])]));
        pair.receive(Side::Server, at_server(*victim), &packet);
    }
    pair.run(Duration::from_secs(2));
    for victim in &victims {
        // Probing frames move nothing, so the answer is all that leaves: in a datagram of its own.
        let sent = pair.bytes_to(Side::Server, *victim, began);
        assert!(sent <= 3 * 60, "{sent} bytes");
    }
    assert_eq!(pair.server().paths()[0].tuple.remote, client_address(0));
}

#[test]
fn two_paths_can_share_their_addresses() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(0);
    for side in [Side::Client, Side::Server] {
        let end = pair.end(side);
        assert!(end.events.contains(&Event::Path(hawser_policy::PathEvent::Established(second))), "{side:?}");
        let paths = end.connection.as_ref().unwrap().paths();
        assert!(paths.len() == 2 && paths.iter().all(|path| path.state == PathState::Active), "{paths:?}");
        assert_eq!(paths[0].tuple, paths[1].tuple);
    }
    let id = pair.write(Side::Server, 150_000);
    pair.run(Duration::from_secs(2));
    assert_eq!(read_all(&mut pair, id), 150_000);
    let now = pair.now;
    pair.client().abandon_path(now, PathId::ZERO, crate::Code::NO_ERROR).unwrap();
    let id = pair.write(Side::Server, 150_000);
    pair.run(Duration::from_secs(2));
    assert_eq!(read_all(&mut pair, id), 150_000);
}

//= rfc9000-9-2, rfc9000-18.2-3
#[test]
fn who_may_not_migrate_is_told() {
    let mut pair = Pair::connected(Settings::default());
    let now = pair.now;
    let tuple = from(client_address(3));
    assert_eq!(
        pair.server().migrate_path(now, PathId::ZERO, at_server(client_address(3))),
        Err(PathError::NotClient)
    );
    pair.client().ends.peer.disable_active_migration = true;
    assert_eq!(pair.client().migrate_path(now, PathId::ZERO, tuple), Err(PathError::MigrationForbidden));
    assert_eq!(
        pair.client().open_path(now, tuple, PathStatus::Available, None),
        Err(PathError::MigrationForbidden)
    );
}

/// RFC 9000 section 9.5.
//= rfc9000-9.5-3
#[test]
fn nobody_moves_towards_a_peer_without_connection_ids() {
    let mut pair = Pair::connected(Settings::default());
    let now = pair.now;
    let path = pair.client().paths.get_mut(PathId::ZERO).unwrap();
    path.control.remote_cids.set_handshake_cid(hawser_wire::ConnectionId::EMPTY);
    let moved = pair.client().migrate_path(now, PathId::ZERO, from(client_address(3)));
    assert_eq!(moved, Err(PathError::MigrationForbidden));
}

/// draft-ietf-quic-multipath-21 section 4.7.
//= rfc9000-9.5-1
#[test]
fn a_migration_without_spare_connection_ids_asks_for_more() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = |_| true;
    for n in 1..=5 {
        let now = pair.now;
        pair.client().migrate_path(now, PathId::ZERO, from(client_address(n))).unwrap();
    }
    let mut bytes = [0; 1_000];
    let mut frames = Default::default();
    pair.client().paths.write_control(&mut Writer::new(&mut bytes), &mut frames);
    assert!(
        frames.contains(&SentFrame::PathControl(PathControl::PathCidsBlocked(PathId::ZERO))),
        "{frames:?}"
    );
}

/// A path whose address may be sent less than a packet holds up neither its acknowledgements nor time.
#[test]
fn acknowledgements_for_an_address_without_room_take_another_path() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    let victim = client_address(500);
    pair.dead.push(victim);
    let packet = pair.client().forge(second, &encode(&[Frame::Ping]));
    pair.receive(Side::Server, at_server(victim), &packet);
    pair.run(Duration::from_millis(1));
    let room = pair.server().paths.get(second).unwrap().amplification_room();
    assert!((1..MIN_ONE_RTT_ROOM).contains(&room), "{room} bytes are left");
    let began = pair.now;
    // Probing frames do not move the path back, and the second packet is to be acknowledged at once.
    for data in [[7; 8], [8; 8]] {
        let packet = pair.client().forge(second, &encode(&[Frame::PathChallenge(data)]));
        pair.receive(Side::Server, at_server(client_address(1)), &packet);
    }
    pair.run(Duration::from_millis(1));
    assert!(pair.server().paths.get(second).unwrap().space.received.deadline().is_none(), "acknowledged");
    assert_eq!(pair.bytes_to(Side::Server, victim, began), 0);
}

/// No field as in a new view.
fn foreign_view() -> PathView {
    let odd = Duration::from_nanos(77);
    PathView::new(PathId(77)).with(|path| {
        path.link = Some(LinkId(77));
        path.group = GroupId(77);
        path.state = PathState::Suspect;
        path.status = PathStatus::Backup;
        path.smoothed_rtt = odd;
        path.min_rtt = odd;
        path.rtt_variance = odd;
        path.heard_at = Some(Time::from_nanos(77));
        path.latest_rtt = odd;
        path.has_rtt_sample = true;
        path.one_way_delay = Some(odd);
        path.probe_timeout = odd;
        path.congestion_window = 77;
        path.bytes_in_flight = 77;
        path.oldest_in_flight = Some(Time::from_nanos(77));
        path.oldest_packet = Some(77);
        path.in_slow_start = false;
        path.pacing_rate = Rate::from_bits_per_second(77);
        path.pacing_budget = 77;
        path.next_release = Some(Time::from_nanos(77));
        path.delivery_rate = Some(Rate::from_bits_per_second(77));
        path.loss_ppm = 77;
        path.max_datagram_size = 77;
        path.copies_queued = 77;
        path.bytes_sent = 77;
        path.bytes_acked = 77;
        path.bytes_lost = 77;
    })
}

/// Views are filled in over those of before: whatever stood there, they come out the same.
#[test]
fn views_of_paths_keep_nothing_of_what_they_replace() {
    let mut pair = Pair::connected(Settings::default());
    pair.open(1);
    pair.write(Side::Client, 200_000);
    pair.run(Duration::from_millis(40));
    let now = pair.now;
    let client = pair.client();
    let filled_over = |mut views: Vec<PathView>| {
        client.paths.fill_views(now, &mut views);
        format!("{views:#?}")
    };
    let fresh = filled_over(Vec::new());
    assert_eq!(filled_over(vec![foreign_view(); 3]), fresh);
}
