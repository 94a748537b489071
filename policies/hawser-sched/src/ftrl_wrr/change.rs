//! Watches the ratio of the bandwidths.

use std::time::Duration;

use hawser_learn::{Adwin, CutTest};
use hawser_policy::Time;

/// Samples of a round trip say the same; the window takes one in so much time at most.
const SPACING: Duration = Duration::from_millis(10);

/// Buckets of each size in the window (Bifet 2007). The author's code has one, so that some lengths of the window cannot be
/// split at all.
const BUCKETS: usize = 5;

/// A change of the ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioChange {
    /// The share of the path's bandwidth before.
    pub(super) before: f64,
    /// And after.
    pub(super) after: f64,
    /// Of two paths, whether the other one is now the larger.
    pub(super) crosses_middle: bool,
}

#[derive(Debug)]
pub(super) struct ChangeWatch {
    /// The share of each path's bandwidth; of two paths that of the first says all.
    windows: Vec<Adwin>,
    rates: Vec<f64>,
    /// Whether the rate of each path changed since the last sample.
    fresh: Vec<bool>,
    last: Option<Time>,
}

impl ChangeWatch {
    pub(super) fn new(paths: usize, test: CutTest) -> Self {
        let windows = if paths == 2 { 1 } else { paths };
        ChangeWatch {
            windows: (0..windows).map(|_| Adwin::new(test, BUCKETS)).collect(),
            rates: vec![0.0; paths],
            fresh: vec![false; paths],
            last: None,
        }
    }

    /// The rate of a path, as it is known now.
    pub(super) fn note(&mut self, at: usize, rate: f64) {
        if let (Some(known), Some(fresh)) = (self.rates.get_mut(at), self.fresh.get_mut(at))
            && *known != rate
        {
            (*known, *fresh) = (rate, true);
        }
    }

    /// Takes a sample in if the rates of all paths are new; says whether their ratio changed.
    pub(super) fn check(&mut self, now: Time) -> Option<RatioChange> {
        let soon = self.last.is_some_and(|at| now.since(at) < SPACING);
        let sum: f64 = self.rates.iter().sum();
        if soon || sum <= 0.0 || self.fresh.iter().any(|fresh| !fresh) {
            return None;
        }
        self.last = Some(now);
        self.fresh.fill(false);
        let two = self.rates.len() == 2;
        let mut found = None;
        for (window, rate) in self.windows.iter_mut().zip(&self.rates) {
            if let Some(change) = window.insert(rate / sum) {
                let (before, after) = (change.before, change.after);
                let crosses_middle = two && (before < 0.5) != (after < 0.5);
                found.get_or_insert(RatioChange { before, after, crosses_middle });
            }
        }
        found
    }

    /// How many samples the window has.
    #[cfg(test)]
    pub(super) fn sampled(&self) -> u64 {
        self.windows.first().map_or(0, Adwin::len)
    }
}
