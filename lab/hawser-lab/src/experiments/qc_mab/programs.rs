//! Runs that are watched more closely than a scenario's outcome allows.

use std::sync::{Arc, PoisonError};

use hawser_policy::Time;
use hawser_sched::{QcMab, QcMabLog, QcMabRecord};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::data::statistics::mean;
use crate::experiments::verify::{Measured, Request};

/// Packets of a point of the curve (figure 4.6).
const POINT: u32 = 500;
/// What counts as the beginning and as the end, seconds.
const BEGINNING: f64 = 30.0;
const END: f64 = 60.0;
/// Share of the final level at which the curve has got there.
const SETTLED: f64 = 0.95;

/// Runs the scenario of the request, and what its receiver noted. A scheduler runs under a receiver that changes nothing and only notes the
/// rewards.
pub(super) fn watched(request: &Request<'_>) -> Result<(Vec<QcMabRecord>, Outcome), String> {
    let log = QcMabLog::default();
    let mut registry = (**request.registry).clone();
    QcMab::register_with(&mut registry, Some(log.clone()));
    let mut policies = Vec::new();
    if request.policy.starts_with(QcMab::NAME) {
        policies.push(format!("transport.policy={}", request.policy));
    } else {
        policies.push("transport.policy=qc-mab,attach=off,fec=off".to_owned());
        policies.push(format!("transport.scheduler={}", request.policy));
    }
    let scenario = request.scenario(&policies)?;
    let registry = Arc::new(registry);
    let simulation = Simulation::new(&scenario, &registry, Options::default());
    let outcome = simulation.map_err(|error| error.to_string())?.run(&mut NoRecorder);
    let records = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((records, outcome))
}

/// The mean reward of so many packets, until when.
fn curve_of(records: &[QcMabRecord]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let (mut packets, mut sum) = (0, 0.0);
    let mut began: Option<Time> = None;
    for record in records {
        let QcMabRecord::Frame { at, base, enhancement, reward, .. } = record else { continue };
        let began = *began.get_or_insert(*at);
        let all = base.all + enhancement.all;
        (packets, sum) = (packets + all, sum + reward * f64::from(all));
        if packets >= POINT {
            points.push((at.since(began).as_secs_f64(), sum / f64::from(packets)));
            (packets, sum) = (0, 0.0);
        }
    }
    points
}

/// The mean; not a number of nothing.
fn average(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.collect::<Vec<_>>())
}

/// Items 9 and 10: how the reward rises.
pub(super) fn curve(request: &Request<'_>) -> Result<Measured, String> {
    let (records, outcome) = watched(request)?;
    let points = curve_of(&records);
    let last = points.last().ok_or("no frame was shown")?.0;
    let within =
        |from: f64, to: f64| points.iter().filter(move |it| (from..=to).contains(&it.0)).map(|it| it.1);
    let beginning = average(within(0.0, BEGINNING));
    let variance = average(within(0.0, BEGINNING).map(|value| (value - beginning).powi(2)));
    let end = average(within(last - END, last));
    let settled = points.iter().find(|(_, value)| *value >= SETTLED * end).map_or(f64::INFINITY, |it| it.0);
    let (mut decisions, mut moves, mut protects) = (0.0, 0.0, 0.0);
    for record in &records {
        if let QcMabRecord::Decision { arm, moves: is_move, .. } = record {
            decisions += 1.0;
            moves += f64::from(u8::from(*is_move));
            protects += f64::from(u8::from(arm.fec));
        }
    }
    let mut measured = Measured::new(outcome.trace_hash.clone())
        .with("reward", average(points.iter().map(|it| it.1)))
        .with("reward_at_first", beginning)
        .with("variance_at_first", variance)
        .with("reward_at_last", end)
        .with("settled_s", settled)
        .with("decisions", decisions)
        .with("moves_share", moves / f64::max(decisions, 1.0))
        .with("protected_share", protects / f64::max(decisions, 1.0));
    (measured.packets, measured.events) = (outcome.packets, outcome.events);
    Ok(measured)
}
