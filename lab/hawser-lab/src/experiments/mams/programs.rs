//! What the list runs: transfers whose packets are watched, and plans that are compared with what came of them.

use std::time::Duration;

use hawser_policy::Note;
use hawser_sim::run::Outcome;

use super::watch::Watch;
use crate::data::statistics::{mean, nearest_rank};
use crate::experiments::verify::{Measured, Request};

/// The deadline of video, in seconds.
const HALF_SECOND: f64 = 0.5;

/// Runs the scenario of the request, with the plans of its scheduler or without.
fn watch(request: &Request<'_>, wants_plans: bool) -> Result<(Outcome, Watch), String> {
    let scenario = request.scenario(&[request.chosen()])?;
    let mut watch = Watch::new(wants_plans);
    Ok((request.run(&scenario, &mut watch)?, watch))
}

/// A transfer: goodput, delays, reordering.
pub(super) fn transfer(request: &Request<'_>) -> Result<Measured, String> {
    let (outcome, mut watch) = watch(request, false)?;
    let flow = outcome.flows.iter().find(|flow| flow.flow == "main").ok_or("there is no flow main")?;
    let in_time = watch.delays.iter().filter(|delay| **delay <= HALF_SECOND).count();
    let on_time = in_time as f64 / watch.delays.len().max(1) as f64;
    Ok(Measured::of_run(&outcome)
        .with("goodput_bps", watch.mean_goodput())
        .with("throughput_bps", flow.goodput_bps)
        .with("p90_delay_ms", 1e3 * nearest_rank(&mut watch.delays, 0.90))
        .with("p99_delay_ms", 1e3 * nearest_rank(&mut watch.delays, 0.99))
        .with("mean_reordering_ms", 1e3 * mean(&watch.reordering))
        .with("on_time_share", on_time)
        .with("return_packet_bytes", watch.mean_returned())
        .with_some("completion_seconds", flow.completion_seconds))
}

/// Item 4: what each plan expected within the largest one-way delay, and what arrived.
pub(super) fn accuracy(request: &Request<'_>) -> Result<Measured, String> {
    let (outcome, watch) = watch(request, true)?;
    if watch.plans.is_empty() {
        return Err(format!("{} plans nothing that could be compared", request.policy));
    }
    let real = |plan: &Note| {
        let link = watch.links.get(&plan.path?)?;
        let budget = Duration::from_secs_f64(plan.number("budget_s")?);
        Some(watch.arrived_within(link, plan.at, budget) as f64)
    };
    let error = |expected: &str| {
        let off_by = |plan: &Note| {
            let real = real(plan)?;
            Some((plan.number(expected)? - real).abs() / real.max(1.0))
        };
        mean(&watch.plans.iter().filter_map(off_by).collect::<Vec<_>>())
    };
    Ok(Measured::new(outcome.trace_hash.clone())
        .with("error", error("expected"))
        .with("error_of_late", error("expected_by_late"))
        .with("plans", watch.plans.len() as f64))
}
