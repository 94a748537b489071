//! What the thesis says beside its list: S2, S6, S8.

use super::systems::versus;
use super::{COMPLETION, FIXED, FULL_WINDOWS, NO_BURSTS, NO_GAIN_OVER_HALF, STRICT, STRICT_HALF, because};
use crate::experiments::verify::Bound::{AtLeast, AtMost, Below};
use crate::experiments::verify::Value::{Largest, Ratio};
use crate::experiments::verify::{ITEM, Item, claim, of, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "R1",
        statement: "S2, BBRv1, low: without loss FTRL-WRR beats MinRTT, and loses a little to WRR",
        threshold: "mean FCT < MinRTT; >= WRR",
        paper: "more than 16.4 % less than MinRTT; slightly worse than WRR (figure 4.4)",
        claims: &[
            claim(versus("minrtt", "s2-low"), Below(1.0)),
            claim(versus("wrr", "s2-low"), AtLeast(1.0)),
        ],
        deviation: because(FULL_WINDOWS),
        ..ITEM
    },
    Item {
        id: "R2",
        statement: "S2, BBRv3, medium: FTRL-WRR beats MinRTT and WRR",
        threshold: "mean FCT < MinRTT; < WRR",
        paper: "14.03 % less than MinRTT, 58.15 % less than WRR (figure 4.5)",
        claims: &[
            claim(versus("minrtt", "s2-bbr3"), Below(1.0)),
            claim(versus("wrr", "s2-bbr3"), Below(1.0)),
        ],
        deviation: because(FULL_WINDOWS),
        ..ITEM
    },
    Item {
        id: "R3",
        statement: "S2, CUBIC, low: FTRL-WRR is slower than WRR",
        threshold: "mean FCT >= WRR",
        paper: "worse than WRR (figure 4.6)",
        claims: &[claim(versus("wrr", "s2-cubic-low"), AtLeast(1.0))],
        deviation: because(NO_BURSTS),
        ..ITEM
    },
    Item {
        id: "R4",
        statement: "S6: over two identical paths FTRL-WRR beats all others",
        threshold: "mean FCT < MinRTT, BLEST, WRR, RR",
        paper: "10.86 %, 13.23 %, 6.83 % and 9.71 % less",
        claims: &[
            claim(versus("minrtt", "s6"), Below(1.0)),
            claim(versus("blest", "s6"), Below(1.0)),
            claim(versus("wrr", "s6"), Below(1.0)),
            claim(versus(FIXED, "s6"), Below(1.0)),
        ],
        deviation: because(NO_GAIN_OVER_HALF),
        ..ITEM
    },
    Item {
        id: "R5",
        statement: "S8: beside fibre, with pacing by the learner, FTRL-WRR beats all others",
        threshold: "mean FCT < BLEST, MinRTT, WRR, RR",
        paper: "5.78 %, 6.11 %, 6.54 % and 11.94 % less",
        claims: &[
            claim(versus("blest", "s8"), Below(1.0)),
            claim(versus("minrtt", "s8"), Below(1.0)),
            claim(versus("wrr", "s8"), Below(1.0)),
            claim(versus(FIXED, "s8"), Below(1.0)),
        ],
        deviation: because(FULL_WINDOWS),
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "S1, medium, where a packet waits for its path: the learner beats a half (the cause of item 10)",
        threshold: "mean FCT < RR, both without redirection",
        paper: "21.7 % less than RR",
        claims: &[claim(
            Ratio(of(STRICT, "s1-strict", COMPLETION), of(STRICT_HALF, "s1-strict", COMPLETION)),
            Below(1.0),
        )],
        ..ITEM
    },
    Item {
        id: "R7",
        statement: "A hand-over after which the larger path is the smaller one is noticed and learnt (part of item 15)",
        threshold: "reset logged within 2 s and x across 1/2 within 15 steps",
        claims: &[
            claim(Largest(ours("hand-over", "until_reset_s")), AtMost(2.0)),
            claim(Largest(ours("hand-over", "steps_until_crossed")), AtMost(15.0)),
        ],
        ..ITEM
    },
];
