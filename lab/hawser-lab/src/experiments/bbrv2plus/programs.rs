//! What the list measures beside plain scenarios; rates that step are in [`steps`](super::steps).

use std::time::Duration;

use hawser_cc::ModelState;
use hawser_policy::Time;

use super::watch::{FLOW, Samples, Watched, watch};
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
    let run = watch(request, Duration::from_secs(1))?;
    let flows = &run.samples.flows;
    let received = |flow: &str| flows.get(flow).and_then(|samples| since(samples, Time::ZERO + SETTLED));
    let own = received(FLOW).ok_or("the flow is missing")?;
    let other = flows.keys().find(|flow| *flow != FLOW).and_then(|flow| received(flow));
    let other = other.ok_or("there is no other flow")?;
    let sum = own + other;
    if sum <= 0.0 {
        return Err("nothing was received".to_owned());
    }
    Ok(Measured::of(&run.outcome)
        .with("share", own / sum)
        .with("jain", sum * sum / (2.0 * (own * own + other * other))))
}

/// Bytes received from a time on.
fn since(samples: &[(Time, u64)], from: Time) -> Option<f64> {
    let before = samples.iter().rev().find(|(at, _)| *at <= from)?.1;
    Some(samples.last()?.1.saturating_sub(before) as f64)
}

/// A run by itself, with what the controller shows of itself.
pub(super) fn watched(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, Duration::from_millis(50))?;
    let in_flight = run.samples.in_flight.iter().filter(|(at, _)| *at >= WARM_UP);
    let (sum, count) =
        in_flight.fold((0.0, 0.0), |(sum, count), (_, bytes)| (sum + *bytes as f64, count + 1.0));
    let mut measured = Measured::of(&run.outcome);
    if count > 0.0 {
        measured = measured.with("in_flight_bytes", sum / count);
    }
    Ok(with_states(measured, &run.states))
}

fn with_states(mut measured: Measured, states: &[ModelState]) -> Measured {
    let Some(last) = states.last() else { return measured };
    measured = measured.with("illegal_moves", last.illegal_moves as f64);
    let steady = states.iter().filter(|state| state.now >= WARM_UP && state.phase == "Cruise");
    let bounded = steady.filter(|state| state.inflight_hi.is_finite());
    if let Some(most) = bounded.map(|state| state.window / state.inflight_hi).reduce(f64::max) {
        measured = measured.with("window_in_cruise_share", most);
    }
    if let Some(plus) = last.plus {
        let compensations = states.iter().filter_map(|state| state.plus).map(|plus| plus.compensation);
        measured = measured
            .with("tries", plus.tries as f64)
            .with("probes_per_try", plus.probes as f64 / plus.tries.max(1) as f64)
            .with("largest_compensation_ms", 1e3 * compensations.fold(0.0, f64::max));
    }
    measured
}

/// When the second mode begins and ends, in Cruises: from the moment on which CUBIC keeps the queue filled, and from that
/// on which it stops.
pub(super) fn second_mode(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, Duration::from_millis(10))?;
    let stopped = Time::from_secs(90);
    let own_mode = |state: &ModelState| state.plus.is_none_or(|plus| plus.own_mode);
    let measured = Measured::of(&run.outcome);
    let Some(began) = run.states.iter().find(|state| !own_mode(state)).map(|state| state.now) else {
        return Ok(measured.with("second_mode_seconds", 0.0));
    };
    let filled = filled_until(&run.samples, began);
    let back = run.states.iter().find(|state| state.now >= stopped && own_mode(state)).map(|state| state.now);
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
fn filled_until(samples: &Samples, moment: Time) -> Time {
    let is_filled = |queued: u64| queued as f64 * 8.0 / BOTTLENECK_RATE > FILLED * PROPAGATION;
    let before = samples.queue.iter().filter(|sample| sample.at <= moment);
    before.rev().find(|sample| !is_filled(sample.queued)).map_or(Time::ZERO, |sample| sample.at)
}

/// Seconds in the second mode until a moment.
fn of_second_mode(run: &Watched, until: Time) -> f64 {
    let pairs = run.states.windows(2).filter(|pair| pair[1].now <= until);
    let second = pairs.filter(|pair| pair[0].plus.is_some_and(|plus| !plus.own_mode));
    second.map(|pair| pair[1].now.since(pair[0].now).as_secs_f64()).sum()
}

/// Cruises that lie between two moments as a whole.
fn cruises(states: &[ModelState], from: Time, to: Time) -> usize {
    let mut began = None;
    let mut count = 0;
    for state in states {
        match (began, state.phase == "Cruise") {
            (None, true) => began = Some(state.now),
            (Some(start), false) => {
                count += usize::from(start >= from && state.now <= to);
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
    let illegal = first.states.iter().map(|state| state.illegal_moves).max().unwrap_or(0);
    let moves = first.states.windows(2).filter(|pair| pair[0].phase != pair[1].phase).count();
    Ok(Measured::new(first.outcome.trace_hash)
        .with("different_traces", f64::from(u8::from(!same)))
        .with("illegal_moves", illegal as f64)
        .with("moves", moves as f64))
}
