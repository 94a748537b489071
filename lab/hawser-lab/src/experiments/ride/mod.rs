//! The list of RIDE (W. Yang, dissertation, University of Victoria 2024, chapter 5), as far as the fluid environment can say
//! (`docs/ride.md`).
//!
//! The system are five agents of five training runs, in each session the mean over them; in E2 five that were trained there.
//! Rows `stack` and `stack-head` are of the packet-level stack, with one agent; all others of the fluid environment.

mod figures;
mod items;
mod programs;
mod stack;
mod vectors;

use super::verify::constant::{Drawing, Figure, List, Policy, Seeds, System, bars, program};

const RR: &str = "rr";
/// RR that does not ask for window.
const RR_BLIND: &str = "rr-blind";
const MINRTT: &str = "minrtt";
const PEEKABOO: &str = "peekaboo";
const EDPF: &str = "edpf";
/// The agents with their skips forbidden.
const NO_SKIP: &str = "ride-no-skip";

const OURS: &[Policy] = &[Policy::System];
const ALL: &[Policy] = &[
    Policy::System,
    Policy::Named(RR),
    Policy::Named(MINRTT),
    Policy::Named(PEEKABOO),
    Policy::Named(EDPF),
    Policy::Named("edpf-skip"),
    Policy::Named("random"),
    Policy::Named("wifi"),
    Policy::Named(NO_SKIP),
];
const FIVE: &[Policy] =
    &[Policy::System, Policy::Named(RR), Policy::Named(MINRTT), Policy::Named(PEEKABOO), Policy::Named(EDPF)];
const STACK: &[Policy] = &[
    Policy::System,
    Policy::Named(stack::GUARDED),
    Policy::Named(stack::EPISODIC),
    Policy::Named(RR),
    Policy::Named(MINRTT),
    Policy::Named(PEEKABOO),
    Policy::Named(EDPF),
    Policy::Named("default"),
];
const FOUR: &[Policy] = &[Policy::System, Policy::Named(RR), Policy::Named(MINRTT), Policy::Named(EDPF)];
const CONTINUOUS: &[Policy] = &[
    Policy::System,
    Policy::Named(RR),
    Policy::Named(RR_BLIND),
    Policy::Named(MINRTT),
    Policy::Named(PEEKABOO),
    Policy::Named(EDPF),
    Policy::Named("edpf-skip"),
];

/// Sessions of 1,800 frames: networks and viewers of their own, that no training saw.
const SESSIONS: Seeds = Seeds { default: 20, full: 100 };
const FEW: Seeds = Seeds { default: 5, full: 20 };

/// The list.
pub const LIST: List = List {
    name: "ride",
    title: "RIDE: a learnt choice of the path for tiles with deadlines ",
    source: "W. Yang, dissertation, University of Victoria 2024, chapter 5",
    system: System { key: "video.policy", policy: "ride" },
    runs: &[
        program("vectors", vectors::vectors, &[], OURS, Seeds::ONCE),
        program("references", programs::references, &[], OURS, FEW),
        program("logits", programs::logits, &[], OURS, Seeds::ONCE),
        program("same-seed", programs::same_seed, &[], OURS, FEW),
        program("episodic", programs::episodic, &[], ALL, SESSIONS),
        program("fluid-check", programs::fluid_check, &[], FOUR, SESSIONS),
        program("continuous", programs::continuous, &[], CONTINUOUS, SESSIONS),
        program("continuous-head", programs::continuous_head, &[], CONTINUOUS, SESSIONS),
        program("no-deadline", programs::no_deadline, &[], OURS, SESSIONS),
        program("no-size", programs::no_size, &[], OURS, SESSIONS),
        program("no-helper", programs::no_helper, &[], OURS, SESSIONS),
        program("variants", programs::variants, &[], FIVE, FEW),
        program("stack", stack::fixed, &["ride-continuous.toml"], STACK, FEW),
        program("stack-head", stack::head, &["ride-continuous.toml"], STACK, FEW),
        program("curve", programs::curve, &[], OURS, Seeds::ONCE),
        program("speed", programs::speed, &[], OURS, Seeds::ONCE),
    ],
    items: &[items::ITEMS, items::ROWS],
    figures: &[
        Figure {
            name: "curve",
            title: "Learning curves of five training runs, E1",
            drawing: Drawing::Custom(figures::curves),
        },
        Figure {
            name: "curve-continuous",
            title: "Learning curves of five training runs, E2",
            drawing: Drawing::Custom(figures::curves_continuous),
        },
        bars("reward", "Figure 5.7: mean reward of a frame, E1", "reward_frames", &["episodic"], ALL),
        bars("viewing", "Figure 5.8: viewing bit rate, E1", "viewing_bps", &["episodic"], ALL),
        bars(
            "rebuffer-b",
            "Figure 5.10(b): B frames without re-buffering, E1",
            "b_zero_share",
            &["episodic"],
            ALL,
        ),
        bars(
            "delay",
            "Figure 5.11: 95th percentile of the frame delay, E1",
            "p95_delay_s",
            &["episodic"],
            ALL,
        ),
        bars(
            "continuous",
            "E2: mean reward of a frame at 36 Mbit/s",
            "reward_frames",
            &["continuous"],
            CONTINUOUS,
        ),
    ],
};

#[cfg(test)]
mod tests;
