//! What a hand-over does: the ratio of the bandwidths swings, and the learner starts anew.

use std::sync::{Arc, Mutex, PoisonError};

use hawser_policy::{Parameters, SchedulerInit, Time};
use hawser_sched::{FtrlWrr, FtrlWrrLog, FtrlWrrParameters, FtrlWrrRecord};
use hawser_sim::run::{NoRecorder, Options, Simulation};

use crate::data::statistics;
use crate::experiments::verify::{Measured, Request};

/// When the links of the scenario swap their rates.
const SWING: Time = Time::from_secs(15);

/// Seconds until the reset, and steps until the center crossed one half. Only FTRL-WRR has a log of what it learnt; anything
/// else never resets.
pub(super) fn reset(request: &Request<'_>) -> Result<Measured, String> {
    // With or without parameters.
    if request.policy.split(',').next() != Some(FtrlWrr::NAME) {
        return Err(format!("{} does not learn shares", request.policy));
    }
    let log = FtrlWrrLog::default();
    let mut registry = (**request.registry).clone();
    let noted = log.clone();
    registry.add_scheduler_with(FtrlWrr::info(), move |init: &SchedulerInit, parameters: &Parameters| {
        let parameters = FtrlWrrParameters::read(parameters);
        Box::new(FtrlWrr::new(parameters, init.seed).with_log(noted.clone()))
    });
    let scenario = request.scenario(&[request.chosen()])?;
    let simulation = Simulation::new(&scenario, &Arc::new(registry), Options::default());
    let outcome = simulation.map_err(|error| error.to_string())?.run(&mut NoRecorder);
    let records = records(&log);
    let after = |at: Time| at >= SWING;
    let reset = records.iter().find_map(|record| match record {
        FtrlWrrRecord::Reset { at, .. } if after(*at) => Some(*at),
        _ => None,
    });
    let before = center_before(&records).ok_or("nothing was learnt before the swing")?;
    let steps = records.iter().filter_map(|record| match record {
        FtrlWrrRecord::Step { at, center, .. } if reset.is_some_and(|reset| *at >= reset) => Some(*center),
        _ => None,
    });
    let crossed = steps.take(100).position(|center| (center < 0.5) != (before < 0.5));
    let redirected = mean(&records);
    let mut measured = Measured::new(outcome.trace_hash).with("redirected_share", redirected);
    if let Some(reset) = reset {
        measured = measured.with("until_reset_s", reset.since(SWING).as_secs_f64());
    }
    if let Some(crossed) = crossed {
        measured = measured.with("steps_until_crossed", (crossed + 1) as f64);
    }
    Ok(measured)
}

fn records(log: &Mutex<Vec<FtrlWrrRecord>>) -> Vec<FtrlWrrRecord> {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Where the learner stood before the swing.
fn center_before(records: &[FtrlWrrRecord]) -> Option<f64> {
    records.iter().rev().find_map(|record| match record {
        FtrlWrrRecord::Step { at, center, .. } if *at < SWING => Some(*center),
        _ => None,
    })
}

/// The mean share of packets that were redirected.
fn mean(records: &[FtrlWrrRecord]) -> f64 {
    let shares: Vec<f64> = records
        .iter()
        .filter_map(|record| match record {
            FtrlWrrRecord::Step { redirected, .. } => Some(*redirected),
            FtrlWrrRecord::Reset { .. } => None,
        })
        .collect();
    statistics::mean(&shares)
}
