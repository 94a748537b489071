//! The list of Hawser's own promises: a core that stays right when hosts move, and a default scheduler that keeps what
//! several links promise.

mod delays;
mod gauntlet;
mod programs;
mod sets;

use super::verify::constant::Bound::{Above, AtLeast, AtMost, Below};
use super::verify::constant::Value::{self, Largest, Ratio, Smallest, Sum};
use super::verify::constant::{
    self as verify, Drawing, Figure, Item, List, Policy, Runs, Seeds, System, claim, of, ours, program,
    scenario,
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
        scenario("three-links", "three-links.toml", HALF_A_MINUTE, BOTH, MANY),
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
        program("same-seed", programs::same_seed, &["wifi-lte.toml"], SYSTEM, FEW),
        program("one-way-delays", delays::one_way, &[], SYSTEM, FEW),
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
        case("suspect-path-left-alone"),
        case("key-updates-beside-an-idle-path"),
        case("mixed-return-paths"),
        // What sets are for whose parts know of each other (`hawser_sim::sets`).
        case("set-shares-state"),
        case("set-steers-the-sender"),
        case("set-leaves-exact-gaps"),
    ],
    items: &[ITEMS, gauntlet::ITEMS, sets::ITEMS],
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

/// What the default scheduler and the core promise on plain scenarios.
const ITEMS: &[Item] = &[
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
];

/// What the items have in common.
const ITEM: Item = Item { must: true, ..verify::ITEM };

/// A metric of the system over that of the baseline.
const fn versus(runs: &'static str, metric: &'static str) -> Value {
    Ratio(ours(runs, metric), of(BASELINE, runs, metric))
}

/// A case of the mobility gauntlet or of the policy sets. Its metrics are the measures of the case, and how many miss the
/// bounds that the case sets itself.
const fn case(name: &'static str) -> Runs {
    program(name, programs::case, &[], SYSTEM, MANY)
}

#[cfg(test)]
mod tests {
    use hawser_sim::{gauntlet, sets};

    use super::LIST;

    #[test]
    fn every_case_is_an_item() {
        for case in gauntlet::CASES.iter().chain(sets::CASES) {
            assert!(LIST.runs(case.name).is_some(), "{} is not run", case.name);
            assert!(LIST.items().any(|item| item.id == case.name), "{} is not judged", case.name);
        }
    }
}
