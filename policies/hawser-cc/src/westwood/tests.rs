use super::*;
use crate::testing::bottleneck::{BDP, Link, alone, measure};
use crate::testing::{ack, init, loss, snapshot};
use hawser_policy::{LossCause, Siblings};

const RTT: Duration = Duration::from_millis(100);

fn rule() -> WestwoodRule {
    WestwoodRule {
        least_interval: Duration::from_millis(50),
        hystart: true,
        since: None,
        acked: 0.0,
        filtered: None,
        min_rtt: None,
    }
}

/// 20 kB each 100 ms are 200 kB/s; then 40 kB: by hand 225 and 203.125 kB/s, then 246.875 and 208.594.
#[test]
fn two_filters_in_a_row() {
    let mut rule = rule();
    rule.filter(Time::ZERO, RTT);
    let steps = [
        (20_000.0, [200_000.0, 200_000.0]),
        (40_000.0, [225_000.0, 203_125.0]),
        (40_000.0, [246_875.0, 208_593.75]),
    ];
    for (step, (bytes, expected)) in steps.into_iter().enumerate() {
        rule.acked += bytes;
        // Too early: an interval is a round trip at least.
        rule.filter(Time::from_millis(100 * step as u64 + 99), RTT);
        rule.filter(Time::from_millis(100 * (step as u64 + 1)), RTT);
        assert_eq!(rule.filtered, Some(expected));
    }
}

/// 10 Mbit/s over 40 ms are 50 kB, whatever the window was.
#[test]
fn a_loss_leaves_what_the_path_carries() {
    let mut start = init(10_000);
    start.snapshot = Some(snapshot().with(|snapshot| snapshot.bytes_in_flight = 80_000));
    let mut controller = WindowBased::start(&start, rule());
    assert_eq!(hawser_policy::CongestionController::window(&controller), 80_000);
    let event = loss(Time::from_secs(1), LossCause::Loss, true);
    hawser_policy::CongestionController::on_loss(&mut controller, &event, &Siblings::NONE);
    assert_eq!(hawser_policy::CongestionController::window(&controller), 50_000);
}

#[test]
fn without_a_measurement_a_loss_halves() {
    let mut window = Window::new(&init(40_000));
    rule().reduce(&mut window, &loss(Time::ZERO, LossCause::Loss, true), &Siblings::NONE);
    assert_eq!(window.bytes(), 20_000);
    // Acknowledgements of one instant measure nothing.
    let mut rule = rule();
    let sample = ack(Time::ZERO, 1_000, Duration::ZERO);
    rule.measure(&mut window, &Acked { ack: &sample, rtt: None, bytes: 0.0, siblings: &Siblings::NONE });
    assert_eq!(rule.filtered, None);
}

/// A buffer of a tenth of a bandwidth-delay product and losses that are no congestion: a window that goes back to what the
/// path carries keeps it full where half of it does not.
#[test]
fn shallow_buffers_and_random_loss() {
    let of = |spec: &str, link: Link| measure(alone(spec, link), 20, 40).utilisation(40.0);
    let (westwood, reno) =
        (of("westwood", Link::new(40.0, BDP / 10)), of("newreno", Link::new(40.0, BDP / 10)));
    assert!(westwood > 0.95 && westwood > reno + 0.1, "{westwood} {reno}");
    let lossy = || Link::new(40.0, BDP).with_loss(0.001);
    let (westwood, reno) = (of("westwood", lossy()), of("newreno", lossy()));
    assert!(westwood > 1.5 * reno, "{westwood} {reno}");
}
