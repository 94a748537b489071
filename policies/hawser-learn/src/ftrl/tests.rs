use super::*;
use crate::Random;

/// What two ideal paths carry at share `x` for the first, which has `b` of the bandwidth (FTRL-WRR section 2.3).
fn throughput(x: f64, b: f64) -> f64 {
    if x >= b { b / x } else { (1.0 - b) / (1.0 - x) }
}

/// Signs in pairs: -, +, +, -, -, +, +, ... for steps from 1.
fn is_above(step: usize) -> bool {
    (step / 2) % 2 == 1
}

/// Centres from step 1: the loss of step `s` is known before step `s + 2`.
fn golden_run(accumulation: Accumulation, b: f64, steps: usize, noise: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let mut learner = IntervalFtrl::new(accumulation);
    let mut plays = vec![learner.play(is_above(1)), learner.play(is_above(2))];
    while plays.len() < steps {
        let play = plays[plays.len() - 2];
        let loss = (1.0 - throughput(play.point, b) * noise()).max(0.0).powi(2);
        learner.update(&play, loss);
        plays.push(learner.play(is_above(plays.len() + 1)));
    }
    plays.iter().map(|play| play.center).collect()
}

#[test]
fn the_stable_form_equals_the_printed_one() {
    assert_eq!(minimiser(0.0), 0.5);
    let mut a: f64 = 1e-3;
    while a < 1e3 {
        for a in [a, -a] {
            let printed = (a + 2.0 - (a * a + 4.0).sqrt()) / (2.0 * a);
            assert!((minimiser(a) - printed).abs() < 1e-9, "{a}");
        }
        a *= 1.01;
    }
}

#[test]
fn points_lie_inside_for_any_center_and_radius() {
    let mut random = Random::new(1);
    for _ in 0..1_000_000 {
        let a = (random.fraction() - 0.5) * 10f64.powf(6.0 * random.fraction());
        let x = minimiser(a);
        let point =
            x + (random.fraction() * 2.0 - 1.0).signum() * random.fraction() / 2.0 / curvature(x).sqrt();
        assert!(
            point > 0.0 && point < 1.0 && point >= x / 2.0 && point <= f64::midpoint(1.0, x),
            "{a}: {point}"
        );
    }
}

/// The specification's table of schedules.
#[test]
fn schedules_are_the_printed_ones() {
    for (k, step, r) in [
        (1, 0.3194, 1.0),
        (2, 0.3329, 1.0),
        (3, 0.3194, 1.0),
        (5, 0.2856, 1.0),
        (10, 0.2256, 0.9663),
        (20, 0.1661, 0.8726),
        (50, 0.1035, 0.7452),
        (100, 0.0699, 0.6539),
        (500, 0.0263, 0.4720),
        (1000, 0.0169, 0.4076),
    ] {
        assert!((step_size(k) - step).abs() < 5e-5 && (radius(k) - r).abs() < 5e-5, "{k}");
    }
    assert!(radius(7) == 1.0 && radius(8) < 1.0);
}

/// Where the surrogate of 1 - tp for b = 0.3 is stationary: f(x + d) = f(x - d) with d = (r/2) / sqrt(R''(x)).
#[test]
fn the_surrogate_is_stationary_where_the_sheet_says() {
    for (r, expected) in [(1.0, 0.2522), (0.5, 0.2743), (0.3, 0.2842), (0.1, 0.2946)] {
        let slope = |x: f64| {
            let reach = r / 2.0 / curvature(x).sqrt();
            throughput(x - reach, 0.3) - throughput(x + reach, 0.3)
        };
        let (mut low, mut high) = (0.05, 0.6);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        assert!((low - expected).abs() < 1e-3, "{r}: {low}");
    }
}

#[test]
fn golden_runs() {
    let per_step = [
        (3, 0.501166),
        (4, 0.429635),
        (5, 0.367928),
        (6, 0.368498),
        (10, 0.316453),
        (20, 0.277682),
        (100, 0.264921),
    ];
    let current = [
        (3, 0.501166),
        (4, 0.429682),
        (5, 0.370326),
        (6, 0.377080),
        (10, 0.341063),
        (20, 0.315125),
        (100, 0.292644),
    ];
    for (accumulation, golden) in [(Accumulation::PerStep, per_step), (Accumulation::CurrentEta, current)] {
        let centers = golden_run(accumulation, 0.3, 100, &mut || 1.0);
        for (step, center) in golden {
            assert!(
                (centers[step - 1] - center).abs() < 1e-6,
                "{accumulation:?} {step}: {}",
                centers[step - 1]
            );
        }
    }
    let learner = IntervalFtrl::new(Accumulation::PerStep);
    assert!((learner.play(false).point - 0.323223).abs() < 1e-6);
    assert!((learner.play(true).point - 0.676777).abs() < 1e-6);
}

/// Multiplicative noise of 5 %, each of 30 seeds: the centre after 200 steps.
#[test]
fn the_center_converges_to_the_ratio_of_bandwidths() {
    for (accumulation, bound) in [(Accumulation::PerStep, 0.04), (Accumulation::CurrentEta, 0.02)] {
        for b in [0.1, 0.25, 0.5, 0.75, 0.9] {
            for seed in 1..=30 {
                let mut random = Random::new(seed);
                let mut noise = || 1.0 + 0.05 * random.normal();
                let center = golden_run(accumulation, b, 200, &mut noise)[199];
                assert!((center - b).abs() <= bound, "{accumulation:?} {b} {seed}: {center}");
            }
        }
    }
}

/// Set back after 200 steps: accumulated gradients are kept, and only the newest is weighted again, or all are.
#[test]
fn a_restart_makes_only_current_eta_jump() {
    let restarted = |accumulation| {
        let mut learner = IntervalFtrl::new(accumulation);
        for step in 1..=200 {
            let play = learner.play(is_above(step));
            learner.update(&play, (1.0 - throughput(play.point, 0.3)).powi(2));
        }
        let before = learner.center();
        learner.restart();
        let play = learner.play(is_above(201));
        learner.update(&play, (1.0 - throughput(play.point, 0.3)).powi(2));
        (before, learner.center())
    };
    let (before, after) = restarted(Accumulation::PerStep);
    assert!((before - after).abs() < 0.05, "{before} {after}");
    let (before, after) = restarted(Accumulation::CurrentEta);
    assert!(before - after > 0.15, "{before} {after}");
}

#[test]
fn forgetting_leads_back_to_the_middle() {
    let mut learner = IntervalFtrl::new(Accumulation::CurrentEta);
    learner.update(&learner.play(true), 1.0);
    assert!(learner.center() < 0.5);
    learner.forget();
    assert_eq!((learner.center(), learner.updates()), (0.5, 1));
    learner.update(&learner.play(true), f64::NAN);
    assert_eq!(learner.center(), 0.5);
}
