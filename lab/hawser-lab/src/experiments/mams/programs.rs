//! What the list runs: transfers whose packets are watched, and plans that are compared with what came of them.

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::SchedulerInit;
use hawser_sched::{Mams, MamsLog, MamsParameters, MamsRecord};
use hawser_sim::run::{Options, Outcome, Simulation};

use super::watch::Watch;
use crate::data::statistics::{mean, nearest_rank};
use crate::experiments::verify::{Measured, Request};

/// The name under which a scheduler with a log is registered.
const LOGGED: &str = "mams-with-log";

/// What plans: MAMS, and MMQUIC-v1 without reports and path selection.
const SYSTEM: &str = "mams";
const VERSION_1: &str = "mams,reports=off,selection=off";

/// The deadline of video, in seconds.
const HALF_SECOND: f64 = 0.5;

/// Runs the scenario of the request with this scheduler.
fn watch(
    request: &Request<'_>,
    policy: &str,
    registry: &Arc<hawser_policy::Registry>,
) -> Result<(Outcome, Watch), String> {
    let scenario = request.scenario(&[format!("{}={policy}", request.key)])?;
    let simulation = Simulation::new(&scenario, registry, Options::default());
    let mut simulation = simulation.map_err(|error| error.to_string())?;
    let mut watch = Watch::default();
    let outcome = simulation.run(&mut watch);
    Ok((outcome, watch))
}

/// A transfer: goodput, delays, reordering.
pub(super) fn transfer(request: &Request<'_>) -> Result<Measured, String> {
    let (outcome, mut watch) = watch(request, request.policy, request.registry)?;
    let flow = outcome.flows.iter().find(|flow| flow.flow == "main").ok_or("there is no flow main")?;
    let in_time = watch.delays.iter().filter(|delay| **delay <= HALF_SECOND).count();
    let on_time = in_time as f64 / watch.delays.len().max(1) as f64;
    let mut measured = Measured::new(outcome.trace_hash.clone())
        .with("goodput_bps", watch.mean_goodput())
        .with("throughput_bps", flow.goodput_bps)
        .with("p90_delay_ms", 1e3 * nearest_rank(&mut watch.delays, 0.90))
        .with("p99_delay_ms", 1e3 * nearest_rank(&mut watch.delays, 0.99))
        .with("mean_reordering_ms", 1e3 * mean(&watch.reordering))
        .with("on_time_share", on_time)
        .with("return_packet_bytes", watch.mean_returned());
    (measured.packets, measured.events) = (outcome.packets, outcome.events);
    if let Some(seconds) = flow.completion_seconds {
        measured = measured.with("completion_seconds", seconds);
    }
    Ok(measured)
}

/// Item 4: what each plan expected within the largest one-way delay, and what arrived.
pub(super) fn accuracy(request: &Request<'_>) -> Result<Measured, String> {
    let parameters = match request.policy {
        SYSTEM => MamsParameters::default(),
        VERSION_1 => MamsParameters { reports: false, selection: false, ..MamsParameters::default() },
        other => return Err(format!("{other} plans nothing that could be compared")),
    };
    let log = MamsLog::default();
    let noted = log.clone();
    let mut registry = (**request.registry).clone();
    registry.add_scheduler(LOGGED, move |_: &SchedulerInit| {
        Box::new(Mams::new(parameters).with_log(noted.clone()))
    });
    let (outcome, watch) = watch(request, LOGGED, &Arc::new(registry))?;
    let records = log.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let real = |record: &MamsRecord| {
        let link = watch.links.get(&record.path)?;
        Some(watch.arrived_within(link, record.at, Duration::from_secs_f64(record.budget)) as f64)
    };
    let pairs: Vec<(f64, &MamsRecord)> =
        records.iter().filter_map(|record| Some((real(record)?, record))).collect();
    let error = |expected: fn(&MamsRecord) -> f64| {
        let off_by = |(real, record): &(f64, &MamsRecord)| (expected(record) - real).abs() / real.max(1.0);
        mean(&pairs.iter().map(off_by).collect::<Vec<_>>())
    };
    Ok(Measured::new(outcome.trace_hash.clone())
        .with("error", error(|record| record.expected))
        .with("error_of_late", error(|record| record.expected_by_late))
        .with("plans", records.len() as f64))
}
