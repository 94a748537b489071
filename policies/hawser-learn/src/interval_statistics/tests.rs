use proptest::prelude::*;

use super::{IntervalStatistics, Recent, Weights};

fn series(intervals: &[&[f64]], capacity: usize) -> IntervalStatistics {
    let mut statistics = IntervalStatistics::new(capacity);
    for values in intervals {
        values.iter().for_each(|value| statistics.insert(*value));
        statistics.close();
    }
    statistics
}

/// Six intervals by hand. Means 2, 6, 4, 10, 1, 7; means of the means before: 2, 4, 4, 5.5, 4.6.
///
/// | interval | values | below - above | distances from the mean before |
/// |---|---|---|---|
/// | 2 | 5, 7 | 0 - 2 (2) | 3 + 5 |
/// | 3 | 2, 4, 6 | 1 - 1 (4) | 4 + 2 + 0 |
/// | 4 | 10 | 0 - 1 (4) | 6 |
/// | 5 | 0, 2 | 2 - 0 (5.5) | 10 + 8 |
/// | 6 | 3, 11 | 1 - 1 (4.6) | 2 + 10 |
const BY_HAND: [&[f64]; 6] = [&[1.0, 3.0], &[5.0, 7.0], &[2.0, 4.0, 6.0], &[10.0], &[0.0, 2.0], &[3.0, 11.0]];

#[test]
fn six_intervals_by_hand() {
    let mut statistics = series(&BY_HAND[..5], 50);
    BY_HAND[5].iter().for_each(|value| statistics.insert(*value));
    statistics.count_events(3);
    statistics.close();
    assert_eq!(statistics.intervals(), 6);
    assert_eq!(statistics.mean(), 30.0 / 6.0);
    assert_eq!(statistics.skewness(), (-2.0 + 0.0 - 1.0 + 2.0 + 0.0) / 10.0);
    assert_eq!(statistics.deviation(), (8.0 + 6.0 + 6.0 + 18.0 + 12.0) / 10.0);
    assert_eq!(statistics.event_rate(), 3.0 / 12.0);
    // Bounds 4.5 and 5.5: below, above, below, above, below, above.
    assert_eq!(statistics.crossing_rate(0.1), 5.0 / 6.0);
    // Bounds 0 and 10, neither of which is passed.
    assert_eq!(statistics.crossing_rate(1.0), 0.0);
    // Bounds 1.5 and 8.5: the first four means are neutral or above, the fifth is below, the last neutral again.
    assert_eq!(statistics.crossing_rate(0.7), 2.0 / 6.0);
}

/// The same six with a memory of four, of which the newest two weigh alike: 3, 3, 2, 1 from the newest, and the mean is of four. Means of
/// the means before are the same up to the fifth interval; before the sixth it is that of 6, 4, 10 and 1: 5.25.
#[test]
fn six_intervals_by_hand_with_a_shorter_memory() {
    for (weights, counts) in [(Weights::Values, true), (Weights::Intervals, false)] {
        let recent = Some(Recent { intervals: 4, alike: 2 });
        let mut statistics = IntervalStatistics::weighted(50, weights).with_recent(recent);
        for values in BY_HAND {
            values.iter().for_each(|value| statistics.insert(*value));
            statistics.close();
        }
        assert_eq!((statistics.intervals(), statistics.mean()), (6, 22.0 / 4.0));
        // From the third interval on, each with its count of values: 3, 1, 2, 2.
        let (skewness, deviation, samples) = if counts {
            (
                0.0 - 2.0 * 1.0 + 3.0 * 2.0 + 0.0,
                6.0 + 2.0 * 6.0 + 3.0 * 18.0 + 3.0 * 12.0,
                3.0 + 2.0 + 6.0 + 6.0,
            )
        } else {
            (
                0.0 - 2.0 * 1.0 + 3.0 * 1.0 + 0.0,
                2.0 + 2.0 * 6.0 + 3.0 * 9.0 + 3.0 * 6.0,
                1.0 + 2.0 + 3.0 + 3.0,
            )
        };
        assert_eq!(
            (statistics.skewness(), statistics.deviation()),
            (skewness / samples, deviation / samples)
        );
    }
}

/// A series that jumps once: a shorter memory has forgotten it after as many intervals, the long one not.
#[test]
fn a_shorter_memory_forgets_sooner() {
    let after = |recent| {
        let mut series = IntervalStatistics::new(50).with_recent(recent);
        for n in 0..81 {
            series.insert(if n < 50 { 1.0 } else { 9.0 });
            series.close();
        }
        (series.mean(), series.deviation())
    };
    assert_eq!(after(Some(Recent::RFC8382)), (9.0, 0.0));
    assert!(after(None).0 < 7.0 && after(None).1 > 0.1, "{:?}", after(None));
}

#[test]
fn an_interval_without_values_is_skipped_and_its_events_are_not() {
    let mut gap = series(&[&[4.0, 8.0], &[]], 50);
    gap.count_events(2);
    assert!(!gap.close());
    // The mean before is missing: the mean of all stands in, which here is the same.
    gap.insert(9.0);
    assert!(gap.close());
    assert_eq!((gap.intervals(), gap.mean(), gap.deviation(), gap.skewness()), (2, 7.5, 3.0, -1.0));
    assert_eq!(gap.event_rate(), 2.0 / 3.0);
}

#[test]
fn the_oldest_gives_way() {
    let statistics = series(&[&[100.0], &[1.0], &[2.0], &[3.0]], 3);
    assert_eq!((statistics.intervals(), statistics.mean()), (3, 2.0));
}

/// A series that is low in every other interval, sampled twice at rates that follow it in opposite ways: by values the two seem
/// to have little in common, by intervals they are one.
#[test]
fn weights_of_intervals_do_not_depend_on_the_rate_of_samples() {
    let sampled = |weights, when_low: usize, when_high: usize| {
        let mut series = IntervalStatistics::weighted(50, weights);
        for n in 0..20 {
            let (times, value) = if n % 2 == 0 { (when_low, 1.0) } else { (when_high, 3.0) };
            (0..times).for_each(|_| series.insert(value));
            series.close();
        }
        (series.skewness(), series.deviation())
    };
    let [by_values, by_intervals] = [Weights::Values, Weights::Intervals]
        .map(|weights| (sampled(weights, 2, 8).0 - sampled(weights, 8, 2).0).abs());
    assert!(by_values > 1.0, "{by_values}");
    assert!(by_intervals < 1e-12, "{by_intervals}");
    // 19 intervals were compared: ten above and nine below the means before them.
    assert_eq!(sampled(Weights::Intervals, 2, 8), (-1.0 / 19.0, 2.0));
}

#[test]
fn nothing_seen_is_all_zero() {
    let statistics = IntervalStatistics::new(50);
    let values = [statistics.mean(), statistics.skewness(), statistics.deviation(), statistics.event_rate()];
    assert_eq!((values, statistics.crossing_rate(0.7)), ([0.0; 4], 0.0));
}

proptest! {
    /// Whole numbers, so that the sums are exact.
    #[test]
    fn a_constant_changes_nothing(
        intervals in proptest::collection::vec(proptest::collection::vec(-10_000i32..10_000, 0..8), 1..60),
        offset in -1_000_000i32..1_000_000,
    ) {
        let shifted = |by: i32| {
            let values: Vec<Vec<f64>> =
                intervals.iter().map(|values| values.iter().map(|value| f64::from(value + by)).collect()).collect();
            let slices: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            series(&slices, 50)
        };
        let (plain, moved) = (shifted(0), shifted(offset));
        // Means are quotients, so that a value at a mean may fall to either side by rounding.
        let values = plain.total(|interval| interval.compared).max(1.0);
        prop_assert!((plain.skewness() - moved.skewness()).abs() <= 2.0 * intervals.len() as f64 / values + 1e-9);
        prop_assert!((plain.deviation() - moved.deviation()).abs() < 1e-6);
        prop_assert!((-1.0..=1.0).contains(&plain.skewness()));
        prop_assert!((0.0..=1.0).contains(&plain.crossing_rate(0.7)));
    }
}
