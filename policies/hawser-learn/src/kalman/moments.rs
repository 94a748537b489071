//! Variance and covariance of what came last.

/// Mean square of the last `N` values, and mean product of neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments<const N: usize> {
    values: [f64; N],
    /// How many of them were taken in.
    taken: usize,
    next: usize,
}

impl<const N: usize> Moments<N> {
    pub(super) const EMPTY: Self = Self { values: [0.0; N], taken: 0, next: 0 };

    pub(super) fn push(&mut self, value: f64) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % N;
        self.taken = (self.taken + 1).min(N);
    }

    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// Mean square, and mean product of neighbours: c0 and c1.
    pub(super) fn covariances(&self) -> (f64, f64) {
        let oldest = (self.next + N - self.taken) % N;
        let value = |index: usize| self.values[(oldest + index) % N];
        let (mut squares, mut products) = (0.0, 0.0);
        for index in 0..self.taken {
            squares += value(index) * value(index);
            if index > 0 {
                products += value(index) * value(index - 1);
            }
        }
        let mean = |sum: f64, count: usize| if count == 0 { 0.0 } else { sum / count as f64 };
        (mean(squares, self.taken), mean(products, self.taken.saturating_sub(1)))
    }
}
