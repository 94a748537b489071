use super::*;
use crate::mpcc::tests::settings;

fn close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} instead of {expected}");
}

fn learner(spec: &str, rate: f64) -> Learner {
    Learner::new(settings(spec), rate, 0.1, false)
}

fn measured(rate: f64) -> Measured {
    Measured { rate, slope: 0.0, loss: 0.0 }
}

/// By hand: theta is 1, so a gradient of 0.6 asks for 0.6 Mbit/s, but 5 % of 10 are 0.5. The next time it asks for twice that, and 15 % of
/// 10.5 allow it. Downwards it begins with confidence 1 and 5 %.
#[test]
fn steps_grow_with_confidence_and_are_bounded() {
    let mut learner = learner("mpcc", 10.0);
    learner.follow(0.6, 0.0);
    close(learner.rate(), 10.5);
    learner.follow(0.6, 0.0);
    close(learner.rate(), 11.7);
    learner.follow(-0.6, 0.0);
    close(learner.rate(), 11.7 * 0.95);
    learner.follow(-0.1, 0.0);
    close(learner.rate(), 11.7 * 0.95 - 0.2);
}

/// Five changes at the bound: 5, 15, 25, 35, 45 %.
#[test]
fn the_bound_grows_while_it_is_reached() {
    let mut learner = learner("mpcc", 10.0);
    let mut expected = 10.0;
    for bound in [0.05, 0.15, 0.25, 0.35, 0.45] {
        learner.follow(1e6, 0.0);
        expected *= 1.0 + bound;
        close(learner.rate(), expected);
    }
}

/// Shares are of all paths' rate, as published; `step_of=own` takes the path's.
#[test]
fn steps_are_relative_to_the_rate_of_all_paths() {
    let mut total = learner("mpcc", 10.0);
    assert_eq!(total.trial(20.0), Trial::Pair { low: 8.5, high: 11.5 });
    total.follow(1e6, 20.0);
    close(total.rate(), 11.5);
    let mut own = learner("mpcc,step_of=own", 10.0);
    assert_eq!(own.trial(20.0), Trial::Pair { low: 9.5, high: 10.5 });
    own.follow(1e6, 20.0);
    close(own.rate(), 10.5);
    // A small path next to a large one still sends something in the lower interval.
    assert_eq!(learner("mpcc", 2.0).trial(98.0), Trial::Pair { low: 1.0, high: 3.0 });
}

#[test]
fn the_rate_doubles_until_the_utility_falls_and_goes_back() {
    let mut learner = Learner::new(settings("mpcc"), 4.0, 0.1, true);
    learner.start(measured(4.0), 0.0);
    learner.start(measured(8.0), 0.0);
    assert_eq!((learner.trial(0.0), learner.is_starting()), (Trial::Single(16.0), true));
    learner.start(Measured { slope: 0.3, ..measured(16.0) }, 0.0);
    assert_eq!((learner.rate(), learner.is_starting()), (8.0, false));
}

/// By hand: 9.5^0.9 = 7.58494 and 10.5^0.9 = 8.29998, a gradient of 0.715 over 1 Mbit/s; with 4 % lost at the higher rate it is
/// less by 11.35 x 10.5 x 0.04 = 4.767.
#[test]
fn the_gradient_is_that_of_the_utility() {
    let settings = "mpcc,bound=1";
    let mut learner = learner(settings, 10.0);
    let gradient = 10.5f64.powf(0.9) - 9.5f64.powf(0.9);
    learner.learn(&measured(9.5), &measured(10.5), 1.0, 0.0);
    close(learner.rate(), 10.0 + gradient);
    let mut learner = self::learner(settings, 10.0);
    learner.learn(&measured(9.5), &Measured { loss: 0.04, ..measured(10.5) }, 1.0, 0.0);
    close(learner.rate(), 10.0 + gradient - 4.767);
}

/// Something held the sender back in the higher interval: the two hardly differ, and what little they do is not a gradient.
#[test]
fn a_pair_that_was_not_sent_as_planned_teaches_nothing() {
    let mut learner = learner("mpcc", 10.0);
    learner.learn(&measured(9.5), &Measured { slope: 0.5, ..measured(9.6) }, 1.0, 0.0);
    close(learner.rate(), 10.0);
}
