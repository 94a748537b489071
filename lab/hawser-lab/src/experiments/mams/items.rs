//! What is asked of the runs.

use super::{LATE, MINRTT, RR, SEDPF, VERSION_1, WITHOUT_CAPACITY, WITHOUT_LOSS, WITHOUT_SELECTION, compare};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{self, Computed, Difference, Largest, Ratio, Sum};
use crate::experiments::verify::constant::{Deviation, Estimate, ITEM, Item, Kept, MUST, claim, of, ours};

const GOODPUT: &str = "goodput_bps";
const P90: &str = "p90_delay_ms";
const P99: &str = "p99_delay_ms";
const THROUGHPUT: &str = "throughput_bps";
const REORDERING: &str = "mean_reordering_ms";
const CITY: &[&str] = super::CITY;

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "1",
        statement: "The three outcomes of a round are all there are; what arrives has the mean of the binomial; eight values of q(T)",
        threshold: "sum to 1 +- 1e-12 for Phi = 1..200, E[x] = Phi (1 - Lambda), the eight vectors to 1e-3",
        claims: &[
            claim(Largest(ours("model", "sum_off_by")), AtMost(1e-12)),
            claim(Largest(ours("model", "mean_off_by")), AtMost(1e-6)),
            claim(Largest(ours("model", "deliveries_off_by_packets")), AtMost(1e-3)),
        ],
        ..MUST
    },
    Item {
        id: "2",
        statement: "Every planned packet is assigned once, in order, and the slow path begins behind what the others deliver",
        threshold: "10^4 random instances: no gaps from FP, theta_p ascending, first of the slow path = FP + round(sum q_f(T))",
        claims: &[
            claim(Sum(ours("allocation", "plans_with_gaps")), AtMost(0.0)),
            claim(Sum(ours("allocation", "paths_out_of_order")), AtMost(0.0)),
            claim(Sum(ours("allocation", "slow_paths_misplaced")), AtMost(0.0)),
        ],
        ..MUST
    },
    Item {
        id: "3",
        statement: "Over two links at rest packets arrive nearly in order, at no cost in goodput",
        threshold: "mean reordering delay <= 0.25 RR and <= MinRTT; goodput >= 0.98 of the best",
        claims: &[
            claim(versus(RR, "static", REORDERING), AtMost(0.25)),
            claim(versus(MINRTT, "static", REORDERING), AtMost(1.0)),
            claim(versus(RR, "static", "throughput_bps"), AtLeast(0.98)),
            claim(versus(MINRTT, "static", "throughput_bps"), AtLeast(0.98)),
            claim(versus(LATE, "static", "throughput_bps"), AtLeast(0.98)),
        ],
        deviation: deviates(NOT_SETTLED),
        ..ITEM
    },
    Item {
        id: "4",
        statement: "What is expected of a path is closer to what arrives than LATE's expectation, and closer still with reports",
        threshold: "sender moves: error <= 0.5 LATE's; receiver moves: MAMS < MMQUIC-v1 <= 1.05 LATE",
        paper: "figures 7 and 8",
        claims: &[
            claim(Ratio(ours("accuracy-up", "error"), ours("accuracy-up", "error_of_late")), AtMost(0.5)),
            claim(
                computed("error over that of MMQUIC-v1", DOWN_ACCURACY, compare::error_of_version_1),
                Below(1.0),
            ),
            claim(
                Ratio(
                    of(VERSION_1, "accuracy-down-without-reports", "error"),
                    of(VERSION_1, "accuracy-down-without-reports", "error_of_late"),
                ),
                AtMost(1.05),
            ),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "5",
        statement: "Highway, upload at 20 m/s: more goodput, less delay",
        threshold: "goodput > max(LATE, RR); p90 delay <= 0.87 LATE and <= 0.65 RR",
        paper: "0.82, 0.56",
        claims: &[
            claim(versus(LATE, "up-20", GOODPUT), Above(1.0)),
            claim(versus(RR, "up-20", GOODPUT), Above(1.0)),
            claim(versus(LATE, "up-20", P90), AtMost(0.87)),
            claim(versus(RR, "up-20", P90), AtMost(0.65)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "6",
        statement: "Highway, upload at 40 m/s: less delay; LATE gains nothing over RR; faster means less goodput",
        threshold: "p99 delay <= 0.6 LATE and <= 0.75 RR; LATE <= 1.02 RR; goodput of each lower than at 20 m/s",
        paper: "0.50, 0.65",
        claims: &[
            claim(versus(LATE, "up-40", P99), AtMost(0.6)),
            claim(versus(RR, "up-40", P99), AtMost(0.75)),
            claim(Ratio(of(LATE, "up-40", GOODPUT), of(RR, "up-40", GOODPUT)), AtMost(1.02)),
            claim(Ratio(ours("up-40", GOODPUT), ours("up-20", GOODPUT)), AtMost(1.0)),
            claim(Ratio(of(LATE, "up-40", GOODPUT), of(LATE, "up-20", GOODPUT)), AtMost(1.0)),
            claim(Ratio(of(RR, "up-40", GOODPUT), of(RR, "up-20", GOODPUT)), AtMost(1.0)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "7",
        statement: "Highway, download at 20 m/s: more goodput, less delay",
        threshold: "mean goodput over LATE in [1.15, 1.6], over RR in [1.1, 1.8]; p90 <= 0.7 min(LATE, RR)",
        paper: "+17.3 to 55.3 %, +13.4 to 76.8 %; 0.95 s of 1.56 s",
        claims: &[
            claim(versus(LATE, "down-20", GOODPUT), Within(1.15, 1.6)),
            claim(versus(RR, "down-20", GOODPUT), Within(1.1, 1.8)),
            claim(versus(LATE, "down-20", P90), AtMost(0.7)),
            claim(versus(RR, "down-20", P90), AtMost(0.7)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "8",
        statement: "From 20 to 40 m/s LATE's delay grows by more than RR's; then the order is MAMS, RR, LATE",
        threshold: "p90 growth of LATE > that of RR; at 40 m/s MAMS < RR < LATE",
        paper: "+0.45 s, +0.12 s; 1.21, 1.68, 2.053 s",
        claims: &[
            claim(
                computed(
                    "growth of LATE's p90 less RR's, s",
                    &["down-20", "down-40"],
                    compare::growth_of_late_over_rr,
                ),
                Above(0.0),
            ),
            claim(versus(RR, "down-40", P90), Below(1.0)),
            claim(Ratio(of(RR, "down-40", P90), of(LATE, "down-40", P90)), Below(1.0)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "9",
        statement: "Reports come late: the sender that moves itself does better",
        threshold: "goodput downwards <= upwards in the same geometry",
        claims: &[claim(Ratio(ours("down-20", GOODPUT), ours("up-20", GOODPUT)), AtMost(1.0))],
        ..ITEM
    },
    Item {
        id: "10",
        statement: "City: the best at each speed; it peaks at a higher one; packets wait less",
        threshold: "MAMS >= both at each speed; peak speed MAMS >= LATE >= RR; reordering delay <= 0.65 RR above 40 km/h",
        paper: "peaks at 50, 40 and 30 km/h; up to 50 % less reordering delay",
        claims: &[
            claim(computed("worst speed to LATE", CITY, compare::city_over_late), AtLeast(1.0)),
            claim(computed("worst speed to RR", CITY, compare::city_over_rr), AtLeast(1.0)),
            claim(computed("peak speeds out of order", CITY, compare::peaks_out_of_order), AtMost(0.0)),
            claim(
                computed("reordering over RR's at 50 km/h", CITY, compare::reordering_at_speed),
                AtMost(0.65),
            ),
        ],
        deviation: deviates(SMALL_WINDOWS),
        ..ITEM
    },
    Item {
        id: "11",
        statement: "Below satellites: more goodput at 7 km/s; RR's delay lies between; at 7.5 km/s LATE's is larger",
        threshold: "mean goodput >= 1.05 RR and >= 1.10 LATE; p90 MAMS < RR < LATE; at 7.5 km/s LATE's p90 >= 1.25 MAMS",
        paper: "+5.06 to 48.9 %, +10.3 to 64.8 %; 0.28, 0.31, 0.34 s; 1.42",
        claims: &[
            claim(versus(RR, "itsn", GOODPUT), AtLeast(1.05)),
            claim(versus(LATE, "itsn", GOODPUT), AtLeast(1.10)),
            claim(versus(RR, "itsn", P90), Below(1.0)),
            claim(Ratio(of(RR, "itsn", P90), of(LATE, "itsn", P90)), Below(1.0)),
            claim(Ratio(of(LATE, "itsn-7500", P90), ours("itsn-7500", P90)), AtLeast(1.25)),
        ],
        deviation: deviates(NO_HAND_OVER),
        ..ITEM
    },
    Item {
        id: "12",
        statement: "Video segments: more packets within half a second",
        threshold: "share in time >= 96 %; MAMS > LATE > RR; MAMS - RR >= 2.5 points",
        paper: "97.24, 94.03, 92.7 %",
        claims: &[
            claim(Value::Mean(ours("dash", "on_time_share")), AtLeast(0.96)),
            claim(versus(LATE, "dash", "on_time_share"), Above(1.0)),
            claim(Ratio(of(LATE, "dash", "on_time_share"), of(RR, "dash", "on_time_share")), Above(1.0)),
            claim(Difference(ours("dash", "on_time_share"), of(RR, "dash", "on_time_share")), AtLeast(0.025)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "13",
        statement: "More paths, more reordering for RR, least for MAMS at eight; selection gains over MMQUIC-v1; SEDPF's code costs throughput",
        threshold: "RR increasing over 2, 4, 8; MAMS lowest at 8; throughput >= 1.1 MMQUIC-v1 at one point; SEDPF's throughput < RR's",
        paper: "up to 0.233 s less; up to +24.2 %",
        claims: &[
            claim(
                computed("least growth of RR's reordering", super::GRID, compare::reordering_of_rr_by_paths),
                AtLeast(1.0),
            ),
            claim(versus(RR, "paths-8", REORDERING), Below(1.0)),
            claim(versus(LATE, "paths-8", REORDERING), Below(1.0)),
            claim(versus(VERSION_1, "paths-8", REORDERING), Below(1.0)),
            claim(versus(SEDPF, "paths-8", REORDERING), Below(1.0)),
            claim(
                computed("best throughput over MMQUIC-v1's", super::GRID, compare::best_over_version_1),
                AtLeast(1.1),
            ),
            claim(sedpf_over(RR, "paths-2", THROUGHPUT), Below(1.0)),
            claim(sedpf_over(RR, "paths-4", THROUGHPUT), Below(1.0)),
            claim(sedpf_over(RR, "paths-8", THROUGHPUT), Below(1.0)),
        ],
        deviation: deviates(SPREAD),
        ..ITEM
    },
    Item {
        id: "14",
        statement: "Without reports, capacity, forecasts of loss, the fastest return path, or selection nothing gets better",
        threshold: "none improves p90 delay by more than 3 %; the first two worsen it",
        claims: &[
            claim(Ratio(ours("down-20-0-db-without-reports", P90), ours("down-20-0-db", P90)), AtLeast(1.0)),
            claim(without(WITHOUT_CAPACITY, "down-20-0-db"), AtLeast(1.0)),
            claim(without(WITHOUT_LOSS, "down-20-0-db"), AtLeast(0.97)),
            claim(Ratio(ours("down-20-0-db-own-path", P90), ours("down-20-0-db", P90)), AtLeast(0.97)),
            claim(without(WITHOUT_SELECTION, "down-20-0-db"), AtLeast(0.97)),
        ],
        deviation: deviates(SPREAD),
        ..ITEM
    },
    Item {
        id: "15",
        statement: "A plan costs little, and so does a report",
        threshold: "median <= 0.1 ms with 8 paths, <= 5 us with 2; report <= 24 B per packet of acknowledgements",
        paper: "<= 0.08 ms, < 1 us",
        claims: &[
            claim(Largest(ours("cost", "two_paths_us")), AtMost(5.0)),
            claim(Largest(ours("cost", "eight_paths_us")), AtMost(100.0)),
            claim(
                Difference(
                    ours("down-20", "return_packet_bytes"),
                    ours("down-20-without-reports", "return_packet_bytes"),
                ),
                AtMost(24.0),
            ),
        ],
        ..MUST
    },
];

/// What the paper shows beside its list.
pub(super) const ROWS: &[Item] = &[
    Item {
        id: "R1",
        statement: "Highway, upload at 40 m/s: the highest goodput (figure 9b)",
        threshold: "MAMS > LATE, RR",
        claims: &[
            claim(versus(LATE, "up-40", GOODPUT), Above(1.0)),
            claim(versus(RR, "up-40", GOODPUT), Above(1.0)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "R2",
        statement: "Highway, download at 40 m/s: the highest goodput (figure 11b)",
        threshold: "MAMS > LATE, RR",
        claims: &[
            claim(versus(LATE, "down-40", GOODPUT), Above(1.0)),
            claim(versus(RR, "down-40", GOODPUT), Above(1.0)),
        ],
        deviation: deviates(ONE_NETWORK),
        ..ITEM
    },
    Item {
        id: "R3",
        statement: "Satellites at 7.5 km/s: the highest goodput (figure 14b)",
        threshold: "MAMS > LATE, RR",
        claims: &[
            claim(versus(LATE, "itsn-7500", GOODPUT), Above(1.0)),
            claim(versus(RR, "itsn-7500", GOODPUT), Above(1.0)),
        ],
        deviation: deviates(NO_HAND_OVER),
        ..ITEM
    },
    Item {
        id: "R4",
        statement: "Highway, download, packets lost below 0 dB only, so that both networks are in reach: less delay (cause of 5 to 9)",
        threshold: "p90 delay, mean reordering delay < LATE, RR",
        claims: &[
            claim(versus(LATE, "down-20-0-db", P90), Below(1.0)),
            claim(versus(RR, "down-20-0-db", P90), Below(1.0)),
            claim(versus(LATE, "down-20-0-db", REORDERING), Below(1.0)),
            claim(versus(RR, "down-20-0-db", REORDERING), Below(1.0)),
        ],
        deviation: deviates(SPREAD),
        ..ITEM
    },
    Item {
        id: "R5",
        statement: "The same upwards",
        threshold: "p90 delay, mean reordering delay < LATE, RR",
        claims: &[
            claim(versus(LATE, "up-20-0-db", P90), Below(1.0)),
            claim(versus(RR, "up-20-0-db", P90), Below(1.0)),
            claim(versus(LATE, "up-20-0-db", REORDERING), Below(1.0)),
            claim(versus(RR, "up-20-0-db", REORDERING), Below(1.0)),
        ],
        deviation: deviates(SPREAD),
        ..ITEM
    },
    Item {
        id: "R6",
        statement: "City: packets wait less for those before them at each speed (figure 13b)",
        threshold: "mean reordering delay < LATE, RR",
        paper: "best, LATE second",
        claims: &[
            claim(versus(LATE, "urban-20", REORDERING), Below(1.0)),
            claim(versus(RR, "urban-20", REORDERING), Below(1.0)),
            claim(versus(LATE, "urban-50", REORDERING), Below(1.0)),
            claim(versus(RR, "urban-50", REORDERING), Below(1.0)),
        ],
        deviation: deviates(SPREAD),
        ..ITEM
    },
    Item {
        id: "R7",
        statement: "Eight paths: SEDPF reorders less than RR and LATE, and has the lowest throughput, the more so the more paths (figure 17)",
        threshold: "mean reordering delay of SEDPF < RR, LATE; its throughput < MAMS, LATE, RR; over RR's less than with two paths",
        claims: &[
            claim(sedpf_over(RR, "paths-8", REORDERING), Below(1.0)),
            claim(sedpf_over(LATE, "paths-8", REORDERING), Below(1.0)),
            claim(Ratio(of(SEDPF, "paths-8", THROUGHPUT), ours("paths-8", THROUGHPUT)), Below(1.0)),
            claim(sedpf_over(LATE, "paths-8", THROUGHPUT), Below(1.0)),
            claim(sedpf_over(RR, "paths-8", THROUGHPUT), Below(1.0)),
            claim(
                computed(
                    "SEDPF's throughput over RR's, 8 paths over 2",
                    super::GRID,
                    compare::sedpf_over_rr_by_paths,
                ),
                Below(1.0),
            ),
        ],
        deviation: deviates(BURSTS),
        ..ITEM
    },
];

/// Causes of deviations.
const ONE_NETWORK: &str = "with the loss threshold that the paper's times imply, the cells of the two networks hardly overlap: there is one path most \
     of the time, and nothing to schedule (R4 and R5 have both)";
const NOT_SETTLED: &str = "0.41 of RR; the cause is not settled: without overflowing queues the ratio is no better, so that losses alone do not explain it";
const SMALL_WINDOWS: &str = "under losses of several per cent windows are a few packets, and New Reno's answer to loss decides on goodput; order is kept \
     at the price of a slow path that idles at times";
const NO_HAND_OVER: &str =
    "5 MB take 1.7 s and hand-overs come every 21 s, so that most runs see none: slow start decides";
const SPREAD: &str =
    "seeds differ by more than schedulers: some begin beside a cell's site, others at its edge";

const BURSTS: &str = "slow start and fading lose packets in bursts, of which the code brings back a quarter; the rest is retransmitted after \
     a wait for coded packets: without the code SEDPF's delay is 0.68 of RR's, with it 1.04. Its throughput is the lowest, \
     which 20 seeds tell and six do not";

const DOWN_ACCURACY: &[&str] = &["accuracy-down", "accuracy-down-without-reports"];

/// Documented with what was tried.
const fn deviates(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: "docs/mams.md", cause })
}

/// A metric of MAMS over that of a baseline.
const fn versus(baseline: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(baseline, runs, metric))
}

/// A metric of SEDPF over that of another baseline.
const fn sedpf_over(baseline: &'static str, runs: &'static str, metric: &'static str) -> Value {
    Ratio(of(SEDPF, runs, metric), of(baseline, runs, metric))
}

/// The 90th percentile of the delay without a part over that with it.
const fn without(part: &'static str, runs: &'static str) -> Value {
    Ratio(of(part, runs, P90), ours(runs, P90))
}

const fn computed(
    name: &'static str,
    runs: &'static [&'static str],
    compute: fn(&Kept) -> Option<Estimate>,
) -> Value {
    Computed { name, runs, compute }
}
