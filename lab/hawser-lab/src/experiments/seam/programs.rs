//! What the list measures beside plain scenarios.

use hawser_sim::gauntlet::{self, Measure, Setting};
use hawser_sim::sets;

use crate::data::sweep::digest;
use crate::experiments::verify::{Measured, Request};

/// Digits of a digest that stand in for a trace hash.
pub(super) const DIGITS: usize = 16;

/// The case of the mobility gauntlet, or of the policy sets, that the runs are named after.
pub(super) fn case(request: &Request<'_>) -> Result<Measured, String> {
    let mut cases = gauntlet::CASES.iter().chain(sets::CASES);
    let case = cases.find(|case| case.name == request.runs);
    let case = case.ok_or_else(|| format!("there is no case {}", request.runs))?;
    let setting = Setting {
        registry: request.registry,
        scheduler: request.policy,
        controller: "cubic",
        seed: request.seed,
        priorities: request.setting("case.priorities") != Some("false"),
    };
    let measures = case.run(&setting);
    // A case keeps its network for itself: the figures to the last digit tell runs apart as well.
    let hash = digest(format!("{measures:?}").as_bytes());
    let measured = Measured::new(&hash[..DIGITS]);
    let unmet = measures.iter().filter(|measure| !measure.holds()).count() as f64;
    let add = |measured: Measured, measure: &Measure| measured.with(metric_name(measure), measure.value);
    Ok(measures.iter().fold(measured, add).with("unmet_bounds", unmet))
}

/// `longer_ms`, `beyond_the_window_kB`.
fn metric_name(measure: &Measure) -> String {
    let Measure { name, unit, .. } = measure;
    format!("{name} {unit}").trim().replace(' ', "_")
}

/// Runs a scenario twice: whether anything differs.
pub(super) fn same_seed(request: &Request<'_>) -> Result<Measured, String> {
    request.run_twice()
}
