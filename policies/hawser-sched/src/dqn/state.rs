//! What the network sees: the last four samples of both paths, one for each decision.

use std::time::Duration;

use hawser_policy::{PathId, PathView};

/// From one decision, and its sample, to the next (specification of 4D-MAP, section 9).
pub(super) const BURST: Duration = Duration::from_millis(10);
/// Paths that it chooses between.
pub(super) const PATHS: usize = 2;
/// Samples that are remembered (specification of 4D-MAP, section 9).
const SAMPLES: usize = 4;
/// Numbers of a path.
const FEATURES: usize = 5;
/// Numbers of a state.
pub(super) const STATE: usize = SAMPLES * PATHS * FEATURES;

/// Units of the numbers: seconds, bytes, share, bit/s (section 9).
const RTT: f64 = 0.2;
const WINDOW: f64 = 524_288.0;
const LOSS: f64 = 0.05;
const RATE: f64 = 50e6;
/// No number is larger: a queue of seconds is no different from one of a second.
const MOST: f64 = 5.0;

/// Samples of two paths, the oldest first; of each the path with the lower id comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct History {
    paths: Option<[PathId; PATHS]>,
    state: [f32; STATE],
}

impl Default for History {
    fn default() -> Self {
        History { paths: None, state: [0.0; STATE] }
    }
}

impl History {
    /// Takes a sample. Paths that are others than before start again, as if they had always been as they are now.
    pub(super) fn sample(&mut self, paths: [&PathView; PATHS]) {
        let ids = paths.map(|path| path.id);
        let width = PATHS * FEATURES;
        let mut sample = [0.0; PATHS * FEATURES];
        for (numbers, path) in sample.chunks_exact_mut(FEATURES).zip(paths) {
            numbers.copy_from_slice(&features(path));
        }
        if self.paths == Some(ids) {
            self.state.copy_within(width.., 0);
            self.state[STATE - width..].copy_from_slice(&sample);
        } else {
            self.state.chunks_exact_mut(width).for_each(|numbers| numbers.copy_from_slice(&sample));
            self.paths = Some(ids);
        }
    }

    /// The numbers.
    pub(super) fn state(&self) -> &[f32; STATE] {
        &self.state
    }
}

/// Smoothed round-trip time, window, share of the window in flight, loss, delivery rate.
fn features(path: &PathView) -> [f32; FEATURES] {
    let window = path.congestion_window as f64;
    let rate = path.delivery_rate.map_or(0.0, |rate| rate.bits_per_second() as f64);
    [
        path.smoothed_rtt.as_secs_f64() / RTT,
        window / WINDOW,
        path.bytes_in_flight as f64 / window.max(1.0),
        f64::from(path.loss_ppm) / 1e6 / LOSS,
        rate / RATE,
    ]
    .map(|number| number.min(MOST) as f32)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hawser_policy::Rate;

    use super::*;
    use crate::testing::path;

    #[test]
    fn numbers_have_the_units_of_the_specification() {
        let path = path(1, 50, 0).with(|path| {
            path.congestion_window = 262_144;
            path.bytes_in_flight = 131_072;
            path.loss_ppm = 10_000;
            path.delivery_rate = Some(Rate::from_megabits_per_second(25));
        });
        assert_eq!(features(&path), [0.25, 0.5, 0.5, 0.2, 0.5]);
        let endless = path.with(|path| {
            path.smoothed_rtt = Duration::MAX;
            path.congestion_window = 0;
            path.loss_ppm = u32::MAX;
        });
        assert_eq!(features(&endless), [5.0, 0.0, 5.0, 5.0, 0.5]);
    }

    #[test]
    fn the_newest_sample_comes_last() {
        let (near, far) = (path(1, 20, 0), path(2, 100, 0));
        let mut history = History::default();
        history.sample([&near, &far]);
        assert!(history.state().chunks_exact(10).all(|sample| (sample[0], sample[5]) == (0.1, 0.5)));
        for rtt in [40, 60] {
            history.sample([&path(1, rtt, 0), &far]);
        }
        let first: Vec<f32> = history.state().chunks_exact(10).map(|sample| sample[0]).collect();
        assert_eq!(first, [0.1, 0.1, 0.2, 0.3]);
        history.sample([&near, &path(3, 200, 0)]);
        assert!(history.state().chunks_exact(10).all(|sample| sample[5] == 1.0), "another path begins anew");
    }
}
