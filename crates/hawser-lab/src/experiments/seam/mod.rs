//! The list of Hawser's own promises: a core that stays right when hosts move, and a default scheduler that keeps what
//! several links promise.

mod delays;
mod programs;

use super::verify::Bound::{Above, AtLeast, AtMost, Below};
use super::verify::Value::{self, Largest, Ratio, Smallest, Sum};
use super::verify::{
    Bound, Claim, Data, Drawing, Figure, Item, List, Policy, Program, Runs, Seeds, Source, System, of, ours,
};

/// What the default scheduler is compared with.
const BASELINE: &str = "minrtt";
const BOTH: &[Policy] = &[Policy::System, Policy::Named(BASELINE)];
const SYSTEM: &[Policy] = &[Policy::System];
const HALF_A_MINUTE: &[&str] = &["duration=30 s"];

/// Seeds by default and with `--full`.
const FEW: Seeds = Seeds { default: 3, full: 10 };
const SOME: Seeds = Seeds { default: 8, full: 30 };
const MANY: Seeds = Seeds { default: 16, full: 128 };

/// The list.
pub const LIST: List = List {
    name: "seam",
    title: "A core that stays right when hosts move, and what several links promise",
    source: "Hawser's own promises: docs/architecture.md, docs/policy-seam.md",
    system: System { key: "transport.scheduler", policy: "default" },
    runs: &[
        scenario("shallow-queues", "shallow-queues.toml", &[], SYSTEM, SOME),
        scenario("highway-up", "mams-highway-uplink-20.toml", &[], SYSTEM, MANY),
        scenario("highway-down", "mams-highway-downlink-20.toml", &[], SYSTEM, MANY),
        scenario("three-links", "three-links.toml", HALF_A_MINUTE, BOTH, SOME),
        scenario("unequal", "unequal.toml", &["duration=10 s"], BOTH, SOME),
        scenario("link-dies", "link-dies.toml", HALF_A_MINUTE, BOTH, SOME),
        scenario("wifi-lte", "wifi-lte.toml", HALF_A_MINUTE, SYSTEM, SOME),
        scenario(
            "wifi-alone",
            "wifi-lte.toml",
            &["duration=30 s", "flow.main.links=[\"wifi0\"]"],
            SYSTEM,
            SOME,
        ),
        program("same-seed", programs::same_seed, &["wifi-lte.toml"], FEW),
        program("one-way-delays", delays::one_way, &[], FEW),
        // What happens to a transfer when addresses change and paths misbehave (`hawser_sim::gauntlet`).
        case("download-port-rebinding"),
        case("upload-port-rebinding"),
        case("download-address-rebinding"),
        case("upload-address-rebinding"),
        case("download-return"),
        case("download-migration"),
        case("upload-migration"),
        case("upload-migration-to-another-port"),
        case("upload-migration-to-a-dead-link"),
        case("rebinding-every-5-s"),
        case("trickling-path"),
        case("trickling-use"),
        case("marking-queue"),
        case("abandon-while-copies-wait"),
        case("both-abandon-one-dead"),
    ],
    items: &[
        Item {
            id: "shallow-queues",
            statement: "A sender with data queued and an open window never falls silent over shallow queues",
            threshold: "longest gap <= 60 ms and 10 MB within 1.6 s, 1.4 times the optimum, in every run",
            claims: &[
                claim(Largest(ours("shallow-queues", "flow.main.longest_gap_ms")), AtMost(60.0)),
                claim(Largest(ours("shallow-queues", "flow.main.completion_seconds")), AtMost(1.6)),
                claim(Smallest(ours("shallow-queues", "flow.main.intact")), AtLeast(1.0)),
            ],
            ..ITEM
        },
        Item {
            id: "highway",
            statement: "A connection survives every dead zone of a highway",
            threshold: "no connection breaks",
            claims: &[
                claim(Sum(ours("highway-up", "flow.main.broken")), AtMost(0.0)),
                claim(Sum(ours("highway-down", "flow.main.broken")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "three-links-delay",
            statement: "Three links: data waits less for what was sent before it than with MinRTT",
            threshold: "p99 delay < MinRTT",
            claims: &[claim(versus("three-links", "flow.main.delay.p99_ms"), Below(1.0))],
            ..ITEM
        },
        Item {
            id: "unequal-delay",
            statement: "Unequal links: data waits less for what was sent before it than with MinRTT",
            threshold: "p99 delay < MinRTT",
            claims: &[claim(versus("unequal", "flow.main.delay.p99_ms"), Below(1.0))],
            ..ITEM
        },
        Item {
            id: "link-dies-gap",
            statement: "A link that dies stops delivery for less time than with MinRTT",
            threshold: "longest gap < MinRTT",
            claims: &[claim(versus("link-dies", "flow.main.longest_gap_ms"), Below(1.0))],
            ..ITEM
        },
        Item {
            id: "wifi-lte",
            statement: "WiFi and LTE together carry more than WiFi alone",
            threshold: "goodput > the best link alone",
            claims: &[claim(
                Ratio(ours("wifi-lte", "goodput_bps"), ours("wifi-alone", "goodput_bps")),
                Above(1.0),
            )],
            ..ITEM
        },
        Item {
            id: "same-seed",
            statement: "The same scenario with the same seed is the same run, packet for packet",
            threshold: "equal trace hashes",
            claims: &[claim(Sum(ours("same-seed", "different_traces")), AtMost(0.0))],
            ..ITEM
        },
        Item {
            id: "one-way-delays",
            statement: "Receive timestamps tell how much slower one way is than the other, which round trips do not",
            threshold: "within twice the resolution of 8 us; half round trips are off by 10 ms and more",
            claims: &[
                claim(Largest(ours("one-way-delays", "error_ms")), AtMost(0.016)),
                claim(Smallest(ours("one-way-delays", "error_of_half_round_trips_ms")), AtLeast(10.0)),
            ],
            ..ITEM
        },
        Item {
            id: "download-port-rebinding",
            statement: "A NAT gives the client another port while it downloads: the window holds from the first packet on",
            threshold: "<= 80 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("download-port-rebinding", "longer_ms")), AtMost(80.0)),
                claim(Largest(ours("download-port-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("download-port-rebinding", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "upload-port-rebinding",
            statement: "A NAT gives the client another port while it uploads: the window holds",
            threshold: "<= 40 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("upload-port-rebinding", "longer_ms")), AtMost(40.0)),
                claim(Largest(ours("upload-port-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("upload-port-rebinding", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "download-address-rebinding",
            statement: "A NAT gives the client another address while it downloads: ten packets, then slow start",
            threshold: "<= 180 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("download-address-rebinding", "longer_ms")), AtMost(180.0)),
                claim(Largest(ours("download-address-rebinding", "first_round_trip_kB")), AtMost(18.72)),
                claim(Largest(ours("download-address-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("download-address-rebinding", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "upload-address-rebinding",
            statement: "A NAT gives the client another address while it uploads: the window holds",
            threshold: "<= 40 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("upload-address-rebinding", "longer_ms")), AtMost(40.0)),
                claim(Largest(ours("upload-address-rebinding", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("upload-address-rebinding", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "download-return",
            statement: "Another address and back while the client downloads: what was known of the old one holds again",
            threshold: "<= 180 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("download-return", "longer_ms")), AtMost(180.0)),
                claim(Largest(ours("download-return", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("download-return", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "download-migration",
            statement: "The client migrates its path to an equal link while it downloads: slow start there",
            threshold: "<= 180 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("download-migration", "longer_ms")), AtMost(180.0)),
                claim(Largest(ours("download-migration", "first_round_trip_kB")), AtMost(18.72)),
                claim(Largest(ours("download-migration", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("download-migration", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "upload-migration",
            statement: "The client migrates its path to an equal link while it uploads: slow start there",
            threshold: "<= 150 ms longer, <= 18.7 kB in the first round trip; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("upload-migration", "longer_ms")), AtMost(150.0)),
                claim(Largest(ours("upload-migration", "first_round_trip_kB")), AtMost(18.72)),
                claim(Largest(ours("upload-migration", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("upload-migration", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "upload-migration-to-another-port",
            statement: "The client migrates its path to another port while it uploads: the window holds",
            threshold: "<= 20 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("upload-migration-to-another-port", "longer_ms")), AtMost(20.0)),
                claim(Largest(ours("upload-migration-to-another-port", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("upload-migration-to-another-port", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "upload-migration-to-a-dead-link",
            statement: "The client migrates its path to a link on which nobody answers: it returns, and the window holds",
            threshold: "<= 3.4 s longer, three probe timeouts of a new path; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("upload-migration-to-a-dead-link", "longer_ms")), AtMost(3_400.0)),
                claim(Largest(ours("upload-migration-to-a-dead-link", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("upload-migration-to-a-dead-link", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "rebinding-every-5-s",
            statement: "A NAT gives the client another port every 5 s: each costs a round trip",
            threshold: "<= 80 ms longer per rebinding; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("rebinding-every-5-s", "longer_per_rebinding_ms")), AtMost(80.0)),
                claim(Largest(ours("rebinding-every-5-s", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("rebinding-every-5-s", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "trickling-path",
            statement: "A path of 100 kbit/s does not hold up what one of 20 Mbit/s carries",
            threshold: "<= 100 ms longer; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("trickling-path", "longer_than_without_it_ms")), AtMost(100.0)),
                claim(Largest(ours("trickling-path", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("trickling-path", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "trickling-use",
            statement: "A path that carries every fiftieth packet does not grow its window",
            threshold: "window <= 30 kB; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("trickling-use", "window_of_the_trickling_path_kB")), AtMost(30.0)),
                claim(Largest(ours("trickling-use", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("trickling-use", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "marking-queue",
            statement: "A queue that marks instead of dropping stays where it marks: ECN works on every path",
            threshold: "mean wait <= 8 ms, none dropped; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("marking-queue", "mean_wait_in_the_marking_queue_ms")), AtMost(8.0)),
                claim(Largest(ours("marking-queue", "dropped_by_the_marking_queue_packets")), AtMost(0.0)),
                claim(Largest(ours("marking-queue", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("marking-queue", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "abandon-while-copies-wait",
            statement: "A path is abandoned while copies are queued for it: the other carries on",
            threshold: "<= 100 ms longer than on one path; <= 6 kB beyond the window",
            claims: &[
                claim(
                    Largest(ours("abandon-while-copies-wait", "longer_than_on_one_path_ms")),
                    AtMost(100.0),
                ),
                claim(Largest(ours("abandon-while-copies-wait", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("abandon-while-copies-wait", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
        Item {
            id: "both-abandon-one-dead",
            statement: "Both ends abandon different ones of three paths, one of them dead: both hear of both",
            threshold: "2 paths left, end <= 3.3 s; <= 6 kB beyond the window",
            claims: &[
                claim(Largest(ours("both-abandon-one-dead", "paths_left_at_both_ends")), AtMost(2.0)),
                claim(Largest(ours("both-abandon-one-dead", "end_s")), AtMost(3.3)),
                claim(Largest(ours("both-abandon-one-dead", "beyond_the_window_kB")), AtMost(6.0)),
                claim(Sum(ours("both-abandon-one-dead", "unmet_bounds")), AtMost(0.0)),
            ],
            ..ITEM
        },
    ],
    figures: &[
        Figure {
            name: "delay",
            title: "99th percentile of the time from first sending to delivery in order",
            drawing: Drawing::Bars {
                metric: "flow.main.delay.p99_ms",
                runs: &["three-links", "unequal", "link-dies"],
                policies: BOTH,
            },
        },
        Figure {
            name: "gap",
            title: "Longest time without delivery",
            drawing: Drawing::Bars {
                metric: "flow.main.longest_gap_ms",
                runs: &["three-links", "unequal", "link-dies"],
                policies: BOTH,
            },
        },
    ],
};

/// What the items have in common.
const ITEM: Item = Item {
    id: "",
    statement: "",
    threshold: "",
    paper: "",
    must: true,
    data: Data::Synthetic,
    claims: &[],
    deviation: None,
};

const fn claim(value: Value, bound: Bound) -> Claim {
    Claim { value, bound }
}

/// A metric of the system over that of the baseline.
const fn versus(runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(BASELINE, runs, metric))
}

const fn scenario(
    name: &'static str,
    file: &'static str,
    set: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Scenario { file, set }, policies, seeds }
}

const fn program(name: &'static str, run: Program, reads: &'static [&'static str], seeds: Seeds) -> Runs {
    Runs { name, source: Source::Program { run, reads }, policies: SYSTEM, seeds }
}

/// A case of the mobility gauntlet. Its metrics are the measures of the case, and how many miss the bounds that the case
/// sets itself.
const fn case(name: &'static str) -> Runs {
    program(name, programs::gauntlet, &[], FEW)
}

#[cfg(test)]
mod tests {
    use hawser_sim::gauntlet::CASES;

    use super::LIST;

    #[test]
    fn every_case_of_the_gauntlet_is_an_item() {
        for case in CASES {
            assert!(LIST.runs(case.name).is_some(), "{} is not run", case.name);
            assert!(LIST.items.iter().any(|item| item.id == case.name), "{} is not judged", case.name);
        }
    }
}
