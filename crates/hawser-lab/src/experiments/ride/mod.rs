//! The list of RIDE (W. Yang, dissertation, University of Victoria 2024, chapter 5), as far as the fluid environment can say
//! (`docs/ride.md`).
//!
//! Rows `R1` to `R9` are the items 1 to 9 of the sheet without Peekaboo and with one training run instead of five, `R10` the
//! part of item 12 that needs no training, `R11` item 11 of that run; item 10 is missing. Nothing here is the packet-level
//! stack.

mod items;
mod programs;
mod vectors;

use super::verify::{List, Policy, Seeds, System, bars, program};

const RR: &str = "rr";
/// RR that does not ask for window.
const RR_BLIND: &str = "rr-blind";
const MINRTT: &str = "minrtt";
const EDPF: &str = "edpf";
/// The agent with its skips forbidden.
const NO_SKIP: &str = "ride-no-skip";

const OURS: &[Policy] = &[Policy::System];
const ALL: &[Policy] = &[
    Policy::System,
    Policy::Named(RR),
    Policy::Named(MINRTT),
    Policy::Named(EDPF),
    Policy::Named("edpf-skip"),
    Policy::Named("random"),
    Policy::Named("wifi"),
    Policy::Named(NO_SKIP),
];
const FOUR: &[Policy] = &[Policy::System, Policy::Named(RR), Policy::Named(MINRTT), Policy::Named(EDPF)];
const REFERENCES: &[Policy] =
    &[Policy::Named(RR), Policy::Named(RR_BLIND), Policy::Named(MINRTT), Policy::Named(EDPF)];

/// Sessions of 1,800 frames: networks and viewers of their own, that no training saw.
const SESSIONS: Seeds = Seeds { default: 20, full: 100 };
const FEW: Seeds = Seeds { default: 5, full: 20 };

/// The list.
pub const LIST: List = List {
    name: "ride",
    title: "RIDE: a learnt choice of the path for tiles with deadlines (fluid environment)",
    source: "W. Yang, dissertation, University of Victoria 2024, chapter 5",
    system: System { key: "video.policy", policy: "ride" },
    runs: &[
        program("vectors", vectors::vectors, &[], OURS, Seeds::ONCE),
        program("references", programs::references, &[], OURS, FEW),
        program("logits", programs::logits, &[], OURS, Seeds::ONCE),
        program("same-seed", programs::same_seed, &[], OURS, FEW),
        program("episodic", programs::episodic, &[], ALL, SESSIONS),
        program("fluid-check", programs::fluid_check, &[], FOUR, SESSIONS),
        program("continuous", programs::continuous, &[], REFERENCES, SESSIONS),
        program("curve", programs::curve, &[], OURS, Seeds::ONCE),
        program("speed", programs::speed, &[], OURS, Seeds::ONCE),
    ],
    items: &[items::ITEMS, items::ROWS],
    figures: &[
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
    ],
};

#[cfg(test)]
mod tests;
