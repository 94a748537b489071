//! Runs that are watched more closely than a scenario's outcome allows.

use std::sync::{Arc, PoisonError};

use hawser_policy::Time;
use hawser_sched::{QcMab, QcMabLog, QcMabRecord};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::experiments::verify::constant::{Measured, Request};

/// Packets of a point of the curve (figure 4.6).
const POINT: u32 = 500;
/// What counts as the beginning and as the end, seconds.
const BEGINNING: f64 = 30.0;
const END: f64 = 60.0;
/// Share of the final level at which the curve has got there.
const SETTLED: f64 = 0.95;

/// Runs a scenario, and what its receiver noted. A scheduler runs under a receiver that changes nothing and only notes the
/// rewards.
pub(super) fn watched(
    request: &Request<'_>,
    file: &str,
    set: &[&str],
) -> Result<(Vec<QcMabRecord>, Outcome), String> {
    let log = QcMabLog::default();
    let mut registry = (**request.registry).clone();
    QcMab::register_with(&mut registry, Some(log.clone()));
    let mut overrides: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
    overrides.push(format!("seed={}", request.seed));
    if request.policy.starts_with(QcMab::NAME) {
        overrides.push(format!("transport.policy={}", request.policy));
    } else {
        overrides.push("transport.policy=qc-mab,attach=off,fec=off".to_owned());
        overrides.push(format!("transport.scheduler={}", request.policy));
    }
    let scenario = (request.load)(file, &overrides)?;
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

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

/// Items 9 and 10: how the reward rises.
pub(super) fn curve(request: &Request<'_>) -> Result<Measured, String> {
    let (records, outcome) = watched(request, "qcmab-a.toml", &[])?;
    let points = curve_of(&records);
    let last = points.last().ok_or("no frame was shown")?.0;
    let within =
        |from: f64, to: f64| points.iter().filter(move |it| (from..=to).contains(&it.0)).map(|it| it.1);
    let beginning = mean(within(0.0, BEGINNING));
    let variance = mean(within(0.0, BEGINNING).map(|value| (value - beginning).powi(2)));
    let end = mean(within(last - END, last));
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
        .with("reward", mean(points.iter().map(|it| it.1)))
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

/// Item 12: a film that is far too large for paths without loss, 4 Mbit/s each.
pub(super) fn capacity(request: &Request<'_>) -> Result<Measured, String> {
    let set = [
        format!("{}={}", request.key, request.policy),
        format!("seed={}", request.seed),
        "duration=60 s".to_owned(),
        "segment.*.loss=0 %".to_owned(),
        "segment.*.rate=4 Mbit/s".to_owned(),
        "link.*.loss=0 %".to_owned(),
        "flow.video.application=layered,representation=8".to_owned(),
    ];
    let scenario = (request.load)("qcmab-b.toml", &set)?;
    let simulation = Simulation::new(&scenario, request.registry, Options::default());
    Ok(Measured::of(&simulation.map_err(|error| error.to_string())?.run(&mut NoRecorder)))
}
