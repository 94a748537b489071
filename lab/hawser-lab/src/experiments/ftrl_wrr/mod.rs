//! What the list of FTRL-WRR (`lab/reproductions/ftrl-wrr.toml`) computes and watches: the learner against its formulas, how the
//! scheduler draws, a hand-over (`docs/ftrl-wrr.md`).

mod handover;
mod learner;
mod scheduler;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "ftrl-closed-forms",
        learner::closed_forms,
        &["difference_to_printed", "points_outside", "minimiser_at_zero_off_by"],
    ),
    Program::new("ftrl-surrogate", learner::surrogate, &["off_by"]),
    Program::new("ftrl-golden-run", learner::golden_run, &["off_by"]),
    Program::new("ftrl-convergence", learner::convergence, &["{per_step|current_eta}_b{10|25|50|75|90}"]),
    Program::new(
        "ftrl-adwin",
        learner::adwin,
        &["false_cuts", "inputs_until_cut", "{large|small}_step_crosses", "threshold_off_by"],
    ),
    Program::new("ftrl-weights", scheduler::weights, &["wrong_draws", "{prefix|window|packet_share}_off_by"]),
    Program::new("ftrl-losses", scheduler::losses, &["{factor|pacing}_off_by"]),
    Program::new("ftrl-decisions", scheduler::decisions, &["different_traces", "schedule_us"]),
    Program::new(
        "ftrl-hand-over",
        handover::reset,
        &["redirected_share", "until_reset_s", "steps_until_crossed"],
    ),
];

#[cfg(test)]
mod tests;
