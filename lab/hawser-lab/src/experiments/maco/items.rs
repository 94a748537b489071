//! What is asked of the runs, in the order of the sheet; then rows of the published results that no item covers.

use super::cells::{BANDWIDTHS, DELAYS, LONG_DELAYS};
use super::{
    BBR, OLIA, WITH_VALVE, WITHOUT_COUPLING, WITHOUT_DELAY, WITHOUT_FILTER, WITHOUT_PRE_HANDOVER,
    WITHOUT_QUICK_START, WITHOUT_SHARING, compare,
};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{self, Computed, Largest, Mean, Ratio, Smallest};
use crate::experiments::verify::constant::{Data, Deviation, Estimate, ITEM, Item, Kept, claim, of, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "1",
        statement: "Golden vectors: capacity, Kalman filter and coupled growth; n subflows grow by n^-2",
        threshold: "C^A(550 km) = 198.6 +- 0.1 Mbit/s; vectors to 1e-4; scaling within 1 %",
        must: true,
        data: Data::None,
        claims: &[
            claim(Mean(ours("vectors", "capacity_at_550_km_bps")), Within(198.5e6, 198.7e6)),
            claim(Largest(ours("vectors", "growth_error")), AtMost(1e-4)),
            claim(Largest(ours("vectors", "filter_error")), AtMost(1e-4)),
            claim(Largest(ours("vectors", "scaling_error")), AtMost(0.01)),
        ],
        ..ITEM
    },
    Item {
        id: "2",
        statement: "The Kalman filter follows a step from 40 to 20 Mbit/s with 20 % of noise",
        threshold: "error < 10 % within 12 samples after Q and R settle; error < half of the samples'",
        must: true,
        data: Data::None,
        claims: &[
            claim(Mean(ours("filter", "step_error_share")), AtMost(0.1)),
            claim(Mean(ours("filter", "error_to_samples")), AtMost(0.5)),
        ],
        ..ITEM
    },
    Item {
        id: "3",
        statement: "Quick start with history reaches its threshold in a round trip and a half",
        threshold: "<= 1.6 RTT (median), OLIA from its first window >= 3 RTT; p99 recovery after hand-overs <= 0.40 of OLIA's",
        paper: "0.275",
        claims: &[
            claim(Mean(ours("joining", "start_round_trips")), AtMost(1.6)),
            claim(Mean(of(OLIA, "beginning", "round_trips_to_product")), AtLeast(3.0)),
            claim(versus(OLIA, "p40", "hand_over_recovery_p99_ms"), AtMost(0.4)),
        ],
        deviation: deviates(
            "the first flight and its doubling take a round trip and three quarters; load that no forecast tells of keeps windows below the product until the slot ends",
        ),
        ..ITEM
    },
    Item {
        id: "4",
        statement: "The first subflow starts at four segments, doubles each round trip and stops at the product",
        threshold: "starts at 4, doubles per RTT, stops at C^A D +- 1 MSS; no early exit",
        must: true,
        claims: &[
            claim(Largest(ours("beginning", "first_window_packets")), AtMost(4.1)),
            claim(Smallest(ours("beginning", "growth_per_round_trip")), Within(1.8, 2.1)),
            claim(Largest(ours("beginning", "threshold_error_packets")), AtMost(1.0)),
            claim(Smallest(ours("beginning", "reached_threshold")), AtLeast(1.0)),
        ],
        ..ITEM
    },
    Item {
        id: "5",
        statement: "Random loss on an empty queue is no congestion",
        threshold: "halvings <= 5 % of loss events; goodput >= 0.8 of the capacity; OLIA <= 0.3 of MACO",
        claims: &[
            claim(Mean(ours("random-loss", "goodput_bps")), AtLeast(32e6)),
            claim(Largest(ours("random-loss", "reductions_per_loss_event")), AtMost(0.05)),
            claim(
                Ratio(of(OLIA, "random-loss", "goodput_bps"), ours("random-loss", "goodput_bps")),
                AtMost(0.3),
            ),
        ],
        deviation: deviates(
            "with a loss per half round trip a window is halved as soon as it exceeds the product: a sawtooth between half and full carries three quarters at most",
        ),
        ..ITEM
    },
    Item {
        id: "6",
        statement: "An overflow is congestion: one drop-tail link, no mobility",
        threshold: "halves in >= 80 % of overflow epochs; loss <= 3 %; no livelock with a queue of 0.1 BDP and the valve on",
        must: true,
        claims: &[
            claim(Smallest(ours("overflow-50", "answered_share")), AtLeast(0.8)),
            claim(Largest(ours("overflow-50", "lost_share")), AtMost(0.03)),
            claim(Smallest(ours("overflow-100", "answered_share")), AtLeast(0.8)),
            claim(Largest(ours("overflow-100", "lost_share")), AtMost(0.03)),
            claim(Largest(of(WITH_VALVE, "overflow-10", "lost_share")), AtMost(0.03)),
            claim(Smallest(of(WITH_VALVE, "overflow-10", "goodput_bps")), AtLeast(10e6)),
        ],
        ..ITEM
    },
    Item {
        id: "7",
        statement: "MACO takes fewer losses for congestion than OLIA, and as many as BBR backs off",
        threshold: "decreases OLIA >= 1.5 MACO; MACO within 40 % of BBR's",
        paper: "128 / 71 = 1.80; 71 and 69",
        claims: &[
            claim(Ratio(of(OLIA, "p40", "reductions"), ours("p40", "reductions")), AtLeast(1.5)),
            claim(Ratio(ours("p40", "reductions"), of(BBR, "p40", "back_offs")), Within(0.6, 1.4)),
        ],
        deviation: deviates(
            "at 0.5 % of random loss OLIA sends a tenth of the packets, and has fewer losses to take for congestion",
        ),
        ..ITEM
    },
    Item {
        id: "8",
        statement: "Mean windows: MACO > BBR > OLIA; MACO's peak reaches the product",
        threshold: "order; peak >= 0.85 of the true peak BDP and >= 2 times OLIA's mean window",
        paper: "300, 250, 100 segments",
        claims: &[
            claim(versus(BBR, "p40", "window_packets"), Above(1.0)),
            claim(Ratio(of(BBR, "p40", "window_packets"), of(OLIA, "p40", "window_packets")), Above(1.0)),
            claim(
                Ratio(ours("p40", "peak_window_packets"), ours("p40", "peak_product_packets")),
                AtLeast(0.85),
            ),
            claim(Ratio(ours("p40", "peak_window_packets"), of(OLIA, "p40", "window_packets")), AtLeast(2.0)),
        ],
        ..ITEM
    },
    Item {
        id: "9",
        statement: "MACO carries twice as much as OLIA and as BBR on one path",
        threshold: ">= 2 times on P40; never below either on P200",
        paper: "up to 3",
        claims: &[
            claim(versus(OLIA, "p40", "goodput_bps"), AtLeast(2.0)),
            claim(versus(BBR, "p40", "goodput_bps"), AtLeast(2.0)),
            claim(versus(OLIA, "p200", "goodput_bps"), AtLeast(1.0)),
            claim(versus(BBR, "p200", "goodput_bps"), AtLeast(1.0)),
        ],
        deviation: deviates(
            "BBR does not mind random loss either; the paper's 5 to 15 Mbit/s for it are not met with a BBR that is whole",
        ),
        ..ITEM
    },
    Item {
        id: "10",
        statement: "MACO's packets are not later than those of OLIA and BBR",
        threshold: "p95 one-way delay <= 1.05 min(OLIA, BBR)",
        paper: "0.78",
        claims: &[
            claim(versus(OLIA, "p40", "p95_delay_ms"), AtMost(1.05)),
            claim(versus(BBR, "p40", "p95_delay_ms"), AtMost(1.05)),
        ],
        deviation: deviates(
            "OLIA leaves the queues empty at a twentieth of the capacity; of the senders that use the links MACO is the one with the least delay",
        ),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "On a shared satellite MACO leaves a NewReno flow its share",
        threshold: "MACO aggregate <= 1.2 NewReno; NewReno keeps >= 0.7 of what it gets against OLIA",
        paper: "about equal or lower than TCP",
        claims: &[
            claim(Ratio(ours("p40", "shared_bps"), ours("p40", "shared_tcp_bps")), AtMost(1.2)),
            claim(versus(OLIA, "p40", "shared_tcp_bps"), AtLeast(0.7)),
        ],
        deviation: deviates(
            "random loss holds NewReno at 1.7 Mbit/s, whoever else is there; it keeps what it has beside OLIA",
        ),
        ..ITEM
    },
    Item {
        id: "12",
        statement: "After a reduction MACO is back at the product sooner, and competition delays it less",
        threshold: "p99 MACO/OLIA <= 0.40; degradation by competing traffic MACO < OLIA",
        paper: "0.265; 22.7 % and 30.8 %",
        claims: &[
            claim(versus(OLIA, "p40", "reduction_recovery_p99_ms"), AtMost(0.4)),
            claim(
                computed("degradation over OLIA's", &["p40", "p40-alone"], compare::degradation),
                AtMost(1.0),
            ),
        ],
        deviation: deviates(
            "load that no forecast tells of keeps windows below the product until the slot ends, for both",
        ),
        ..ITEM
    },
    Item {
        id: "13",
        statement: "10 MB are there first with MACO, by spacing of the satellites, bandwidth and delay",
        threshold: "shortest in every cell; OLIA slower than BBR beyond 250 ms; non-increasing in W",
        paper: "8.5 to 64.2 % below OLIA",
        claims: &[
            claim(computed("slowest cell to OLIA", BANDWIDTHS, compare::bandwidths_to_olia), Below(1.0)),
            claim(computed("slowest cell to BBR", BANDWIDTHS, compare::bandwidths_to_bbr), Below(1.0)),
            claim(computed("slowest delay to OLIA", DELAYS, compare::delays_to_olia), Below(1.0)),
            claim(computed("slowest delay to BBR", DELAYS, compare::delays_to_bbr), Below(1.0)),
            claim(
                computed("BBR to OLIA beyond 250 ms", LONG_DELAYS, compare::bbr_to_olia_beyond_250_ms),
                Below(1.0),
            ),
            claim(computed("worst step in bandwidth", BANDWIDTHS, compare::bandwidth_steps), AtMost(1.0)),
        ],
        deviation: deviates(
            "a tenth of OLIA's time at most; BBR's Startup is as soon in some cells, by up to 9 %; one step of bandwidth of twenty lengthens it by 6 %",
        ),
        ..ITEM
    },
    Item {
        id: "14",
        statement: "Two subflows that come to one satellite overflow it less with the rule of own sharing",
        threshold: "drops in the next 2 RTT <= 0.3 of those without it",
        claims: &[claim(
            Ratio(
                ours("joining", "joining_drops_packets"),
                of(WITHOUT_SHARING, "joining", "joining_drops_packets"),
            ),
            AtMost(0.3),
        )],
        ..ITEM
    },
    Item {
        id: "15",
        statement: "Without any of its parts MACO is worse: quick start, filter, delay condition, coupling, pre-hand-over",
        threshold: "each must not help and at least one metric must worsen",
        claims: &[
            claim(
                computed("worst factor without quick start", &["p40"], compare::without_quick_start),
                AtLeast(1.02),
            ),
            claim(
                computed("worst factor without the filter", &["p40"], compare::without_filter),
                AtLeast(1.02),
            ),
            claim(
                computed("worst factor without the delay", &["p40"], compare::without_delay),
                AtLeast(1.02),
            ),
            claim(
                computed("worst factor without coupling", &["p40"], compare::without_coupling),
                AtLeast(1.02),
            ),
            claim(
                computed("worst factor without pre-hand-over", &["p40"], compare::without_pre_handover),
                AtLeast(1.02),
            ),
            claim(without(WITHOUT_QUICK_START), AtMost(1.05)),
            claim(without(WITHOUT_FILTER), AtMost(1.05)),
            claim(without(WITHOUT_DELAY), AtMost(1.05)),
            claim(without(WITHOUT_COUPLING), AtMost(1.05)),
            claim(without(WITHOUT_PRE_HANDOVER), AtMost(1.05)),
        ],
        deviation: deviates("uncoupled paths carry 8 % more, and leave NewReno on the shared satellite less"),
        ..ITEM
    },
];

pub(super) const ROWS: &[Item] = &[
    Item {
        id: "R1",
        statement: "BBR on one path carries more than OLIA on two (after 22 s in the paper)",
        threshold: "BBR > OLIA",
        paper: "figure 3.9",
        claims: &[claim(Ratio(of(BBR, "p40", "goodput_bps"), of(OLIA, "p40", "goodput_bps")), Above(1.0))],
        ..ITEM
    },
    Item {
        id: "R2",
        statement: "OLIA does not get more than a NewReno flow even on satellites of its own",
        threshold: "OLIA's subflow <= NewReno",
        paper: "figure 3.9",
        claims: &[claim(
            // Two subflows beside a flow each.
            Ratio(of(OLIA, "p40", "disjoint_bps"), of(OLIA, "p40", "disjoint_tcp_bps")),
            AtMost(2.0),
        )],
        ..ITEM
    },
    Item {
        id: "R3",
        statement: "With the bottleneck on an inter-satellite link, which no forecast tells of, MACO is no worse than OLIA",
        threshold: "goodput >= OLIA, p95 delay <= 1.05 OLIA",
        claims: &[
            claim(versus(OLIA, "isl", "goodput_bps"), AtLeast(1.0)),
            claim(versus(OLIA, "isl", "p95_delay_ms"), AtMost(1.05)),
        ],
        ..ITEM
    },
    Item {
        id: "R4",
        statement: "Where the load of the satellites is known, MACO carries more than OLIA",
        threshold: "MACO > OLIA",
        claims: &[claim(versus(OLIA, "p40-known", "goodput_bps"), Above(1.0))],
        ..ITEM
    },
    Item {
        id: "R5",
        statement: "Two paths of MACO carry more than one; two uncoupled ones of BBR are no control of the controller alone",
        threshold: "two paths > one; MACO >= 0.5 of BBR on two paths",
        claims: &[
            claim(Ratio(ours("p40", "goodput_bps"), ours("p40-one-path", "goodput_bps")), Above(1.0)),
            claim(Ratio(ours("p40", "goodput_bps"), of(BBR, "p40-two-bbr", "goodput_bps")), AtLeast(0.5)),
        ],
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "The safety valve, which is on elsewhere, costs little",
        threshold: "goodput >= 0.8 of that without it",
        claims: &[claim(
            Ratio(of(WITH_VALVE, "p40", "goodput_bps"), ours("p40", "goodput_bps")),
            AtLeast(0.8),
        )],
        ..ITEM
    },
];

/// Documented with what was tried.
const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: "docs/maco.md", cause })
}

/// A metric of MACO over that of a baseline.
const fn versus(baseline: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(baseline, runs, metric))
}

/// Goodput without a part over that with it.
const fn without(part: &'static str) -> Value {
    Ratio(of(part, "p40", "goodput_bps"), ours("p40", "goodput_bps"))
}

const fn computed(
    name: &'static str,
    runs: &'static [&'static str],
    compute: fn(&Kept) -> Option<Estimate>,
) -> Value {
    Computed { name, runs, compute }
}
