//! The formulas (items 1 and 2).

use std::time::Duration;

use hawser_learn::{LinUcb, Random};
use hawser_sched::{FourDMapOutcome, FourDMapPath, four_d_map_shares};

use crate::experiments::verify::{Measured, Request};

/// The deadline of a missing frame.
const DEADLINE: Duration = Duration::from_millis(200);

pub(super) fn vectors(_: &Request<'_>) -> Result<Measured, String> {
    let context = [1.0, 0.5];
    let mut bandit = LinUcb::new(1, 2, 0.8);
    let before = (bandit.score(0, &context) - 0.894_427_191).abs();
    bandit.update(0, &context, 2.0);
    let theta = [1.0, 0.0].iter().zip([0.0, 1.0]).map(|(x, y)| bandit.prediction(0, &[*x, y]));
    let theta_off = theta.zip([0.888_889, 0.444_444]).map(|(found, expected)| (found - expected).abs());
    let after = (bandit.score(0, &context) - 1.707_396).abs();
    let bandit_off = theta_off.fold(before.max(after), f64::max);

    let outcome = |size, received, ms| FourDMapOutcome { size, received, delay: Duration::from_millis(ms) };
    let key = outcome(60_000, 60_000, 80).reward(1.0, DEADLINE);
    let delta = outcome(10_000, 10_000, 40).reward(0.7, DEADLINE);
    let discarded = outcome(10_000, 50, 35);
    let reward_off = [
        key - 750.0,
        delta - 175.0,
        key + 3.0 * delta - 1_275.0,
        discarded.penalty_ms(DEADLINE) - 199.0,
        discarded.reward(0.7, DEADLINE) - 0.7 * 10_000.0 / 234.0,
    ];
    let reward_off = reward_off.iter().fold(0f64, |worst, off| worst.max(off.abs()));

    let path = |ms, window, outstanding| FourDMapPath { rtt: Duration::from_millis(ms), window, outstanding };
    let mut shares = Vec::new();
    let paths = [path(50, 15_000, 6_000), path(200, 30_000, 0)];
    let left = four_d_map_shares(&paths, 100_000, 4.0, &mut shares);
    let bytes = shares.iter().chain([&left]).zip([54_000u64, 30_000, 16_000]);
    let bytes_off: u64 = bytes.map(|(found, expected)| found.abs_diff(expected)).sum();
    Ok(Measured::new("")
        .with("bandit_off_by", bandit_off)
        .with("reward_off_by", reward_off)
        .with("bytes_off_by", bytes_off as f64))
}

/// The share of decisions 500 to 1000 that choose the best arm.
pub(super) fn bandit(request: &Request<'_>) -> Result<Measured, String> {
    const FEATURES: usize = 13;
    const ARMS: usize = 4;
    let mut random = Random::new(request.seed);
    let truth: Vec<Vec<f64>> = (0..ARMS).map(|_| (0..FEATURES).map(|_| random.normal()).collect()).collect();
    let value = |arm: usize, context: &[f64]| -> f64 {
        truth[arm].iter().zip(context).map(|(weight, feature)| weight * feature).sum()
    };
    let mut bandit = LinUcb::new(ARMS, FEATURES, 0.8);
    let mut best_chosen = 0u32;
    for decision in 0..1_000 {
        let context: Vec<f64> = (0..FEATURES).map(|_| random.fraction()).collect();
        let arm = bandit.choose(&context);
        let is_best = (0..ARMS).all(|other| value(other, &context) <= value(arm, &context));
        best_chosen += u32::from(decision >= 500 && is_best);
        bandit.update(arm, &context, value(arm, &context) + 0.1 * random.normal());
    }
    Ok(Measured::new("").with("best_arm_share", f64::from(best_chosen) / 500.0))
}
