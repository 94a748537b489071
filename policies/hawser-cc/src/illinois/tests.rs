use super::*;
use crate::testing::bottleneck::{BDP, Link, alone, measure};
use crate::testing::init;

fn rule() -> IllinoisRule {
    IllinoisRule {
        alpha_range: [0.3, 10.0],
        beta_range: [0.125, 0.5],
        hystart: true,
        delay: QueueDelay::default(),
        alpha: BASE_ALPHA,
        beta: BASE_BETA,
        was_above: false,
        quiet_rounds: 0,
    }
}

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
}

/// With 100 ms as the largest queueing delay: 10 up to 1 ms; 990 / (99 + 49.5 (9.7 / 0.3)) at half of it; 0.3 at all of it.
#[test]
fn growth_falls_with_the_delay() {
    assert_close(rule().alpha_for(0.0005, 0.1), 10.0);
    assert_close(rule().alpha_for(0.0505, 0.1), 0.99 / (0.099 + 0.0495 * 97.0 / 3.0));
    assert_close(rule().alpha_for(0.1, 0.1), 0.3);
}

#[test]
fn after_a_queue_growth_is_the_fastest_again_only_after_five_quiet_rounds() {
    let mut rule = rule();
    rule.alpha = rule.alpha_for(0.05, 0.1);
    let slow = rule.alpha;
    for _ in 0..4 {
        rule.alpha = rule.alpha_for(0.0, 0.1);
        assert_close(rule.alpha, slow);
    }
    assert_close(rule.alpha_for(0.0, 0.1), 10.0);
}

/// An eighth up to 10 ms of 100, a half from 80 ms on, 5/16 in the middle.
#[test]
fn cuts_rise_with_the_delay() {
    for (mean, expected) in [(0.005, 0.125), (0.01, 0.125), (0.045, 0.3125), (0.08, 0.5), (0.1, 0.5)] {
        assert_close(beta_for(mean, 0.1, [0.125, 0.5]), expected);
    }
}

#[test]
fn small_windows_are_renos() {
    let mut rule = rule();
    let round = DelayRound { min: 0.1, mean: 0.1, samples: 9, base: 0.1, largest: 0.2 };
    rule.judge(&Window::new(&init(14_000)), &round);
    assert_eq!((rule.alpha, rule.beta), (1.0, 0.5));
    rule.judge(&Window::new(&init(15_000)), &round);
    assert_eq!((rule.alpha, rule.beta), (10.0, 0.125));
}

#[test]
fn random_loss_costs_less_than_reno() {
    let of = |spec: &str| measure(alone(spec, Link::new(40.0, BDP).with_loss(0.01)), 5, 30).utilisation(40.0);
    let (illinois, reno) = (of("illinois"), of("newreno"));
    assert!(illinois > 4.0 * reno, "{illinois} {reno}");
    let network = measure(alone("illinois", Link::new(40.0, BDP)), 5, 30);
    assert!(network.utilisation(40.0) > 0.99 && network.loss(0) < 1e-4);
}
