//! The list of MAMS (Yang, Pan, Cai, Xiong, IEEE/ACM Transactions on Networking 2024; W. Yang, dissertation, University of Victoria
//! 2024, chapter 2): a scheduler that plans by forecasts, for hosts that move.

mod compare;
mod items;
mod planner;
mod programs;
mod watch;

use super::verify::constant::{List, Policy, Seeds, System, bars, program};

const SYSTEM: &str = "mams";
/// MAMS without reports of the receiver and without path selection (GLOBECOM 2022).
const VERSION_1: &str = "mams,reports=off,selection=off";
/// With the loss rate of the first two seconds, and followed.
const LATE: &str = "late";
const LATE_EWMA: &str = "late,loss=ewma";
const RR: &str = "roundrobin";
const MINRTT: &str = "minrtt";
/// With its streaming code (`programs.rs`).
const SEDPF: &str = "sedpf";
const WITHOUT_CAPACITY: &str = "mams,capacity=off";
const WITHOUT_LOSS: &str = "mams,loss_forecast=off";
const WITHOUT_SELECTION: &str = "mams,selection=off";
/// As the paper has it, where a window leaves at once.
const WHOLE_WINDOWS: &str = "mams,in_flight=off,one_way=half";

/// The deadline of video, in seconds.
const HALF_SECOND: f64 = 0.5;

const OURS: &[Policy] = &[Policy::System];
const BOTH_VERSIONS: &[Policy] = &[Policy::System, Policy::Named(VERSION_1)];
const ALL: &[Policy] = &[
    Policy::System,
    Policy::Named(LATE),
    Policy::Named(LATE_EWMA),
    Policy::Named(RR),
    Policy::Named(MINRTT),
];
const ABLATIONS: &[Policy] = &[
    Policy::System,
    Policy::Named(LATE),
    Policy::Named(LATE_EWMA),
    Policy::Named(RR),
    Policy::Named(MINRTT),
    Policy::Named(WITHOUT_CAPACITY),
    Policy::Named(WITHOUT_LOSS),
    Policy::Named(WITHOUT_SELECTION),
    Policy::Named(WHOLE_WINDOWS),
];
const PATHS: &[Policy] = &[
    Policy::System,
    Policy::Named(LATE),
    Policy::Named(RR),
    Policy::Named(MINRTT),
    Policy::Named(VERSION_1),
    Policy::Named(SEDPF),
];

/// The sheet asks for 20 seeds.
const SEEDS: Seeds = Seeds { default: 12, full: 20 };
const FEW: Seeds = Seeds { default: 6, full: 20 };

const UP_20: &[&str] = &["mams-highway-uplink-20.toml"];
const UP_40: &[&str] = &["mams-highway-uplink-40.toml"];
const DOWN_20: &[&str] = &["mams-highway-downlink-20.toml"];
const DOWN_40: &[&str] = &["mams-highway-downlink-40.toml"];
const URBAN: &[&str] = &["mams-urban.toml"];

/// The list.
pub const LIST: List = List {
    name: "mams",
    title: "MAMS: a plan of packets by what moving links are forecast to deliver",
    source: "W. Yang, J. Pan, L. Cai, Z. Xiong, Mobility-Aware Multipath Scheduler, IEEE/ACM Transactions on Networking 2024; \
             W. Yang, dissertation, University of Victoria 2024, chapter 2",
    system: System { key: "transport.scheduler", policy: SYSTEM },
    runs: &[
        program("model", planner::model, &[], OURS, Seeds::ONCE),
        program("allocation", planner::allocation, &[], OURS, Seeds::ONCE),
        program("cost", planner::cost, &[], OURS, Seeds::ONCE),
        program("static", programs::transfer, &["mams-static.toml"], ALL, FEW),
        program("accuracy-up", programs::accuracy, UP_20, BOTH_VERSIONS, FEW),
        program("accuracy-down", programs::accuracy, DOWN_20, BOTH_VERSIONS, FEW),
        program("accuracy-down-without-reports", programs::accuracy, DOWN_20, BOTH_VERSIONS, FEW),
        program("up-20", programs::transfer, UP_20, ALL, SEEDS),
        program("up-20-0-db", programs::transfer, UP_20, ABLATIONS, SEEDS),
        program("up-40", programs::transfer, UP_40, ALL, SEEDS),
        program("down-20", programs::transfer, DOWN_20, ALL, SEEDS),
        program("down-20-without-reports", programs::transfer, DOWN_20, OURS, SEEDS),
        program("down-20-0-db", programs::transfer, DOWN_20, ABLATIONS, SEEDS),
        program("down-20-0-db-without-reports", programs::transfer, DOWN_20, OURS, SEEDS),
        program("down-20-0-db-own-path", programs::transfer, DOWN_20, OURS, SEEDS),
        program("down-40", programs::transfer, DOWN_40, ALL, SEEDS),
        program("urban-20", programs::transfer, URBAN, ALL, FEW),
        program("urban-30", programs::transfer, URBAN, ALL, FEW),
        program("urban-40", programs::transfer, URBAN, ALL, FEW),
        program("urban-50", programs::transfer, URBAN, ALL, FEW),
        program("itsn", programs::transfer, &["mams-itsn.toml"], ALL, SEEDS),
        program("itsn-7500", programs::transfer, &["mams-itsn-7500.toml"], ALL, SEEDS),
        program("dash", programs::transfer, &["mams-dash.toml"], ALL, FEW),
        program("paths-2", programs::transfer, &["mams-grid-2.toml"], PATHS, FEW),
        program("paths-4", programs::transfer, &["mams-grid-4.toml"], PATHS, FEW),
        program("paths-8", programs::transfer, &["mams-grid-8.toml"], PATHS, FEW),
    ],
    items: &[items::ITEMS, items::ROWS],
    figures: &[
        bars("goodput", "Figures 9 and 11: mean goodput on the highway", "goodput_bps", HIGHWAY, ALL),
        bars("p90", "Figures 10 and 12: 90th percentile of the delivery delay", "p90_delay_ms", HIGHWAY, ALL),
        bars("urban", "Figure 13(a): mean goodput in the city, by speed", "goodput_bps", CITY, ALL),
        bars(
            "urban-reordering",
            "Figure 13(b): mean reordering delay in the city, by speed",
            "mean_reordering_ms",
            CITY,
            ALL,
        ),
        bars("itsn", "Figure 14: mean goodput below satellites", "goodput_bps", &["itsn", "itsn-7500"], ALL),
        bars(
            "paths",
            "Figure 17(a): mean reordering delay by number of paths",
            "mean_reordering_ms",
            GRID,
            PATHS,
        ),
        bars(
            "paths-throughput",
            "Figure 17(b): throughput by number of paths",
            "throughput_bps",
            GRID,
            PATHS,
        ),
        bars(
            "ablations",
            "90th percentile of the delivery delay without parts",
            "p90_delay_ms",
            &["up-20-0-db", "down-20-0-db"],
            ABLATIONS,
        ),
    ],
};

const HIGHWAY: &[&str] = &["up-20", "up-40", "down-20", "down-40"];
const CITY: &[&str] = &["urban-20", "urban-30", "urban-40", "urban-50"];
const GRID: &[&str] = &["paths-2", "paths-4", "paths-8"];

#[cfg(test)]
mod tests;
