//! What the list of MAMS (`lab/reproductions/mams.toml`) computes and watches: the planner by itself, transfers whose packets are
//! followed, plans that are compared with what came of them.

mod planner;
mod programs;
mod watch;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new("mams-model", planner::model, &["sum_off_by", "mean_off_by", "deliveries_off_by_packets"]),
    Program::new(
        "mams-allocation",
        planner::allocation,
        &["plans_with_gaps", "paths_out_of_order", "slow_paths_misplaced"],
    ),
    Program::new("mams-cost", planner::cost, &["{two|eight}_paths_{us|rounds}"]),
    Program::new(
        "mams-transfer",
        programs::transfer,
        &[
            "{goodput|throughput}_bps",
            "{p90_delay|p99_delay|mean_reordering}_ms",
            "on_time_share",
            "return_packet_bytes",
            "completion_seconds",
        ],
    ),
    Program::new("mams-accuracy", programs::accuracy, &["error", "error_of_late", "plans"]),
];

#[cfg(test)]
mod tests;
