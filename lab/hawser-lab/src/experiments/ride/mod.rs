//! What the list of RIDE (`lab/reproductions/ride.toml`) computes: sessions of the fluid environment, the same tiles over the real
//! stack, vectors (`docs/ride.md`).
//!
//! The system are five agents of five training runs, in each session the mean over them; in E2 five that were trained there.
//! Runs of `ride-stack` are of the packet-level stack, with one agent; all others of the fluid environment.

mod figures;
mod programs;
mod stack;
mod vectors;

use super::verify::Program;

pub(super) use figures::PLOTS;

/// What a session gives.
const SESSION: &[&str] = &[
    "{reward|b_reward_deviation}_frames",
    "{viewing|throughput|unseen|sent}_bps",
    "p95_delay_s",
    "delay_growth",
    "{i|p|b}_{zero_share|zero_share_of_sent|interruption_share|skipped_share|longest_freeze_s}",
    "{i|p|b}_{late_by_a_frame_share|late_by_more|reward_frames}",
    "agent_{1|2|3|4|5}_reward_frames",
];

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "ride-vectors",
        vectors::vectors,
        &[
            "wrong_{deadlines|bundles|decode_times|rounds}",
            "rewards_off_by_ms",
            "{probabilities|quality}_off_by",
            "deliveries_off_by_packets",
        ],
    ),
    Program::new(
        "ride-references",
        programs::references,
        &[
            "{decoded|undecodable}_units",
            "decoded_without_references",
            "frames_sent_twice",
            "b_frames_fetched",
        ],
    ),
    Program::new("ride-logits", programs::logits, &["off_by", "other_actions", "states", "states_on_lte"]),
    Program::new(
        "ride-same-seed",
        programs::same_seed,
        &["decisions_differ", "hashes_differ", "other_seed_same_hash"],
    ),
    Program::new("ride-session", programs::session_of_runs, SESSION),
    Program::new(
        "ride-variants",
        programs::variants,
        &[
            "playout_{0.12|0.15|0.20|0.25}_s_{reward_frames|b_zero_share|p95_delay_s}",
            "{transitive|decode_order|rounds}_{reward_frames|b_zero_share|p95_delay_s}",
        ],
    ),
    Program::new("ride-stack", stack::run, &[]).with_outcome(),
    Program::new(
        "ride-curve",
        programs::curve,
        &[
            "rr_reward_frames",
            "episodes_until_rr_is_passed",
            "change_at_the_end",
            "agent_{1|2|3|4|5}_{episodes_until_rr_is_passed|change_at_the_end}",
        ],
    ),
    Program::new("ride-speed", programs::speed, &["decisions_per_second", "decision_us"]),
];

#[cfg(test)]
mod tests;
