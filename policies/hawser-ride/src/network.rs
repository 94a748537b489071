//! Synthetic traces of paths, in place of data that cannot be had.

use hawser_learn::Random;

use crate::{FRAMES_PER_SECOND, PATHS};

/// Seconds that a trace goes on after its session, for what is still queued. Its last value holds from then on.
const MARGIN_SECONDS: usize = 10;

/// What a path is like over a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PathTrace {
    /// Rate in each second, bit/s.
    rates: Vec<f64>,
    /// Loss rate in each second.
    losses: Vec<f64>,
    /// Round-trip time at each frame, seconds, without what we queue ourselves.
    rtts: Vec<f64>,
}

/// All paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    paths: [PathTrace; PATHS],
}

/// Median rate (bit/s) and mean round-trip time (s) of WiFi and LTE.
const LINKS: [(f64, f64); PATHS] = [(40e6, 0.020), (20e6, 0.030)];

impl Network {
    /// Traces for so many frames, with loss rates from 0 to `max_loss`. The same seed gives the same rates and round-trip
    /// times whatever the loss.
    pub fn synthetic(seed: u64, frames: usize, max_loss: f64) -> Self {
        let seconds = frames.div_ceil(FRAMES_PER_SECOND as usize) + MARGIN_SECONDS;
        let mut random = Random::new(seed);
        let paths = LINKS.map(|(rate, rtt)| {
            let rates = log_normal(&mut random, seconds, rate, 0.30, 0.85);
            // The mean of a log-normal value lies above its median.
            let median = rtt * libm::exp(-0.35 * 0.35 / 2.0);
            let rtts = log_normal(&mut random, frames, median, 0.35, 0.9);
            let losses = (0..seconds).map(|_| max_loss * random.fraction()).collect();
            PathTrace { rates, losses, rtts }
        });
        Network { paths }
    }

    /// The paths: WiFi, LTE.
    pub fn paths(&self) -> &[PathTrace; PATHS] {
        &self.paths
    }
}

/// A first-order autoregressive course of the logarithm, from its stationary distribution on.
fn log_normal(random: &mut Random, count: usize, median: f64, sigma: f64, correlation: f64) -> Vec<f64> {
    let mut state = random.normal();
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut next = |_| {
        let value = median * libm::exp(sigma * state);
        state = correlation * state + fresh * random.normal();
        value
    };
    (0..count).map(&mut next).collect()
}

fn held(values: &[f64], at: usize) -> f64 {
    values[at.min(values.len() - 1)]
}

impl PathTrace {
    /// Rate at a time, bit/s.
    pub fn rate(&self, time: f64) -> f64 {
        held(&self.rates, time as usize)
    }

    /// Loss rate at a time.
    pub fn loss(&self, time: f64) -> f64 {
        held(&self.losses, time as usize)
    }

    /// Round-trip time at a frame, seconds.
    pub fn rtt(&self, frame: usize) -> f64 {
        held(&self.rtts, frame)
    }

    /// When `bytes` that start at `time` have left, with the rate of each second.
    pub fn departure(&self, time: f64, bytes: f64) -> f64 {
        let (mut now, mut bits) = (time, 8.0 * bytes);
        loop {
            let second = now as usize;
            let rate = held(&self.rates, second);
            let until = (second + 1) as f64;
            let carried = (until - now) * rate;
            if carried >= bits || second >= self.rates.len() {
                return now + bits / rate;
            }
            bits -= carried;
            now = until;
        }
    }

    /// Bytes that leave from `from` to `to`.
    pub fn carried(&self, from: f64, to: f64) -> f64 {
        let (mut now, mut bits) = (from, 0.0);
        while now < to {
            let until = ((now as usize + 1) as f64).min(to);
            bits += (until - now) * self.rate(now);
            now = until;
        }
        bits / 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means_are_those_of_the_dissertation() {
        let mut rates: [Vec<f64>; PATHS] = Default::default();
        let mut rtts = [0.0; PATHS];
        for seed in 0..200 {
            let network = Network::synthetic(seed, 1_800, 0.02);
            for (path, trace) in network.paths().iter().enumerate() {
                rates[path].extend(&trace.rates);
                rtts[path] += trace.rtts.iter().sum::<f64>() / trace.rtts.len() as f64 / 200.0;
            }
        }
        for (rates, (median, _)) in rates.iter_mut().zip(LINKS) {
            rates.sort_by(f64::total_cmp);
            assert!((rates[rates.len() / 2] / median - 1.0).abs() < 0.05);
        }
        assert!(rtts.iter().zip(LINKS).all(|(found, (_, rtt))| (found / rtt - 1.0).abs() < 0.03), "{rtts:?}");
    }

    #[test]
    fn what_departs_is_what_is_carried() {
        let network = Network::synthetic(1, 1_800, 0.0);
        let path = &network.paths()[0];
        for (time, bytes) in [(0.3, 1e4), (0.9, 1e6), (3.999, 4e7), (75.0, 1e7)] {
            let departure = path.departure(time, bytes);
            assert!((path.carried(time, departure) / bytes - 1.0).abs() < 1e-9, "{time} {bytes}");
        }
    }
}
