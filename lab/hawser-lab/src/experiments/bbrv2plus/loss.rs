//! What is asked of throughput and retransmissions: shallow and deep buffers, random loss, the loss threshold.

use super::{BBR, BBR2, RATE, RETRANSMITTED, TOLERANT, UNCUT, between, deviates, metric};
use crate::experiments::verify::constant::Bound::{AtLeast, AtMost, Within};
use crate::experiments::verify::constant::Value::{Computed, Largest, Mean, Ratio};
use crate::experiments::verify::constant::{Estimate, ITEM, Item, Kept, Value, claim};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "1",
        statement: "Shallow buffers cost BBRv2 some throughput and save it most of BBR's retransmissions",
        threshold: "E3, 100 kB, BDP >= 400 kB: T(BBRv2)/T(BBR) in [0.80, 0.92]; BBRv2 retransmission rate <= 1/3 of BBR's; \
                    steady Cruise cwnd <= 0.86 inflight_hi",
        paper: "13-16 % below BBR (figures 4.7, 4.8a)",
        claims: &[
            claim(OVER_THE_MAP, Within(0.80, 0.92)),
            claim(between(BBR2, BBR, "shallow-500-75", RATE), Within(0.80, 0.92)),
            claim(between(BBR2, BBR, "shallow-100-75", RETRANSMITTED), AtMost(1.0 / 3.0)),
            claim(between(BBR2, BBR, "shallow-250-50", RETRANSMITTED), AtMost(1.0 / 3.0)),
            claim(between(BBR2, BBR, "shallow-250-150", RETRANSMITTED), AtMost(1.0 / 3.0)),
            claim(between(BBR2, BBR, "shallow-500-75", RETRANSMITTED), AtMost(1.0 / 3.0)),
            claim(Largest(metric(BBR2, "cruise", "window_in_cruise_share")), AtMost(0.86)),
        ],
        ..ITEM
    },
    Item {
        id: "2",
        statement: "With deep buffers BBR and BBRv2 hardly differ, and both fill the link",
        threshold: "E3, 10 MB, buffer >= 2 BDP: |T(BBR)-T(BBRv2)| <= 5 % and both >= 90 % of capacity",
        paper: "differences marginal (figure 4.8b)",
        claims: &[
            claim(between(BBR2, BBR, "deep-50-100", RATE), Within(0.95, 1.05)),
            claim(between(BBR2, BBR, "deep-250-75", RATE), Within(0.95, 1.05)),
            claim(Mean(metric(BBR, "deep-50-100", RATE)), AtLeast(45e6)),
            claim(Mean(metric(BBR2, "deep-50-100", RATE)), AtLeast(45e6)),
            claim(Mean(metric(BBR, "deep-250-75", RATE)), AtLeast(225e6)),
            claim(Mean(metric(BBR2, "deep-250-75", RATE)), AtLeast(225e6)),
        ],
        ..ITEM
    },
    Item {
        id: "3",
        statement: "Random loss beyond its threshold starves BBRv2; a threshold of 20 % helps, a cut of nothing makes it BBR",
        threshold: "E4: T(BBRv2) at 1 % loss >= 65 % of capacity, at 5 % <= half of that, at 10 % <= 10 % of capacity; \
                    BBRv2(20 %,0.3) at 10 % in [30, 70] %; BBRv2(20 %,0) within 15 % of BBR up to 15 % loss; T \
                    non-increasing in loss for each",
        paper: "at 10 % loss BBRv2(20 %,0.3) about half of capacity, BBRv2 about 0 (figure 4.9)",
        claims: &[
            claim(Mean(metric(BBR2, "loss-1", RATE)), AtLeast(26e6)),
            claim(Ratio(metric(BBR2, "loss-5", RATE), metric(BBR2, "loss-1", RATE)), AtMost(0.5)),
            claim(Mean(metric(BBR2, "loss-10", RATE)), AtMost(4e6)),
            claim(Mean(metric(TOLERANT, "loss-10", RATE)), Within(12e6, 28e6)),
            claim(between(UNCUT, BBR, "loss-1", RATE), Within(0.85, 1.15)),
            claim(between(UNCUT, BBR, "loss-5", RATE), Within(0.85, 1.15)),
            claim(between(UNCUT, BBR, "loss-10", RATE), Within(0.85, 1.15)),
            claim(between(UNCUT, BBR, "loss-15", RATE), Within(0.85, 1.15)),
            claim(LARGEST_RISE, AtMost(1.0)),
        ],
        deviation: deviates(
            "a threshold of 20 % also ends Startup, which 15 % of random loss crosses by chance in one seed of four",
        ),
        ..ITEM
    },
    Item {
        id: "4",
        statement: "The loss threshold decides over retransmissions where the buffer is shallow, and nowhere else",
        threshold: "E5: at 2 BDP retransmission <= 0.1 % for all alpha; at 0.2 BDP the rate at alpha = 100 % >= 3 x that at 2 %",
        paper: "about 0 at 2 BDP; flat, then rising (figure 4.10)",
        claims: &[
            claim(Mean(metric("bbr2-alpha-beta,alpha=0.02", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(Mean(metric("bbr2-alpha-beta,alpha=0.05", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(Mean(metric("bbr2-alpha-beta,alpha=0.1", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(Mean(metric("bbr2-alpha-beta,alpha=0.2", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(Mean(metric("bbr2-alpha-beta,alpha=0.5", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(Mean(metric("bbr2-alpha-beta,alpha=1", "alpha-2", RETRANSMITTED)), AtMost(0.001)),
            claim(
                between("bbr2-alpha-beta,alpha=1", "bbr2-alpha-beta,alpha=0.02", "alpha-0.2", RETRANSMITTED),
                AtLeast(3.0),
            ),
        ],
        deviation: deviates(
            "a probe ends at 1.25 bandwidth-delay products, of which the buffer holds 0.2: it loses little even without a threshold",
        ),
        ..ITEM
    },
];

/// Cells of the map of figure 4.8a, with bandwidth-delay products of 0.94 to 4.7 MB. In Cruise BBRv2 has 0.85 of what a probe
/// reached in flight, which is a bandwidth-delay product and the buffer: where that is more than a tenth of it, nothing is missing.
const MAP: [&str; 4] = ["shallow-100-75", "shallow-250-50", "shallow-250-150", "shallow-500-75"];

const OVER_THE_MAP: Value =
    Computed { name: "mean over the map of the ratio of throughputs", runs: &MAP, compute: over_the_map };

fn mean(kept: &Kept, policy: &'static str, runs: &'static str) -> Option<f64> {
    let values = kept.values(&(&metric(policy, runs, RATE)).into());
    let sum: f64 = values.iter().map(|(_, value)| value).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

fn over_the_map(kept: &Kept) -> Option<Estimate> {
    let ratios = MAP.iter().map(|runs| Some(mean(kept, BBR2, runs)? / mean(kept, BBR, runs)?));
    let sum: Option<f64> = ratios.sum();
    Some(Estimate::exact(sum? / MAP.len() as f64))
}

/// The runs of E4, with more loss from one to the next.
pub(super) const BY_LOSS: [&str; 8] =
    ["loss-0", "loss-1", "loss-2", "loss-5", "loss-10", "loss-15", "loss-20", "loss-30"];

const LARGEST_RISE: Value = Computed {
    name: "largest ratio of the mean throughput to that with less loss, of each controller",
    runs: &BY_LOSS,
    compute: largest_rise,
};

fn largest_rise(kept: &Kept) -> Option<Estimate> {
    let mut largest = 0.0f64;
    for policy in [BBR, BBR2, TOLERANT, UNCUT] {
        for pair in BY_LOSS.windows(2) {
            largest = largest.max(mean(kept, policy, pair[1])? / mean(kept, policy, pair[0])?);
        }
    }
    Some(Estimate::exact(largest))
}
