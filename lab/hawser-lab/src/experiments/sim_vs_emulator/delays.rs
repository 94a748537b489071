//! Distances between distributions of delays.

/// The two-sample Kolmogorov-Smirnov distance: the greatest difference between the shares of samples that are not above
/// a value, over all values. 0: the same distribution; 1: they do not overlap. `None` when there is no sample on a side.
///
/// Both samples must be sorted. A delay that is off by less than `tolerance` (in the unit of the samples) does not
/// count: a share may be that of a value so much higher or lower. With 0 it is the usual distance.
pub fn ks_distance(a: &[u64], b: &[u64], tolerance: u64) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    Some(excess(a, b, tolerance).max(excess(b, a, tolerance)))
}

/// The greatest excess of the share of `a` up to a value over that of `b` up to the same value and the tolerance.
fn excess(a: &[u64], b: &[u64], tolerance: u64) -> f64 {
    let (mut most, mut below_b) = (0.0_f64, 0);
    for (index, &value) in a.iter().enumerate() {
        if a.get(index + 1) == Some(&value) {
            continue;
        }
        let limit = value.saturating_add(tolerance);
        while b.get(below_b).is_some_and(|other| *other <= limit) {
            below_b += 1;
        }
        most = most.max((index + 1) as f64 / a.len() as f64 - below_b as f64 / b.len() as f64);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_known_samples() {
        let ramp: Vec<u64> = (0..1000).collect();
        let shifted: Vec<u64> = (100..1100).collect();
        assert_eq!(ks_distance(&ramp, &ramp, 0), Some(0.0));
        assert!((ks_distance(&ramp, &shifted, 0).unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(ks_distance(&ramp, &shifted, 0), ks_distance(&shifted, &ramp, 0));
        assert_eq!(ks_distance(&[1, 2], &[3, 4], 0), Some(1.0));
        assert_eq!(ks_distance(&[], &ramp, 0), None);
        // Samples of different sizes, with ties: half of one are 5, three quarters of the other.
        assert_eq!(ks_distance(&[5, 9], &[5, 5, 5, 9], 0), Some(0.25));
    }

    #[test]
    fn what_is_within_the_tolerance_is_no_distance() {
        let (early, late) = ([10, 10, 10], [12, 12, 12]);
        assert_eq!(ks_distance(&early, &late, 1), Some(1.0));
        assert_eq!(ks_distance(&early, &late, 2), Some(0.0));
        assert_eq!(ks_distance(&late, &early, 2), Some(0.0));
    }
}
