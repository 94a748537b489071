//! The dissertation's own model of arrival: rounds of a congestion window with losses (equations 5.1 to 5.3).
//!
//! The environment does not use it: a queue and rounds would count the wait for a window twice. It is here for
//! comparison, and because its values were computed by hand.

use std::collections::BTreeMap;

/// Probabilities of what a round of `window` packets meets: no loss, fast recovery (1 to `window` - 3 lost), timeout (more).
pub fn transition_probabilities(window: u32, loss: f64) -> [f64; 3] {
    let none = power(1.0 - loss, window);
    let mut lost = none;
    let mut recovered = 0.0;
    for count in 1..window.saturating_sub(2) {
        // P(count) from P(count - 1).
        lost *= f64::from(window - count + 1) / f64::from(count) * loss / (1.0 - loss);
        recovered += lost;
    }
    [none, recovered, (1.0 - none - recovered).max(0.0)]
}

/// Expected deliveries in rounds 1 to `rounds` that start with `window` packets, in congestion avoidance above `threshold`
/// (packets) and in slow start below it. Halved windows keep their fraction, to an eighth of a packet: otherwise there would be
/// more of them in each round. What may be lost of them is whole packets.
pub fn expected_deliveries(window: u32, threshold: u32, loss: f64, rounds: usize) -> Vec<f64> {
    // Windows are positive, so that their bits are in their order.
    let mut windows = BTreeMap::from([(f64::from(window.max(1)).to_bits(), 1.0)]);
    let mut expected = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let deliveries = windows.iter().map(|(window, share)| share * f64::from_bits(*window) * (1.0 - loss));
        expected.push(deliveries.sum());
        let mut next = BTreeMap::new();
        for (window, share) in windows {
            let window = f64::from_bits(window);
            let grown = if window < f64::from(threshold) { 2.0 * window } else { window + 1.0 };
            let following = [grown, (window / 2.0).max(1.0), 1.0];
            let likely = transition_probabilities(window as u32, loss);
            for (following, likely) in following.into_iter().zip(likely).filter(|it| it.1 > 0.0) {
                let following = (8.0 * following).round() / 8.0;
                *next.entry(following.to_bits()).or_insert(0.0) += share * likely;
            }
        }
        windows = next;
    }
    expected
}

/// Number of the round in which the last of `packets` is delivered (r_min of equation 5.2 as printed): 0 if the first window
/// has them all. None: not within `most` rounds.
pub fn last_round(expected: impl IntoIterator<Item = f64>, packets: f64, most: usize) -> Option<usize> {
    let mut delivered = 0.0;
    for (round, more) in expected.into_iter().enumerate().take(most) {
        delivered += more;
        if delivered >= packets {
            return Some(if round == 0 { 0 } else { round + 1 });
        }
    }
    None
}

/// Rounds beyond the first, which the text means where it prints the number of the last.
pub fn extra_rounds(last_round: usize) -> usize {
    last_round.saturating_sub(1)
}

/// The same on every machine, which `powi` does not promise.
pub(crate) fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specification, section 10.
    #[test]
    fn golden_vectors() {
        let table = [
            (0.01, [0.904_382, 0.095_618, 0.0]),
            (0.05, [0.598_737, 0.401_263, 0.0]),
            (0.10, [0.348_678, 0.651_321, 0.0]),
        ];
        for (loss, expected) in table {
            let found = transition_probabilities(10, loss);
            assert!(found.iter().zip(expected).all(|(found, it)| (found - it).abs() < 1.5e-6), "{found:?}");
        }
        let deliveries = expected_deliveries(10, 0, 0.05, 4);
        for (found, expected) in deliveries.iter().zip([9.5, 8.163, 7.216, 6.583]) {
            assert!((found - expected).abs() < 1e-3, "{deliveries:?}");
        }
        assert_eq!(last_round(deliveries.clone(), 20.0, 4), Some(3));
        assert_eq!(extra_rounds(3), 2);
        assert_eq!(last_round(deliveries.clone(), 9.5, 4), Some(0));
        assert_eq!(extra_rounds(0), 0);
        assert_eq!(last_round(deliveries, 1e3, 4), None);
    }

    #[test]
    fn outcomes_sum_to_one_for_small_windows() {
        for window in 1..20 {
            let sum: f64 = transition_probabilities(window, 0.3).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{window}");
        }
        assert_eq!(transition_probabilities(3, 0.1)[1], 0.0);
    }
}
