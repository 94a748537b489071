//! The formulas (items 1 and 2), and what no mechanism may do (item 3).

use std::time::Duration;

use hawser_learn::{LinUcb, Random};
use hawser_sched::{FourDMapOutcome, FourDMapPath, four_d_map_shares};

use super::{CORRUPT, DECIDES, DECOMPENSATE, DISCARD, DUPLICATE, FRAMES, KEYS_DAMAGED, NORMAL};
use crate::experiments::verify::constant::Bound::{AtLeast, AtMost};
use crate::experiments::verify::constant::Value::{Largest, Smallest, Sum};
use crate::experiments::verify::constant::{ITEM, Item, MUST, Measured, Request, claim, of, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "1",
        statement: "LinUCB, reward and Dispatch give the vectors that were computed by hand",
        threshold: "LinUCB, reward and Dispatch vectors of 3.2, 3.3, 3.6 reproduced to 1e-6 / exactly",
        claims: &[
            claim(Largest(ours("vectors", "bandit_off_by")), AtMost(1e-6)),
            claim(Largest(ours("vectors", "reward_off_by")), AtMost(1e-6)),
            claim(Largest(ours("vectors", "bytes_off_by")), AtMost(0.0)),
        ],
        ..MUST
    },
    Item {
        id: "2",
        statement: "The bandit finds the best of four linear arms in 13 dimensions, with every seed",
        threshold: "noise sigma = 0.1: best arm chosen >= 90 % in decisions 500-1000",
        claims: &[claim(Smallest(ours("bandit", "best_arm_share")), AtLeast(0.9))],
        ..MUST
    },
    Item {
        id: "3",
        statement: "With 5 % of loss and any mechanism every frame is found, what is reliable arrives intact, and key frames lack nothing",
        threshold: "every Reliable byte reaches the application intact; only P-frame body bytes are ever padded; stream length and RTMP framing stay exact over 60 s",
        must: true,
        claims: &[
            claim(Sum(ours("reliability", CORRUPT)), AtMost(0.0)),
            claim(Sum(of(NORMAL, "reliability", CORRUPT)), AtMost(0.0)),
            claim(Sum(of(DUPLICATE, "reliability", CORRUPT)), AtMost(0.0)),
            claim(Sum(of(DISCARD, "reliability", CORRUPT)), AtMost(0.0)),
            claim(Sum(of(DECOMPENSATE, "reliability", CORRUPT)), AtMost(0.0)),
            claim(Sum(ours("reliability", KEYS_DAMAGED)), AtMost(0.0)),
            claim(Sum(of(DISCARD, "reliability", KEYS_DAMAGED)), AtMost(0.0)),
            claim(Sum(of(DECOMPENSATE, "reliability", KEYS_DAMAGED)), AtMost(0.0)),
            claim(Smallest(ours("reliability", FRAMES)), AtLeast(1_500.0)),
            claim(Smallest(of(DISCARD, "reliability", FRAMES)), AtLeast(1_500.0)),
            claim(Smallest(of(DECOMPENSATE, "reliability", FRAMES)), AtLeast(1_500.0)),
        ],
        ..ITEM
    },
    Item {
        id: "4",
        statement: "With 5 % of loss, no copy is sent twice, and nothing that was acknowledged is sent again, by whichever packet",
        threshold: "Semi-reliable copies are never retransmitted; a range acked via a copy is never resent",
        must: true,
        claims: &[
            claim(Sum(ours("copies", "copied_again_bytes")), AtMost(0.0)),
            claim(Sum(of(DUPLICATE, "copies", "copied_again_bytes")), AtMost(0.0)),
            claim(Sum(ours("copies", "acked_sent_bytes")), AtMost(0.0)),
            claim(Sum(of(DUPLICATE, "copies", "acked_sent_bytes")), AtMost(0.0)),
            // Some copies were lost.
            claim(Smallest(of(DUPLICATE, "copies", "copies_lost_bytes")), AtLeast(1_000.0)),
        ],
        ..ITEM
    },
    Item {
        id: "5",
        statement: "The call that decides about a frame and allocates its bytes, on this machine",
        threshold: "Decision + allocation cost < 50 us median per frame, N = 2",
        must: true,
        claims: &[claim(Largest(ours("copies", "frame_us")), AtMost(50.0)), DECIDES],
        ..ITEM
    },
];

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
