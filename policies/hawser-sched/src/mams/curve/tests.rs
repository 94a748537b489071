use super::*;
use crate::mams::MamsPoint;

fn path(window: f64, threshold: f64, rtt: f64, timeout: f64, loss: f64, up: MamsForecast) -> MamsPath {
    MamsPath {
        window,
        threshold,
        rtt,
        one_way: rtt / 2.0,
        timeout,
        in_flight: 0.0,
        packet_time: 0.0,
        loss,
        up,
        down: MamsForecast::UNKNOWN,
    }
}

fn deliveries(path: &MamsPath, budget: f64, least: f64) -> (f64, usize) {
    let mut curve = Curve::default();
    curve.follow(path, MamsWindowModel::Tcp, budget, least);
    (curve.delivered_by(budget), curve.rounds)
}

/// MAMS, section V, with TCP's window after a timeout: the last two are limited by the capacity of the link.
#[test]
fn expected_deliveries_are_those_of_the_model() {
    let falling: MamsForecast = [(0.0, 30.0), (0.15, 0.0)]
        .into_iter()
        .map(|(at, packets)| MamsPoint { at, packets, loss: 0.0 })
        .collect();
    let none = MamsForecast::UNKNOWN;
    for (budget, window, threshold, rtt, timeout, loss, up, expected) in [
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.0, none, 30.0),
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.01, none, 28.2801),
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.10, none, 18.2072),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, none, 98.2758),
        (0.175, 10.0, 8.0, 0.05, 0.25, 0.05, none, 31.1114),
        (0.150, 32.0, 16.0, 0.02, 0.20, 0.02, none, 142.5032),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, MamsForecast::constant(20.0, 0.0), 62.0745),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, falling, 37.7829),
    ] {
        let path = path(window, threshold, rtt, timeout, loss, up);
        let (found, _) = deliveries(&path, budget, 0.0);
        assert!((found - expected).abs() < 1e-3, "{path:?}: {found}, not {expected}");
    }
}

/// A path of 5 ms next to one of 600 ms: sixty rounds, of which the recursion would follow three branches each.
#[test]
fn windows_that_are_equal_are_followed_once() {
    let path = path(100.0, 50.0, 0.005, 0.2, 0.02, MamsForecast::UNKNOWN);
    let (found, rounds) = deliveries(&path, 0.3, 1e-4);
    assert!(rounds <= MAX_ROUNDS && found > 100.0, "{found} after {rounds} rounds");
}

#[test]
fn rounds_are_as_short_as_their_budget() {
    let path = path(10.0, 64.0, 0.05, 0.25, 0.0, MamsForecast::UNKNOWN);
    for (budget, expected) in [(0.0, 0.0), (0.0249, 0.0), (0.025, 10.0), (0.0749, 10.0), (0.075, 30.0)] {
        assert_eq!(deliveries(&path, budget, 0.0).0, expected, "{budget}");
    }
}

/// A probe timeout halves the window of QUIC, and only a second one leaves two packets (RFC 9002 section 7.6).
#[test]
fn a_timeout_of_quic_leaves_half_of_the_window() {
    let window = |window, model| {
        let path = path(window, 64.0, 0.05, 0.25, 0.0, MamsForecast::UNKNOWN);
        let [.., first] = Window::new(path.newreno()).after(model);
        let [.., second] = first.after(model);
        [first.newreno.window, second.newreno.window]
    };
    assert_eq!(window(20.0, MamsWindowModel::NewReno), [10.0, 2.0]);
    assert_eq!(window(20.0, MamsWindowModel::Tcp), [1.0, 1.0]);
    assert_eq!(window(20.0, MamsWindowModel::Steady), [14.0, 9.799_999_999_999_999]);
}
