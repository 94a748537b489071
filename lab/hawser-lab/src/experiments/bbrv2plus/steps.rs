//! E6: the rate of the bottleneck rises or falls by 5 Mbit/s every two seconds; how long a controller takes to follow.

use std::time::Duration;

use hawser_policy::{Note, Time};

use super::watch::{DELIVERED, QUEUED, Watched, watch};
use crate::data::statistics::mean;
use crate::experiments::verify::{Measured, Request};

const INTERVAL: Duration = Duration::from_millis(10);
/// Throughput is taken over so many samples: two and a half round-trip times.
const SAMPLES: usize = 10;
const STEP: Duration = Duration::from_secs(2);
const STEPS: usize = 10;
/// Bits per second of a step.
const HEIGHT: f64 = 5e6;
/// What counts as reached, and as found.
const REACHED: f64 = 0.95;
const FOUND: f64 = 0.05;
/// Share of a link's bytes that the transport counts: UDP payload of IPv4 packets of 1480 bytes.
const PAYLOAD: f64 = 1.0 - 28.0 / 1480.0;

/// The rate in each of the steps.
fn rates(rising: bool) -> [f64; STEPS] {
    std::array::from_fn(|index| HEIGHT * if rising { index + 1 } else { STEPS - index } as f64)
}

fn start_of(step: usize) -> Time {
    Time::ZERO + STEP * step as u32
}

/// From 5 to 50 Mbit/s.
pub(super) fn up(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, INTERVAL)?;
    let rates = rates(true);
    let delivered = run.probes.series(DELIVERED).points();
    let times: Vec<f64> = (1..STEPS).map(|step| until_reached(delivered, step, rates[step])).collect();
    Ok(with_course(measured(&run, &rates), &run, &rates).with("rise_seconds", mean(&times)))
}

/// From 50 to 5 Mbit/s.
pub(super) fn down(request: &Request<'_>) -> Result<Measured, String> {
    let run = watch(request, INTERVAL)?;
    let rates = rates(false);
    let mut measured = with_course(measured(&run, &rates), &run, &rates);
    let rounds: Vec<f64> =
        (1..STEPS).filter_map(|step| until_found(&run.states, step, rates[step])).collect();
    if rounds.len() == STEPS - 1 {
        let most = rounds.iter().copied().fold(0.0, f64::max);
        measured = measured.with("rounds_until_found", mean(&rounds)).with("most_rounds_until_found", most);
    }
    Ok(measured)
}

/// Seconds from a step until the throughput has reached the new rate; the length of the step if it does not.
fn until_reached(delivered: &[(Time, f64)], step: usize, rate: f64) -> f64 {
    let (from, to) = (start_of(step), start_of(step + 1));
    let reached = delivered.windows(SAMPLES + 1).find(|window| {
        let (first, last) = (window[0], window[SAMPLES]);
        first.0 >= from && last.0 <= to && throughput(first, last) >= REACHED * rate
    });
    reached.map_or(STEP.as_secs_f64(), |window| window[SAMPLES].0.since(from).as_secs_f64())
}

/// Bit/s between two samples of what was delivered.
fn throughput((from, before): (Time, f64), (to, after): (Time, f64)) -> f64 {
    (after - before) * 8.0 / to.since(from).as_secs_f64().max(1e-9)
}

/// Rounds from a step until the bandwidth filter is near the new rate, at most those of the step; none without a filter.
fn until_found(states: &[Note], step: usize, rate: f64) -> Option<f64> {
    let (from, to) = (start_of(step), start_of(step + 1));
    let before = states.iter().rev().find(|state| state.at <= from)?;
    let mut during = states.iter().filter(|state| state.at > from && state.at <= to);
    let expected = rate * PAYLOAD / 8.0;
    let last = states.iter().rev().find(|state| state.at <= to)?;
    let filter = |state: &Note| state.number("max_bandwidth_bps").or(state.number("bandwidth_bps"));
    let is_near = |bps: f64| (bps / 8.0 / expected - 1.0).abs() <= FOUND;
    let found = during.find(|state| filter(state).is_some_and(is_near)).unwrap_or(last);
    Some((found.number("rounds")? - before.number("rounds")?).max(0.0))
}

/// The numbers of the outcome, and the mean over time of the delay that the queue means.
fn measured(run: &Watched, rates: &[f64; STEPS]) -> Measured {
    let delay = |(at, bytes): &(Time, f64)| bytes * 8.0 / rate_at(rates, *at);
    let delays: Vec<f64> = run.probes.series(QUEUED).points().iter().map(delay).collect();
    Measured::of(&run.outcome).with("queue_delay_ms", 1e3 * mean(&delays))
}

fn rate_at(rates: &[f64; STEPS], at: Time) -> f64 {
    let step = (at.since(Time::ZERO).as_secs_f64() / STEP.as_secs_f64()) as usize;
    rates[step.min(STEPS - 1)]
}

/// Throughput and queueing delay every 200 ms, for the figures.
fn with_course(mut measured: Measured, run: &Watched, rates: &[f64; STEPS]) -> Measured {
    let [delivered, queued] = [DELIVERED, QUEUED].map(|name| run.probes.series(name).points());
    let windows = delivered.windows(COURSE + 1).zip(queued.windows(COURSE + 1));
    for (index, (delivered, queued)) in windows.step_by(COURSE).enumerate() {
        let (at, bytes) = queued[COURSE];
        measured = measured
            .with(format!("course.{index:03}.throughput_bps"), throughput(delivered[0], delivered[COURSE]))
            .with(format!("course.{index:03}.queue_ms"), bytes * 8e3 / rate_at(rates, at));
    }
    measured
}

/// Samples between two points of a course.
pub(super) const COURSE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that carries `share` of 5 Mbit/s, and from `late` after the second step all of 10 Mbit/s.
    fn samples(late: Duration) -> Vec<(Time, f64)> {
        let mut delivered = 0.0;
        (0..400)
            .map(|index| {
                let at = Time::ZERO + INTERVAL * index;
                let rate = if at >= start_of(1) + late { 10e6 } else { 5e6 };
                delivered += rate * INTERVAL.as_secs_f64() / 8.0;
                (at, delivered.floor())
            })
            .collect()
    }

    #[test]
    fn the_time_until_a_rate_is_reached_includes_the_time_over_which_it_is_taken() {
        let found = until_reached(&samples(Duration::from_millis(300)), 1, 10e6);
        // Nine of ten samples at the full rate are 95 %.
        assert!((0.38..=0.41).contains(&found), "{found}");
        assert_eq!(until_reached(&samples(Duration::from_secs(3)), 1, 10e6), 2.0);
    }

    #[test]
    fn rates_step() {
        assert_eq!((rates(true)[0], rates(true)[9]), (5e6, 50e6));
        assert_eq!((rates(false)[0], rates(false)[9]), (50e6, 5e6));
        assert_eq!(rate_at(&rates(true), Time::from_millis(2_100)), 10e6);
    }
}
