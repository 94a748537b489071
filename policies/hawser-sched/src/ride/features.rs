//! What the agent sees, from what a connection knows.

use std::time::Duration;

use hawser_policy::{PathId, PathView, Time};
use hawser_ride::{OVERHEAD, PATHS, PLAIN_OBSERVATION, PathView as RidePath, observe};

/// Rates over which the largest delivery rate is taken last for so many round trips (specification, section 2.2).
const RATE_ROUNDS: u32 = 10;
/// And for no less than this: an application that sends little shows what a path carries only now and then.
const RATE_MEMORY: Duration = Duration::from_secs(1);

/// What training saw, and a margin: outside of it the network's answers mean nothing. Rates in bit/s, times in seconds, bytes.
const RATES: std::ops::RangeInclusive<f64> = 2e6..=250e6;
const ROUND_TRIPS: std::ops::RangeInclusive<f64> = 0.002..=0.2;
const MAX_LOSS: f64 = 0.05;
const MAX_TIME_LEFT: f64 = 2.5;
const MAX_SIZE: f64 = 250e3;

/// The largest delivery rate of late, for each path.
#[derive(Debug, Default)]
pub(super) struct Rates(Vec<(PathId, [Sample; 2])>);

/// A rate in bit/s, and when it was seen.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rate: f64,
    at: Time,
}

impl Rates {
    /// Looks at the paths. Those that are gone are forgotten.
    pub(super) fn note(&mut self, now: Time, paths: &[PathView]) {
        self.0.retain(|(id, _)| paths.iter().any(|path| path.id == *id));
        for path in paths {
            let Some(rate) = path.delivery_rate else { continue };
            let new = Sample { rate: rate.bits_per_second() as f64, at: now };
            let Some(found) = self.0.iter_mut().find(|(id, _)| *id == path.id) else {
                self.0.push((path.id, [new, new]));
                continue;
            };
            // The best, and the best since: of two half spans, so that the best lasts for one to two of them.
            let span = path.smoothed_rtt.saturating_mul(RATE_ROUNDS).max(RATE_MEMORY);
            let [best, next] = &mut found.1;
            if new.rate >= best.rate {
                (*best, *next) = (new, new);
            } else if now.since(best.at) > span {
                (*best, *next) = (*next, new);
            } else if new.rate >= next.rate || now.since(next.at) > span / 2 {
                *next = new;
            }
        }
    }

    /// What a path carries, bit/s: what it delivered, or what its window lets it deliver, if that is more. The first alone
    /// says of an idle path that it is slow, the second of a path that is filled no more than the first.
    pub(super) fn of(&self, path: &PathView) -> f64 {
        let delivered = self.0.iter().find(|(id, _)| *id == path.id).map_or(0.0, |(_, [best, _])| best.rate);
        let window = 8.0 * path.congestion_window as f64 / path.smoothed_rtt.as_secs_f64().max(1e-6);
        delivered.max(window)
    }
}

/// A path as RIDE knows it; `waiting`: bytes of tiles that were given to it and have not left.
pub(super) fn ride_path(path: &PathView, rate: f64, waiting: u64) -> RidePath {
    RidePath {
        window: path.congestion_window as f64,
        queued: path.bytes_in_flight as f64 + OVERHEAD * waiting as f64,
        rate,
        rtt: path.smoothed_rtt.as_secs_f64(),
        base_rtt: path.min_rtt.as_secs_f64(),
        loss: f64::from(path.loss_ppm) / 1e6,
    }
}

/// The observation of a tile of so many bytes that is of use for `left` seconds; `None` if training never saw the like.
pub(super) fn observation(
    paths: &[RidePath; PATHS],
    left: f64,
    bytes: u64,
) -> Option<[f32; PLAIN_OBSERVATION]> {
    let is_known = |path: &RidePath| {
        RATES.contains(&path.rate) && ROUND_TRIPS.contains(&path.rtt) && (0.0..=MAX_LOSS).contains(&path.loss)
    };
    let bytes = bytes as f64;
    let is_like_training =
        paths.iter().all(is_known) && left > 0.0 && left <= MAX_TIME_LEFT && bytes <= MAX_SIZE;
    is_like_training.then(|| observe(paths, left, bytes))
}

/// When so many bytes would have arrived, seconds from now.
pub(super) fn arrival(path: &RidePath, bytes: u64) -> f64 {
    8.0 * (path.queued + OVERHEAD * bytes as f64) / path.rate.max(1.0) + path.rtt / 2.0
}
