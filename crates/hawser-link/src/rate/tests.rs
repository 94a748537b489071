use super::*;
use crate::time::MILLISECOND;

#[test]
fn a_constant_rate_is_exact_over_a_million_packets() {
    let mut server = RateServer::new(RateModel::constant(50_000_000));
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
    let mut server = RateServer::new(RateModel::Scheduled(series));
    assert_eq!(server.finish(0, 1500), MILLISECOND / 2 + 5 * MILLISECOND);
}

#[test]
fn a_rate_of_zero_waits_for_the_next_step_or_for_ever() {
    let series = Series::new(vec![(0, 0), (SECOND, 12_000_000), (2 * SECOND, 0)], None).unwrap();
    let mut server = RateServer::new(RateModel::Scheduled(series));
    assert_eq!(server.finish(0, 1500), SECOND + MILLISECOND);
    assert_eq!(server.finish(2 * SECOND, 1500), NEVER);
    let zeros = Series::new(vec![(0, 0), (5, 0)], Some(10)).unwrap();
    assert_eq!(RateServer::new(RateModel::Scheduled(zeros)).finish(0, 1), NEVER);
}

#[test]
fn capacity_is_the_integral_of_the_rate() {
    let series = Series::new(vec![(0, 8_000_000), (SECOND, 2_000_000)], Some(2 * SECOND)).unwrap();
    assert_eq!(RateModel::Scheduled(series).capacity_bits(5 * SECOND), Some(28_000_000));
}

#[test]
fn small_packets_share_a_chance_and_idle_chances_are_lost() {
    let trace = Arc::new(Trace::parse("1\n2\n3\n4\n").unwrap());
    let mut server = RateServer::new(RateModel::Trace(trace));
    // Two packets of 700 bytes fit into the chance at 1 ms; the third takes its rest and 600 bytes of the next.
    assert_eq!(server.finish(0, 700), MILLISECOND);
    assert_eq!(server.finish(MILLISECOND, 700), MILLISECOND);
    assert_eq!(server.finish(MILLISECOND, 700), 2 * MILLISECOND);
    // Nothing was waiting at 3 ms and 4 ms; 100 us later the next chance is the one at 5 ms.
    assert_eq!(server.finish(4 * MILLISECOND + 100_000, 1500), 5 * MILLISECOND);
}

#[test]
fn a_saturated_trace_gives_its_mean_rate() {
    let trace = Arc::new(Trace::parse("1\n1\n2\n7\n10\n").unwrap());
    let mut server = RateServer::new(RateModel::Trace(trace.clone()));
    let mut time = 0;
    for _ in 0..50_000 {
        time = server.finish(time, 1500);
    }
    let rate = 50_000.0 * 12_000.0 / (time as f64 / SECOND as f64);
    assert!((rate / trace.mean_rate() as f64 - 1.0).abs() < 1e-3, "{rate}");
}
