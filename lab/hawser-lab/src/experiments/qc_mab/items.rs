//! What is asked of the runs.

use super::{
    AT_ONCE, CORRUPT, GOODPUT, INTERRUPTION, LEAP, LEAST, LESS, LITERAL, MINRTT, ON_TIME, PEEKABOO, PRINTED,
    PROTECTED_THERE, QUALITY, RAW, STRONGEST, STRONGEST_PROTECTED, STRONGEST_UNPROTECTED, UNPROTECTED,
    UNPROTECTED_THERE,
};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{
    self, Computed, Difference, Largest, Mean, Ratio, Smallest, Sum,
};
use crate::experiments::verify::constant::{Claim, Deviation, ITEM, Item, MUST, claim, of, ours};

/// What stands in the system's place attaches links elsewhere: where the system is compared with its own variants only, anything
/// better than these would meet the bound.
const DECIDES: Claim = claim(Smallest(ours("same-seed", "moves_share")), Above(0.0));

const fn versus(policy: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(policy, runs, metric))
}

const fn beyond(policy: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Difference(ours(runs, metric), of(policy, runs, metric))
}

/// The system over LEAP.
const fn versus_leap(runs: &'static str, leap: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(LEAP, leap, metric))
}

/// The system less LEAP.
const fn beyond_leap(runs: &'static str, leap: &'static str, metric: &'static str) -> Value {
    Difference(ours(runs, metric), of(LEAP, leap, metric))
}

/// LEAP less Peekaboo.
const fn leap_beyond(leap: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Difference(of(LEAP, leap, metric), of(PEEKABOO, runs, metric))
}

const LEAP_IS_OURS: &str = "the chapter has no algorithm of LEAP: ours, from its description, has a controller that losses do not slow down, and \
     delivers more than New Reno (with New Reno in its place it delivers half of what QC-MAB does on the walk); at rest nothing is lost but what \
     moves and protection cost";

const NOTHING_TO_GAIN: &str = "at rest all routes are alike, and the cross traffic, which the chapter does not describe, leaves Peekaboo hardly \
     interrupted: moves between equal access points and protection only cost";

const REWARDS_VARY: &str = "the mean holds; within the first half minute of a run rewards without refinement are low throughout, and vary less";

const PEEKABOO_KNOWS: &str =
    "Peekaboo learns nothing on this walk that would take time, and is settled at once";

const OUT_OF_REACH: &str = "beyond 30 m no access point is within reach for much of the way, with any policy";

const STRONG_IS_BEST: &str = "the gain over Peekaboo comes from being at a strong access point, not from learning which; the second strongest is \
     rarely better, and is tried all the same";

const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: "docs/qc-mab.md", cause })
}

pub(super) const COMPARED: &[Item] = &[
    Item {
        id: "1",
        statement: "Walk: interruptions are half of Peekaboo's, and about LEAP's",
        threshold: "Topology (a): IR(QC-MAB,99) <= 0.5 x IR(Peekaboo) and <= 1.2 x IR(LEAP).",
        paper: "about 5 %, > 25 %, about 5 %",
        claims: &[
            claim(versus(PEEKABOO, "walk", INTERRUPTION), AtMost(0.5)),
            claim(versus_leap("walk", "walk-leap", INTERRUPTION), AtMost(1.2)),
        ],
        ..ITEM
    },
    Item {
        id: "2",
        statement: "Walk: base-layer packets within 150 ms",
        threshold: "(a): P(BL <= 150 ms): QC-MAB(99) > LEAP > Peekaboo; QC-MAB(99) in 0.92-1.0; Peekaboo in 0.71-0.81 by calibration.",
        paper: "95.9, 91.1, 75.8 %",
        claims: &[
            claim(beyond(PEEKABOO, "walk", ON_TIME), Above(0.0)),
            claim(Mean(ours("walk", ON_TIME)), Within(0.92, 1.0)),
            claim(Mean(of(PEEKABOO, "walk", ON_TIME)), Within(0.71, 0.81)),
            claim(beyond_leap("walk", "walk-leap", ON_TIME), Above(0.0)),
            claim(leap_beyond("walk-leap", "walk", ON_TIME), Above(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "3",
        statement: "Walk: the stricter the requirement, the more base-layer packets are in time",
        threshold: "(a): delay CDF at 150 ms non-decreasing in Gamma: 99 >= 95 >= 90 (allow 1 percentage point).",
        claims: &[
            claim(Difference(ours("walk", ON_TIME), of(LESS, "walk", ON_TIME)), AtLeast(-0.01)),
            claim(Difference(of(LESS, "walk", ON_TIME), of(LEAST, "walk", ON_TIME)), AtLeast(-0.01)),
            DECIDES,
        ],
        ..ITEM
    },
    Item {
        id: "4",
        statement: "Walk: goodput",
        threshold: "(a): goodput QC-MAB(90) >= 1.3 x max(LEAP, Peekaboo) (paper up to 3x); QC-MAB(99) >= both.",
        paper: "up to 3 times both",
        claims: &[
            claim(Ratio(of(LEAST, "walk", GOODPUT), of(PEEKABOO, "walk", GOODPUT)), AtLeast(1.3)),
            claim(Ratio(of(LEAST, "walk", GOODPUT), of(LEAP, "walk-leap", GOODPUT)), AtLeast(1.3)),
            claim(versus(PEEKABOO, "walk", GOODPUT), AtLeast(1.0)),
            claim(versus_leap("walk", "walk-leap", GOODPUT), AtLeast(1.0)),
        ],
        deviation: deviates(LEAP_IS_OURS),
        ..ITEM
    },
    Item {
        id: "5",
        statement: "Walk: the stricter the requirement, the lower goodput and quality",
        threshold: "(a): goodput and mean quality non-increasing in Gamma.",
        paper: "figures 4.5b, 4.5d",
        claims: &[
            claim(Ratio(ours("walk", GOODPUT), of(LESS, "walk", GOODPUT)), AtMost(1.0)),
            claim(Ratio(of(LESS, "walk", GOODPUT), of(LEAST, "walk", GOODPUT)), AtMost(1.0)),
            claim(Ratio(ours("walk", QUALITY), of(LESS, "walk", QUALITY)), AtMost(1.0)),
            claim(Ratio(of(LESS, "walk", QUALITY), of(LEAST, "walk", QUALITY)), AtMost(1.0)),
            DECIDES,
        ],
        ..ITEM
    },
    Item {
        id: "6",
        statement: "At rest without other traffic: nearly everything is in time",
        threshold: "(b, no bg): IR QC-MAB <= LEAP < Peekaboo, QC-MAB <= 1.5 %; on-time >= 99 % for QC-MAB and LEAP; LEAP lowest goodput.",
        paper: "IR 0.5, 1, 7 %; on time > 99, > 99, 96 %",
        claims: &[
            claim(beyond(PEEKABOO, "rest", INTERRUPTION), Below(0.0)),
            claim(Mean(ours("rest", INTERRUPTION)), AtMost(0.015)),
            claim(Mean(ours("rest", ON_TIME)), AtLeast(0.99)),
            claim(beyond_leap("rest", "rest-leap", INTERRUPTION), AtMost(0.0)),
            claim(leap_beyond("rest-leap", "rest", INTERRUPTION), Below(0.0)),
            claim(Mean(of(LEAP, "rest-leap", ON_TIME)), AtLeast(0.99)),
            claim(versus_leap("rest", "rest-leap", GOODPUT), Above(1.0)),
            claim(Ratio(of(PEEKABOO, "rest", GOODPUT), of(LEAP, "rest-leap", GOODPUT)), Above(1.0)),
        ],
        deviation: deviates(LEAP_IS_OURS),
        ..ITEM
    },
    Item {
        id: "7",
        statement: "At rest beside TCP: base-layer packets within 150 ms, and interruptions",
        threshold: "(b, bg): on-time QC-MAB > LEAP > Peekaboo with gaps >= 3 points each; IR QC-MAB <= 0.4 x LEAP.",
        paper: "96.7, 91.98, 82.19 %; IR 3.1, 11.4, 25.11 %",
        claims: &[
            claim(beyond(PEEKABOO, "background", ON_TIME), Above(0.0)),
            claim(beyond(PEEKABOO, "background", ON_TIME), AtLeast(0.06)),
            claim(beyond_leap("background", "background-leap", ON_TIME), AtLeast(0.03)),
            claim(leap_beyond("background-leap", "background", ON_TIME), AtLeast(0.03)),
            claim(versus_leap("background", "background-leap", INTERRUPTION), AtMost(0.4)),
        ],
        deviation: deviates(NOTHING_TO_GAIN),
        ..ITEM
    },
    Item {
        id: "8",
        statement: "Every scheme is interrupted less at rest than on the walk",
        threshold: "IR of every scheme in (b, no bg) < in (a).",
        claims: &[
            claim(Difference(ours("rest", INTERRUPTION), ours("walk", INTERRUPTION)), Below(0.0)),
            claim(
                Difference(of(PEEKABOO, "rest", INTERRUPTION), of(PEEKABOO, "walk", INTERRUPTION)),
                Below(0.0),
            ),
            claim(Difference(of(MINRTT, "rest", INTERRUPTION), of(MINRTT, "walk", INTERRUPTION)), Below(0.0)),
            claim(
                Difference(of(LEAP, "rest-leap", INTERRUPTION), of(LEAP, "walk-leap", INTERRUPTION)),
                Below(0.0),
            ),
        ],
        ..ITEM
    },
];

pub(super) const ABLATIONS: &[Item] = &[
    Item {
        id: "9",
        statement: "Walk: without refinement of the context the reward of the first 30 s is lower and varies more",
        threshold: "CR ablation: switching off refinement (11 raw features min-max scaled, 3 bins each, hashed cells; no AKF/EWMA) lowers mean reward over the first 30 s by >= 5 % and raises its variance.",
        paper: "figure 4.7",
        claims: &[
            claim(Ratio(of(RAW, "curve", "reward_at_first"), ours("curve", "reward_at_first")), AtMost(0.95)),
            claim(
                Ratio(of(RAW, "curve", "variance_at_first"), ours("curve", "variance_at_first")),
                Above(1.0),
            ),
            DECIDES,
        ],
        deviation: deviates(REWARDS_VARY),
        ..ITEM
    },
    Item {
        id: "10",
        statement: "Walk: the reward reaches its final level no later than Peekaboo's, and within 30 s",
        threshold: "Convergence: 500-packet mean reward reaches 95 % of its final 60-s mean no later than Peekaboo's own curve, and within 30 s.",
        paper: "13.2 s, Peekaboo 19.67 s",
        claims: &[
            claim(Difference(ours("curve", "settled_s"), of(PEEKABOO, "curve", "settled_s")), AtMost(0.0)),
            claim(Largest(ours("curve", "settled_s")), AtMost(30.0)),
            DECIDES,
        ],
        deviation: deviates(PEEKABOO_KNOWS),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "Walk: interruptions over the distance of access points have their least in between; others' hardly vary",
        threshold: "Density sweep: IR(QC-MAB) has an interior minimum over distance; LEAP/Peekaboo vary < 3 points.",
        paper: "figure 4.8",
        claims: &[
            claim(
                Computed {
                    name: "the lesser of both ends over the least in between",
                    runs: super::DISTANCES,
                    compute: super::density::depth,
                },
                Above(1.0),
            ),
            claim(
                Computed {
                    name: "largest less least of Peekaboo",
                    runs: super::DISTANCES,
                    compute: super::density::peekaboo_range,
                },
                AtMost(0.03),
            ),
            claim(
                Computed {
                    name: "largest less least of LEAP",
                    runs: super::LEAP_DISTANCES,
                    compute: super::density::leap_range,
                },
                AtMost(0.03),
            ),
        ],
        deviation: deviates(OUT_OF_REACH),
        ..ITEM
    },
];

pub(super) const COMPUTED: &[Item] = &[
    Item {
        id: "12",
        statement: "Protection pays on the walk, and costs its share of a path without loss",
        threshold: "FEC benefit: forcing fec=0 raises IR in (a); forcing fec=1 lowers goodput by 15-25 % on a loss-free, capacity-limited path (n/n^ = 0.77).",
        must: true,
        claims: &[
            claim(Difference(of(UNPROTECTED, "walk", INTERRUPTION), ours("walk", INTERRUPTION)), Above(0.0)),
            claim(
                Ratio(
                    of(PROTECTED_THERE, "capacity", "flow.video.goodput_bps"),
                    of(UNPROTECTED_THERE, "capacity", "flow.video.goodput_bps"),
                ),
                Within(0.75, 0.85),
            ),
            DECIDES,
        ],
        ..ITEM
    },
    Item {
        id: "13",
        statement: "The same seed gives the same decisions; a slot takes microseconds",
        threshold: "Determinism: same seed => byte-identical decision log in the simulator; decision time < 50 us per slot in release build.",
        claims: &[
            claim(Sum(ours("same-seed", "logs_differ")), AtMost(0.0)),
            claim(Sum(ours("same-seed", "other_seed_same_log")), AtMost(0.0)),
            claim(Smallest(ours("same-seed", "decisions")), AtLeast(400.0)),
            claim(Largest(ours("cost", "slot_us")), Below(50.0)),
            DECIDES,
        ],
        ..MUST
    },
    Item {
        id: "14",
        statement: "The filter of the rate is closer to the truth than its samples (noise learnt from 300 differences)",
        threshold: "AKF: on a synthetic random-walk capacity the RMS error is <= 0.85 x raw in the three (Q,R) cases of 3.3.",
        claims: &[
            claim(Largest(ours("filter", "slow_error_ratio")), AtMost(0.85)),
            claim(Largest(ours("filter", "middle_error_ratio")), AtMost(0.85)),
            claim(Largest(ours("filter", "fast_error_ratio")), AtMost(0.85)),
        ],
        ..MUST
    },
    Item {
        id: "15",
        statement: "Golden values: decoding, goodput, filter, bound, reward, radio, cells",
        threshold: "Golden vectors of Sec. 10 reproduce to the printed precision.",
        claims: &[
            claim(Largest(ours("vectors", "block_failure_off_by")), AtMost(2e-4)),
            claim(Largest(ours("vectors", "on_time_off_by")), AtMost(1e-9)),
            claim(Largest(ours("vectors", "goodput_off_by")), AtMost(1e-5)),
            claim(Largest(ours("vectors", "filter_off_by")), AtMost(1e-7)),
            claim(Largest(ours("vectors", "bonus_off_by")), AtMost(1e-6)),
            claim(Largest(ours("vectors", "reward_off_by")), AtMost(1e-9)),
            claim(Largest(ours("vectors", "radio_off_by")), AtMost(0.05)),
            claim(Largest(ours("vectors", "wrong_cells")), AtMost(0.0)),
        ],
        ..MUST
    },
];

pub(super) const ROWS: &[Item] = &[
    Item {
        id: "R1",
        statement: "Walk: mean quality above that of all others",
        threshold: "mean quality (a): highest; falls as Gamma rises; the others lower",
        paper: "figure 4.5b",
        claims: &[
            claim(versus(PEEKABOO, "walk", QUALITY), Above(1.0)),
            claim(versus_leap("walk", "walk-leap", QUALITY), Above(1.0)),
        ],
        deviation: deviates(LEAP_IS_OURS),
        ..ITEM
    },
    Item {
        id: "R2",
        statement: "At rest without other traffic: LEAP has the lowest quality and goodput, QC-MAB no less than Peekaboo",
        threshold: "quality / goodput: LEAP lowest of the three (both); Peekaboo above LEAP",
        paper: "figures 4.9b, 4.9d",
        claims: &[
            claim(versus(PEEKABOO, "rest", QUALITY), AtLeast(1.0)),
            claim(versus(PEEKABOO, "rest", GOODPUT), AtLeast(1.0)),
            claim(versus_leap("rest", "rest-leap", QUALITY), Above(1.0)),
            claim(Ratio(of(PEEKABOO, "rest", QUALITY), of(LEAP, "rest-leap", QUALITY)), Above(1.0)),
            claim(versus_leap("rest", "rest-leap", GOODPUT), Above(1.0)),
            claim(Ratio(of(PEEKABOO, "rest", GOODPUT), of(LEAP, "rest-leap", GOODPUT)), Above(1.0)),
        ],
        deviation: deviates(LEAP_IS_OURS),
        ..ITEM
    },
    Item {
        id: "R3",
        statement: "At rest beside TCP: interruptions, quality and goodput against Peekaboo",
        threshold: "IR about 3.1 against 25.11 %; quality / goodput highest",
        paper: "3.1 and 25.11 %; figures 4.10b, 4.10d",
        claims: &[
            claim(beyond(PEEKABOO, "background", INTERRUPTION), Below(0.0)),
            claim(versus(PEEKABOO, "background", QUALITY), Above(1.0)),
            claim(versus(PEEKABOO, "background", GOODPUT), Above(1.0)),
            claim(versus_leap("background", "background-leap", QUALITY), Above(1.0)),
            claim(versus_leap("background", "background-leap", GOODPUT), Above(1.0)),
            claim(
                Ratio(of(PEEKABOO, "background", GOODPUT), of(LEAP, "background-leap", GOODPUT)),
                Above(1.0),
            ),
        ],
        deviation: deviates(NOTHING_TO_GAIN),
        ..ITEM
    },
    Item {
        id: "R4",
        statement: "Ours, walk: protection without attaching elsewhere lowers interruptions",
        threshold: "IR with fec=1 below that with fec=0 where links stay with their own rule (ours: item 12 apart from exploration)",
        claims: &[claim(
            Difference(
                of(PROTECTED_THERE, "walk", INTERRUPTION),
                of(UNPROTECTED_THERE, "walk", INTERRUPTION),
            ),
            Below(0.0),
        )],
        ..ITEM
    },
    Item {
        id: "R5",
        statement: "Ours, walk: few arms, little exploration and moving between frames interrupt less than the text read literally",
        threshold: "IR below that with key=point, strongest=0, exploration=2, attach_after=0; and below that with each of the last two alone (ours)",
        claims: &[
            claim(Difference(ours("walk", INTERRUPTION), of(LITERAL, "walk", INTERRUPTION)), Below(0.0)),
            claim(Difference(ours("walk", INTERRUPTION), of(PRINTED, "walk", INTERRUPTION)), Below(0.0)),
            claim(Difference(ours("walk", INTERRUPTION), of(AT_ONCE, "walk", INTERRUPTION)), Below(0.0)),
            DECIDES,
        ],
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "What is shown is what was sent",
        threshold: "no byte of a run differs from what was sent (ours)",
        claims: &[
            claim(Sum(ours("walk", CORRUPT)), AtMost(0.0)),
            claim(Sum(ours("background", CORRUPT)), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "R7",
        statement: "Ours, walk: learning which of two access points to use interrupts less than always using the strongest",
        threshold: "IR below that with strongest=1 (ours)",
        claims: &[
            claim(Difference(ours("walk", INTERRUPTION), of(STRONGEST, "walk", INTERRUPTION)), Below(0.0)),
            DECIDES,
        ],
        deviation: deviates(STRONG_IS_BEST),
        ..ITEM
    },
    Item {
        id: "R8",
        statement: "Ours: where a retransmission comes too late, repair symbols lower interruptions, and bring data back",
        threshold: "at rest, 60 ms and 2 % of loss on each link: IR with fec=1 below that with fec=0; 1 kB recovered at least (ours)",
        claims: &[
            claim(
                Difference(
                    of(PROTECTED_THERE, "far", INTERRUPTION),
                    of(UNPROTECTED_THERE, "far", INTERRUPTION),
                ),
                Below(0.0),
            ),
            claim(Smallest(of(PROTECTED_THERE, "far", "flow.video.repair.recovered_bytes")), AtLeast(1e3)),
        ],
        ..ITEM
    },
    Item {
        id: "R9",
        statement: "Ours, walk: at the strongest access point protection lowers interruptions",
        threshold: "IR with strongest=1, fec=1 below that with strongest=1, fec=0 (ours: item 12 apart from access points that are explored)",
        claims: &[claim(
            Difference(
                of(STRONGEST_PROTECTED, "walk", INTERRUPTION),
                of(STRONGEST_UNPROTECTED, "walk", INTERRUPTION),
            ),
            Below(0.0),
        )],
        ..ITEM
    },
];
