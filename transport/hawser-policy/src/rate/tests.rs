use proptest::prelude::*;

use super::*;

#[test]
fn bytes_durations_and_rates_fit_together() {
    let rate = Rate::from_megabits_per_second(100);
    assert_eq!(rate.time_for(1_250_000), Duration::from_millis(100));
    assert_eq!(rate.bytes_in(Duration::from_millis(100)), 1_250_000);
    assert_eq!(Rate::from_bytes_over(1_250_000, Duration::from_millis(100)), rate);
    assert_eq!(rate.scaled(5, 4), Rate::from_megabits_per_second(125));
}

#[test]
fn extremes_saturate() {
    assert_eq!(Rate::ZERO.time_for(1), Duration::MAX);
    assert_eq!(Rate::from_bytes_over(u64::MAX, Duration::from_nanos(1)), Rate::MAX);
    assert_eq!(Rate::from_bytes_over(5, Duration::ZERO), Rate::ZERO);
    assert_eq!(Rate::MAX.bytes_in(Duration::MAX), u64::MAX);
    assert_eq!(Rate::MAX.scaled(u64::MAX, 0), Rate::MAX);
    assert_eq!(Rate::from_megabits_per_second(u64::MAX), Rate::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Waiting for some bytes and counting what passes meanwhile loses at most what rounding to a nanosecond costs.
    #[test]
    fn time_for_and_bytes_in_are_inverse(bits in 1_000u64..100_000_000_000, bytes in 0u64..1 << 40) {
        let rate = Rate::from_bits_per_second(bits);
        let back = rate.bytes_in(rate.time_for(bytes));
        prop_assert!(back <= bytes && bytes - back <= bits / 8_000_000_000 + 1, "{} -> {}", bytes, back);
    }

    /// The division of 64 bits gives what that of 128 bits would.
    #[test]
    fn bytes_in_is_exact(bits in any::<u64>(), nanos in any::<u64>(), shift in 0u32..64) {
        let (bits, nanos) = (bits >> shift, nanos >> (shift / 2));
        let exact = u128::from(bits) * u128::from(nanos) / 8_000_000_000;
        let bytes = Rate::from_bits_per_second(bits).bytes_in(Duration::from_nanos(nanos));
        prop_assert_eq!(bytes, u64::try_from(exact).unwrap_or(u64::MAX));
    }
}
