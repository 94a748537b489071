//! Which missing symbols a set of repair symbols determines.

use crate::gf256;

/// Gauss-Jordan elimination over the coefficients of unknown symbols. It says how each unknown that can be determined is a sum
/// of equations; the symbols themselves, a thousand times longer, are touched afterwards and only for what is wanted.
#[derive(Clone, Debug)]
pub struct Elimination {
    unknowns: usize,
    /// `unknowns` coefficients, then the weight of each equation in this row.
    rows: Vec<Vec<u8>>,
    /// For each unknown, the row in which it is the pivot.
    pivots: Vec<Option<usize>>,
}

impl Elimination {
    /// Multiplications that [`of`](Self::of) takes at most: to be paid before.
    pub fn cost(equations: usize, unknowns: usize) -> usize {
        equations * equations.min(unknowns) * (equations + unknowns)
    }

    /// Of equations with a coefficient for each of `unknowns`; missing ones count as zero.
    pub fn of(equations: &[Vec<u8>], unknowns: usize) -> Self {
        let mut rows: Vec<Vec<u8>> = Vec::with_capacity(equations.len());
        for (at, coefficients) in equations.iter().enumerate() {
            let mut row = vec![0; unknowns + equations.len()];
            row.iter_mut().zip(coefficients.iter().take(unknowns)).for_each(|(to, from)| *to = *from);
            row[unknowns + at] = 1;
            rows.push(row);
        }
        let mut result = Elimination { unknowns, rows, pivots: vec![None; unknowns] };
        let mut used = 0;
        for unknown in 0..unknowns {
            let Some(found) = (used..result.rows.len()).find(|row| result.rows[*row][unknown] != 0) else {
                continue;
            };
            result.rows.swap(used, found);
            result.reduce(used, unknown);
            result.pivots[unknown] = Some(used);
            used += 1;
        }
        result
    }

    /// Makes the pivot 1 and removes the unknown from every other row.
    fn reduce(&mut self, pivot: usize, unknown: usize) {
        let scale = gf256::inverse(self.rows[pivot][unknown]);
        self.rows[pivot].iter_mut().for_each(|element| *element = gf256::mul(*element, scale));
        let row = std::mem::take(&mut self.rows[pivot]);
        for other in self.rows.iter_mut().filter(|other| other.get(unknown).is_some_and(|c| *c != 0)) {
            let factor = other[unknown];
            gf256::mul_add(other, &row, factor);
        }
        self.rows[pivot] = row;
    }

    /// The weight of each equation in the sum that gives this unknown; `None` if they do not determine it.
    pub fn weights(&self, unknown: usize) -> Option<&[u8]> {
        let row = self.rows.get((*self.pivots.get(unknown)?)?)?;
        let (coefficients, weights) = row.split_at(self.unknowns);
        // Other unknowns without a pivot of their own may be left in the row.
        let alone = coefficients.iter().enumerate().all(|(at, element)| (*element != 0) == (at == unknown));
        alone.then_some(weights)
    }

    /// Whether this unknown is determined.
    pub fn is_determined(&self, unknown: usize) -> bool {
        self.weights(unknown).is_some()
    }
}
