use hawser_policy::{DeliverySample, GroupId, PathId, Rate, Sibling};

use super::*;
use crate::testing::{ack, build_with, init, loss, snapshot};

fn path(id: u32, group: u32, megabits: u64) -> Sibling {
    Sibling::default().with(|sibling| {
        sibling.path = PathId(id);
        sibling.group = GroupId(group);
        sibling.congestion_window = 100_000;
        sibling.smoothed_rtt = Duration::from_millis(40);
        sibling.min_rtt = Duration::from_millis(40);
        sibling.usable = true;
        sibling.max_datagram_size = 1_000;
        sibling.delivery_rate = None;
        sibling.max_delivery_rate = Some(Rate::from_megabits_per_second(megabits));
        sibling.acked_since_loss = 0;
        sibling.acked_between_losses = 0;
        sibling.loss_ppm = 0;
    })
}

fn coupled(own_megabits: f64, siblings: &[Sibling]) -> f64 {
    let settings = Settings {
        name: "coupled-bbr",
        window_gain: 2.0,
        up_gain: 1.25,
        down_gain: 0.75,
        bandwidth_rounds: 10,
        min_rtt_window: TEN_SECONDS,
        coupled: true,
    };
    let mut model = V1::new(settings);
    model.seed(own_megabits * 1e6 / 8.0);
    model.couple(&Siblings { own: PathId(0), paths: siblings });
    model.cruise_gain
}

/// By hand: b = B max / sum of squares, gain (4 b - 1) / 3.
#[test]
fn cruise_gains_of_coupled_paths() {
    let close =
        |actual: f64, expected: f64| assert!((actual - expected).abs() < 1e-9, "{actual} for {expected}");
    close(coupled(30.0, &[path(0, 0, 30)]), 1.0);
    // Two equal paths: b = 1/2.
    close(coupled(30.0, &[path(0, 0, 30), path(1, 0, 30)]), 1.0 / 3.0);
    // 30 against 10: b = 900 / 1000.
    close(coupled(30.0, &[path(0, 0, 30), path(1, 0, 10)]), 2.6 / 3.0);
    // 10 against 30: b = 300 / 1000, the gain 0.2 / 3 is under the floor.
    close(coupled(10.0, &[path(0, 0, 10), path(1, 0, 30)]), 0.25);
    close(coupled(10.0, &[path(0, 0, 10), path(1, 5, 30)]), 1.0);
}

/// As Linux's BBRv1: in the first round trip of a recovery as much leaves as arrives. While losses go on it is one recovery; what is lost
/// leaves the window, which what arrives opens again.
#[test]
fn what_was_lost_leaves_the_window() {
    const RTT: Duration = Duration::from_millis(50);
    let mut bbr = build_with("bbr", &init(10_000).with(|init| init.snapshot = Some(snapshot())));
    let none = Siblings { own: PathId(0), paths: &[] };
    let lost = |at: u64, bytes: u64, in_flight: u64| {
        loss(Time::from_millis(at), LossCause::Loss, true).with(|loss| {
            loss.bytes = bytes;
            loss.bytes_in_flight = in_flight;
        })
    };
    let arrived = |at: u64, in_flight: u64, rounds: u64| {
        let delivery = DeliverySample::default().with(|sample| {
            sample.delivered = 1_000_000;
            sample.prior_delivered = rounds * 1_000_000;
            sample.inflight_at_send = 60_000;
        });
        ack(Time::from_millis(at), 1_000, RTT).with(|ack| {
            ack.bytes_in_flight = in_flight;
            ack.delivered = (rounds + 1) * 1_000_000;
            ack.delivery = Some(delivery);
        })
    };
    bbr.on_ack(&arrived(1_990, 70_000, 0), &none);
    bbr.on_loss(&lost(2_000, 10_000, 60_000), &none);
    assert_eq!(bbr.window(), 60_000);
    bbr.on_ack(&arrived(2_001, 60_000, 0), &none);
    assert_eq!(bbr.window(), 61_000);
    // A round trip later, with more losses in between.
    bbr.on_loss(&lost(2_030, 5_000, 50_000), &none);
    bbr.on_loss(&lost(2_060, 5_000, 50_000), &none);
    bbr.on_ack(&arrived(2_061, 50_000, 1), &none);
    assert_eq!(bbr.window(), 61_000 - 10_000 + 1_000);
}
