use hawser_policy::Time;

use super::*;
use crate::return_path::ReturnPath;
use crate::testing::bottleneck::{Link, Network, alone, measure};
use crate::testing::{ack, build_with, init};

/// Plays one round of ten acknowledgements with round-trip time `rtt` each, all at once; returns the growth.
fn round(detector: &mut SlowStart, window: &mut Window, next: &mut u64, rtt_ms: u64) -> u64 {
    paced_round(detector, window, next, rtt_ms, (Time::from_secs(1), 0))
}

/// The same from a time on, so many microseconds apart.
fn paced_round(
    detector: &mut SlowStart,
    window: &mut Window,
    next: &mut u64,
    rtt_ms: u64,
    (from, apart): (Time, u64),
) -> u64 {
    let before = window.bytes();
    let first = *next;
    *next += 10;
    for packet in first..*next {
        // By the last acknowledgement of a round the next one is on its way.
        detector.on_sent(if packet + 1 == *next { *next + 9 } else { *next - 1 });
        let rtt = Duration::from_millis(rtt_ms);
        let now = from + Duration::from_micros(apart * (packet + 1 - first));
        let ack = ack(now, 1_000, rtt).with(|ack| ack.largest_acked = packet);
        if window.in_slow_start() {
            detector.on_ack(window, &ack, ReturnPath::default().sample(&ack), 1_000.0);
        }
    }
    window.bytes() - before
}

/// Rounds with a round-trip time in ms, and the time between two acknowledgements in it in microseconds.
fn paced_rounds(rounds: &[(u64, u64)]) -> (Vec<u64>, bool) {
    let (mut detector, mut window, mut next) = start();
    let mut from = Time::from_secs(1);
    let mut growth = Vec::new();
    for (rtt, apart) in rounds {
        growth.push(paced_round(&mut detector, &mut window, &mut next, *rtt, (from, *apart)));
        from += Duration::from_micros(apart * 10);
    }
    (growth, window.in_slow_start())
}

fn start() -> (SlowStart, Window, u64) {
    (SlowStart::new(true), Window::new(&init(10_000)), 0)
}

#[test]
fn a_rising_round_trip_time_ends_slow_start_after_five_careful_rounds() {
    let (mut detector, mut window, mut next) = start();
    for _ in 0..3 {
        assert_eq!(round(&mut detector, &mut window, &mut next, 50), 10_000);
    }
    // 50 ms + max(4, 50/8 = 6.25) ms: 56 ms is not enough, 57 ms is.
    assert_eq!(round(&mut detector, &mut window, &mut next, 56), 10_000);
    let growth = round(&mut detector, &mut window, &mut next, 63);
    // The eighth sample of the round raises the alarm; two more grow by a quarter.
    assert_eq!(growth, 8_500);
    for _ in 0..4 {
        assert!(window.in_slow_start());
        assert_eq!(round(&mut detector, &mut window, &mut next, 63), 2_500);
    }
    assert!(!window.in_slow_start());
    assert_eq!(window.threshold(), window.bytes());
}

#[test]
fn jitter_is_forgiven() {
    let (mut detector, mut window, mut next) = start();
    for _ in 0..2 {
        round(&mut detector, &mut window, &mut next, 50);
    }
    round(&mut detector, &mut window, &mut next, 70);
    assert_eq!(detector.phase, Phase::Conservative { baseline: Duration::from_millis(70), rounds: 1 });
    // Back to 50 ms: the eighth sample proves it.
    assert_eq!(round(&mut detector, &mut window, &mut next, 50), 7 * 250 + 250 + 2_000);
    assert_eq!(round(&mut detector, &mut window, &mut next, 50), 10_000);
}

#[test]
fn a_known_threshold_needs_no_detector() {
    let (mut detector, mut window, _) = start();
    window.reduce(1.5);
    window.collapse();
    let ack = ack(Time::ZERO, 20_000, Duration::from_millis(9));
    let left = detector.on_ack(&mut window, &ack, None, 20_000.0);
    assert_eq!((window.bytes(), left), (15_000, 7_000.0));
}

/// Acknowledgements wait in a filled uplink: the round-trip time rises, but ever more is delivered all the same.
#[test]
fn late_acknowledgements_of_a_path_that_carries_ever_more_are_no_queue() {
    let (growth, goes_on) = paced_rounds(&[(50, 1_000), (50, 600), (70, 400), (90, 260), (110, 170)]);
    assert_eq!((growth, goes_on), (vec![10_000; 5], true));
}

/// The round-trip time rises and no more is delivered than before: from the ninth sample of the round the window hardly grows, for
/// five rounds in all.
#[test]
fn while_the_delivery_rate_does_not_grow_the_window_hardly_does() {
    let (growth, goes_on) = paced_rounds(&[(50, 1_000), (50, 500), (50, 250), (60, 250), (70, 250)]);
    assert_eq!((growth, goes_on), (vec![10_000, 10_000, 10_000, 8_062, 313], true));
    let rounds = [(50, 1_000), (50, 500), (50, 250), (60, 250), (70, 250), (71, 250), (72, 250), (73, 250)];
    assert!(!paced_rounds(&rounds).1);
    // In the second of them it grows after all.
    let (growth, goes_on) =
        paced_rounds(&[(50, 1_000), (50, 500), (50, 250), (60, 250), (70, 150), (70, 100)]);
    assert_eq!(growth[..4], [10_000, 10_000, 10_000, 8_062]);
    assert!(goes_on && growth[5] == 10_000, "{growth:?}");
}

/// A sender that had less to send has shortened its own queue a little: that is not the end of it while no more is delivered than before.
#[test]
fn in_a_full_pipe_a_round_trip_shorter_than_the_last_but_not_short_is_no_jitter() {
    let filled = [(50, 1_000), (50, 500), (50, 250), (70, 250), (66, 250)];
    let last = |rtt_ms| paced_rounds(&[&filled[..], &[(rtt_ms, 250)]].concat()).0[5];
    // From 50 ms + 50/8 ms on it is a queue. Otherwise the eighth sample proves it: two more grow the window by as much.
    assert_eq!(last(57), 10_000 / 32);
    assert_eq!(last(56), 8_000 / 32 + 2_000);
}

/// A queue of 100 ms, five bandwidth-delay products: the first second fills the link and overflows nothing.
#[test]
fn the_first_queue_does_not_overflow() {
    for spec in ["cubic", "lia", "olia", "balia", "westwood", "illinois", "newreno,hystart=on"] {
        let mut network = alone(spec, Link::new(50.0, 625_000));
        network.run(Time::from_secs(3));
        assert_eq!(network.loss(0), 0.0, "{spec}");
        assert!(network.utilisation(50.0) > 0.92, "{spec}: {}", network.utilisation(50.0));
    }
}

/// Who comes to a deep buffer in which another one already has a queue gains rate with each packet that it adds, at the other's
/// expense: that is no capacity which is still to be filled. Two seconds of buffer, as in `bufferbloat-link`.
#[test]
fn a_newcomer_leaves_the_flow_that_is_there_its_share() {
    let share = |start: u64| {
        let mut network = Network::new(vec![Link::new(20.0, 5_000_000)]);
        for (connection, start) in [0, start].into_iter().enumerate() {
            let life = (Time::from_millis(start), Time::FAR_FUTURE);
            network.add(|init| build_with("cubic", init), (0, connection), Duration::from_millis(24), life);
        }
        let network = measure(network, 6, 4);
        network.goodput(0) / (network.goodput(0) + network.goodput(1))
    };
    let shares: Vec<f64> = (0..10).map(|step| share(5_000 + 13 * step)).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("{mean:.2}: {shares:.2?}");
    assert!(mean > 0.45, "{mean}");
}
