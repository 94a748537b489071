//! The list of MACO (W. Yang, dissertation, University of Victoria 2024, chapter 3): coupled congestion control for hosts below
//! satellites.

mod cells;
mod compare;
mod course;
mod items;
mod observed;
mod programs;
mod vectors;

use super::verify::{Drawing, Figure, List, Policy, Program, Runs, Seeds, Source, System};

/// As published: the safety valve is ours, and the first flow of a host begins with four segments.
const SYSTEM: &str = "maco,safety_valve=off,first_window=4";
const OLIA: &str = "olia";
/// On one path, as in the dissertation.
const BBR: &str = "bbr";
const WITH_VALVE: &str = "maco,first_window=4";
const WITHOUT_QUICK_START: &str = "maco,safety_valve=off,first_window=4,quick_start=off";
const WITHOUT_FILTER: &str = "maco,safety_valve=off,first_window=4,kalman=off";
const WITHOUT_DELAY: &str = "maco,safety_valve=off,first_window=4,delay_condition=off";
const WITHOUT_COUPLING: &str = "maco,safety_valve=off,first_window=4,coupled=off";
const WITHOUT_PRE_HANDOVER: &str = "maco,safety_valve=off,first_window=4,pre_handover=off";
const WITHOUT_SHARING: &str = "maco,safety_valve=off,first_window=4,own_sharing=off";

const OURS: &[Policy] = &[Policy::System];
const PAIR: &[Policy] = &[Policy::System, Policy::Named(OLIA)];
const ALL: &[Policy] = &[Policy::System, Policy::Named(OLIA), Policy::Named(BBR)];
const ABLATIONS: &[Policy] = &[
    Policy::System,
    Policy::Named(OLIA),
    Policy::Named(BBR),
    Policy::Named(WITH_VALVE),
    Policy::Named(WITHOUT_QUICK_START),
    Policy::Named(WITHOUT_FILTER),
    Policy::Named(WITHOUT_DELAY),
    Policy::Named(WITHOUT_COUPLING),
    Policy::Named(WITHOUT_PRE_HANDOVER),
];

/// The sheet asks for 20 seeds.
const SEEDS: Seeds = Seeds { default: 6, full: 20 };
const FEW: Seeds = Seeds { default: 3, full: 20 };
const CELL: Seeds = Seeds { default: 2, full: 20 };

const P40: &[&str] = &["maco-itsn-p40.toml"];
const P200: &[&str] = &["maco-itsn-p200.toml"];
const ALONE: &[&str] = &["maco-itsn-alone.toml"];
const COMPLETION: &[&str] = &["maco-itsn-completion.toml"];
const DELAY: &[&str] = &["maco-itsn-delay.toml"];

/// The list.
pub const LIST: List = List {
    name: "maco",
    title: "MACO: mobility-aware coupled congestion control below satellites",
    source: "W. Yang, dissertation, University of Victoria 2024, chapter 3",
    system: System { key: "transport.congestion", policy: SYSTEM },
    runs: &[
        runs("vectors", vectors::golden, &[], OURS, Seeds::ONCE),
        runs("filter", vectors::filter, &[], OURS, Seeds::ONCE),
        runs("beginning", programs::beginning, ALONE, PAIR, FEW),
        runs("random-loss", programs::random_loss, ALONE, PAIR, FEW),
        runs("random-loss-bulk", programs::random_loss, ALONE, PAIR, FEW),
        runs("overflow-50", programs::overflow, ALONE, OURS, FEW),
        runs("overflow-100", programs::overflow, ALONE, OURS, FEW),
        runs("overflow-10", programs::overflow, ALONE, &[Policy::Named(WITH_VALVE)], FEW),
        runs("p40", programs::transfer, P40, ABLATIONS, SEEDS),
        runs("p40-known", programs::transfer, P40, PAIR, FEW),
        runs("p40-one-path", programs::transfer, P40, OURS, FEW),
        runs("p40-two-bbr", programs::transfer, P40, &[Policy::Named(BBR)], FEW),
        runs("p40-alone", programs::transfer, ALONE, PAIR, SEEDS),
        runs("p200", programs::transfer, P200, ALL, FEW),
        runs("isl", programs::transfer, &["maco-itsn-isl.toml"], ALL, FEW),
        runs("joining", programs::transfer, ALONE, &[Policy::System, Policy::Named(WITHOUT_SHARING)], FEW),
        by_bandwidth("km-80-mhz-5"),
        by_bandwidth("km-80-mhz-10"),
        by_bandwidth("km-80-mhz-15"),
        by_bandwidth("km-80-mhz-20"),
        by_bandwidth("km-80-mhz-25"),
        by_bandwidth("km-80-mhz-30"),
        by_bandwidth("km-100-mhz-5"),
        by_bandwidth("km-100-mhz-10"),
        by_bandwidth("km-100-mhz-15"),
        by_bandwidth("km-100-mhz-20"),
        by_bandwidth("km-100-mhz-25"),
        by_bandwidth("km-100-mhz-30"),
        by_bandwidth("km-120-mhz-5"),
        by_bandwidth("km-120-mhz-10"),
        by_bandwidth("km-120-mhz-15"),
        by_bandwidth("km-120-mhz-20"),
        by_bandwidth("km-120-mhz-25"),
        by_bandwidth("km-120-mhz-30"),
        by_bandwidth("km-150-mhz-5"),
        by_bandwidth("km-150-mhz-10"),
        by_bandwidth("km-150-mhz-15"),
        by_bandwidth("km-150-mhz-20"),
        by_bandwidth("km-150-mhz-25"),
        by_bandwidth("km-150-mhz-30"),
        by_delay("rtt-50"),
        by_delay("rtt-100"),
        by_delay("rtt-150"),
        by_delay("rtt-200"),
        by_delay("rtt-250"),
        by_delay("rtt-300"),
        by_delay("rtt-350"),
        by_delay("rtt-400"),
    ],
    items: &[items::ITEMS, items::ROWS],
    figures: &[
        figure("window", "Figure 3.8: mean congestion window of a subflow", "window_packets", TRANSFERS),
        figure("throughput", "Figure 3.9: goodput", "goodput_bps", TRANSFERS),
        figure(
            "delay",
            "Figure 3.10: 95th percentile of the one-way delay of packets",
            "p95_delay_ms",
            TRANSFERS,
        ),
        Figure {
            name: "recovery-start",
            title: "Figure 3.11(a): from a hand-over to a window of the bandwidth-delay product, 99th percentile",
            drawing: Drawing::Bars {
                metric: "hand_over_recovery_p99_ms",
                runs: &["p40", "p40-alone"],
                policies: PAIR,
            },
        },
        Figure {
            name: "recovery-avoidance",
            title: "Figure 3.11(b): from a reduction to a window of the bandwidth-delay product, 99th percentile",
            drawing: Drawing::Bars {
                metric: "reduction_recovery_p99_ms",
                runs: &["p40", "p40-alone"],
                policies: PAIR,
            },
        },
        figure(
            "completion-80-km",
            "Figure 3.12: completion of 10 MB by bandwidth, satellites 80 km apart",
            "completion_seconds",
            cells::SPACING_80,
        ),
        figure(
            "completion-150-km",
            "Figure 3.12: completion of 10 MB by bandwidth, satellites 150 km apart",
            "completion_seconds",
            cells::SPACING_150,
        ),
        figure(
            "completion-delay",
            "Figure 3.13: completion of 10 MB by round-trip time",
            "completion_seconds",
            cells::DELAYS,
        ),
    ],
};

const TRANSFERS: &[&str] = &["p40", "p200", "isl"];

const fn runs(
    name: &'static str,
    run: Program,
    reads: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Program { run, reads }, policies, seeds }
}

const fn by_bandwidth(name: &'static str) -> Runs {
    runs(name, programs::completion, COMPLETION, ALL, CELL)
}

const fn by_delay(name: &'static str) -> Runs {
    runs(name, programs::completion, DELAY, ALL, CELL)
}

const fn figure(
    name: &'static str,
    title: &'static str,
    metric: &'static str,
    runs: &'static [&'static str],
) -> Figure {
    Figure { name, title, drawing: Drawing::Bars { metric, runs, policies: ALL } }
}

#[cfg(test)]
mod tests;
