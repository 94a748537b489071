use proptest::prelude::*;

use super::super::testing::millis;
use super::*;

const DATAGRAM: u16 = 1250;

fn pacer(megabits: u64) -> Pacer {
    let rate = Rate::from_megabits_per_second(megabits);
    let mut pacer = Pacer::new(Time::ZERO, rate, DATAGRAM);
    pacer.set_rate(Time::ZERO, rate, true);
    pacer
}

/// Sends for a second, woken `late` after each release. Returns bytes sent.
fn drive(pacer: &mut Pacer, late: Duration) -> u64 {
    let (mut now, end, mut sent) = (Time::ZERO, Time::from_secs(1), 0);
    while now < end {
        while pacer.budget(now) >= u64::from(DATAGRAM) {
            pacer.on_sent(now, u64::from(DATAGRAM));
            sent += u64::from(DATAGRAM);
        }
        now = pacer.next_release(now).expect("the bucket is empty") + late;
    }
    sent
}

//= rfc9002-7.7-3
#[test]
fn ten_datagrams_leave_at_once_before_a_sample() {
    let mut pacer = Pacer::new(Time::ZERO, Rate::from_bits_per_second(300_000), DATAGRAM);
    assert_eq!(pacer.budget(Time::ZERO), 12_500);
    assert_eq!(pacer.next_release(Time::ZERO), None);
    pacer.on_sent(Time::ZERO, 12_500);
    assert_eq!(pacer.budget(Time::ZERO), 0);
    assert!(pacer.next_release(Time::ZERO).is_some());
}

#[test]
fn a_late_timer_costs_no_throughput() {
    for megabits in [1, 10, 100, 1_000, 10_000, 100_000] {
        for late in [Duration::ZERO, Duration::from_micros(300), millis(1)] {
            // The credit spans two milliseconds or four datagrams; the wait is for one millisecond of it.
            let sent = drive(&mut pacer(megabits), late);
            let expected = megabits * 125_000;
            let ratio = sent as f64 / expected as f64;
            assert!((0.995..1.06).contains(&ratio), "{megabits} Mbit/s, {late:?} late: {ratio}");
        }
    }
}

//= rfc9002-7.7-2
#[test]
fn bursts_are_small_at_low_rates_and_two_milliseconds_at_high_ones() {
    assert_eq!(pacer(1).budget(Time::from_secs(9)), 4 * 1250);
    assert_eq!(pacer(1_000).budget(Time::from_secs(9)), 250_000);
}

#[test]
fn a_probe_may_overdraw_without_going_below_zero() {
    let mut pacer = pacer(1);
    pacer.on_sent(Time::ZERO, 60_000);
    assert_eq!(pacer.budget(Time::ZERO), 0);
    let release = pacer.next_release(Time::ZERO).expect("empty");
    assert!(release.since(Time::from_millis(10)) < Duration::from_micros(1), "{release}");
}

#[test]
fn a_larger_rate_does_not_pay_for_the_past() {
    let mut pacer = pacer(1);
    pacer.on_sent(Time::ZERO, 5_000);
    pacer.set_rate(Time::from_millis(8), Rate::from_megabits_per_second(1_000), true);
    assert!((999..=1_000).contains(&pacer.budget(Time::from_millis(8))));
}

proptest! {
    /// What `next_release` promises is there at that time, and not much earlier; no input overflows.
    #[test]
    fn a_release_keeps_its_word(
        bits in prop_oneof![0u64..1_000_000, any::<u64>()],
        steps in prop::collection::vec((0u64..50_000_000, 0u64..20_000), 1..50),
    ) {
        let mut pacer = Pacer::new(Time::ZERO, Rate::from_bits_per_second(bits), DATAGRAM);
        pacer.set_rate(Time::ZERO, Rate::from_bits_per_second(bits), true);
        let mut now = Time::ZERO;
        for (nanos, bytes) in steps {
            now += Duration::from_nanos(nanos);
            pacer.on_sent(now, bytes);
            prop_assert!(pacer.budget(now) <= pacer.capacity >> FRACTION_BITS);
            match pacer.next_release(now) {
                None => prop_assert!(pacer.budget(now) >= u64::from(DATAGRAM)),
                Some(at) => {
                    prop_assert!(at > now);
                    prop_assert!(pacer.budget(at) >= u64::from(DATAGRAM));
                    prop_assert_eq!(pacer.next_release(at), None);
                }
            }
        }
    }
}
