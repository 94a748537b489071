//! E6: the rate of the bottleneck rises or falls by 5 Mbit/s every two seconds; how long a controller takes to follow.

use std::time::Duration;

use hawser_cc::ModelState;
use hawser_policy::Time;

use super::watch::{QueueSample, Watched, watch};
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
    let times: Vec<f64> =
        (1..STEPS).map(|step| until_reached(&run.samples.queue, step, rates[step])).collect();
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
fn until_reached(samples: &[QueueSample], step: usize, rate: f64) -> f64 {
    let (from, to) = (start_of(step), start_of(step + 1));
    let reached = samples.windows(SAMPLES + 1).find(|window| {
        let (first, last) = (&window[0], &window[SAMPLES]);
        let seconds = last.at.since(first.at).as_secs_f64();
        let throughput = (last.delivered - first.delivered) as f64 * 8.0 / seconds.max(1e-9);
        first.at >= from && last.at <= to && throughput >= REACHED * rate
    });
    reached.map_or(STEP.as_secs_f64(), |window| window[SAMPLES].at.since(from).as_secs_f64())
}

/// Rounds from a step until the bandwidth filter is near the new rate, at most those of the step; none without a filter.
fn until_found(states: &[ModelState], step: usize, rate: f64) -> Option<f64> {
    let (from, to) = (start_of(step), start_of(step + 1));
    let before = states.iter().rev().find(|state| state.now <= from)?;
    let mut during = states.iter().filter(|state| state.now > from && state.now <= to).peekable();
    let expected = rate * PAYLOAD / 8.0;
    let last = states.iter().rev().find(|state| state.now <= to)?;
    let found = during.find(|state| (state.bandwidth / expected - 1.0).abs() <= FOUND).unwrap_or(last);
    Some(found.rounds.saturating_sub(before.rounds) as f64)
}

/// The numbers of the outcome, and the mean over time of the delay that the queue means.
fn measured(run: &Watched, rates: &[f64; STEPS]) -> Measured {
    let delay = |sample: &QueueSample| sample.queued as f64 * 8.0 / rate_at(rates, sample.at);
    let delays: Vec<f64> = run.samples.queue.iter().map(delay).collect();
    Measured::of(&run.outcome).with("queue_delay_ms", 1e3 * mean(&delays))
}

fn rate_at(rates: &[f64; STEPS], at: Time) -> f64 {
    let step = (at.since(Time::ZERO).as_secs_f64() / STEP.as_secs_f64()) as usize;
    rates[step.min(STEPS - 1)]
}

/// Throughput and queueing delay every 200 ms, for the figures.
fn with_course(mut measured: Measured, run: &Watched, rates: &[f64; STEPS]) -> Measured {
    let samples = &run.samples.queue;
    for (index, window) in samples.windows(COURSE + 1).step_by(COURSE).enumerate() {
        let (first, last) = (&window[0], &window[COURSE]);
        let bits = (last.delivered - first.delivered) as f64 * 8.0;
        let seconds = last.at.since(first.at).as_secs_f64().max(1e-9);
        let delay = last.queued as f64 * 8e3 / rate_at(rates, last.at);
        measured = measured
            .with(format!("course.{index:03}.throughput_bps"), bits / seconds)
            .with(format!("course.{index:03}.queue_ms"), delay);
    }
    measured
}

/// Samples between two points of a course.
pub(super) const COURSE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that carries `share` of 5 Mbit/s, and from `late` after the second step all of 10 Mbit/s.
    fn samples(late: Duration) -> Vec<QueueSample> {
        let mut delivered = 0.0;
        (0..400)
            .map(|index| {
                let at = Time::ZERO + INTERVAL * index;
                let rate = if at >= start_of(1) + late { 10e6 } else { 5e6 };
                delivered += rate * INTERVAL.as_secs_f64() / 8.0;
                QueueSample { at, queued: 0, delivered: delivered as u64 }
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
