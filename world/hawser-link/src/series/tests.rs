use proptest::prelude::*;

use super::*;

#[test]
fn a_step_holds_until_the_next_point() {
    let series = Series::new(vec![(10, 1), (20, 2)], None).unwrap();
    assert_eq!([0, 10, 19, 20, 99].map(|time| series.value_at(time)), [1, 1, 1, 2, 2]);
    assert_eq!([0, 10, 19, 20].map(|time| series.next_change(time)), [Some(20), Some(20), Some(20), None]);
}

#[test]
fn a_period_starts_the_series_again() {
    let series = Series::new(vec![(0, 1), (20, 2)], Some(50)).unwrap();
    assert_eq!([49, 50, 69, 70, 120].map(|time| series.value_at(time)), [2, 1, 1, 2, 2]);
    assert_eq!([0, 20, 50, 70].map(|time| series.next_change(time)), [20, 50, 70, 100].map(Some));
}

#[test]
fn a_line_keeps_its_average() {
    let line = Series::new(vec![(0, 0), (1000, 100)], None).unwrap().interpolated(100);
    let sum: u64 = (0..1000).map(|time| line.value_at(time)).sum();
    assert_eq!(sum, 50_000);
    assert_eq!(line.value_at(1000), 100);
}

#[test]
fn bad_schedules_are_refused() {
    assert_eq!(Series::<u64>::new(vec![], None), Err(SeriesError::Empty));
    assert_eq!(Series::new(vec![(0, 1), (5, 1), (5, 2)], None), Err(SeriesError::NotIncreasing { index: 3 }));
    assert_eq!(Series::new(vec![(0, 1), (5, 1)], Some(5)), Err(SeriesError::PeriodTooShort));
}

#[test]
fn samples_come_at_their_interval() {
    let series = Series::sampled([5, 6, 7], 10, true).unwrap();
    assert_eq!([0, 9, 10, 29, 30, 45].map(|time| series.value_at(time)), [5, 5, 6, 7, 5, 6]);
    assert_eq!(Series::<u64>::sampled([], 10, true), Err(SeriesError::Empty));
}

proptest! {
    /// A cursor says what the series says, wherever it is asked, and its spans are as long as possible.
    #[test]
    fn a_cursor_agrees_with_its_series(
        gaps in prop::collection::vec(1_u64..50, 1..20),
        first in 0_u64..30,
        repeat in prop::option::of(1_u64..40),
        steps in prop::collection::vec(0_u64..60, 1..200),
        jumps in prop::collection::vec(0_u64..3000, 0..20),
    ) {
        let mut time = first;
        let points: Vec<_> = gaps.iter().zip(0_u64..).map(|(gap, value)| { time += gap; (time, value) }).collect();
        let series = Series::new(points, repeat.map(|extra| time + extra)).unwrap();
        let mut cursor = SeriesCursor::new(series.clone());
        let mut now = 0;
        let forward: Vec<_> = steps.iter().map(|step| { now += step; now }).collect();
        for time in forward.into_iter().chain(jumps) {
            let span = cursor.span_at(time);
            prop_assert!(span.contains(time));
            prop_assert_eq!(span, series.span_at(time));
            prop_assert_eq!((span.value, cursor.peek(time)), (series.value_at(time), span));
            prop_assert_eq!(SeriesCursor::new(series.clone()).peek(time), span);
            prop_assert_eq!(series.next_change(time), (span.until != NEVER).then_some(span.until));
        }
    }
}
