use super::*;

#[test]
fn arithmetic_saturates_at_both_ends() {
    assert_eq!(Time::FAR_FUTURE + Duration::from_secs(1), Time::FAR_FUTURE);
    assert_eq!(Time::from_secs(1) + Duration::MAX, Time::FAR_FUTURE);
    assert_eq!(Time::from_secs(1) - Duration::from_secs(2), Time::ZERO);
    assert_eq!(Time::from_secs(1) - Duration::MAX, Time::ZERO);
    assert_eq!(Time::from_secs(1) - Time::from_secs(2), Duration::ZERO);
    assert_eq!(Time::from_secs(u64::MAX), Time::FAR_FUTURE);
}

#[test]
fn units_agree() {
    let mut time = Time::from_secs(2);
    time += Duration::from_millis(500);
    assert_eq!(time, Time::from_millis(2_500));
    assert_eq!(time, Time::from_micros(2_500_000));
    assert_eq!(time.as_nanos(), 2_500_000_000);
    assert_eq!(time.since(Time::from_secs(1)), Duration::from_millis(1_500));
    assert_eq!(format!("{time} {time:?}"), "2.500000s 2.500000s");
}

#[test]
fn the_earliest_of_several_times_passes_over_missing_ones() {
    let at = |second| Some(Time::from_secs(second));
    let earliest = |times: &[Option<Time>]| {
        times.iter().fold(Earliest::NONE, |earliest, time| earliest.or(*time)).time()
    };
    assert_eq!(earliest(&[at(3), None, at(2), at(5)]), at(2));
    assert_eq!(earliest(&[None, Some(Time::FAR_FUTURE)]), None);
    assert_eq!(earliest(&[]), None);
}
