use super::*;
use crate::Random;

const HOEFFDING: CutTest = CutTest::Hoeffding { confidence: 0.3 };
const VARIANCE: CutTest = CutTest::Variance { confidence: 0.002 };

/// Values around `mean` with a deviation of 0.05, within 0 to 1.
fn noisy(random: &mut Random, mean: f64) -> f64 {
    (mean + 0.05 * random.normal()).clamp(0.0, 1.0)
}

/// The specification's table of thresholds.
#[test]
fn thresholds_are_the_printed_ones() {
    for (older, newer, expected) in [
        (32.0, 32.0, 0.459),
        (128.0, 128.0, 0.252),
        (512.0, 128.0, 0.210),
        (4096.0, 128.0, 0.210),
        (512.0, 8.0, 0.749),
    ] {
        assert!((HOEFFDING.threshold(older, newer, 0.0) - expected).abs() < 1e-3, "{older} {newer}");
    }
    for (older, newer, expected) in [(128.0, 128.0, 0.116), (512.0, 128.0, 0.078)] {
        let found = VARIANCE.threshold(older, newer, 0.0025);
        assert!((found - expected).abs() < 2e-3, "{older} {newer}: {found}");
    }
}

#[test]
fn the_histogram_has_few_buckets() {
    let mut window = Adwin::new(HOEFFDING, 5);
    (0..1_000).for_each(|_| assert!(window.insert(0.5).is_none()));
    assert_eq!((window.len(), window.mean()), (1_000, 0.5));
    let buckets: usize = window.rows.iter().map(VecDeque::len).sum();
    assert_eq!(buckets, 35);
    window.clear();
    assert!(window.is_empty());
}

#[test]
fn stationary_noise_is_hardly_ever_a_change() {
    let mut random = Random::new(1);
    let mut window = Adwin::new(HOEFFDING, 5);
    let cuts = (0..100_000).filter(|_| window.insert(noisy(&mut random, 0.5)).is_some()).count();
    assert!(cuts <= 1, "{cuts}");
}

/// After 300 values around 0.3 it notices 0.7 within 30, 0.5 within 260; 0.4 does not cross the middle.
#[test]
fn large_steps_are_noticed_soon() {
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let mut after_step = |mean: f64, most: usize| {
            let mut window = Adwin::new(HOEFFDING, 5);
            (0..300).for_each(|_| assert!(window.insert(noisy(&mut random, 0.3)).is_none()));
            (1..=most).find_map(|inputs| Some((inputs, window.insert(noisy(&mut random, mean))?)))
        };
        let (inputs, change) = after_step(0.7, 60).expect("a large step");
        assert!(
            (20..=35).contains(&inputs) && change.before < 0.5 && change.after > 0.5,
            "{inputs} {change:?}"
        );
        let (inputs, _) = after_step(0.5, 300).expect("a middling step");
        assert!((120..=260).contains(&inputs), "{inputs}");
        let small = after_step(0.4, 3_000);
        assert!(small.is_none_or(|(_, change)| change.after < 0.5), "{small:?}");
    }
}

/// One bucket of each size: whether a split exists at all depends on the binary digits of the length.
#[test]
fn one_bucket_per_size_notices_later() {
    let mut window = Adwin::new(HOEFFDING, 1);
    (0..300).for_each(|_| assert!(window.insert(0.3).is_none()));
    let inputs = (1..300).find(|_| window.insert(0.7).is_some()).expect("it is noticed");
    assert!(inputs > 35, "{inputs}");
}

#[test]
fn the_variance_test_notices_smaller_steps() {
    let mut random = Random::new(4);
    let mut window = Adwin::new(VARIANCE, 5);
    let mut noise = |mean| noisy(&mut random, mean);
    (0..512).for_each(|_| assert!(window.insert(noise(0.3)).is_none()));
    let inputs = (1..400).find(|_| window.insert(noise(0.4)).is_some()).expect("it is noticed");
    assert!(inputs <= 128, "{inputs}");
}

#[test]
fn what_is_no_number_is_ignored() {
    let mut window = Adwin::new(HOEFFDING, 5);
    assert_eq!(window.insert(f64::NAN), None);
    assert!(window.is_empty());
}
