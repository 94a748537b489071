//! What little linear algebra learners need: symmetric positive definite matrices, row by row in a slice.

/// Replaces the lower triangle of a symmetric matrix by its Cholesky factor `L`, with `L L' = matrix`; false if it is not
/// positive definite.
pub(crate) fn factorise(matrix: &mut [f64], size: usize) -> bool {
    for row in 0..size {
        for column in 0..=row {
            let dot: f64 = (0..column).map(|k| matrix[row * size + k] * matrix[column * size + k]).sum();
            let rest = matrix[row * size + column] - dot;
            matrix[row * size + column] = if row > column {
                rest / matrix[column * size + column]
            } else if rest > 0.0 {
                rest.sqrt()
            } else {
                return false;
            };
        }
    }
    true
}

/// Solves `L y = vector` in place.
pub(crate) fn solve_lower(factor: &[f64], size: usize, vector: &mut [f64]) {
    for row in 0..size {
        let dot: f64 = (0..row).map(|k| factor[row * size + k] * vector[k]).sum();
        vector[row] = (vector[row] - dot) / factor[row * size + row];
    }
}

/// Solves `L' y = vector` in place.
pub(crate) fn solve_upper(factor: &[f64], size: usize, vector: &mut [f64]) {
    for row in (0..size).rev() {
        let dot: f64 = (row + 1..size).map(|k| factor[k * size + row] * vector[k]).sum();
        vector[row] = (vector[row] - dot) / factor[row * size + row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (4 2; 2 3) has the factor (2 0; 1 sqrt 2); (8, 7) is its product with (1.25, 1.5).
    #[test]
    fn a_small_system_is_solved() {
        let mut matrix = [4.0, 2.0, 2.0, 3.0];
        assert!(factorise(&mut matrix, 2));
        assert_eq!((matrix[0], matrix[2], matrix[3]), (2.0, 1.0, 2f64.sqrt()));
        let mut vector = [8.0, 7.0];
        solve_lower(&matrix, 2, &mut vector);
        solve_upper(&matrix, 2, &mut vector);
        assert!((vector[0] - 1.25).abs() < 1e-12 && (vector[1] - 1.5).abs() < 1e-12, "{vector:?}");
        assert!(!factorise(&mut [1.0, 2.0, 2.0, 1.0], 2));
    }
}
