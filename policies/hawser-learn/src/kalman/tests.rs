use proptest::prelude::*;

use super::*;
use crate::Random;

fn assert_close(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() < tolerance, "{actual} instead of {expected}");
}

/// Normal values: sums of twelve uniform ones.
struct Normal(Random);

impl Normal {
    fn next(&mut self, deviation: f64) -> f64 {
        ((0..12).map(|_| self.0.fraction()).sum::<f64>() - 6.0) * deviation
    }
}

/// A random walk with this noise, and its samples.
fn walk(noise: Noise, length: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut random = Normal(Random::new(seed));
    let mut state = 20.0;
    let mut step = || {
        state += random.next(noise.process.sqrt());
        (state, state + random.next(noise.measurement.sqrt()))
    };
    (0..length).map(|_| step()).collect()
}

/// Golden vector of MACO: estimate 10, Z = 1, Q = 0.04, R = 1.
#[test]
fn gains_and_estimates_are_those_of_the_golden_vector() {
    let mut filter = Kalman::new(10.0, 1.0, Noise { process: 0.04, measurement: 1.0 });
    let expected = [(12.0, 0.5098, 11.0196), (12.0, 0.3548, 11.3674), (12.0, 0.2830, 11.5465)];
    for (sample, gain, estimate) in expected.into_iter().chain([(20.0, 0.2442, 13.6105)]) {
        filter.update(sample);
        assert_close(filter.gain(), gain, 1e-4);
        assert_close(filter.estimate(), estimate, 1e-4);
    }
}

/// Golden vector of QC-MAB: b+ = 8, Z+ = 1, Q = 0.25, R = 2, y = 11.
#[test]
fn a_step_is_that_of_the_other_golden_vector() {
    let mut filter = Kalman::new(8.0, 1.0, Noise { process: 0.25, measurement: 2.0 });
    assert_close(filter.update(11.0), 3.0, 1e-12);
    assert_close(filter.gain(), 0.3846154, 1e-7);
    assert_close(filter.estimate(), 9.1538462, 1e-7);
    assert_close(filter.variance(), 0.7692308, 1e-7);
}

/// Q = 0.04 and R = 1 behind a filter that assumes twice and half of them.
#[test]
fn innovations_and_differences_tell_the_noise() {
    let truth = Noise { process: 0.04, measurement: 1.0 };
    let mut filter = Kalman::new(20.0, 1.0, Noise { process: 0.08, measurement: 0.5 });
    let samples = walk(truth, 20_000, 1);
    let (mut last, mut variance, mut covariance) = (0.0, 0.0, 0.0);
    for (_, sample) in &samples {
        let innovation = filter.update(*sample);
        (variance, covariance) = (variance + innovation * innovation, covariance + innovation * last);
        last = innovation;
    }
    let mean = |sum: f64| sum / samples.len() as f64;
    let learned = innovations::noise_of(mean(variance), mean(covariance), filter.gain());
    assert_close(learned.process, truth.process, 0.01);
    assert_close(learned.measurement, truth.measurement, 0.03);

    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let variance = mean(steps.iter().map(|step| step * step).sum());
    let covariance = mean(steps.windows(2).map(|pair| pair[0] * pair[1]).sum());
    let learned = differences::noise_of(variance, covariance);
    assert_close(learned.process, truth.process, 0.03);
    assert_close(learned.measurement, truth.measurement, 0.03);
}

#[test]
fn covariances_are_of_the_last_values_in_order() {
    let mut moments = moments::Moments::<3>::EMPTY;
    assert_eq!(moments.covariances(), (0.0, 0.0));
    for value in [100.0, 1.0, 2.0, 4.0] {
        moments.push(value);
    }
    // Of 1, 2, 4: 21 / 3, and (2 + 8) / 2.
    assert_eq!((moments.len(), moments.covariances()), (3, (7.0, 5.0)));
}

/// MACO, acceptance item 2: samples with 20 % of noise, a step from 40 to 20.
#[test]
fn a_step_is_followed_within_twelve_samples_of_the_next_estimate_of_the_noise() {
    let (mut error, mut filtered, mut raw) = (0.0, 0.0, 0.0);
    const RUNS: u64 = 200;
    for seed in 0..RUNS {
        let mut random = Normal(Random::new(seed));
        let mut filter = InnovationKalman::new(40.0 + random.next(8.0));
        for sample in 1..401 {
            let value = 40.0 + random.next(8.0);
            let estimate = filter.update(value);
            if sample > 150 {
                filtered += (estimate - 40.0).powi(2);
                raw += (value - 40.0).powi(2);
            }
        }
        // 16 samples until the noise is estimated again, and 12 more.
        for _ in 0..28 {
            filter.update(20.0 + random.next(4.0));
        }
        error += (filter.estimate() - 20.0).abs() / 20.0 / RUNS as f64;
    }
    let ratio = (filtered / raw).sqrt();
    assert!(error < 0.10, "{error}");
    assert!(ratio < 0.3, "{ratio}");
}

/// Error on a random walk, over that of the samples.
fn error_of<const WINDOW: usize>(process: f64, measurement: f64) -> f64 {
    let samples = walk(Noise { process, measurement }, 20_000, 7);
    let mut filter = DifferenceKalman::<WINDOW>::new(samples[0].1);
    let (mut filtered, mut raw) = (0.0, 0.0);
    for (truth, sample) in &samples[1..] {
        filtered += (filter.update(*sample) - truth).powi(2);
        raw += (sample - truth).powi(2);
    }
    (filtered / raw).sqrt()
}

/// QC-MAB, acceptance item 14: at most 0.85 of the raw error on random walks.
#[test]
fn differences_filter_random_walks() {
    for (process, measurement, least) in [(0.05, 1.0, 0.55), (0.2, 2.0, 0.62), (1.0, 1.0, 0.90)] {
        let error = error_of::<60>(process, measurement);
        assert!(error < least, "Q {process}, R {measurement}: {error}");
    }
    let error = error_of::<300>(1.0, 1.0);
    assert!(error < 0.83, "{error}");
}

#[test]
fn doubt_makes_the_next_sample_count() {
    let mut filter = InnovationKalman::new(40.0);
    for _ in 0..200 {
        filter.update(40.0);
    }
    let mut trusting = filter;
    filter.doubt();
    assert!(filter.update(20.0) < 21.0 && trusting.update(20.0) > 30.0);
}

proptest! {
    /// Whatever is measured, an estimate lies between what was measured least and most, and the noise is not negative.
    #[test]
    fn estimates_stay_within_the_samples(samples in prop::collection::vec(0.0f64..1e12, 1..300)) {
        let (low, high) = samples.iter().fold((f64::MAX, 0.0f64), |(low, high), it| (low.min(*it), high.max(*it)));
        let mut innovations = InnovationKalman::new(samples[0]);
        let mut differences: DifferenceKalman = DifferenceKalman::new(samples[0]);
        let slack = 1e-9 * high;
        for sample in &samples {
            for estimate in [innovations.update(*sample), differences.update(*sample)] {
                prop_assert!((low - slack..=high + slack).contains(&estimate), "{estimate}: {low} to {high}");
            }
            for noise in [innovations.noise(), differences.noise()] {
                prop_assert!(noise.process >= 0.0 && noise.measurement >= 0.0, "{noise:?}");
            }
        }
    }
}
