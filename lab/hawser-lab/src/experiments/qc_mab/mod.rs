//! The list of QC-MAB (W. Yang, dissertation, University of Victoria 2024, chapter 4; `docs/qc-mab.md`).
//!
//! LEAP has runs of its own: it brings its controller, where the scenario chooses that of schedulers. A policy of the flow
//! stands for everything.

mod density;
mod formulas;
mod items;
mod learner;
mod programs;

use super::verify::constant::{List, Policy, Runs, Seeds, System, bars, program, scenario};

const LESS: &str = "qc-mab,gamma=0.95";
const LEAST: &str = "qc-mab,gamma=0.9";
const UNPROTECTED: &str = "qc-mab,fec=off";
/// Links stay where their own rule puts them, with and without protection.
const PROTECTED_THERE: &str = "qc-mab,attach=off,fec=on";
const UNPROTECTED_THERE: &str = "qc-mab,attach=off,fec=off";
/// The text read literally: all access points within reach are arms by their names, and links move at once.
const LITERAL: &str = "qc-mab,key=point,strongest=0,exploration=2,attach_after=0s";
/// The bound as printed, for two access points.
const PRINTED: &str = "qc-mab,exploration=2";
/// Links move at the display event, which is when the next frame is released.
const AT_ONCE: &str = "qc-mab,attach_after=0s";
/// Nothing is learnt about access points: always the strongest.
const STRONGEST: &str = "qc-mab,strongest=1";
/// The same, where protection alone differs: which access point a run happens to explore does not hide it.
const STRONGEST_PROTECTED: &str = "qc-mab,strongest=1,fec=on";
const STRONGEST_UNPROTECTED: &str = "qc-mab,strongest=1,fec=off";
const RAW: &str = "qc-mab,refined=off";
const LEAP: &str = "leap";
const PEEKABOO: &str = "peekaboo";
const MINRTT: &str = "minrtt";

const SYSTEM: &[Policy] = &[Policy::System];
const TWO: &[Policy] = &[Policy::System, Policy::Named(PEEKABOO)];
const THREE: &[Policy] = &[Policy::System, Policy::Named(PEEKABOO), Policy::Named(MINRTT)];
const WALKING: &[Policy] = &[
    Policy::System,
    Policy::Named(LESS),
    Policy::Named(LEAST),
    Policy::Named(UNPROTECTED),
    Policy::Named(LITERAL),
    Policy::Named(PRINTED),
    Policy::Named(AT_ONCE),
    Policy::Named(STRONGEST),
    Policy::Named(STRONGEST_PROTECTED),
    Policy::Named(STRONGEST_UNPROTECTED),
    Policy::Named(PROTECTED_THERE),
    Policy::Named(UNPROTECTED_THERE),
    Policy::Named(PEEKABOO),
    Policy::Named(MINRTT),
];
const ONLY_LEAP: &[Policy] = &[Policy::Named(LEAP)];
const LEARNING: &[Policy] = &[Policy::System, Policy::Named(RAW), Policy::Named(PEEKABOO)];
const FULL: &[Policy] = &[Policy::Named(PROTECTED_THERE), Policy::Named(UNPROTECTED_THERE)];

/// Walks of their own: each seed has its access points, its way and its film.
const SOME: Seeds = Seeds { default: 20, full: 60 };
const FEW: Seeds = Seeds { default: 4, full: 20 };
/// Eight rows of TCP take most of the time.
const BUSY: Seeds = Seeds { default: 4, full: 20 };

const fn walk(name: &'static str, set: &'static [&'static str]) -> Runs {
    scenario(name, "qcmab-a.toml", set, TWO, FEW)
}

/// As the runs with this name, with LEAP.
const fn leap(name: &'static str, file: &'static str, set: &'static [&'static str], seeds: Seeds) -> Runs {
    scenario(name, file, set, ONLY_LEAP, seeds)
}

const fn leap_walk(name: &'static str, set: &'static [&'static str]) -> Runs {
    leap(name, "qcmab-a.toml", set, FEW)
}

/// The list.
pub const LIST: List = List {
    name: "qc-mab",
    title: "QC-MAB: a receiver of layered video learns access points and protection",
    source: "W. Yang, dissertation, University of Victoria 2024, chapter 4",
    system: System { key: "transport.policy", policy: "qc-mab" },
    runs: &[
        program("vectors", formulas::vectors, &[], SYSTEM, Seeds::ONCE),
        program("filter", formulas::filter, &[], SYSTEM, Seeds::ONCE),
        program("same-seed", learner::same_seed, &["qcmab-a.toml"], SYSTEM, Seeds { default: 2, full: 4 }),
        program("cost", learner::cost, &[], SYSTEM, Seeds::ONCE),
        program("capacity", programs::capacity, &["qcmab-b.toml"], FULL, FEW),
        program("curve", programs::curve, &["qcmab-a.toml"], LEARNING, SOME),
        scenario("walk", "qcmab-a.toml", &[], WALKING, SOME),
        walk("walk-5m", &["scene.field.distance=5 m", SHORT]),
        walk("walk-10m", &["scene.field.distance=10 m", SHORT]),
        walk("walk-15m", &["scene.field.distance=15 m", SHORT]),
        walk("walk-20m", &["scene.field.distance=20 m", SHORT]),
        walk("walk-30m", &["scene.field.distance=30 m", SHORT]),
        walk("walk-40m", &["scene.field.distance=40 m", SHORT]),
        walk("walk-60m", &["scene.field.distance=60 m", SHORT]),
        scenario("far", "qcmab-b.toml", FAR, FULL, SOME),
        scenario("rest", "qcmab-b.toml", &[SHORT], THREE, FEW),
        scenario("background", "qcmab-b-background.toml", &["duration=60 s"], THREE, BUSY),
        leap("walk-leap", "qcmab-a.toml", &[OF_LEAP], SOME),
        leap_walk("walk-5m-leap", &["scene.field.distance=5 m", SHORT, OF_LEAP]),
        leap_walk("walk-10m-leap", &["scene.field.distance=10 m", SHORT, OF_LEAP]),
        leap_walk("walk-15m-leap", &["scene.field.distance=15 m", SHORT, OF_LEAP]),
        leap_walk("walk-20m-leap", &["scene.field.distance=20 m", SHORT, OF_LEAP]),
        leap_walk("walk-30m-leap", &["scene.field.distance=30 m", SHORT, OF_LEAP]),
        leap_walk("walk-40m-leap", &["scene.field.distance=40 m", SHORT, OF_LEAP]),
        leap_walk("walk-60m-leap", &["scene.field.distance=60 m", SHORT, OF_LEAP]),
        leap("rest-leap", "qcmab-b.toml", &[SHORT, OF_LEAP], FEW),
        leap("background-leap", "qcmab-b-background.toml", &["duration=60 s", OF_LEAP], BUSY),
    ],
    items: &[items::COMPARED, items::ABLATIONS, items::COMPUTED, items::ROWS],
    figures: &[
        bars("interruption", "Figures 4.5a, 4.9a, 4.10a: interruption ratio", INTERRUPTION, PLACES, THREE),
        bars("quality", "Figures 4.5b, 4.9b, 4.10b: mean video quality", QUALITY, PLACES, THREE),
        bars(
            "on-time",
            "Figures 4.5c, 4.9c, 4.10c: base-layer packets within 150 ms",
            ON_TIME,
            PLACES,
            THREE,
        ),
        bars("goodput", "Figures 4.5d, 4.9d, 4.10d: goodput", GOODPUT, PLACES, THREE),
        bars("reward", "Figures 4.6, 4.7: mean reward", "reward", &["curve"], LEARNING),
        bars("density", "Figure 4.8: interruption ratio by distance", INTERRUPTION, DISTANCES, TWO),
    ],
};

/// Where the deadline leaves no time for retransmissions.
const FAR: &[&str] = &[
    "duration=60 s",
    "link.*.delay=60 ms",
    "link.*.loss=2 %",
    "flow.video.application=layered,representation=3",
];
/// A part of the film, where there are many runs.
const SHORT: &str = "duration=120 s";
const OF_LEAP: &str = "flow.video.policy=leap";
const PLACES: &[&str] = &["walk", "rest", "background"];
const DISTANCES: &[&str] =
    &["walk-5m", "walk-10m", "walk-15m", "walk-20m", "walk-30m", "walk-40m", "walk-60m"];

const LEAP_DISTANCES: &[&str] = &[
    "walk-5m-leap",
    "walk-10m-leap",
    "walk-15m-leap",
    "walk-20m-leap",
    "walk-30m-leap",
    "walk-40m-leap",
    "walk-60m-leap",
];

const INTERRUPTION: &str = "flow.video.measures.interruption_share";
const QUALITY: &str = "flow.video.measures.mean_quality";
const ON_TIME: &str = "flow.video.measures.base_in_time_share";
const GOODPUT: &str = "flow.video.measures.decoded_bps";
const CORRUPT: &str = "flow.video.measures.corrupt";

#[cfg(test)]
mod tests;
