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
