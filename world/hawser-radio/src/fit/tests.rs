use super::*;
use crate::profile::{Event, EventKind, Profile, Sample};
use crate::{Scene, StarlinkSlots, TwoCarriers};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;

/// The stated errors of the fit: what docs/radio.md promises.
#[test]
fn two_carriers_meet_the_facts_of_the_data() {
    let duration = 20 * HOUR;
    let links = TwoCarriers::default().profiles(duration, 1).expect("possible");
    let got = CarrierFacts::of_profiles([&links[0], &links[1]], duration);
    let table = table("carriers", &CarrierFacts::published().statistics(), &got.statistics());
    assert_eq!(table.rows.len(), 12);
    for row in &table.rows {
        let allowed = match row.statistic.as_str() {
            "ping worst, s" => 0.5, // The largest of 700,000 draws.
            "ping p99, s" => 0.15,
            name if name.ends_with("both") => 0.12,
            _ => 0.10,
        };
        assert!(row.relative_error().abs() < allowed, "{row:?}\n{table}");
    }
    for (link, range) in links.iter().zip([(0.245, 0.591); 2]) {
        let one = CarrierFacts::of_profiles([link, link], duration);
        assert!(one.ping_p99 > range.0 && one.ping_p99 < range.1, "{}: {}", link.name, one.ping_p99);
        assert!((2.3..3.1).contains(&one.handovers_per_minute), "{}", one.handovers_per_minute);
    }
}

#[test]
fn starlink_meets_the_facts_of_the_data() {
    let duration = 3 * HOUR;
    let link = StarlinkSlots::default().profile(duration, 1).expect("possible");
    let got = StarlinkFacts::of_profile(&link, duration);
    let table = table("starlink", &StarlinkFacts::published().statistics(), &got.statistics());
    assert_eq!(table.rows.len(), 10);
    for row in &table.rows {
        let allowed = if row.statistic.ends_with("p99.9, ms") { 0.25 } else { 0.06 };
        assert!(row.relative_error().abs() < allowed, "{row:?}\n{table}");
    }
}

#[test]
fn facts_are_measured_as_the_data_were() {
    let sample = |at, rate, up| Sample { at, rate, delay: SECOND / 100, loss: 0.0, up };
    let half = SECOND / 2;
    // 2 s: low in the second and third half second; the gap of the fourth pulls its mean below 1 Mbit/s.
    let down = vec![
        sample(0, 5_000_000, true),
        sample(half, 900_000, true),
        sample(3 * half, 1_500_000, true),
        sample(3 * half + 100_000_000, 1_500_000, false),
        sample(4 * half - 50_000_000, 1_500_000, true),
    ];
    let event = |at, kind| Event { at, kind, cell: None };
    let link = Profile {
        up: vec![sample(0, 9_000_000, true)],
        down,
        events: vec![
            event(3 * half + 100_000_000, EventKind::HandOverStart),
            event(4 * half - 50_000_000, EventKind::HandOverEnd),
        ],
        ..Profile::default()
    };
    let other =
        Profile { down: vec![sample(0, 500_000, true)], up: vec![sample(0, 500_000, true)], ..link.clone() };
    let facts = CarrierFacts::of_profiles([&link, &other], 2 * SECOND);
    assert_eq!((facts.down_below, facts.down_joint), ([0.75, 1.0], 0.75));
    assert_eq!((facts.up_below, facts.up_joint), ([0.0, 1.0], 0.0));
    assert_eq!(facts.handovers_per_minute, 30.0);
    assert!(facts.handover_duration.iter().all(|duration| (duration - 0.35).abs() < 1e-9));
    // A probe at 1.6 s meets the gap after 10 ms and waits until 1.95 s.
    assert!((facts.ping_worst - 0.36).abs() < 1e-9, "{}", facts.ping_worst);
}

#[test]
fn measured_rates_are_paired_by_half_seconds() {
    let run = CarrierRun {
        rates: [vec![(0.0, 21e6), (0.5, 0.4e6), (1.0, 5e6), (1.5, 0.4e6)], vec![(0.1, 0.5e6), (0.6, 0.9e6)]],
        handovers: vec![0.08],
        time: 2.0,
    };
    let facts = CarrierFacts::of_runs(&[run], &[], &[0.08, 0.09]);
    assert_eq!((facts.down_below, facts.down_joint), ([0.5, 1.0], 0.5));
    assert!(facts.up_below[0].is_nan());
    assert_eq!((facts.handovers_per_minute, facts.handover_duration[0]), (30.0, 0.08));
    assert_eq!(facts.ping_worst, 0.09);
}

#[test]
fn tables_show_target_value_and_error() {
    let list = |value: f64| vec![("a".to_owned(), value), ("b".to_owned(), f64::NAN)];
    let table = table("title", &list(2.0), &list(2.5));
    assert_eq!(table.rows.len(), 1, "what was not measured is left out");
    assert_eq!(table.worst(), 0.25);
    let text = table.to_string();
    assert!(text.starts_with("title\n") && text.contains("2.5000") && text.contains("25.0%"), "{text}");
}
