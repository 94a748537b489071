//! FTRL-WRR, and what its thesis claims: the learner against its formulas, the scheduler on the scenarios S0 to S8
//! (`docs/ftrl-wrr.md`).

mod handover;
mod learner;
mod rows;
mod scheduler;
mod systems;

use super::verify::{Deviation, Drawing, Figure, List, Policy, Seeds, System, program, scenario};

const PAGE: &str = "docs/ftrl-wrr.md";

/// "RR" of the thesis: the same without the learner.
const FIXED: &str = "fixed-split";

const SYSTEM: &[Policy] = &[Policy::System];
const BOTH: &[Policy] = &[Policy::System, Policy::Named(FIXED)];
const FOUR: &[Policy] =
    &[Policy::System, Policy::Named("minrtt"), Policy::Named(FIXED), Policy::Named("wrr")];
const FIVE: &[Policy] = &[
    Policy::System,
    Policy::Named("minrtt"),
    Policy::Named(FIXED),
    Policy::Named("wrr"),
    Policy::Named("blest"),
];
const SIX: &[Policy] = &[
    Policy::System,
    Policy::Named("minrtt"),
    Policy::Named(FIXED),
    Policy::Named("wrr"),
    Policy::Named("blest"),
    Policy::Named("peekaboo"),
];

/// The learner and a half where each packet waits for its path.
const STRICT: &str = "ftrl-wrr,accumulation=current-eta,redirect=off";
const STRICT_HALF: &str = "fixed-split,redirect=off";
const WITHOUT_REDIRECTION: &[Policy] = &[Policy::Named(STRICT), Policy::Named(STRICT_HALF)];

/// Shares that are kept strictly, of the path with 30 of 100 Mbit/s.
const SHARES: &[Policy] = &[
    Policy::Named("fixed-split,share=0.1,redirect=off"),
    Policy::Named("fixed-split,share=0.2,redirect=off"),
    Policy::Named("fixed-split,share=0.25,redirect=off"),
    Policy::Named("fixed-split,share=0.3,redirect=off"),
    Policy::Named("fixed-split,share=0.35,redirect=off"),
    Policy::Named("fixed-split,share=0.4,redirect=off"),
    Policy::Named("fixed-split,share=0.5,redirect=off"),
    Policy::Named("fixed-split,share=0.6,redirect=off"),
    Policy::Named("fixed-split,share=0.7,redirect=off"),
    Policy::Named("fixed-split,share=0.8,redirect=off"),
    Policy::Named("fixed-split,share=0.9,redirect=off"),
];

const FEW: Seeds = Seeds { default: 2, full: 10 };
const SOME: Seeds = Seeds { default: 4, full: 50 };
const LONG: Seeds = Seeds { default: 3, full: 50 };

/// By default a quarter of the thesis' gigabyte: it shows the same and takes a quarter of the time.
const QUARTER: &[&str] = &["flow.main.size=250 MB"];

/// The list.
pub const LIST: List = List {
    name: "ftrl-wrr",
    title: "FTRL-WRR: shares of the paths, learnt from what they carry together",
    source: "D. Li, FTRL-WRR: Learning-Based Two-Path Scheduler for LEO Networks, University of Victoria 2024",
    system: System { key: "transport.scheduler", policy: "ftrl-wrr" },
    runs: &[
        program("closed-forms", learner::closed_forms, &[], SYSTEM, Seeds::ONCE),
        program("surrogate", learner::surrogate, &[], SYSTEM, Seeds::ONCE),
        program("golden-run", learner::golden_run, &[], SYSTEM, Seeds::ONCE),
        program("convergence", learner::convergence, &[], SYSTEM, Seeds { default: 30, full: 30 }),
        program("adwin", learner::adwin, &[], SYSTEM, Seeds { default: 5, full: 30 }),
        program("wrr", scheduler::weights, &[], SYSTEM, Seeds::ONCE),
        program("loss", scheduler::losses, &[], SYSTEM, Seeds::ONCE),
        program("decisions", scheduler::decisions, &["ftrl-s1.toml"], SYSTEM, FEW),
        scenario("s0", "ftrl-s0.toml", &["duration=10 s"], SHARES, FEW),
        scenario("s1-low", "ftrl-s1-low.toml", &[], SIX, SOME),
        scenario("s1", "ftrl-s1.toml", &[], SIX, SOME),
        scenario("s1-high", "ftrl-s1-high.toml", &[], SIX, SOME),
        scenario("s1-strict", "ftrl-s1.toml", &[], WITHOUT_REDIRECTION, SOME),
        scenario("s2-low", "ftrl-s2-low.toml", &[], FOUR, SOME),
        scenario("s2-bbr3", "ftrl-s2.toml", &["transport.controller=bbr3"], FOUR, FEW),
        scenario("s2-cubic-low", "ftrl-s2-low.toml", &["transport.controller=cubic"], FOUR, FEW),
        scenario("s3", "ftrl-s3.toml", &["flow.main.size=30 MB"], BOTH, SOME),
        scenario("s4", "ftrl-s4.toml", QUARTER, FIVE, LONG),
        scenario("s5", "ftrl-s5.toml", QUARTER, FIVE, LONG),
        scenario("s6", "ftrl-s6.toml", QUARTER, FIVE, LONG),
        scenario("s7", "ftrl-s7.toml", QUARTER, FIVE, LONG),
        scenario("s8", "ftrl-s8.toml", QUARTER, FIVE, LONG),
        program("hand-over", handover::reset, &["ftrl-handover.toml"], SYSTEM, SOME),
    ],
    items: &[learner::ITEMS, scheduler::ITEMS, systems::ITEMS, rows::ITEMS],
    figures: &[
        Figure {
            name: "s1",
            title: "S1: time to complete 150 MB",
            drawing: Drawing::Bars { metric: COMPLETION, runs: &["s1-low", "s1", "s1-high"], policies: SIX },
        },
        Figure {
            name: "leo",
            title: "S4 to S8: time to complete 250 MB",
            drawing: Drawing::Bars {
                metric: COMPLETION,
                runs: &["s4", "s5", "s6", "s7", "s8"],
                policies: FIVE,
            },
        },
        Figure {
            name: "shares",
            title: "S0: goodput over fixed shares of the path with 30 of 100 Mbit/s",
            drawing: Drawing::Bars { metric: "goodput_bps", runs: &["s0"], policies: SHARES },
        },
    ],
};

/// Flow completion time.
const COMPLETION: &str = "flow.main.completion_seconds";

/// Causes of deviations.
const FULL_WINDOWS: &str = "full paths hand their packets over, so that every scheduler keeps all windows full and \
     shares only order packets; MinRTT is paced here like all others, and has nothing to lose";
const BOUND_BY_RATE: &str = "delay that varies slows nobody down whom the bandwidths hold back: a half that waits for its path \
     takes half a percent longer on the high level";
const NO_BURSTS: &str =
    "both are paced by the same controller, so that the one sends no bursts that the other avoids";
const NO_GAIN_OVER_HALF: &str = "on identical paths a half is the best share; what is gained over MinRTT and BLEST varies from \
     run to run";

const fn because(cause: &'static str) -> Option<Deviation> {
    Some(Deviation { page: PAGE, cause })
}

#[cfg(test)]
mod tests;
