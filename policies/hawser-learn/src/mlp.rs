//! Small neural networks, for inference alone.

/// Why bytes are not the weights of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MlpError {
    /// Fewer than two layers of neurons, one without neurons, or one of more than [`Mlp::WIDEST`].
    Shape(Vec<usize>),
    /// Too few bytes or too many: the file is truncated, or for another network.
    Length {
        /// The widths that were asked for.
        shapes: Vec<usize>,
        /// Bytes that they need.
        expected: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// A weight is infinite or no number.
    NotFinite {
        /// Its position in the file, in numbers.
        at: usize,
    },
}

impl std::fmt::Display for MlpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape(shapes) => {
                write!(f, "{shapes:?} are no layers: two at least, of 1 to {} neurons each", Mlp::WIDEST)
            }
            Self::Length { shapes, expected, found } => write!(
                f,
                "a network of {shapes:?} has {expected} bytes of weights, not {found}: truncated, or for another shape"
            ),
            Self::NotFinite { at } => write!(f, "weight {at} is not finite"),
        }
    }
}

impl std::error::Error for MlpError {}

/// A multilayer perceptron with ReLU between its layers, in `f32`.
///
/// Sums run over inputs in ascending order, the bias first, without fused operations: the same bits on every machine.
///
/// ```
/// // Two inputs, one output: 3 x - 2 y + 1.
/// let bytes: Vec<u8> = [3f32, -2.0, 1.0].iter().flat_map(|weight| weight.to_le_bytes()).collect();
/// let mut network = hawser_learn::Mlp::read(&[2, 1], &bytes)?;
/// let mut out = [0.0];
/// network.forward(&[2.0, 1.0], &mut out);
/// assert_eq!(out, [5.0]);
/// # Ok::<(), hawser_learn::MlpError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    layers: Vec<Layer>,
    /// What a layer reads and what it writes.
    values: [Vec<f32>; 2],
}

#[derive(Debug, Clone, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// All weights of an input side by side, so that a step is the same for all outputs.
    by_input: Vec<f32>,
    bias: Vec<f32>,
}

impl Mlp {
    /// The widest layer.
    pub const WIDEST: usize = 4_096;

    /// From the widths of its layers, inputs first, and its weights: for each layer the matrix (a row for each output) and the
    /// bias, little-endian `f32`.
    ///
    /// # Errors
    /// [`MlpError`].
    pub fn read(shapes: &[usize], bytes: &[u8]) -> Result<Self, MlpError> {
        if shapes.len() < 2 || shapes.iter().any(|width| !(1..=Self::WIDEST).contains(width)) {
            return Err(MlpError::Shape(shapes.to_vec()));
        }
        let numbers: usize = shapes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        if bytes.len() != 4 * numbers {
            let shapes = shapes.to_vec();
            return Err(MlpError::Length { shapes, expected: 4 * numbers, found: bytes.len() });
        }
        let weights: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        if let Some(at) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(MlpError::NotFinite { at });
        }
        let mut rest = weights.as_slice();
        let layers = shapes.windows(2).map(|pair| {
            let (matrix, behind) = rest.split_at(pair[0] * pair[1]);
            let (bias, behind) = behind.split_at(pair[1]);
            rest = behind;
            Layer::new(pair[0], matrix, bias)
        });
        let layers = layers.collect();
        let widest = shapes.iter().copied().max().unwrap_or_default();
        Ok(Self { layers, values: [vec![0.0; widest], vec![0.0; widest]] })
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs)
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// Writes the outputs, without an activation behind the last layer.
    ///
    /// # Panics
    /// If `input` has not [`Self::inputs`] values, or `out` not [`Self::outputs`].
    pub fn forward(&mut self, input: &[f32], out: &mut [f32]) {
        assert_eq!((input.len(), out.len()), (self.inputs(), self.outputs()), "inputs and outputs");
        let [mut from, mut to] = self.values.each_mut().map(Vec::as_mut_slice);
        from[..input.len()].copy_from_slice(input);
        let last = self.layers.len() - 1;
        for (number, layer) in self.layers.iter().enumerate() {
            let sums = &mut to[..layer.outputs];
            layer.apply(&from[..layer.inputs], sums);
            if number < last {
                sums.iter_mut().for_each(|sum| *sum = sum.max(0.0));
            }
            std::mem::swap(&mut from, &mut to);
        }
        out.copy_from_slice(&from[..out.len()]);
    }
}

impl Layer {
    fn new(inputs: usize, matrix: &[f32], bias: &[f32]) -> Self {
        let outputs = bias.len();
        let transposed = |at: usize| matrix[at % outputs * inputs + at / outputs];
        Self { inputs, outputs, by_input: (0..matrix.len()).map(transposed).collect(), bias: bias.to_vec() }
    }

    fn apply(&self, input: &[f32], sums: &mut [f32]) {
        sums.copy_from_slice(&self.bias);
        for (value, weights) in input.iter().zip(self.by_input.chunks_exact(self.outputs)) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += value * weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(weights: &[f32]) -> Vec<u8> {
        weights.iter().flat_map(|weight| weight.to_le_bytes()).collect()
    }

    /// |x| = relu(x) + relu(-x), and twice that less 1.
    #[test]
    fn two_layers_make_an_absolute_value() {
        let weights = bytes(&[1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 0.0, -1.0]);
        let mut network = Mlp::read(&[1, 2, 2], &weights).unwrap();
        let mut out = [0.0; 2];
        for x in [-3.0, 0.0, 0.5f32] {
            network.forward(&[x], &mut out);
            assert_eq!(out, [x.abs(), 2.0 * x.abs() - 1.0]);
        }
    }

    #[test]
    fn rows_of_a_matrix_are_outputs() {
        let mut network = Mlp::read(&[3, 2], &bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, 0.25])).unwrap();
        let mut out = [0.0; 2];
        network.forward(&[1.0, 10.0, 100.0], &mut out);
        assert_eq!(out, [321.5, 654.25]);
    }

    #[test]
    fn files_for_something_else_are_refused() {
        let good = bytes(&[0.0; 10 * 64 + 64 + 64 * 64 + 64 + 64 * 3 + 3]);
        assert!(Mlp::read(&[10, 64, 64, 3], &good).is_ok());
        for (shapes, bytes) in [(&[10, 64, 64, 3], &good[..good.len() - 1]), (&[11, 64, 64, 3], &good[..])] {
            let error = Mlp::read(shapes, bytes).unwrap_err();
            assert!(error.to_string().contains("truncated, or for another shape"), "{error}");
        }
        for shapes in [&[][..], &[3], &[3, 0], &[3, 1 << 20]] {
            assert!(matches!(Mlp::read(shapes, &good), Err(MlpError::Shape(_))), "{shapes:?}");
        }
        let error = Mlp::read(&[1, 1], &bytes(&[1.0, f32::NAN])).unwrap_err();
        assert_eq!(error, MlpError::NotFinite { at: 1 });
    }
}
