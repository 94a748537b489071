//! What the list of SSCC (`lab/reproductions/sscc.toml`) computes and watches, and how its training data is collected
//! (`docs/sscc.md`).

pub mod collect;
mod cuts;
mod detection;
mod environments;
mod formulas;
mod programs;
mod sender;
mod unit_table;
mod watched;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "sscc-queues",
        detection::queues,
        &[
            "{one_queue|two_queues}_share",
            "changed_by_{offset|drift}",
            "congested_after_seconds",
            "idle_found_congested",
        ],
    ),
    Program::new("sscc-by-hand", formulas::by_hand, &["largest_error", "empty_not_skipped", "wrong_votes"]),
    Program::new("sscc-prefixes", formulas::prefixes, &["weight_error", "wrong_first_controller"]),
    Program::new("sscc-cost", formulas::cost, &["{run|core}_share"]),
    Program::new(
        "sscc-sender",
        sender::sender,
        &["share", "goodput_mbps", "per_gigabit_s", "per_gigabit_{alone|chosen|default}_s"],
    ),
    Program::new(
        "sscc-fixed-bottleneck",
        programs::fixed_bottleneck,
        &["jain", "share_of_multipath", "coupled_by_seconds", "coupled_share", "changes"],
    ),
    Program::new(
        "sscc-moving-bottleneck",
        programs::moving_bottleneck,
        &["jain", "uncoupled_share_before", "rate_{before|late}_mbps", "{coupled|bbr}_share"],
    ),
    Program::new(
        "sscc-apart",
        programs::apart,
        &["coupled_share", "changes_per_path_and_2_s", "goodput_mbps", "{mean|p95}_queueing_ms"],
    ),
    Program::new("sscc-mixed", programs::mixed, &["{short|long|goodput}_mbps", "mean_queueing_ms"]),
    Program::new(
        "sscc-parting",
        programs::parting,
        &["coupled_by_seconds", "coupled_share_before", "released_after_seconds"],
    ),
    Program::new(
        "sscc-switching",
        programs::switching,
        &["{goodput|rate_lossy}_mbps", "tolerant_share", "begins_otherwise"],
    ),
    Program::new("sscc-steady", programs::steady, &["rate_mbps", "changes", "{largest|mean}_rise_share"]),
    Program::new("sscc-held-out", programs::held_out, &["reward"]),
    Program::new("sscc-second-cuts", programs::second_cuts, &["changes", "cuts", "second_cuts"]),
    Program::new("sscc-twice", programs::twice, &["differences", "decisions"]),
];

#[cfg(test)]
mod tests;
