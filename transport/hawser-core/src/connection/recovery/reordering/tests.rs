use super::super::testing::millis;
use super::*;

const RTT: Duration = millis(80);
const LEAST: Duration = millis(60);

fn patience(tolerance: &ReorderingTolerance) -> Duration {
    tolerance.time_threshold(RTT, RTT, LEAST)
}

//= rfc9002-6.1.1-1, rfc9002-6.1.2-4
#[test]
fn starts_as_rfc_9002_recommends() {
    let tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    assert_eq!(tolerance.packet_threshold(), Some(3));
    assert_eq!(patience(&tolerance), millis(90));
    assert_eq!(tolerance.time_threshold(millis(160), RTT, LEAST), millis(180), "the latest one counts too");
}

#[test]
fn packets_that_swap_places_leave_the_packet_threshold() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    tolerance.on_overtaken(2, millis(81), RTT);
    assert_eq!(tolerance.packet_threshold(), Some(3));
}

#[test]
fn once_the_packet_threshold_was_wrong_only_time_counts() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    tolerance.on_overtaken(3, millis(81), RTT);
    assert_eq!(tolerance.packet_threshold(), None);
    assert_eq!(
        patience(&tolerance),
        RTT + LEAST / 4,
        "at least a quarter of the least round trip, as in RFC 8985"
    );
}

#[test]
fn patience_is_what_the_latest_packet_took_and_half_of_its_lateness_again() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    tolerance.on_overtaken(12, millis(120), RTT);
    assert_eq!(patience(&tolerance), millis(80 + 60));
    // A smaller one does not lower it, an earlier one than usual has none.
    tolerance.on_overtaken(4, millis(81), RTT);
    tolerance.on_overtaken(4, millis(50), RTT);
    assert_eq!(patience(&tolerance), millis(80 + 60));
    // Four round trips are enough.
    tolerance.on_overtaken(u64::MAX, Duration::from_secs(9), RTT);
    assert_eq!(patience(&tolerance), 4 * RTT);
}

//= rfc9002-6.1.1-2
#[test]
fn it_is_forgotten_when_losses_come_without_reordering() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    tolerance.on_overtaken(100, 2 * RTT, RTT);
    for round in 0..1_000 {
        tolerance.on_round(round, 0);
    }
    assert_eq!(tolerance.packet_threshold(), None, "nothing was lost: nothing was waited for in vain");
    tolerance.on_round(1_000, 1);
    tolerance.on_round(1_001, 2);
    assert_eq!(tolerance.packet_threshold(), None, "16 round trips and more");
    tolerance.on_round(1_016, 2);
    assert_eq!((tolerance.packet_threshold(), patience(&tolerance)), (Some(3), millis(90)));
}

#[test]
fn it_is_remembered_while_packets_are_overtaken() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Adaptive);
    for round in 0..1_000 {
        if round % 15 == 0 {
            tolerance.on_overtaken(100, millis(120), RTT);
        }
        tolerance.on_round(round, round);
        assert_eq!((tolerance.packet_threshold(), patience(&tolerance)), (None, millis(140)));
    }
}

#[test]
fn thresholds_of_rfc_9002_stay_whatever_is_overtaken() {
    let mut tolerance = ReorderingTolerance::new(LossRecovery::Rfc9002);
    tolerance.on_overtaken(40, millis(90), millis(40));
    assert_eq!(tolerance.packet_threshold(), Some(PACKET_THRESHOLD));
    assert_eq!(tolerance.time_threshold(millis(40), millis(40), millis(40)), millis(45));
    tolerance.on_round(100, 1);
    tolerance.on_overtaken(40, millis(90), millis(40));
    assert_eq!(tolerance.forgotten().packet_threshold(), Some(PACKET_THRESHOLD));
    assert!(tolerance.is_fixed() && tolerance.forgotten().is_fixed());
}
