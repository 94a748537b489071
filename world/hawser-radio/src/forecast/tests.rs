use super::*;
use crate::{Highway, MacoSatellites, Scene};

const SECOND: u64 = 1_000_000_000;

fn observer(quality: ForecastQuality) -> (ProfileObserver, Arc<Profile>) {
    let highway = Highway { start: Some(0.0), ..Highway::default() };
    let link = Arc::new(highway.profiles(200 * SECOND, 1).expect("possible").remove(1));
    (ProfileObserver::new([(LinkId(4), Arc::clone(&link))], quality), link)
}

fn bits(state: Option<LinkState>) -> Option<u64> {
    Some(state?.uplink.capacity?.bits_per_second())
}

#[test]
fn a_perfect_forecast_is_the_outlook_and_holds_beyond_its_horizon() {
    let (mut observer, link) = observer(ForecastQuality::Perfect);
    let truth = |second: u64| sample_at(&link.forecast.up, second * SECOND).map(|sample| sample.rate);
    let now = Time::from_secs(50);
    assert_eq!(bits(observer.observe(now, LinkId(4))), truth(50));
    let ahead = observer.forecast(now, LinkId(4), Time::from_secs(51)).expect("known");
    assert_eq!((ahead.at, ahead.capacity_deviation), (Time::from_secs(51), Some(0.0)));
    assert_eq!(bits(Some(ahead.state.clone())), truth(51));
    let far = observer.forecast(now, LinkId(4), Time::from_secs(90)).expect("known");
    assert_eq!(bits(Some(far.state)), truth(51), "the last value holds");
    assert_eq!(ahead.state.position.map(|place| place[0].round()), Some(1020.0));
    assert!(observer.observe(now, LinkId(5)).is_none(), "another link");
}

#[test]
fn no_observer_sees_the_fading_or_the_coin() {
    for quality in [
        ForecastQuality::Perfect,
        ForecastQuality::Delayed(Duration::from_millis(300)),
        ForecastQuality::Noisy { deviation: 0.3, seed: 1 },
    ] {
        let (mut observer, link) = observer(quality);
        let mut drawn = 0;
        for millisecond in 1000..3000 {
            let now = Time::from_millis(millisecond);
            let seen = observer.observe(now, LinkId(4)).and_then(|state| state.uplink.loss).expect("known");
            assert!(seen > 0.0 && seen < 0.3, "a mean, not a draw: {seen}");
            let real = sample_at(&link.up, now.as_nanos()).expect("known").loss;
            drawn += u32::from(real == 1.0);
        }
        assert!(drawn < 2000);
    }
    // Nor the hidden load of a satellite.
    let scene =
        |seed| Arc::new(MacoSatellites::default().profiles(60 * SECOND, seed).expect("possible").remove(0));
    let seen = |seed| {
        let mut observer = ProfileObserver::new([(LinkId(0), scene(seed))], ForecastQuality::Perfect);
        bits(observer.observe(Time::from_secs(40), LinkId(0)))
    };
    assert_eq!(seen(1), seen(2));
    assert_ne!(sample_at(&scene(1).up, 40 * SECOND), sample_at(&scene(2).up, 40 * SECOND));
}

#[test]
fn a_delayed_forecast_is_the_past() {
    let by = Duration::from_secs(2);
    let (mut delayed, link) = observer(ForecastQuality::Delayed(by));
    let truth = |second: u64| sample_at(&link.forecast.up, second * SECOND).map(|sample| sample.rate);
    assert_eq!(bits(delayed.observe(Time::from_secs(80), LinkId(4))), truth(78));
    assert_ne!(truth(80), truth(78));
    // A handover is learned of too late: it is at 100 s.
    let up = |observer: &mut ProfileObserver, second| {
        observer.observe(Time::from_millis(second), LinkId(4)).map(|s| s.is_up)
    };
    let outage =
        link.events.iter().find(|event| event.kind == crate::EventKind::HandOverStart).expect("one").at
            / 1_000_000;
    assert_eq!(up(&mut delayed, outage + 10), Some(true));
    assert_eq!(up(&mut delayed, outage + 2010), Some(false));
}

#[test]
fn a_noisy_forecast_errs_as_much_as_it_says_and_always_alike() {
    let deviation = 0.2;
    let (mut noisy, link) = observer(ForecastQuality::Noisy { deviation, seed: 9 });
    let mut errors = Vec::new();
    for step in 0..1900 {
        let now = Time::from_millis(100 * step);
        let Some(state) = noisy.observe(now, LinkId(4)) else { panic!("known") };
        assert_eq!(noisy.observe(now, LinkId(4)).as_ref(), Some(&state));
        let truth = sample_at(&link.forecast.up, now.as_nanos()).expect("known");
        if truth.up {
            errors.push(bits(Some(state)).expect("some") as f64 / truth.rate as f64 - 1.0);
        }
    }
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let spread = (errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt();
    assert!(mean.abs() < 0.02, "unbiased: {mean}");
    assert!((spread / deviation - 1.0).abs() < 0.1, "{spread}");
}

#[test]
fn an_absent_observer_knows_nothing() {
    let (mut absent, _) = observer(ForecastQuality::Absent);
    assert!(absent.observe(Time::ZERO, LinkId(4)).is_none());
    assert!(absent.forecast(Time::ZERO, LinkId(4), Time::from_secs(1)).is_none());
}

#[test]
fn a_foreseeable_hand_over_is_known_a_horizon_ahead_and_both_directions_are_told() {
    let (observer, link) = observer(ForecastQuality::Perfect);
    let mut observer = observer.with_kind(LinkKind::Cellular);
    let find = |kind| link.events.iter().find(|event| event.kind == kind).expect("there is one");
    let (start, end) = (find(EventKind::HandOverStart), find(EventKind::HandOverEnd));
    let state = |observer: &mut ProfileObserver, at| observer.observe(at, LinkId(4)).expect("known");
    let begins = Time::from_nanos(start.at);
    assert_eq!(state(&mut observer, begins - Duration::from_millis(1_001)).hand_over, None);
    let before = state(&mut observer, begins - Duration::from_millis(999));
    let next = start.cell.map(AttachmentPoint::Cell);
    let interruption = Some(Duration::from_nanos(end.at - start.at));
    assert_eq!(
        before.hand_over,
        Some(HandOver::new(begins).with(|hand_over| {
            hand_over.to = next;
            hand_over.interruption = interruption;
        }))
    );
    assert!(before.attached_to.is_some() && before.attached_to != next, "{before:?}");
    assert_eq!(state(&mut observer, Time::from_nanos(end.at + 1)).attached_to, next);
    let down = sample_at(&link.forecast.down, 50 * SECOND).expect("known");
    let seen = state(&mut observer, Time::from_secs(50)).downlink;
    assert_eq!(seen.capacity, Some(Rate::from_bits_per_second(down.rate)));
    assert_eq!((seen.loss, seen.delay), (Some(down.loss), Some(Duration::from_nanos(down.delay))));
}

/// Handovers of generators that draw them are chance: nobody may know of them before.
#[test]
fn a_hand_over_by_chance_is_not_foreseen() {
    let link = Arc::new(crate::TwoCarriers::default().profiles(600 * SECOND, 3).expect("possible").remove(0));
    assert!(link.count(EventKind::HandOverStart) > 5);
    let mut observer = ProfileObserver::new([(LinkId(0), link)], ForecastQuality::Perfect);
    let seen = (0..6_000).filter_map(|step| observer.observe(Time::from_millis(100 * step), LinkId(0)));
    assert_eq!(seen.filter(|state| state.hand_over.is_some()).count(), 0);
}
