//! ADWIN2: detects that the mean of a sequence changed.

use std::collections::VecDeque;

/// ADWIN2 (Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing", SDM 2007): a window of past values
/// that loses its older part when the means of an older and a newer part differ by more than chance explains.
///
/// The window is an exponential histogram: buckets of 1, 2, 4, ... values, at most so many of each size, with their sums
/// only.
///
/// ```
/// use hawser_learn::{Adwin, CutTest};
///
/// let mut window = Adwin::new(CutTest::Hoeffding { confidence: 0.3 }, 5);
/// assert!((0..300).all(|_| window.insert(0.3).is_none()));
/// let change = (0..60).find_map(|_| window.insert(0.7)).expect("it is noticed");
/// assert!(change.before < 0.4 && change.after > 0.5);
/// ```
#[derive(Debug, Clone)]
pub struct Adwin {
    test: CutTest,
    buckets_per_size: usize,
    /// Buckets of 2^row values, oldest first.
    rows: Vec<VecDeque<Sum>>,
    whole: Sum,
    inserted: u64,
}

/// When two means differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CutTest {
    /// By Hoeffding's bound (Bifet 2007, section 3.1): `sqrt(ln(4 n / confidence) / 2m)`, `1/m = 1/n0 + 1/n1`.
    Hoeffding {
        /// Delta: larger finds smaller changes, and more false ones.
        confidence: f64,
    },
    /// By the normal approximation with the variance of the window (ADWIN2 proper, Bifet 2007, section 4):
    /// `sqrt(2/m s^2 ln(2/d)) + 2/(3m) ln(2/d)`, `d = confidence / ln n`. Tested with every 32nd value.
    Variance {
        /// Delta.
        confidence: f64,
    },
}

/// The window was cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The mean of the part that was dropped first.
    pub before: f64,
    /// The mean of what is left.
    pub after: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    values: f64,
    squares: f64,
    count: f64,
}

impl Sum {
    fn of(value: f64) -> Self {
        Sum { values: value, squares: value * value, count: 1.0 }
    }

    fn plus(self, other: Sum) -> Self {
        Sum {
            values: self.values + other.values,
            squares: self.squares + other.squares,
            count: self.count + other.count,
        }
    }

    fn minus(self, other: Sum) -> Self {
        Sum {
            values: self.values - other.values,
            squares: self.squares - other.squares,
            count: self.count - other.count,
        }
    }

    fn mean(self) -> f64 {
        self.values / self.count.max(1.0)
    }

    fn variance(self) -> f64 {
        (self.squares / self.count.max(1.0) - self.mean().powi(2)).max(0.0)
    }
}

/// Room for 2^32 values and more.
const ROWS: usize = 33;

/// Fewer values on one side than this are not compared.
const SHORTEST: f64 = 5.0;

/// The variance test is made once for so many values.
const VARIANCE_TEST_INTERVAL: u64 = 32;

impl Adwin {
    /// An empty window with at most `buckets_per_size` buckets of each size, 5 in the publication; at least one.
    pub fn new(test: CutTest, buckets_per_size: usize) -> Self {
        let buckets_per_size = buckets_per_size.max(1);
        let row = || VecDeque::with_capacity(buckets_per_size + 1);
        let rows = (0..ROWS).map(|_| row()).collect();
        Adwin { test, buckets_per_size, rows, whole: Sum::default(), inserted: 0 }
    }

    /// How many values the window has.
    pub fn len(&self) -> u64 {
        self.whole.count as u64
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mean of the window; 0 if it is empty.
    pub fn mean(&self) -> f64 {
        self.whole.mean()
    }

    /// Takes a value in, and says whether the window was cut. What is no number is ignored.
    pub fn insert(&mut self, value: f64) -> Option<Change> {
        if !value.is_finite() {
            return None;
        }
        self.append(Sum::of(value));
        self.inserted += 1;
        let is_variance = matches!(self.test, CutTest::Variance { .. });
        if is_variance && !self.inserted.is_multiple_of(VARIANCE_TEST_INTERVAL) {
            return None;
        }
        let mut before = None;
        while let Some(dropped) = self.cut() {
            before.get_or_insert(dropped);
        }
        before.map(|before| Change { before, after: self.mean() })
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.rows.iter_mut().for_each(VecDeque::clear);
        self.whole = Sum::default();
    }

    fn append(&mut self, bucket: Sum) {
        self.whole = self.whole.plus(bucket);
        let mut carried = bucket;
        let last = self.rows.len() - 1;
        for (at, row) in self.rows.iter_mut().enumerate() {
            row.push_back(carried);
            if row.len() <= self.buckets_per_size || at == last {
                return;
            }
            let (Some(oldest), Some(next)) = (row.pop_front(), row.pop_front()) else { return };
            carried = oldest.plus(next);
        }
    }

    /// Drops the first older part that differs from the rest, and gives its mean.
    fn cut(&mut self) -> Option<f64> {
        let mut older = Sum::default();
        for row in (0..self.rows.len()).rev() {
            for at in 0..self.rows[row].len() {
                older = older.plus(self.rows[row][at]);
                let newer = self.whole.minus(older);
                if older.count < SHORTEST {
                    continue;
                }
                if newer.count < SHORTEST {
                    return None;
                }
                if (older.mean() - newer.mean()).abs() > self.threshold(older.count, newer.count) {
                    self.rows[row].drain(..=at);
                    self.rows[row + 1..].iter_mut().for_each(VecDeque::clear);
                    self.whole = newer;
                    return Some(older.mean());
                }
            }
        }
        None
    }

    fn threshold(&self, older: f64, newer: f64) -> f64 {
        self.test.threshold(older, newer, self.whole.variance())
    }
}

impl CutTest {
    /// The difference of means over so many older and newer values above which they differ; `variance` is that of all.
    pub fn threshold(self, older: f64, newer: f64, variance: f64) -> f64 {
        let (inverse, count) = (1.0 / older + 1.0 / newer, older + newer);
        match self {
            CutTest::Hoeffding { confidence } => (inverse / 2.0 * libm::log(4.0 * count / confidence)).sqrt(),
            CutTest::Variance { confidence } => {
                let log = libm::log(2.0 * libm::log(count) / confidence);
                (2.0 * inverse * variance * log).sqrt() + 2.0 / 3.0 * inverse * log
            }
        }
    }
}

#[cfg(test)]
mod tests;
