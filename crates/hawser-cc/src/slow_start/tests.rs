use hawser_policy::Time;

use super::*;
use crate::return_path::ReturnPath;
use crate::testing::{ack, init};

/// Plays one round of ten acknowledgements with round-trip time `rtt` each; returns the growth.
fn round(detector: &mut SlowStart, window: &mut Window, next: &mut u64, rtt_ms: u64) -> u64 {
    let before = window.bytes();
    let first = *next;
    *next += 10;
    for packet in first..*next {
        // By the last acknowledgement of a round the next one is on its way.
        detector.on_sent(if packet + 1 == *next { *next + 9 } else { *next - 1 });
        let rtt = Duration::from_millis(rtt_ms);
        let ack = Ack { largest_acked: packet, ..ack(Time::from_secs(1), 1_000, rtt) };
        if window.in_slow_start() {
            detector.on_ack(window, &ack, ReturnPath::default().sample(&ack), 1_000.0);
        }
    }
    window.bytes() - before
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
