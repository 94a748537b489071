//! What the list runs: transfers whose packets are watched, and plans that are compared with what came of them.

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::SchedulerInit;
use hawser_sched::{Mams, MamsLog, MamsParameters, MamsRecord};
use hawser_sim::run::{Options, Outcome, Simulation};

use super::watch::{Watch, mean, quantile};
use super::{HALF_SECOND, SEDPF, SYSTEM, VERSION_1};
use crate::experiments::verify::constant::{Measured, Request};

/// The name under which a scheduler with a log is registered.
const LOGGED: &str = "mams-with-log";

/// The receiver tells the sender of its links. The scheduler of the set is exchanged for the one of the request, so that
/// baselines have the same acknowledgements, and the same messages, which they do not read.
const WITH_REPORTS: &str = "transport.policy=mmquic";
/// SEDPF is a scheduler and a code. It too has the controllers and the acknowledgements of the others.
const STREAMING_CODE: &str = "transport.protection=sedpf";
/// Acknowledgements return on the path of the packets.
const OWN_PATH: &str = "transport.acknowledgements=own-path";

/// Packets are lost below 0 dB and not below the 12 dB of the scenario: then both networks are in reach nearly everywhere.
const ZERO_DB: [&str; 2] =
    ["scene.road.links.wifi.loss.outage.threshold_db=0", "scene.road.links.lte.loss.outage.threshold_db=0"];

/// File and fields of the runs that are transfers.
fn scenario(runs: &str) -> Result<(&'static str, Vec<String>), String> {
    let (file, set): (_, &[&str]) = match runs {
        "static" => ("mams-static.toml", &[]),
        "up-20" | "accuracy-up" => ("mams-highway-uplink-20.toml", &[]),
        "up-40" => ("mams-highway-uplink-40.toml", &[]),
        "down-20" | "accuracy-down" => ("mams-highway-downlink-20.toml", &[WITH_REPORTS]),
        "up-20-0-db" => ("mams-highway-uplink-20.toml", &ZERO_DB),
        "down-20-0-db" => ("mams-highway-downlink-20.toml", &[WITH_REPORTS, ZERO_DB[0], ZERO_DB[1]]),
        "down-20-0-db-without-reports" => ("mams-highway-downlink-20.toml", &ZERO_DB),
        "down-20-0-db-own-path" => {
            ("mams-highway-downlink-20.toml", &[WITH_REPORTS, OWN_PATH, ZERO_DB[0], ZERO_DB[1]])
        }
        "down-20-without-reports" | "accuracy-down-without-reports" => ("mams-highway-downlink-20.toml", &[]),
        "down-40" => ("mams-highway-downlink-40.toml", &[WITH_REPORTS]),
        "urban-20" => ("mams-urban.toml", &[WITH_REPORTS, "scene.city.drive.mean_speed=20 km/h"]),
        "urban-30" => ("mams-urban.toml", &[WITH_REPORTS, "scene.city.drive.mean_speed=30 km/h"]),
        "urban-40" => ("mams-urban.toml", &[WITH_REPORTS, "scene.city.drive.mean_speed=40 km/h"]),
        "urban-50" => ("mams-urban.toml", &[WITH_REPORTS, "scene.city.drive.mean_speed=50 km/h"]),
        "itsn" => ("mams-itsn.toml", &[WITH_REPORTS]),
        "itsn-7500" => ("mams-itsn-7500.toml", &[WITH_REPORTS]),
        "dash" => ("mams-dash.toml", &[WITH_REPORTS]),
        "paths-2" => ("mams-grid-2.toml", &[WITH_REPORTS]),
        "paths-4" => ("mams-grid-4.toml", &[WITH_REPORTS]),
        "paths-8" => ("mams-grid-8.toml", &[WITH_REPORTS]),
        other => return Err(format!("there is no transfer {other}")),
    };
    Ok((file, set.iter().map(|field| (*field).to_owned()).collect()))
}

/// Runs the scenario of the request with this scheduler.
fn watch(
    request: &Request<'_>,
    policy: &str,
    registry: &Arc<hawser_policy::Registry>,
) -> Result<(Outcome, Watch), String> {
    let (file, mut set) = scenario(request.runs)?;
    set.push(format!("{}={policy}", request.key));
    set.push(format!("seed={}", request.seed));
    if policy == SEDPF {
        set.push(STREAMING_CODE.to_owned());
    }
    let scenario = (request.load)(file, &set)?;
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
        .with("p90_delay_ms", 1e3 * quantile(&mut watch.delays, 0.90))
        .with("p99_delay_ms", 1e3 * quantile(&mut watch.delays, 0.99))
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
