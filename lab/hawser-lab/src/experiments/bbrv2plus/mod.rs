//! What the list of BBRv2+ (`lab/reproductions/bbrv2plus.toml`) watches: shares beside other flows, phases of the controller, rates that
//! step.

mod figures;
mod programs;
mod steps;
mod watch;

use super::verify::Program;

pub(super) use figures::PLOTS;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new("bbrv2plus-last-minute", programs::last_minute, &["share", "jain"]).with_outcome(),
    Program::new(
        "bbrv2plus-second-mode",
        programs::second_mode,
        &["second_mode_{seconds|share}", "cruises_until_{second_mode|back}"],
    )
    .with_outcome(),
    Program::new(
        "bbrv2plus-watched",
        programs::watched,
        &[
            "in_flight_bytes",
            "illegal_moves",
            "window_in_cruise_share",
            "tries",
            "probes_per_try",
            "largest_compensation_ms",
        ],
    )
    .with_outcome(),
    Program::new(
        "bbrv2plus-steps-up",
        steps::up,
        &["rise_seconds", "queue_delay_ms", "course.*.{throughput_bps|queue_ms}"],
    )
    .with_outcome(),
    Program::new(
        "bbrv2plus-steps-down",
        steps::down,
        &[
            "rounds_until_found",
            "most_rounds_until_found",
            "queue_delay_ms",
            "course.*.{throughput_bps|queue_ms}",
        ],
    )
    .with_outcome(),
    Program::new("bbrv2plus-same-seed", programs::same_seed, &["different_traces", "illegal_moves", "moves"]),
];
