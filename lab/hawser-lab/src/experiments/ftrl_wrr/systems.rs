//! The scheduler over links (items 9 to 15).

use super::{BOUND_BY_RATE, COMPLETION, FIXED, FULL_WINDOWS, because};
use crate::experiments::verify::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::Value::{self, Computed, Largest, Ratio};
use crate::experiments::verify::{Estimate, ITEM, Item, Kept, claim, of, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "9",
        statement: "S0: throughput over fixed shares follows the model of two paths, and peaks at the bandwidth ratio",
        threshold: "throughput within 10 % below the model at X = .1 to .9, argmax at .3 +- .05 (redirection off)",
        paper: "figure 2.3: follows the model and stays below it at every X",
        claims: &[
            claim(model("largest excess of the model over goodput", farthest_below), AtMost(0.10)),
            claim(model("largest excess of goodput over the model", farthest_above), AtMost(0.0)),
            claim(model("share with the largest goodput", best_share), Within(0.25, 0.35)),
        ],
        ..ITEM
    },
    Item {
        id: "10",
        statement: "S1: FTRL-WRR completes sooner than MinRTT and RR on all levels, and about as soon as WRR on the low one",
        threshold: "mean FCT < MinRTT in all three levels (accept >= 3 %); < RR in all levels; WRR +-10 % in low",
        paper: "16 to 18 % less than MinRTT, 22 % less than RR; 0.09 % less than WRR in low",
        claims: &[
            claim(versus("minrtt", "s1-low"), AtMost(0.97)),
            claim(versus("minrtt", "s1"), AtMost(0.97)),
            claim(versus("minrtt", "s1-high"), AtMost(0.97)),
            claim(versus(FIXED, "s1-low"), Below(1.0)),
            claim(versus(FIXED, "s1"), Below(1.0)),
            claim(versus(FIXED, "s1-high"), Below(1.0)),
            claim(versus("wrr", "s1-low"), Within(0.9, 1.1)),
        ],
        deviation: because(FULL_WINDOWS),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "S1: varying delay slows WRR down, and FTRL-WRR hardly",
        threshold: "WRR's mean FCT increases low to high; FTRL-WRR's varies < 10 %",
        paper: "17.97 % and 42.46 % less than WRR in medium and high",
        claims: &[
            claim(Ratio(of("wrr", "s1-high", COMPLETION), of("wrr", "s1-low", COMPLETION)), Above(1.0)),
            claim(Ratio(ours("s1", COMPLETION), ours("s1-low", COMPLETION)), Within(0.9, 1.1)),
            claim(Ratio(ours("s1-high", COMPLETION), ours("s1-low", COMPLETION)), Within(0.9, 1.1)),
        ],
        deviation: because(BOUND_BY_RATE),
        ..ITEM
    },
    Item {
        id: "12",
        statement: "S1: Peekaboo takes longest on the medium level",
        threshold: "Peekaboo has the largest mean FCT in medium",
        paper: "FTRL-WRR takes 40.54 % less",
        claims: &[
            claim(peekaboo_over("minrtt"), AtLeast(1.0)),
            claim(peekaboo_over(FIXED), AtLeast(1.0)),
            claim(peekaboo_over("wrr"), AtLeast(1.0)),
            claim(peekaboo_over("blest"), AtLeast(1.0)),
            claim(versus("peekaboo", "s1"), AtMost(1.0)),
        ],
        ..ITEM
    },
    Item {
        id: "13",
        statement: "S3: with CUBIC under loss the learner gains nothing over a half",
        threshold: "FTRL-WRR not better than RR with Cubic under loss (negative result)",
        paper: "worse than RR (figure 4.7)",
        claims: &[claim(versus(FIXED, "s3"), AtLeast(1.0))],
        ..ITEM
    },
    Item {
        id: "14",
        statement: "S4: over a bent pipe and 5G it hardly matters who schedules",
        threshold: "all but WRR within 3 % of one another",
        paper: "0.47 % less than BLEST, RR 0.96 % more",
        claims: &[
            claim(versus("minrtt", "s4"), Within(0.97, 1.03)),
            claim(versus(FIXED, "s4"), Within(0.97, 1.03)),
            claim(versus("blest", "s4"), Within(0.97, 1.03)),
        ],
        ..ITEM
    },
    Item {
        id: "15",
        statement: "S5, S7: FTRL-WRR is no slower than MinRTT and faster than WRR; a hand-over is noticed and learnt",
        threshold: "FTRL-WRR <= MinRTT and < WRR; hand-over: reset logged within 2 s and x across 1/2 within 15 steps",
        paper: "3.86 % and 3.6 % less than MinRTT, 10.66 % and 27.59 % less than WRR",
        claims: &[
            claim(versus("minrtt", "s5"), AtMost(1.0)),
            claim(versus("minrtt", "s7"), AtMost(1.0)),
            claim(versus("wrr", "s5"), Below(1.0)),
            claim(versus("wrr", "s7"), Below(1.0)),
            claim(Largest(ours("hand-over", "until_reset_s")), AtMost(2.0)),
            claim(Largest(ours("hand-over", "steps_until_crossed")), AtMost(15.0)),
        ],
        deviation: because(FULL_WINDOWS),
        ..ITEM
    },
];

/// The completion time of the system over that of another policy.
pub(super) const fn versus(policy: &'static str, runs: &'static str) -> Value {
    Ratio(ours(runs, COMPLETION), of(policy, runs, COMPLETION))
}

const fn peekaboo_over(policy: &'static str) -> Value {
    Ratio(of("peekaboo", "s1", COMPLETION), of(policy, "s1", COMPLETION))
}

const fn model(name: &'static str, compute: fn(&Kept) -> Option<Estimate>) -> Value {
    Computed { name, runs: &["s0"], compute }
}

/// What of a packet of 1500 bytes on the link is data of the stream: IP and UDP headers, the packet's own and its frame's take
/// the rest.
const FRAMING: f64 = 0.957;

/// Shares, and mean goodput over what the model allows, both in parts of all bandwidth.
fn shares(kept: &Kept) -> Option<Vec<(f64, f64, f64)>> {
    let of_share = |policy: &super::Policy| {
        let super::Policy::Named(name) = *policy else { return None };
        let share: f64 = name.split("share=").nth(1)?.split(',').next()?.parse().ok()?;
        let metric = of(name, "s0", "goodput_bps");
        let values = kept.values(&metric);
        let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64;
        let model = super::learner::throughput(share, 0.3) * FRAMING;
        (!values.is_empty()).then_some((share, mean / 1e8, model))
    };
    super::SHARES.iter().map(of_share).collect()
}

fn farthest_below(kept: &Kept) -> Option<Estimate> {
    let off = shares(kept)?.into_iter().map(|(_, goodput, model)| 1.0 - goodput / model);
    off.reduce(f64::max).map(Estimate::exact)
}

fn farthest_above(kept: &Kept) -> Option<Estimate> {
    // The model counts what links carry: headers included.
    let off = shares(kept)?.into_iter().map(|(_, goodput, model)| goodput * FRAMING / model - 1.0);
    off.reduce(f64::max).map(Estimate::exact)
}

fn best_share(kept: &Kept) -> Option<Estimate> {
    let best = shares(kept)?.into_iter().max_by(|one, two| one.1.total_cmp(&two.1))?;
    Some(Estimate::exact(best.0))
}
