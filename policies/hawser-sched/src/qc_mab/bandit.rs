//! Upper confidence bounds over cells of the context.

use std::collections::BTreeMap;

use hawser_learn::{Random, upper_confidence};

/// An arm as it is remembered: an access point (or its rank), and whether the path is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QcMabArm {
    /// The access point, by a number of the owner's, or its rank.
    pub point: u64,
    /// Whether the sender protects the path.
    pub fec: bool,
}

/// Pairs of cell and arm that are remembered: twice what 27 cells of 200 access points are.
const MAX_PAIRS: usize = 21_600;

/// Pulls and rewards of arms, cell by cell (W. Yang 2024, equations 4.21 to 4.23). The first pull is random, as are those
/// among equals; an arm that was not pulled in a cell is better than any that was.
#[derive(Clone, Debug)]
pub struct QcMabBandit {
    exploration: f64,
    cell_time: bool,
    pairs: BTreeMap<(u32, QcMabArm), (u64, f64)>,
    cells: BTreeMap<u32, u64>,
    slots: u64,
    random: Random,
}

impl QcMabBandit {
    /// A bandit that knows nothing; `exploration` is the factor below the root, `cell_time` counts time in each cell by itself.
    pub fn new(exploration: f64, cell_time: bool, seed: u64) -> Self {
        QcMabBandit {
            exploration,
            cell_time,
            pairs: BTreeMap::new(),
            cells: BTreeMap::new(),
            slots: 0,
            random: Random::new(seed),
        }
    }

    /// The position of the arm to pull in this cell; 0 if there are none.
    pub fn choose(&mut self, cell: u32, arms: &[QcMabArm]) -> usize {
        self.slots += 1;
        if self.slots == 1 {
            return (self.random.fraction() * arms.len() as f64) as usize;
        }
        let time = if self.cell_time { self.cells.get(&cell).copied().unwrap_or(0) + 1 } else { self.slots };
        let (mut best, mut bound, mut equals) = (0, f64::NEG_INFINITY, 0u64);
        for (at, arm) in arms.iter().enumerate() {
            let value = self.bound(cell, *arm, time);
            if value > bound {
                (best, bound, equals) = (at, value, 1);
            } else if value == bound {
                // Each of so many equals is as likely as the others.
                equals += 1;
                if self.random.next_random().is_multiple_of(equals) {
                    best = at;
                }
            }
        }
        best
    }

    /// The upper confidence bound of an arm at a time; infinite before its first pull.
    pub fn bound(&self, cell: u32, arm: QcMabArm, time: u64) -> f64 {
        let (pulls, sum) = self.pairs.get(&(cell, arm)).copied().unwrap_or_default();
        upper_confidence(sum / pulls.max(1) as f64, pulls, time, self.exploration)
    }

    /// A pull brought a reward. Beyond so many pairs new ones are not remembered.
    pub fn update(&mut self, cell: u32, arm: QcMabArm, reward: f64) {
        *self.cells.entry(cell).or_default() += 1;
        if self.pairs.len() < MAX_PAIRS || self.pairs.contains_key(&(cell, arm)) {
            let (pulls, sum) = self.pairs.entry((cell, arm)).or_default();
            *pulls += 1;
            *sum += reward;
        }
    }

    /// Cell, arm, pulls, sum of rewards.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, QcMabArm, u64, f64)> + '_ {
        self.pairs.iter().map(|((cell, arm), (pulls, sum))| (*cell, *arm, *pulls, *sum))
    }
}
