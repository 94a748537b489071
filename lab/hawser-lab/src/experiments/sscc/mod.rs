//! The list of SSCC (F. Yang, dissertation, Sorbonne/UCAS 2022, chapter 5): shared bottlenecks found and coupled, controllers
//! chosen by data.

pub mod collect;
mod cuts;
mod detection;
mod environments;
mod field;
mod formulas;
mod items;
mod programs;
mod sender;
mod unit_table;
mod watched;

use super::verify::constant::{Drawing, Figure, List, Policy, Runs, Seeds, System, program};

/// What follows a decision about groups is as published: keeping pairs coupled and the probation of paths that were let go are ours, and
/// off; [`KEPT`] has the defaults. The guard of quiet paths is the sheet's. `weights=intervals` and `history=recent` repair the published
/// estimators, which part paths of one bottleneck, and follow changes late: row R3 has what they give (docs/sscc.md).
const SYSTEM: &str = "sscc,keep_coupled=0s,probation=0s,selection=model";
const PUBLISHED: &str = "sscc,keep_coupled=0s,probation=0s,selection=model,weights=packets,history=all";
const KEPT: &str = "sscc,selection=model";
const UNCOUPLED: &str = "sscc,coupling=off,selection=model";
/// Detection and coupling, and CUBIC where nothing is shared.
const SBD_CUBIC: &str = "sscc,keep_coupled=0s,selection=rule";
const BBR_ONLY: &str = "sscc,coupling=off,selection=rule,initial=bbr";
const CUBIC_ONLY: &str = "sscc,coupling=off,selection=rule,initial=cubic";
const VEGAS_ONLY: &str = "sscc,coupling=off,selection=rule,initial=vegas";
const C2TCP_ONLY: &str = "sscc,coupling=off,selection=rule,initial=c2tcp";
const WESTWOOD_ONLY: &str = "sscc,coupling=off,selection=rule,initial=westwood";
const ILLINOIS_ONLY: &str = "sscc,coupling=off,selection=rule,initial=illinois";
const ALTERNATE: &str = "sscc,coupling=off,selection=alternate";
const ALTERNATE_OFTEN: &str = "sscc,coupling=off,selection=alternate,alternate_every=500ms";
const ALTERNATE_LINUX: &str = "sscc,coupling=off,selection=alternate,migration=linux-like";
const CHANCE: &str = "sscc,coupling=off,selection=random";
/// A controller: its set chooses nothing.
const OLIA: &str = "olia";
const LIA: &str = "lia";
const BALIA: &str = "balia";
const WVEGAS: &str = "wvegas";
const MPCC: &str = "mpcc";

const OURS: &[Policy] = &[Policy::System];
const SHARING: &[Policy] = &[
    Policy::System,
    Policy::Named(PUBLISHED),
    Policy::Named(KEPT),
    Policy::Named(UNCOUPLED),
    Policy::Named(OLIA),
];
const APART: &[Policy] = &[Policy::System, Policy::Named(SBD_CUBIC), Policy::Named(OLIA)];
/// P1 and P2.
const FIELD: &[Policy] = &[
    Policy::System,
    Policy::Named(SBD_CUBIC),
    Policy::Named(OLIA),
    Policy::Named(LIA),
    Policy::Named(BALIA),
    Policy::Named(WVEGAS),
    Policy::Named(MPCC),
];
const EACH_ALONE: &[Policy] = &[
    Policy::System,
    Policy::Named(BBR_ONLY),
    Policy::Named(CUBIC_ONLY),
    Policy::Named(VEGAS_ONLY),
    Policy::Named(C2TCP_ONLY),
    Policy::Named(WESTWOOD_ONLY),
    Policy::Named(ILLINOIS_ONLY),
    Policy::Named(CHANCE),
];

const SEEDS: Seeds = Seeds { default: 3, full: 10 };
const MANY: Seeds = Seeds { default: 8, full: 20 };
/// Where differences of a hundredth in Jain's index are asked for: it varies by a twentieth between seeds.
const PAIRS: Seeds = Seeds { default: 10, full: 20 };
/// Environments that judge the models; a seed is one.
const ENVIRONMENTS: Seeds = Seeds { default: 96, full: 96 };

/// The list.
pub const LIST: List = List {
    name: "sscc",
    title: "SSCC: shared bottlenecks found and coupled, controllers chosen by data",
    source: "F. Yang, dissertation, Sorbonne/UCAS 2022, chapter 5",
    system: System { key: "transport.policy", policy: SYSTEM },
    runs: &[
        program("queues", detection::queues, &[], OURS, MANY),
        program("by-hand", formulas::by_hand, &[], OURS, Seeds::ONCE),
        program("prefixes", formulas::prefixes, &[], OURS, Seeds::ONCE),
        program("cost", formulas::cost, &["sscc-steady.toml"], OURS, Seeds::ONCE),
        program("sender", sender::sender, &["sscc-steady.toml"], OURS, Seeds::ONCE),
        program("static-2", programs::fixed_bottleneck, &["sscc-static-2.toml"], SHARING, PAIRS),
        program("static-3", programs::fixed_bottleneck, &["sscc-static-3.toml"], SHARING, PAIRS),
        fixed("static-4", &["sscc-static-4.toml"]),
        fixed("static-5", &["sscc-static-5.toml"]),
        fixed("static-6", &["sscc-static-6.toml"]),
        fixed("buffer-50", &["sscc-static-2.toml"]),
        fixed("buffer-100", &["sscc-static-2.toml"]),
        fixed("buffer-400", &["sscc-static-2.toml"]),
        fixed("buffer-800", &["sscc-static-2.toml"]),
        moving("moving-2", &["sscc-moving-2.toml"]),
        moving("moving-3", &["sscc-moving-3.toml"]),
        moving("moving-4", &["sscc-moving-4.toml"]),
        moving("moving-5", &["sscc-moving-5.toml"]),
        moving("moving-6", &["sscc-moving-6.toml"]),
        program("emulated-stationary", programs::apart, &["sscc-emulated-stationary.toml"], FIELD, MANY),
        program(
            "emulated-mixed",
            programs::mixed,
            &["sscc-emulated-short.toml", "sscc-emulated-long.toml"],
            FIELD,
            MANY,
        ),
        program("emulated-long", programs::apart, &["sscc-emulated-long.toml"], APART, SEEDS),
        program("real", programs::apart, &["sscc-real.toml"], FIELD, SEEDS),
        program(
            "parting",
            programs::parting,
            &["sscc-parting.toml"],
            &[Policy::System, Policy::Named(KEPT)],
            SEEDS,
        ),
        program(
            "switching",
            programs::switching,
            &["sscc-switching.toml"],
            &[Policy::System, Policy::Named(CUBIC_ONLY), Policy::Named(BBR_ONLY)],
            SEEDS,
        ),
        program(
            "steady",
            programs::steady,
            &["sscc-steady.toml"],
            &[
                Policy::Named(CUBIC_ONLY),
                Policy::Named(BBR_ONLY),
                Policy::Named(ALTERNATE),
                Policy::Named(ALTERNATE_LINUX),
            ],
            SEEDS,
        ),
        program("held-out", programs::held_out, &["sscc-training.toml"], EACH_ALONE, ENVIRONMENTS),
        program(
            "second-cuts",
            programs::second_cuts,
            &["sscc-switching.toml"],
            &[Policy::System, Policy::Named(ALTERNATE_OFTEN)],
            SEEDS,
        ),
        program("twice", programs::twice, &["sscc-static-3.toml"], OURS, Seeds::ONCE),
    ],
    items: &[items::ITEMS, items::ROWS],
    figures: &[
        fairness(
            "fairness-static",
            "Figure 5.14 and table 5.5: Jain's index over the number of paths",
            STATIC,
        ),
        fairness("fairness-buffers", "Figure 5.14: Jain's index over the buffer", BUFFERS),
        fairness("fairness-moving", "Figure 5.17 and table 5.6: Jain's index, moving bottleneck", MOVING),
    ],
};

const STATIC: &[&str] = &["static-2", "static-3", "static-4", "static-5", "static-6"];
const BUFFERS: &[&str] = &["buffer-50", "buffer-100", "static-2", "buffer-400", "buffer-800"];
const MOVING: &[&str] = &["moving-2", "moving-3", "moving-4", "moving-5", "moving-6"];

const fn fixed(name: &'static str, reads: &'static [&'static str]) -> Runs {
    program(name, programs::fixed_bottleneck, reads, SHARING, SEEDS)
}

const fn moving(name: &'static str, reads: &'static [&'static str]) -> Runs {
    program(name, programs::moving_bottleneck, reads, SHARING, SEEDS)
}

const fn fairness(name: &'static str, title: &'static str, runs: &'static [&'static str]) -> Figure {
    Figure { name, title, drawing: Drawing::Bars { metric: "jain", runs, policies: SHARING } }
}

#[cfg(test)]
mod tests;
