//! The two paths of real-time packets.
//!
//! A packet of a call that is lost with its link is missed, and nothing says in time that the link is about to die. So each goes on
//! two paths, and the receiver hands on the one that comes first ([`order`](crate::order)). What that costs has a limit; beyond it
//! the scheduler chooses one path. Paths that stand by or are paid for carry copies only where there is no other second one.

use std::time::Duration;

use hawser_policy::{PathId, Rate, Time};

/// How often the paths are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Copies may use so much of what the slower of both paths delivers.
const SHARE: f64 = 0.1;
/// And so much at least, in bytes per second: two calls.
const LEAST_RATE: f64 = 25_000.0;
/// Budget that adds up while nothing is copied, in seconds of it.
const BURST: f64 = 2.0;
/// A path of which nothing has been heard for two round trips and this is not one of the best.
const SILENCE: Duration = Duration::from_millis(50);

/// An active path as its connection sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Which.
    pub id: PathId,
    /// Whether it stands by or is paid for.
    pub is_kept_back: bool,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Its mean deviation (RFC 9002 section 5.3).
    pub rtt_variance: Duration,
    /// What it delivers, as far as that is known.
    pub delivery_rate: Option<Rate>,
    /// Bytes that are neither acknowledged nor lost.
    pub bytes_in_flight: u64,
    /// When the last packet came over it.
    pub heard_at: Option<Time>,
}

/// What copies may cost, and where they go.
#[derive(Debug, Default)]
pub struct Twice {
    looked: Option<Time>,
    pair: Option<[PathId; 2]>,
    /// Bytes per second.
    rate: f64,
    budget: f64,
}

impl Twice {
    /// The two paths for a packet of so many bytes; `None` if it goes where the scheduler sends it. `paths` are looked at from time to
    /// time only.
    pub fn paths(
        &mut self,
        now: Time,
        bytes: usize,
        paths: impl FnOnce() -> Vec<Seen>,
    ) -> Option<[PathId; 2]> {
        let age = self.looked.map(|looked| now.since(looked));
        if age.is_none_or(|age| age >= LOOK_INTERVAL) {
            self.look(now, paths());
            let most = self.rate * BURST;
            // The first packets of a connection are copied as well.
            let more = age.map_or(most, |age| self.rate * age.as_secs_f64());
            self.budget = (self.budget + more).min(most);
            self.looked = Some(now);
        }
        let pair = self.pair?;
        let cost = bytes as f64;
        (cost <= self.budget).then(|| {
            self.budget -= cost;
            pair
        })
    }

    fn look(&mut self, now: Time, mut paths: Vec<Seen>) {
        paths.sort_by_key(|path| path.rank(now));
        self.pair = match &paths[..] {
            [first, second, ..] if !second.is_kept_back || first.is_kept_back || first.is_silent(now) => {
                let rates = [first, second].into_iter().filter_map(|path| path.delivery_rate);
                let slower = rates.map(|rate| rate.bits_per_second() as f64 / 8.0).reduce(f64::min);
                self.rate = slower.map_or(LEAST_RATE, |rate| (rate * SHARE).max(LEAST_RATE));
                Some([first.id, second.id])
            }
            _ => None,
        };
    }
}

impl Seen {
    /// Whether it should have been heard from.
    fn is_silent(&self, now: Time) -> bool {
        let patience = self.smoothed_rtt.saturating_mul(2) + SILENCE;
        self.bytes_in_flight > 0 && self.heard_at.is_none_or(|heard| now.since(heard) > patience)
    }

    /// From the best path on: those that answer, those that are not kept back, those of which even late packets are early.
    fn rank(&self, now: Time) -> (bool, bool, Duration, PathId) {
        let tail = self.smoothed_rtt + self.rtt_variance.saturating_mul(4);
        (self.is_silent(now), self.is_kept_back, tail, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(id: u32, rtt: u64, variance: u64) -> Seen {
        Seen {
            id: PathId(id),
            is_kept_back: false,
            smoothed_rtt: Duration::from_millis(rtt),
            rtt_variance: Duration::from_millis(variance),
            delivery_rate: Some(Rate::from_megabits_per_second(8)),
            bytes_in_flight: 10_000,
            heard_at: Some(Time::from_millis(1_000)),
        }
    }

    fn pair(now: u64, paths: &[Seen]) -> Option<[u32; 2]> {
        let pair = Twice::default().paths(Time::from_millis(now), 100, || paths.to_vec());
        pair.map(|pair| pair.map(|id| id.0))
    }

    #[test]
    fn the_paths_with_the_least_tail_delay_carry_calls() {
        let steady = path(1, 40, 1);
        let quick = path(2, 20, 1);
        let jumpy = path(3, 25, 10);
        assert_eq!(pair(1_000, &[jumpy, steady, quick]), Some([2, 1]));
        assert_eq!(pair(1_000, &[jumpy, quick]), Some([2, 3]));
        assert_eq!(pair(1_000, &[steady]), None);
    }

    #[test]
    fn a_path_that_falls_silent_is_no_longer_the_best() {
        let quick = path(1, 20, 1);
        let mut slow = path(2, 100, 1);
        slow.heard_at = Some(Time::from_millis(1_095));
        assert_eq!(pair(1_080, &[quick, slow]), Some([1, 2]));
        assert_eq!(pair(1_100, &[quick, slow]), Some([2, 1]));
    }

    #[test]
    fn a_path_that_is_kept_back_carries_copies_only_in_need() {
        let quick = path(1, 20, 1);
        let backup = Seen { is_kept_back: true, ..path(2, 10, 1) };
        assert_eq!(pair(1_000, &[quick, backup]), None);
        assert_eq!(pair(1_200, &[quick, backup]), Some([1, 2]), "both are silent");
        let quick = path(1, 20, 1);
        let mut backup = Seen { is_kept_back: true, ..path(2, 10, 1) };
        backup.heard_at = Some(Time::from_millis(1_200));
        assert_eq!(pair(1_200, &[quick, backup]), Some([2, 1]));
    }

    #[test]
    fn copies_cost_a_tenth_of_the_slower_path() {
        let mut twice = Twice::default();
        let paths = vec![path(1, 20, 1), path(2, 40, 1)];
        let mut copied = 0;
        for millisecond in 1_000..11_000 {
            let now = Time::from_millis(millisecond);
            copied += if twice.paths(now, 1_000, || paths.clone()).is_some() { 1_000 } else { 0 };
        }
        // 8 Mbit/s: 100 kB a second, and two seconds of it at the beginning.
        assert!((1_150_000..=1_200_000).contains(&copied), "{copied}");
    }
}
