//! What the list of MACO (`lab/reproductions/maco.toml`) computes and watches: golden vectors, the filter, transfers below satellites
//! with windows and losses observed.

mod course;
mod observed;
mod programs;
mod vectors;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "maco-vectors",
        vectors::golden,
        &["capacity_at_550_km_bps", "{growth|scaling|filter}_error"],
    ),
    Program::new("maco-filter", vectors::filter, &["step_error_share", "error_to_samples"]),
    Program::new(
        "maco-beginning",
        programs::beginning,
        &[
            "growth_per_round_trip",
            "round_trips_to_product",
            "{first_window|threshold_error}_packets",
            "reached_threshold",
        ],
    ),
    Program::new("maco-random-loss", programs::random_loss, &["goodput_bps", "reductions_per_loss_event"]),
    Program::new(
        "maco-overflow",
        programs::overflow,
        &["overflows", "answered_share", "lost_share", "goodput_bps"],
    ),
    Program::new(
        "maco-transfer",
        programs::transfer,
        &[
            "{goodput|shared|shared_tcp|disjoint|disjoint_tcp}_bps",
            "p95_delay_ms",
            "{window|peak_window|peak_product|joining_drops}_packets",
            "{reductions|back_offs|loss_epochs|lost_share|start_round_trips}",
            "{hand_over|reduction}_recovery_{p99|mean}_ms",
        ],
    ),
    Program::new("maco-completion", programs::completion, &["completion_seconds"]),
];

#[cfg(test)]
mod tests;
