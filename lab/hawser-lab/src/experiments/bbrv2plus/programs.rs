//! What the list measures beside plain scenarios; rates that step are in [`steps`](super::steps).

use std::time::Duration;

use hawser_policy::{Note, Time};
use hawser_sim::run::Series;

use super::watch::{FLOW, QUEUED, Watched, sample, watch};
use crate::data::statistics::jain;
use crate::experiments::verify::{Measured, Request};

/// The time over which shares are taken: the last minute of three.
const SETTLED: Duration = Duration::from_secs(120);
/// Before that a run is in Startup; ratios of its window say nothing.
const WARM_UP: Time = Time::from_secs(5);
/// A queue of more than this share of the propagation delay is a filled one (Algorithm 2).
const FILLED: f64 = 0.1;
const PROPAGATION: f64 = 0.040;
const BOTTLENECK_RATE: f64 = 40e6;

/// What each of two flows gets in the last minute: share of the first, Jain's index.
pub(super) fn last_minute(request: &Request<'_>) -> Result<Measured, String> {
    let (outcome, probes) = sample(request, Duration::from_secs(1))?;
    let flows = || probes.each("flow.", ".bytes");
    let own = flows().find(|(flow, _)| *flow == FLOW).and_then(|(_, bytes)| settled(bytes));
    let own = own.ok_or("the flow is missing")?;
    let other = flows().find(|(flow, _)| *flow != FLOW).and_then(|(_, bytes)| settled(bytes));
    let other = other.ok_or("there is no other flow")?;
    let sum = own + other;
    if sum <= 0.0 {
        return Err("nothing was received".to_owned());
    }
    Ok(Measured::of(&outcome).with("share", own / sum).with("jain", jain(&[own, other])))
}

/// Bytes received in the last minute.
fn settled(received: &Series) -> Option<f64> {
    let before = received.at(Time::ZERO + SETTLED)?;
    Some((received.points().last()?.1 - before).max(0.0))
}

/// A run by itself, with what the controller shows of itself.
pub(super) fn watched(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, Duration::from_millis(50))?;
    let paths = run.probes.each("path.x.", ".in_flight_bytes");
    let in_flight = paths.flat_map(|(_, series)| series.points()).filter(|(at, _)| *at >= WARM_UP);
    let (sum, count) = in_flight.fold((0.0, 0.0), |(sum, count), (_, bytes)| (sum + bytes, count + 1.0));
    let mut measured = Measured::of(&run.outcome);
    if count > 0.0 {
        measured = measured.with("in_flight_bytes", sum / count);
    }
    Ok(with_states(measured, &run.states))
}

fn with_states(mut measured: Measured, states: &[Note]) -> Measured {
    let Some(last) = states.last() else { return measured };
    measured = measured.with("illegal_moves", last.number("illegal_moves").unwrap_or(0.0));
    let steady = states.iter().filter(|state| state.at >= WARM_UP && is_cruise(state));
    // Without a bound there is no number.
    let share = |state: &Note| Some(state.number("cwnd_bytes")? / state.number("inflight_hi_bytes")?);
    if let Some(most) = steady.filter_map(share).reduce(f64::max) {
        measured = measured.with("window_in_cruise_share", most);
    }
    if let Some((tries, probes)) = last.number("tries").zip(last.number("probes")) {
        let compensations = states.iter().filter_map(|state| state.number("compensation_s"));
        measured = measured
            .with("tries", tries)
            .with("probes_per_try", probes / tries.max(1.0))
            .with("largest_compensation_ms", 1e3 * compensations.fold(0.0, f64::max));
    }
    measured
}

fn is_cruise(state: &Note) -> bool {
    state.word("phase") == Some("Cruise")
}

/// Whether BBRv2's cycle runs in place of that of BBRv2+.
fn is_second_mode(state: &Note) -> bool {
    state.word("cycle") == Some("bbr2")
}

/// When the second mode begins and ends, in Cruises: from the moment on which CUBIC keeps the queue filled, and from that
/// on which it stops.
pub(super) fn second_mode(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, Duration::from_millis(10))?;
    let stopped = Time::from_secs(90);
    let measured = Measured::of(&run.outcome);
    let Some(began) = run.states.iter().find(|state| is_second_mode(state)).map(|state| state.at) else {
        return Ok(measured.with("second_mode_seconds", 0.0));
    };
    let filled = filled_until(run.probes.series(QUEUED), began);
    let back = run.states.iter().find(|state| state.at >= stopped && !is_second_mode(state));
    let back = back.map(|state| state.at);
    let seconds = of_second_mode(&run, stopped);
    let measured = measured
        .with("second_mode_seconds", seconds)
        .with("second_mode_share", seconds / stopped.since(began).as_secs_f64().max(1e-9))
        .with("cruises_until_second_mode", cruises(&run.states, filled, began) as f64);
    Ok(match back {
        Some(back) => measured.with("cruises_until_back", cruises(&run.states, stopped, back) as f64),
        None => measured,
    })
}

/// Since when the queue had been filled without interruption at a moment.
fn filled_until(queued: &Series, moment: Time) -> Time {
    let is_filled = |bytes: f64| bytes * 8.0 / BOTTLENECK_RATE > FILLED * PROPAGATION;
    let before = queued.points().iter().filter(|(at, _)| *at <= moment);
    before.rev().find(|(_, bytes)| !is_filled(*bytes)).map_or(Time::ZERO, |(at, _)| *at)
}

/// Seconds in the second mode until a moment.
fn of_second_mode(run: &Watched, until: Time) -> f64 {
    let pairs = run.states.windows(2).filter(|pair| pair[1].at <= until);
    let second = pairs.filter(|pair| is_second_mode(&pair[0]));
    second.map(|pair| pair[1].at.since(pair[0].at).as_secs_f64()).sum()
}

/// Cruises that lie between two moments as a whole.
fn cruises(states: &[Note], from: Time, to: Time) -> usize {
    let mut began = None;
    let mut count = 0;
    for state in states {
        match (began, is_cruise(state)) {
            (None, true) => began = Some(state.at),
            (Some(start), false) => {
                count += usize::from(start >= from && state.at <= to);
                began = None;
            }
            _ => {}
        }
    }
    count
}

/// Runs a scenario twice: whether anything differs, and how many moves between phases were illegal.
pub(super) fn same_seed(request: &Request<'_>) -> Result<Measured, String> {
    let run = || watch(request, Duration::from_secs(1));
    let (first, second) = (run()?, run()?);
    let same = first.outcome.trace_hash == second.outcome.trace_hash && first.states == second.states;
    let illegal = first.states.iter().filter_map(|state| state.number("illegal_moves")).fold(0.0, f64::max);
    let moves = first.states.windows(2).filter(|pair| pair[0].word("phase") != pair[1].word("phase")).count();
    Ok(Measured::new(first.outcome.trace_hash)
        .with("different_traces", f64::from(u8::from(!same)))
        .with("illegal_moves", illegal)
        .with("moves", moves as f64))
}
