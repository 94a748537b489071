use hawser_policy::{GroupId, PathId, Rate, Sibling};

use super::*;

fn path(id: u32, group: u32, megabits: u64) -> Sibling {
    Sibling {
        path: PathId(id),
        group: GroupId(group),
        congestion_window: 100_000,
        smoothed_rtt: Duration::from_millis(40),
        min_rtt: Duration::from_millis(40),
        usable: true,
        max_datagram_size: 1_000,
        delivery_rate: None,
        max_delivery_rate: Some(Rate::from_megabits_per_second(megabits)),
        acked_since_loss: 0,
        acked_between_losses: 0,
        loss_ppm: 0,
    }
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
    // 30 beside 10: b = 900 / 1000.
    close(coupled(30.0, &[path(0, 0, 30), path(1, 0, 10)]), 2.6 / 3.0);
    // 10 beside 30: b = 300 / 1000, the gain 0.2 / 3 is under the floor.
    close(coupled(10.0, &[path(0, 0, 10), path(1, 0, 30)]), 0.25);
    close(coupled(10.0, &[path(0, 0, 10), path(1, 5, 30)]), 1.0);
}
