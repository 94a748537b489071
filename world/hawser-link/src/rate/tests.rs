use proptest::prelude::*;

use super::*;
use crate::time::MILLISECOND;

#[test]
fn a_constant_rate_is_exact_over_a_million_packets() {
    let mut server = RateServer::new(&RateModel::constant(50_000_000), 1);
    let mut time = 0;
    for _ in 0..1_000_000 {
        time = server.finish(time, 1500);
    }
    assert_eq!(time, 1_000_000 * 240_000);
}

#[test]
fn a_packet_across_a_step_pays_both_rates() {
    // 12 Mbit/s for half a millisecond sends 750 bytes; the other 750 take 5 ms at 1.2 Mbit/s.
    let series = Series::new(vec![(0, 12_000_000), (MILLISECOND / 2, 1_200_000)], None).unwrap();
    let mut server = RateServer::new(&RateModel::Scheduled(series), 1);
    assert_eq!(server.finish(0, 1500), MILLISECOND / 2 + 5 * MILLISECOND);
}

#[test]
fn a_rate_of_zero_waits_for_the_next_step_or_for_ever() {
    let series = Series::new(vec![(0, 0), (SECOND, 12_000_000), (2 * SECOND, 0)], None).unwrap();
    let mut server = RateServer::new(&RateModel::Scheduled(series), 1);
    assert_eq!(server.finish(0, 1500), SECOND + MILLISECOND);
    assert_eq!(server.finish(2 * SECOND, 1500), NEVER);
    let zeros = Series::new(vec![(0, 0), (5, 0)], Some(10)).unwrap();
    assert_eq!(RateServer::new(&RateModel::Scheduled(zeros), 1).finish(0, 1), NEVER);
}

#[test]
fn capacity_is_the_integral_of_the_rate() {
    let series = Series::new(vec![(0, 8_000_000), (SECOND, 2_000_000)], Some(2 * SECOND)).unwrap();
    assert_eq!(RateModel::Scheduled(series).capacity_bits(5 * SECOND), Some(28_000_000));
}

#[test]
fn small_packets_share_a_chance_and_idle_chances_are_lost() {
    let trace = Arc::new(Trace::new(vec![1, 2, 3, 4]).unwrap());
    let mut server = RateServer::new(&RateModel::Trace(trace), 1);
    // Two packets of 700 bytes fit into the chance at 1 ms; the third takes its rest and 600 bytes of the next.
    assert_eq!(server.finish(0, 700), MILLISECOND);
    assert_eq!(server.finish(MILLISECOND, 700), MILLISECOND);
    assert_eq!(server.finish(MILLISECOND, 700), 2 * MILLISECOND);
    // Nothing was waiting at 3 ms and 4 ms; 100 us later the next chance is the one at 5 ms.
    assert_eq!(server.finish(4 * MILLISECOND + 100_000, 1500), 5 * MILLISECOND);
}

#[test]
fn a_saturated_trace_gives_its_mean_rate() {
    let trace = Arc::new(Trace::new(vec![1, 1, 2, 7, 10]).unwrap());
    let mut server = RateServer::new(&RateModel::Trace(trace.clone()), 1);
    let mut time = 0;
    for _ in 0..50_000 {
        time = server.finish(time, 1500);
    }
    let rate = 50_000.0 * 12_000.0 / (time as f64 / SECOND as f64);
    assert!((rate / trace.mean_rate() as f64 - 1.0).abs() < 1e-3, "{rate}");
}

/// Departures of packets of 1500 bytes that all wait from the start, in microseconds.
fn departures(model: &RateModel, count: usize) -> Vec<Nanos> {
    let mut server = RateServer::new(model, 1);
    let mut time = 0;
    (0..count)
        .map(|_| {
            time = server.finish(time, 1500);
            time / 1000
        })
        .collect()
}

#[test]
fn a_token_bucket_lets_its_burst_go_and_then_its_rate() {
    let bucket = TokenBucket { rate: 12_000_000, burst: 15_000, peak_rate: None };
    let mut expected = vec![0; 10];
    expected.extend((1..=20).map(|ms| ms * 1000));
    assert_eq!(departures(&RateModel::TokenBucket(bucket), 30), expected);
    // At the peak rate a packet takes 100 us and earns 150 bytes meanwhile: eleven of them pass.
    let peaked = TokenBucket { peak_rate: Some(120_000_000), ..bucket };
    let expected: Vec<_> = (1..=30).map(|n: u64| if n <= 11 { n * 100 } else { (n - 10) * 1000 }).collect();
    assert_eq!(departures(&RateModel::TokenBucket(peaked), 30), expected);
}

#[test]
fn a_token_bucket_fills_while_idle_but_not_beyond_its_burst() {
    let bucket = TokenBucket { rate: 12_000_000, burst: 3000, peak_rate: None };
    let mut server = RateServer::new(&RateModel::TokenBucket(bucket), 1);
    assert_eq!([0, 0, 0].map(|start| server.finish(start, 1500)), [0, 0, MILLISECOND]);
    let later = SECOND;
    assert_eq!(server.finish(later, 1500), later);
    assert_eq!(server.finish(later, 1500), later);
    assert_eq!(server.finish(later, 1500), later + MILLISECOND);
    // A packet that the bucket cannot hold waits for the rest: 6000 bytes on a full bucket of 3000 take 2 ms.
    assert_eq!(server.finish(2 * later, 6000), 2 * later + 2 * MILLISECOND);
}

proptest! {
    /// In any stretch no more leaves than the burst and what the rate gives; and nothing waits without need.
    #[test]
    fn token_bucket_output_conforms(
        rate in 100_000_u64..100_000_000,
        burst in 1500_u64..50_000,
        peak in prop::option::of(2_u64..20),
        traffic in prop::collection::vec((0_u64..5_000_000, 1_u32..1501), 1..150),
    ) {
        let bucket = TokenBucket { rate, burst, peak_rate: peak.map(|times| times * rate) };
        let mut server = RateServer::new(&RateModel::TokenBucket(bucket), 1);
        let (mut arrival, mut free) = (0, 0);
        let mut sent = Vec::new();
        for (gap, length) in traffic {
            arrival += gap;
            free = server.finish(free.max(arrival), length);
            sent.push((arrival, free, u128::from(length)));
        }
        let unit = 8 * u128::from(SECOND);
        // A packet's first bit leaves so much before its last one.
        let begun = |time: u64, length: u128| {
            let serialisation = peak.map_or(0, |times| (length * unit).div_ceil(u128::from(times * rate)));
            u128::from(time) - serialisation
        };
        for first in 0..sent.len() {
            let from = begun(sent[first].1, sent[first].2);
            let mut bytes = 0;
            for (_, time, length) in &sent[first..] {
                bytes += length;
                let allowed = u128::from(burst) * unit + u128::from(rate) * (u128::from(*time) - from);
                prop_assert!(bytes * unit <= allowed, "{bytes} bytes");
            }
        }
        // Never later than a plain link of that rate, but for less than a nanosecond per packet.
        let mut plain = RateServer::new(&RateModel::constant(rate), 1);
        let mut free = 0;
        for (arrival, time, length) in sent {
            free = plain.finish(free.max(arrival), length as u32);
            prop_assert!(time <= free + 150);
        }
    }
}

#[test]
fn a_sinusoid_has_its_mean_and_its_swing() {
    let period = 10 * SECOND;
    let model = RateModel::sinusoid(50_000_000, 30_000_000, period, 0.0);
    let megabits = |from: u64, to: u64| {
        let bits = model.capacity_bits(to).unwrap() - model.capacity_bits(from).unwrap();
        bits as f64 / ((to - from) as f64 / SECOND as f64) / 1e6
    };
    assert!((megabits(0, period) - 50.0).abs() < 1e-4);
    // The mean of the positive half of a sine is 2 / pi.
    let half = 50.0 + 30.0 * std::f64::consts::FRAC_2_PI;
    assert!((megabits(0, period / 2) - half).abs() < 1e-4);
    assert!((megabits(3 * period, 7 * period / 2) - half).abs() < 1e-4);
    assert!((model.peak().unwrap() as f64 / 80e6 - 1.0).abs() < 1e-4);
    // A quarter of a turn later it starts at its highest, and a swing larger than the mean is cut at zero.
    let cosine = Series::sinusoid(10, 20, period, 0.25);
    assert_eq!((cosine.value_at(0), cosine.value_at(period / 2)), (30, 0));
}

#[test]
fn whole_periods_count_at_once() {
    // Rate by rate these would be 10^14 steps.
    let quick = Series::new(vec![(0, 8_000_000), (500, 4_000_000)], Some(1000)).unwrap();
    assert_eq!(RateModel::Scheduled(quick).capacity_bits(50_000_000 * SECOND), Some(300_000_000_000_000));
    let curve = RateModel::sinusoid(8_000_000, 4_000_000, 64_000, 0.0);
    assert_eq!(curve.capacity_bits(50_000_000 * SECOND).map(|bits| bits / 100_000_000), Some(4_000_000));
    // The rest of a period counts as well.
    let slow = Series::new(vec![(SECOND, 8), (3 * SECOND, 4)], Some(4 * SECOND)).unwrap();
    assert_eq!(RateModel::Scheduled(slow).capacity_bits(11 * SECOND), Some(2 * 28 + 24));
    // A microsecond is one step: the mean.
    assert_eq!(Series::sinusoid(10, 5, 1000, 0.0).points(), [(0, 10)]);
}

#[test]
fn planning_again_changes_nothing() {
    let trace = Arc::new(Trace::new(vec![1, 2, 3, 7, 9]).unwrap());
    let bucket = TokenBucket { rate: 1_000_000, burst: 2000, peak_rate: Some(5_000_000) };
    for model in [RateModel::Trace(trace), RateModel::TokenBucket(bucket)] {
        let (mut once, mut twice) = (RateServer::new(&model, 1), RateServer::new(&model, 1));
        let mut time = 0;
        for step in 0..200 {
            twice.plan(time + step * MILLISECOND, 900);
            let finish = twice.plan(time, 700);
            twice.commit(finish);
            time = once.finish(time, 700);
            assert_eq!(finish, time);
        }
    }
}

#[test]
fn an_idle_server_remembers_no_changes() {
    let steps = RandomSteps::Redraw { base: 8_000_000, spread: 0.5, interval: 1000 };
    let (mut idle, mut other) = (
        RateServer::new(&RateModel::Random(steps.clone()), 1),
        RateServer::new(&RateModel::Random(steps), 1),
    );
    idle.idle_until(SECOND);
    assert_eq!(idle.plan(SECOND, 1500), other.plan(SECOND, 1500));
    let Source::Random(cursor) = &idle.source else { panic!("random") };
    assert!(cursor.kept() < 5000, "{}", cursor.kept());
}
