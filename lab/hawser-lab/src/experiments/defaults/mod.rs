//! What the list of the defaults (`lab/reproductions/default.toml`) measures beyond plain scenarios: what all links together give next to
//! what they offer, and next to each of them alone with the controller that is best for it.

mod links;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[Program::new(
    "default-links",
    links::all_and_each,
    &[
        "use_share",
        "goodput_of_best_share",
        "lost_{leo|other}_share",
        "queue_p95_ms",
        "byte_delay_p99_ms",
        "longest_gap_ms",
        "needless_share",
        "answers_p99_ms",
        "answers_of_best_share",
    ],
)];
