//! Dispatch: how many bytes each path gets (4D-MAP, section 3.6, equations 3 to 5).
//!
//! A fast path gets what it can send while a packet of the next slower one is under way; the bytes behind that go to the
//! slower one, so that all arrive in order. A slow path idles rather than take bytes that a faster one will have sent sooner.

use std::time::Duration;

/// Shorter round-trip times count as this one: a ratio to zero would give everything to one path.
const SHORTEST_RTT: Duration = Duration::from_micros(100);

/// A path as Dispatch sees it; sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourDMapPath {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Congestion window.
    pub window: u64,
    /// In flight, and assigned but not sent: without the latter, repeated calls would assign without bound.
    pub outstanding: u64,
}

/// Bytes for each of `paths`, which are in order of their round-trip times, of `queued` ones; `shares` becomes as long as
/// `paths`. Returns what nobody gets for now. A path is given what it can send in a round of the next slower one, but no more
/// than `cap` of its windows (4D-MAP, equations 3 to 5); the slowest what its window has room for.
///
/// ```
/// use std::time::Duration;
/// use hawser_sched::{FourDMapPath, four_d_map_shares};
///
/// let path = |ms, window, outstanding| FourDMapPath { rtt: Duration::from_millis(ms), window, outstanding };
/// let mut shares = Vec::new();
/// let left = four_d_map_shares(&[path(50, 15_000, 6_000), path(200, 30_000, 0)], 100_000, 4.0, &mut shares);
/// assert_eq!((shares.as_slice(), left), ([54_000, 30_000].as_slice(), 16_000));
/// ```
pub fn four_d_map_shares(paths: &[FourDMapPath], queued: u64, cap: f64, shares: &mut Vec<u64>) -> u64 {
    shares.clear();
    let mut left = queued;
    for (at, path) in paths.iter().enumerate() {
        let ratio = paths.get(at + 1).map_or(1.0, |next| ratio(next.rtt, path.rtt).min(cap));
        // Saturates where a window is absurd.
        let gap = (ratio * path.window as f64) as u64;
        let share = gap.saturating_sub(path.outstanding).min(left);
        shares.push(share);
        left -= share;
    }
    left
}

/// At least 1: the paths are sorted.
fn ratio(slow: Duration, fast: Duration) -> f64 {
    let seconds = |rtt: Duration| rtt.max(SHORTEST_RTT).as_secs_f64();
    (seconds(slow) / seconds(fast)).max(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(ms: u64, window: u64, outstanding: u64) -> FourDMapPath {
        FourDMapPath { rtt: Duration::from_millis(ms), window, outstanding }
    }

    fn shares(paths: &[FourDMapPath], queued: u64) -> (Vec<u64>, u64) {
        let mut shares = Vec::new();
        let left = four_d_map_shares(paths, queued, 4.0, &mut shares);
        (shares, left)
    }

    /// The vector of section 3.6.
    #[test]
    fn two_paths_share_a_queue_by_their_round_trip_times() {
        let paths = [path(50, 15_000, 6_000), path(200, 30_000, 0)];
        assert_eq!(shares(&paths, 100_000), (vec![54_000, 30_000], 16_000));
        // What the fast path sends in time is all its own.
        assert_eq!(shares(&paths, 54_000), (vec![54_000, 0], 0));
        assert_eq!(shares(&paths, 54_001), (vec![54_000, 1], 0));
    }

    #[test]
    fn a_ratio_is_capped_and_never_endless() {
        assert_eq!(shares(&[path(10, 10_000, 0), path(500, 10_000, 0)], 100_000).0, [40_000, 10_000]);
        assert_eq!(shares(&[path(0, 10_000, 0), path(0, 10_000, 0)], 100_000).0, [10_000, 10_000]);
        assert_eq!(shares(&[path(0, u64::MAX, 0), path(u64::MAX, u64::MAX, 0)], 9), (vec![9, 0], 0));
    }

    #[test]
    fn one_path_gets_what_its_window_has_room_for() {
        assert_eq!(shares(&[path(50, 15_000, 6_000)], 100_000), (vec![9_000], 91_000));
        assert_eq!(shares(&[path(50, 15_000, 16_000)], 100_000), (vec![0], 100_000));
        assert_eq!(shares(&[], 7), (vec![], 7));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Every byte has one place, and asking again gives nothing more.
        #[test]
        fn nothing_is_shared_out_twice(
            mut paths in prop::collection::vec((0u64..400, 0u64..200_000, 0u64..200_000), 0..6),
            queued in 0u64..1_000_000,
        ) {
            paths.sort_unstable();
            let mut paths: Vec<_> = paths.into_iter().map(|(ms, window, out)| path(ms, window, out)).collect();
            let (first, left) = shares(&paths, queued);
            prop_assert_eq!(first.iter().sum::<u64>() + left, queued);
            paths.iter_mut().zip(&first).for_each(|(path, share)| path.outstanding += share);
            prop_assert_eq!(shares(&paths, left).1, left);
        }
    }
}
