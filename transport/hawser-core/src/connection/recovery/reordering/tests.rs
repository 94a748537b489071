use super::super::testing::millis;
use super::*;

const RTT: Duration = millis(80);

#[test]
fn starts_as_rfc_9002_recommends() {
    let tolerance = ReorderingTolerance::new();
    assert_eq!(tolerance.packet_threshold(1000), 3);
    assert_eq!(tolerance.time_threshold(RTT), millis(90));
}

#[test]
fn a_spurious_loss_raises_both_to_what_would_have_spared_it() {
    let mut tolerance = ReorderingTolerance::new();
    tolerance.on_spurious_loss(12, millis(105), RTT, 1000, 0);
    assert_eq!(tolerance.packet_threshold(1000), 13);
    assert!(tolerance.time_threshold(RTT) > millis(105));
    assert!(tolerance.time_threshold(RTT) <= 2 * RTT);
    // A smaller one does not lower them.
    tolerance.on_spurious_loss(4, millis(81), RTT, 1000, 0);
    assert_eq!(tolerance.packet_threshold(1000), 13);
}

#[test]
fn there_are_caps() {
    let mut tolerance = ReorderingTolerance::new();
    tolerance.on_spurious_loss(u64::MAX, Duration::from_secs(9), RTT, 40, 0);
    assert_eq!(tolerance.packet_threshold(40), 20);
    assert_eq!(tolerance.packet_threshold(10), 5, "the window shrank since");
    assert_eq!(tolerance.packet_threshold(2), 3);
    assert_eq!(tolerance.time_threshold(RTT), 2 * RTT);
}

#[test]
fn it_sinks_back_slowly() {
    let mut tolerance = ReorderingTolerance::new();
    tolerance.on_spurious_loss(100, 2 * RTT, RTT, 1000, 5);
    tolerance.on_round(20);
    assert_eq!(tolerance.packet_threshold(1000), 101, "not yet");
    tolerance.on_round(21);
    assert_eq!(tolerance.packet_threshold(1000), 52);
    for round in 22..300 {
        tolerance.on_round(round);
    }
    assert_eq!(tolerance.packet_threshold(1000), 3);
    assert_eq!(tolerance.time_threshold(RTT), millis(90));
}
