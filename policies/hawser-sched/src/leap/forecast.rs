//! What a path will carry.

use std::time::Duration;

use hawser_learn::{DifferenceKalman, Ewma, Noise};
use hawser_policy::Time;

use super::parameters::LeapParameters;

/// Weight of the time between two samples in its average.
const INTERVAL_GAIN: f64 = 0.125;

/// A forecast of the rate that a path carries, from samples of it: the filter of QC-MAB, and how far its estimate may be off at
/// the end of the deadline.
#[derive(Clone, Debug)]
pub struct LeapForecast {
    filter: Option<DifferenceKalman>,
    /// Seconds between samples.
    interval: Ewma,
    sampled_at: Option<Time>,
}

impl Default for LeapForecast {
    fn default() -> Self {
        LeapForecast { filter: None, interval: Ewma::new(INTERVAL_GAIN), sampled_at: None }
    }
}

impl LeapForecast {
    /// A sample of the rate, in bit/s.
    pub fn update(&mut self, now: Time, sample: f64) {
        if let Some(before) = self.sampled_at {
            self.interval.update(now.since(before).as_secs_f64());
        }
        self.sampled_at = Some(now);
        match &mut self.filter {
            Some(filter) => {
                filter.update(sample);
            }
            None => self.filter = Some(DifferenceKalman::new(sample)),
        }
    }

    /// The rate as far as it is known, in bit/s.
    pub fn estimate(&self) -> Option<f64> {
        self.filter.map(|filter| filter.estimate())
    }

    /// What the path will carry at the least until the deadline, in bit/s; `None` before the first sample.
    pub fn low(&self, parameters: &LeapParameters) -> Option<f64> {
        let filter = self.filter?;
        let (deadline, sample) = (parameters.deadline.as_secs_f64(), parameters.sample.as_secs_f64());
        // The state moves by Q from sample to sample, however far these are apart.
        let interval = self.interval.value().unwrap_or(deadline).max(sample);
        let steps = (deadline / interval).max(1.0);
        Some(leap_low_forecast(
            filter.estimate(),
            filter.variance(),
            filter.noise(),
            steps,
            parameters.caution,
            parameters.floor,
        ))
    }
}

/// The lower bound of a forecast so many steps ahead: the estimate less `caution` deviations, where the variance is that of
/// the estimate, of the steps and of a measurement; at least the share `floor` of the estimate.
pub fn leap_low_forecast(
    estimate: f64,
    variance: f64,
    noise: Noise,
    steps: f64,
    caution: f64,
    floor: f64,
) -> f64 {
    let deviation = (variance + steps * noise.process + noise.measurement).sqrt();
    (estimate - caution * deviation).max(floor * estimate)
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) sent_at: Time,
    /// By the peer's clock, whose offset is of no concern.
    pub(super) arrived_at: Time,
}

/// Packets belong to the same train if they left within this time of each other: those that the pacer lets out together. What it
/// lets out one after the other would tell its own rate, which is the forecast, and the forecast would never recover.
const BACK_TO_BACK: Duration = Duration::from_micros(100);
/// Bytes behind the first packets of trains that make a sample.
const LEAST_BYTES: u64 = 1_000;

/// The rate of the bottleneck in bit/s: packets that left together arrive at its rate (their dispersion). Trains that arrive no
/// further apart than they left met no queue, and say nothing. `None` if too little did. Sorts the packets by number.
pub(super) fn dispersion(arrivals: &mut [Arrival]) -> Option<f64> {
    arrivals.sort_unstable_by_key(|arrival| arrival.number);
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for train in arrivals.chunk_by(|one, next| {
        next.number == one.number + 1 && next.sent_at.since(one.sent_at) <= BACK_TO_BACK
    }) {
        let [first, rest @ ..] = train else { continue };
        let Some(last) = rest.last() else { continue };
        let (sent, arrived) = (last.sent_at.since(first.sent_at), last.arrived_at.since(first.arrived_at));
        if arrived > sent {
            bytes += rest.iter().map(|arrival| arrival.bytes).sum::<u64>();
            time += arrived;
        }
    }
    (bytes >= LEAST_BYTES).then(|| bytes as f64 * 8.0 / time.as_secs_f64())
}
