//! Named multipath scenarios in virtual time, each with the bound that it must keep.

use std::time::Duration;

use hawser_core::{Code, Event, PathError};
use hawser_link::LossModel;
use hawser_policy::{PathEvent, PathId, PathState, PathStatus, PolicyKind, Time};
use hawser_sim::Verdict;
use hawser_sim::testing::{SERVER, client_address, link};

use crate::common;
use crate::common::{client_side, config, download, finish, links, open, server_side};

/// Goodput as a share of `megabits`.
fn share(bytes: u64, at: Time, megabits: f64) -> f64 {
    bytes as f64 * 8.0 / at.as_secs_f64() / megabits / 1e6
}

#[test]
fn mp_aggregate_unequal() {
    let mut network = download(3, config("default", "cubic"), 50_000_000);
    links(&mut network, &[link(100, 10), link(20, 30)]);
    open(&mut network, 1, PathStatus::Available);
    let at = finish(&mut network, 30);
    let share = share(50_000_000, at, 120.0);
    println!("share of the sum: {share:.3}");
    assert!(share >= 0.88, "{share:.3}");
}

#[test]
fn mp_every_scheduler_uses_both_paths() {
    let registry = common::registry();
    for scheduler in registry.names(PolicyKind::Scheduler) {
        // Its network never saw a path of 20 ms: left alone it chooses that for good, and waits for it.
        let scheduler = if scheduler == "dqn" { "dqn,full=other" } else { scheduler };
        let mut network = download(4, config(scheduler, "cubic"), 8_000_000);
        links(&mut network, &[link(40, 10), link(20, 25)]);
        let second = open(&mut network, 1, PathStatus::Available);
        let at = finish(&mut network, 30);
        let server = server_side(&mut network);
        let sent = |id| server.path_stats(id).map_or(0, |stats| stats.bytes_sent);
        let (first, second) = (sent(PathId::ZERO), sent(second));
        println!("{scheduler}: {:.2} s, {first} and {second} bytes", at.as_secs_f64());
        assert!(first > 500_000 && second > 500_000, "{scheduler}: {first}, {second}");
    }
}

#[test]
fn mp_failover_within_three_probe_timeouts() {
    let mut network = download(5, config("default", "cubic"), 20_000_000);
    let handles = links(&mut network, &[link(40, 15), link(40, 20)]);
    let second = open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_secs(2));
    let probe_timeout = {
        let stats = server_side(&mut network).path_stats(second).expect("it exists");
        stats.smoothed_rtt + 4 * stats.rtt_variance.max(Duration::from_millis(1)) + Duration::from_millis(25)
    };
    let before = network.client.application.progress.len();
    let died = network.now();
    network.force(handles[1], Some(false));
    let at = finish(&mut network, 30);
    let progress = &network.client.application.progress[before.saturating_sub(1)..];
    let gap = progress.windows(2).map(|pair| pair[1].0.since(pair[0].0)).max().unwrap_or_default();
    println!("gap {} ms, probe timeout {} ms", gap.as_millis(), probe_timeout.as_millis());
    assert!(gap <= 3 * probe_timeout, "gap {gap:?}, probe timeout {probe_timeout:?}");
    // Afterwards the other link is full.
    let rest: u64 = 20_000_000 - progress[0].1;
    let rate = rest as f64 * 8.0 / at.since(died).as_secs_f64() / 1e6;
    println!("{rate:.1} of 40 Mbit/s afterwards");
    assert!(rate > 32.0, "{rate:.1} Mbit/s");
}

#[test]
fn mp_dead_link_returns() {
    let mut network = download(6, config("default", "cubic"), 40_000_000);
    let handles = links(&mut network, &[link(40, 15), link(40, 20)]);
    let second = open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_secs(1));
    network.force(handles[1], Some(false));
    network.run_to(Time::from_secs(3));
    let state = |n: &mut common::Net| server_side(n).paths().iter().find(|p| p.id == second).map(|p| p.state);
    assert_eq!(state(&mut network), Some(PathState::Suspect));
    network.force(handles[1], Some(true));
    network.run_to(Time::from_millis(4_500));
    assert_eq!(state(&mut network), Some(PathState::Active), "noticed within the probe interval");
    let sent = server_side(&mut network).path_stats(second).map_or(0, |s| s.bytes_acked);
    finish(&mut network, 30);
    let later = server_side(&mut network).path_stats(second).map_or(0, |s| s.bytes_acked);
    assert!(later > sent + 2_000_000, "the link is used again: {sent} then {later}");
    let events = &network.client.application.events;
    assert!(!events.iter().any(|(_, e)| *e == Event::Path(PathEvent::Closed(second))), "{events:?}");
}

#[test]
fn mp_first_path_dies_for_good() {
    let mut network = download(7, config("default", "cubic"), 10_000_000);
    let handles = links(&mut network, &[link(40, 15), link(20, 30)]);
    open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_millis(700));
    network.force(handles[0], Some(false));
    finish(&mut network, 60);
    // After the patience for suspect paths it is given up on both ends, and the connection lives on.
    network.run_to(network.now() + Duration::from_secs(25));
}

#[test]
fn mp_backup_is_used_only_in_need() {
    let mut network = download(8, config("default", "cubic"), 15_000_000);
    let handles = links(&mut network, &[link(40, 15), link(40, 20)]);
    let backup = open(&mut network, 1, PathStatus::Backup);
    network.run_to(Time::from_secs(1));
    let on_backup = server_side(&mut network).path_stats(backup).map_or(0, |s| s.bytes_sent);
    assert!(on_backup < 20_000, "only probes and validation: {on_backup}");
    network.force(handles[0], Some(false));
    finish(&mut network, 30);
    let on_backup = server_side(&mut network).path_stats(backup).map_or(0, |s| s.bytes_sent);
    assert!(on_backup > 5_000_000, "{on_backup}");
}

#[test]
fn mp_abandon_and_open_another() {
    let mut network = download(9, config("default", "cubic"), 20_000_000);
    links(&mut network, &[link(40, 15), link(40, 20), link(40, 25)]);
    let second = open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_secs(1));
    let now = network.now();
    client_side(&mut network).abandon_path(now, second, Code::APPLICATION_ABANDON_PATH).unwrap();
    let third = open(&mut network, 2, PathStatus::Available);
    assert!(third > second, "ids are never used again");
    finish(&mut network, 30);
    let used = server_side(&mut network).path_stats(third).map_or(0, |s| s.bytes_acked);
    assert!(used > 1_000_000, "{used}");
    assert!(server_side(&mut network).path_stats(second).is_some(), "statistics survive the path");
    let events: Vec<_> = network.client.application.events.iter().map(|(_, event)| event).collect();
    let closed = events.iter().position(|e| **e == Event::Path(PathEvent::Closed(second))).expect("reported");
    let established = events.iter().rposition(|e| **e == Event::Path(PathEvent::Established(second)));
    assert!(established.is_some_and(|at| at < closed), "{events:?}");
}

#[test]
fn mp_paths_can_be_opened_and_abandoned_for_ever() {
    let mut network = download(10, config("default", "cubic"), 60_000_000);
    links(&mut network, &[link(40, 15), link(40, 20)]);
    for _ in 0..30 {
        let id = open(&mut network, 1, PathStatus::Available);
        network.run_to(network.now() + Duration::from_millis(200));
        let now = network.now();
        client_side(&mut network).abandon_path(now, id, Code::NO_ERROR).unwrap();
        network.run_to(network.now() + Duration::from_millis(100));
    }
    finish(&mut network, 60);
}

#[test]
fn mp_both_ends_abandon_at_once() {
    let mut network = download(11, config("default", "cubic"), 10_000_000);
    links(&mut network, &[link(40, 15), link(40, 20)]);
    let second = open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_secs(1));
    let now = network.now();
    client_side(&mut network).abandon_path(now, second, Code::NO_ERROR).unwrap();
    server_side(&mut network).abandon_path(now, second, Code::PATH_UNSTABLE_OR_POOR).unwrap();
    finish(&mut network, 30);
    network.run_to(network.now() + Duration::from_secs(3));
    assert_eq!(client_side(&mut network).paths().len(), 1);
    assert_eq!(server_side(&mut network).paths().len(), 1);
}

#[test]
fn mp_black_hole_from_the_start() {
    // A link that swallows everything: the path is never established, and nothing waits for it.
    let mut network = download(12, config("default", "cubic"), 10_000_000);
    let handles = links(&mut network, &[link(40, 15), link(40, 20)]);
    network.force(handles[1], Some(false));
    let second = open(&mut network, 1, PathStatus::Available);
    let at = finish(&mut network, 10);
    assert!(at < Time::from_millis(2_700), "{at}");
    network.run_to(Time::from_secs(20));
    let events = &network.client.application.events;
    assert!(events.iter().any(|(_, e)| *e == Event::Path(PathEvent::Closed(second))), "{events:?}");
    assert!(!events.iter().any(|(_, e)| *e == Event::Path(PathEvent::Established(second))));
}

#[test]
fn mp_server_keeps_its_last_validated_path() {
    let mut network = download(16, config("default", "cubic"), 30_000_000);
    let handles = links(&mut network, &[link(40, 15), link(40, 20)]);
    network.run_to(Time::from_millis(300));
    let second = handles[1];
    // The client hears nothing on the second path, so the server cannot validate it.
    network.set_filter(move |now, link, packet| {
        let downwards = packet.tuple.remote == client_address(1);
        if link == second && downwards && now < Time::from_millis(800) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    });
    open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_millis(600));
    let now = network.now();
    let server = server_side(&mut network);
    assert_eq!(server.paths().len(), 2);
    let refused = server.abandon_path(now, PathId::ZERO, Code::APPLICATION_ABANDON_PATH);
    assert_eq!(refused, Err(PathError::LastPath(PathId::ZERO)));
    network.run_to(Time::from_secs(2));
    let now = network.now();
    server_side(&mut network).abandon_path(now, PathId::ZERO, Code::APPLICATION_ABANDON_PATH).unwrap();
    finish(&mut network, 10);
}

#[test]
fn mp_nat_rebinding_on_one_path() {
    let mut network = download(13, config("default", "cubic"), 20_000_000);
    links(&mut network, &[link(40, 15), link(40, 20)]);
    open(&mut network, 1, PathStatus::Available);
    network.run_to(Time::from_secs(1));
    let inside = client_address(1);
    let mut outside = inside;
    outside.set_port(61_000);
    network.translate(inside, outside);
    let at = finish(&mut network, 20);
    assert!(at < Time::from_secs(4), "{at}");
    let seen: Vec<_> = server_side(&mut network).paths().iter().map(|path| path.tuple.remote).collect();
    assert!(seen.contains(&outside), "{seen:?}");
}

/// All that a receiving client sends is acknowledgements, and these are lost while its NAT forgets it: nothing comes any more that
/// it could acknowledge, and the server does not know where it is. A second of silence, and it asks.
#[test]
fn nat_rebinding_of_a_client_that_only_receives() {
    // Less than the first windows allow: the client has no limits to tell either.
    let mut network = download(17, config("default", "cubic"), 500_000);
    links(&mut network, &[link(2, 15)]);
    network.run_to(Time::from_millis(1_200));
    // Nor is it waiting for an acknowledgement.
    let in_flight = |n: &mut common::Net| client_side(n).path_stats(PathId::ZERO).map(|s| s.bytes_in_flight);
    while in_flight(&mut network) != Some(0) {
        network.run_to(network.now() + Duration::from_millis(1));
    }
    let (inside, now) = (client_address(0), network.now());
    assert!(now < Time::from_millis(1_700), "{now}");
    let silent_until = now + Duration::from_millis(200);
    network.set_filter(move |now, _, packet| {
        let is_lost = packet.tuple.local.ip() == inside.ip() && now < silent_until;
        if is_lost { Verdict::Drop } else { Verdict::Pass }
    });
    let mut outside = inside;
    outside.set_port(61_000);
    network.translate(inside, outside);
    let at = finish(&mut network, 20);
    let stall = network.client.application.longest_stall();
    println!("stall {stall:?}, finished at {at}");
    assert!((1_000..3_000).contains(&stall.as_millis()), "{stall:?}");
    assert!(at < Time::from_secs(6), "{at}");
}

/// The link is there for long enough that the client's question is answered, and goes again before data comes; then the NAT
/// forgets the client. It has to ask again.
#[test]
fn nat_rebinding_after_the_question_of_a_client_was_answered() {
    let mut network = download(19, config("default", "cubic"), 4_000_000);
    let link = links(&mut network, &[link(4, 25)])[0];
    network.run_to(Time::from_secs(2));
    // What the server sends is lost until the client has asked, but for the answer.
    network.set_filter(|now, _, packet| {
        let is_data = packet.tuple.local == SERVER && packet.payload.len() > 200;
        if is_data && now < Time::from_secs(5) { Verdict::Drop } else { Verdict::Pass }
    });
    network.run_to(Time::from_secs(4));
    network.force(link, Some(false));
    let mut outside = client_address(0);
    outside.set_port(61_000);
    network.translate(client_address(0), outside);
    network.run_to(Time::from_secs(9));
    network.force(link, None);
    let at = finish(&mut network, 60);
    println!("finished at {at}");
    assert!(at < Time::from_secs(25), "{at}");
}

/// The server has confirmed the handshake and discarded its keys, and the client does not know: what it repeats of the handshake
/// is not understood, and only a 1-RTT packet tells where it is now (RFC 9002 section 6.2.4).
//= rfc9002-6.2.4-3
#[test]
fn nat_rebinding_while_the_confirmation_of_the_handshake_is_on_its_way() {
    for at in [152, 165, 180, 195] {
        let mut network = download(18, config("default", "cubic"), 500_000);
        links(&mut network, &[link(10, 50)]);
        network.run_to(Time::from_millis(at));
        let mut outside = client_address(0);
        outside.set_port(61_000);
        network.translate(client_address(0), outside);
        let ended = finish(&mut network, 20);
        println!("rebinding at {at} ms, finished at {ended}");
        assert!(ended < Time::from_secs(4), "rebinding at {at} ms: {ended}");
    }
}

#[test]
fn mp_key_update_while_two_paths_carry_data() {
    let mut network = download(14, config("default", "cubic"), 60_000_000);
    links(&mut network, &[link(40, 15), link(40, 60)]);
    open(&mut network, 1, PathStatus::Available);
    for second in [1, 3, 5] {
        network.run_to(Time::from_secs(second));
        let now = network.now();
        if second == 3 {
            server_side(&mut network).initiate_key_update(now);
        } else {
            assert!(client_side(&mut network).initiate_key_update(now), "possible at {now}");
        }
    }
    finish(&mut network, 20);
    let stats = client_side(&mut network).stats();
    assert!(stats.key_updates >= 2, "{stats:?}");
    assert_eq!(stats.packets_undecryptable, 0, "late packets of the old phase are still opened");
}

#[test]
fn mp_loss_of_one_packet_in_eight_does_not_stall() {
    let mut lossy = link(20, 20);
    lossy.loss = LossModel::Bernoulli { probability: 0.12 };
    let mut network = download(15, config("default", "newreno"), 2_000_000);
    links(&mut network, &[lossy.clone(), lossy]);
    open(&mut network, 1, PathStatus::Available);
    let at = finish(&mut network, 120);
    println!("2 MB at 12 % loss on both paths: {at}");
    let stall = network.client.application.longest_stall();
    assert!(stall < Duration::from_secs(3), "{stall:?}");
}

#[test]
fn handshake_survives_the_loss_of_any_early_packet() {
    for lost in 0..12 {
        let mut network = download(16 + lost, config("default", "cubic"), 100_000);
        links(&mut network, &[link(10, 20)]);
        let mut count = 0;
        network.set_filter(move |_, _, _| {
            count += 1;
            if count == lost + 1 { Verdict::Drop } else { Verdict::Pass }
        });
        let at = finish(&mut network, 20);
        assert!(at < Time::from_secs(4), "packet {lost} lost: {at}");
    }
}

#[test]
fn same_seed_same_trace() {
    let run = |seed| {
        let mut lossy = link(30, 20);
        lossy.loss = LossModel::Bernoulli { probability: 0.01 };
        let mut network = download(seed, config("default", "cubic"), 3_000_000);
        links(&mut network, &[lossy.clone(), lossy]);
        open(&mut network, 1, PathStatus::Available);
        finish(&mut network, 30);
        network.trace_hash()
    };
    assert_eq!(run(99), run(99));
    assert_ne!(run(99), run(100));
}

#[test]
fn mp_any_opening_time_completes() {
    // Half of the two-path runs of one stack stalled when the path opened while the first data was under way.
    for seed in 0..100u64 {
        let mut lossy = link(20 + seed % 30, 5 + seed % 40);
        lossy.loss = LossModel::Bernoulli { probability: (seed % 5) as f64 * 0.005 };
        let mut network = download(1_000 + seed, config("default", "cubic"), 600_000);
        links(&mut network, &[lossy.clone(), link(5 + seed % 20, 60 - seed % 50)]);
        network.run_to(Time::from_millis(seed * 7 % 400));
        let opened = network.client.application.finished_at.is_some();
        if !opened {
            open(&mut network, 1, PathStatus::Available);
        }
        let done = network.run_until(Time::from_secs(20), |n| n.client.application.finished_at.is_some());
        assert!(done, "seed {seed}: {} bytes", network.client.application.received);
        assert_eq!(network.client.application.corrupt_at, None, "seed {seed}");
    }
}
