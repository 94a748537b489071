//! The list of MACO (W. Yang, dissertation, University of Victoria 2024, chapter 3): coupled congestion control for hosts below
//! satellites.

mod cells;
mod compare;
mod course;
mod items;
mod observed;
mod programs;
mod vectors;

use super::verify::constant::{Drawing, Figure, List, Policy, Runs, Seeds, System, bars, program};

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
        program("vectors", vectors::golden, &[], OURS, Seeds::ONCE),
        program("filter", vectors::filter, &[], OURS, Seeds::ONCE),
        program("beginning", programs::beginning, ALONE, PAIR, FEW),
        program("random-loss", programs::random_loss, ALONE, PAIR, FEW),
        program("random-loss-bulk", programs::random_loss, ALONE, PAIR, FEW),
        program("overflow-50", programs::overflow, ALONE, OURS, FEW),
        program("overflow-100", programs::overflow, ALONE, OURS, FEW),
        program("overflow-10", programs::overflow, ALONE, &[Policy::Named(WITH_VALVE)], FEW),
        program("p40", programs::transfer, P40, ABLATIONS, SEEDS),
        program("p40-known", programs::transfer, P40, PAIR, FEW),
        program("p40-one-path", programs::transfer, P40, OURS, FEW),
        program("p40-two-bbr", programs::transfer, P40, &[Policy::Named(BBR)], FEW),
        program("p40-alone", programs::transfer, ALONE, PAIR, SEEDS),
        program("p200", programs::transfer, P200, ALL, FEW),
        program("isl", programs::transfer, &["maco-itsn-isl.toml"], ALL, FEW),
        program("joining", programs::transfer, ALONE, &[Policy::System, Policy::Named(WITHOUT_SHARING)], FEW),
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
        bars("window", "Figure 3.8: mean congestion window of a subflow", "window_packets", TRANSFERS, ALL),
        bars("throughput", "Figure 3.9: goodput", "goodput_bps", TRANSFERS, ALL),
        bars(
            "delay",
            "Figure 3.10: 95th percentile of the one-way delay of packets",
            "p95_delay_ms",
            TRANSFERS,
            ALL,
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
        bars(
            "completion-80-km",
            "Figure 3.12: completion of 10 MB by bandwidth, satellites 80 km apart",
            "completion_seconds",
            cells::SPACING_80,
            ALL,
        ),
        bars(
            "completion-150-km",
            "Figure 3.12: completion of 10 MB by bandwidth, satellites 150 km apart",
            "completion_seconds",
            cells::SPACING_150,
            ALL,
        ),
        bars(
            "completion-delay",
            "Figure 3.13: completion of 10 MB by round-trip time",
            "completion_seconds",
            cells::DELAYS,
            ALL,
        ),
    ],
};

const TRANSFERS: &[&str] = &["p40", "p200", "isl"];

const fn by_bandwidth(name: &'static str) -> Runs {
    program(name, programs::completion, COMPLETION, ALL, CELL)
}

const fn by_delay(name: &'static str) -> Runs {
    program(name, programs::completion, DELAY, ALL, CELL)
}

#[cfg(test)]
mod tests;
