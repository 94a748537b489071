//! What the list of QC-MAB (`lab/reproductions/qc-mab.toml`) computes and watches: golden values, the filter, how rewards rise, that
//! decisions repeat themselves, their cost (`docs/qc-mab.md`).

mod formulas;
mod learner;
mod programs;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new(
        "qc-mab-vectors",
        formulas::vectors,
        &["{block_failure|on_time|goodput|filter|bonus|reward|radio}_off_by", "wrong_cells"],
    ),
    Program::new("qc-mab-filter", formulas::filter, &["{slow|middle|fast}_error_ratio"]),
    Program::new(
        "qc-mab-same-seed",
        learner::same_seed,
        &["decisions", "moves_share", "logs_differ", "other_seed_same_log"],
    ),
    Program::new("qc-mab-cost", learner::cost, &["slot_us"]),
    Program::new(
        "qc-mab-curve",
        programs::curve,
        &[
            "{reward|reward_at_first|variance_at_first|reward_at_last}",
            "settled_s",
            "decisions",
            "{moves|protected}_share",
        ],
    ),
];

#[cfg(test)]
mod tests;
