use hawser_policy::{PacketSent, PathView, Tag, Time};

use super::*;
use crate::testing::{path, view};

/// Sends what was decided, datagram by datagram; whether each path has room is asked before each decision.
fn run(split: &mut FixedSplit, rounds: usize, mut room: impl FnMut(u32) -> bool) -> Vec<u32> {
    let mut order = Vec::new();
    for _ in 0..rounds {
        let paths = [0, 1].map(|id| path(id, 20, if room(id) { 50_000 } else { 0 }));
        let Decision::Send(sent) = split.schedule(&view(&paths, 1 << 30), &mut Vec::new()) else {
            order.push(9);
            continue;
        };
        for _ in 0..sent.max_bytes / 1_000 {
            order.push(sent.path.0);
            tell(split, sent.path, sent.tag);
        }
    }
    order
}

fn tell(split: &mut FixedSplit, path: PathId, tag: Tag) {
    let sent = PacketSent::default().with(|sent| {
        sent.now = Time::ZERO;
        sent.path = path;
        sent.packet_number = 0;
        sent.bytes = 1_000;
        sent.bytes_in_flight = 0;
        sent.tag = tag;
        sent.ranges = &[];
    });
    split.on_event(&Event::Sent(&sent), &mut Vec::new());
}

#[test]
fn packets_leave_in_the_order_of_the_wheel() {
    let mut split = FixedSplit::new(0.75, Redirect::Free);
    assert_eq!(run(&mut split, 4, |_| true), [0, 0, 1, 0, 0, 0, 1]);
}

/// Path 0 is full. Freely redirected packets leave its turn as it was; otherwise they are taken off it.
#[test]
fn full_paths_hand_their_packets_over_as_they_are_told() {
    let full_at_first = |redirect| {
        let mut split = FixedSplit::new(0.75, redirect);
        let mut order = run(&mut split, 1, |id| id != 0);
        order.extend(run(&mut split, 2, |_| true));
        order
    };
    assert_eq!(full_at_first(Redirect::Free), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1]);
    assert_eq!(full_at_first(Redirect::ConsumeCredit), [1, 1, 1, 0, 0, 0]);
    assert_eq!(full_at_first(Redirect::Window), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1]);
    assert_eq!(full_at_first(Redirect::Off), [9, 0, 0, 1]);
}

/// The window of path 0 has room, and its pacer has not: the packet waits unless every full path is avoided.
#[test]
fn paced_path_keeps_its_packet_where_only_full_windows_redirect() {
    let release = Time::ZERO + std::time::Duration::from_millis(3);
    let mut paths = [path(0, 20, 50_000), path(1, 20, 50_000)];
    (paths[0].pacing_budget, paths[0].next_release) = (0, Some(release));
    let decided =
        |redirect| FixedSplit::new(0.75, redirect).schedule(&view(&paths, 1 << 30), &mut Vec::new());
    assert_eq!(decided(Redirect::Window), Decision::Wait(Some(release)));
    assert!(matches!(decided(Redirect::Free), Decision::Send(sent) if sent.path == PathId(1)));
}

#[test]
fn a_path_that_vanishes_leaves_everything_to_the_other() {
    let mut split = FixedSplit::default();
    let paths: [PathView; 2] = [path(3, 20, 50_000), path(5, 60, 50_000)];
    let ask =
        |split: &mut FixedSplit, paths: &[PathView]| split.schedule(&view(paths, 1 << 20), &mut Vec::new());
    assert!(matches!(ask(&mut split, &paths), Decision::Send(sent) if sent.path == PathId(3)));
    assert!(matches!(ask(&mut split, &paths[1..]), Decision::Send(sent) if sent.path == PathId(5)));
    assert!(matches!(ask(&mut split, &paths), Decision::Send(sent) if sent.path == PathId(3)));
}

/// Sizes are discovered while data flows: what counts are bytes.
#[test]
fn datagrams_that_grow_later_are_corrected() {
    let mut split = FixedSplit::new(0.5, Redirect::Off);
    let mut paths = [path(0, 20, 50_000), path(1, 20, 50_000)];
    let mut bytes = [0, 0];
    for round in 0..1_000 {
        if round == 100 {
            paths[1].max_datagram_size = 1_500;
            bytes = [0, 0];
        }
        let Decision::Send(sent) = split.schedule(&view(&paths, 1 << 30), &mut Vec::new()) else {
            panic!("both have room");
        };
        let size = u64::from(paths[sent.path.0 as usize].max_datagram_size);
        (0..sent.max_bytes / size).for_each(|_| tell(&mut split, sent.path, sent.tag));
        bytes[sent.path.0 as usize] += sent.max_bytes;
    }
    let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}
