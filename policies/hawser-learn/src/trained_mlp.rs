//! Small neural networks that learn: forward, backward, and their weights as [`Mlp`](crate::Mlp) reads them.

use crate::Random;

/// Accumulators of a long sum: eight lanes, added up in order, so that the same bits come out on every machine and the compiler
/// may still use vectors.
const LANES: usize = 8;

/// A multilayer perceptron with ReLU between its layers and none behind the last, in `f32`, whose parameters can be learned.
///
/// [`Self::forward`] keeps what each layer gave; [`Self::backward`] then adds the gradient of a loss, of which the derivatives by
/// the outputs are given, to a vector that is laid out as [`Self::parameters`]: whatever optimises, [`Adam`](crate::Adam) for
/// instance, sees two flat slices. Sums run in a fixed order without fused operations.
///
/// ```
/// let mut network = hawser_learn::TrainedMlp::new(&[2, 3, 1], &mut hawser_learn::Random::new(1));
/// let before = network.forward(&[1.0, -1.0])[0];
/// let mut gradient = vec![0.0; network.parameters().len()];
/// network.backward(&[1.0], &mut gradient); // of the output itself
/// for (parameter, slope) in network.parameters_mut().iter_mut().zip(&gradient) {
///     *parameter += 0.01 * slope;
/// }
/// assert!(network.forward(&[1.0, -1.0])[0] > before);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedMlp {
    layers: Vec<Layer>,
    /// For each layer the weights, all of an input side by side, and behind them the biases.
    parameters: Vec<f32>,
    /// The input, and what each layer gave, behind its activation.
    values: Vec<Vec<f32>>,
    /// Derivatives of the loss by what a layer gave, and by what the one before it gave.
    slopes: [Vec<f32>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// Where its weights begin among the parameters.
    at: usize,
}

impl TrainedMlp {
    /// A network of layers of these widths, inputs first. Weights are uniform in `+-sqrt(6 / inputs)` of their layer (He,
    /// Zhang, Ren and Sun, ICCV 2015, for ReLU), biases zero.
    ///
    /// # Panics
    /// If there are fewer than two widths, or one is zero.
    pub fn new(shapes: &[usize], random: &mut Random) -> Self {
        assert!(shapes.len() >= 2 && shapes.iter().all(|width| *width > 0), "{shapes:?} are no layers");
        let (mut layers, mut parameters) = (Vec::new(), Vec::new());
        for pair in shapes.windows(2) {
            let (inputs, outputs) = (pair[0], pair[1]);
            layers.push(Layer { inputs, outputs, at: parameters.len() });
            let bound = (6.0 / inputs as f64).sqrt();
            parameters
                .extend((0..inputs * outputs).map(|_| ((2.0 * random.fraction() - 1.0) * bound) as f32));
            parameters.resize(parameters.len() + outputs, 0.0);
        }
        let widest = shapes.iter().copied().max().unwrap_or_default();
        let values = shapes.iter().map(|width| vec![0.0; *width]).collect();
        Self { layers, parameters, values, slopes: [vec![0.0; widest], vec![0.0; widest]] }
    }

    /// The widths of its layers, inputs first.
    pub fn shapes(&self) -> Vec<usize> {
        self.values.iter().map(Vec::len).collect()
    }

    /// Weights and biases, layer by layer.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The same, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// The outputs for an input.
    ///
    /// # Panics
    /// If the input is not as wide as the first layer.
    pub fn forward(&mut self, input: &[f32]) -> &[f32] {
        self.values[0].copy_from_slice(input);
        let last = self.layers.len() - 1;
        for (number, layer) in self.layers.iter().enumerate() {
            let (before, behind) = self.values.split_at_mut(number + 1);
            let (from, to) = (&before[number], &mut behind[0]);
            let (weights, bias) = layer.parts(&self.parameters);
            to.copy_from_slice(bias);
            for (value, weights) in from.iter().zip(weights.chunks_exact(layer.outputs)) {
                for (sum, weight) in to.iter_mut().zip(weights) {
                    *sum += value * weight;
                }
            }
            if number < last {
                to.iter_mut().for_each(|sum| *sum = sum.max(0.0));
            }
        }
        &self.values[self.layers.len()]
    }

    /// Adds the gradient of a loss to `gradient`; `slopes` are its derivatives by the outputs of the last [`Self::forward`].
    ///
    /// # Panics
    /// If `slopes` is not as wide as the last layer, or `gradient` has not a place for each parameter.
    pub fn backward(&mut self, slopes: &[f32], gradient: &mut [f32]) {
        assert_eq!(gradient.len(), self.parameters.len(), "a place for each parameter");
        let [mut of_outputs, mut of_inputs] = self.slopes.each_mut().map(Vec::as_mut_slice);
        of_outputs[..slopes.len()].copy_from_slice(slopes);
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let Layer { inputs, outputs, at } = *layer;
            let from = &self.values[number];
            let (weights, _) = layer.parts(&self.parameters);
            let (of_weights, of_bias) =
                gradient[at..at + (inputs + 1) * outputs].split_at_mut(inputs * outputs);
            let delta = &of_outputs[..outputs];
            of_bias.iter_mut().zip(delta).for_each(|(sum, slope)| *sum += slope);
            for (value, sums) in from.iter().zip(of_weights.chunks_exact_mut(outputs)) {
                // Half of them, behind a ReLU.
                if *value != 0.0 {
                    sums.iter_mut().zip(delta).for_each(|(sum, slope)| *sum += value * slope);
                }
            }
            if number == 0 {
                break;
            }
            for ((slope, value), weights) in of_inputs.iter_mut().zip(from).zip(weights.chunks_exact(outputs))
            {
                *slope = if *value > 0.0 { product(weights, delta) } else { 0.0 };
            }
            std::mem::swap(&mut of_outputs, &mut of_inputs);
        }
    }

    /// The parameters as [`Mlp::read`](crate::Mlp::read) takes them: for each layer the matrix, a row for each output, and the
    /// bias, little-endian `f32`.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 * self.parameters.len());
        for layer in &self.layers {
            let (weights, bias) = layer.parts(&self.parameters);
            for output in 0..layer.outputs {
                let row = weights.iter().skip(output).step_by(layer.outputs);
                bytes.extend(row.flat_map(|weight| weight.to_le_bytes()));
            }
            bytes.extend(bias.iter().flat_map(|bias| bias.to_le_bytes()));
        }
        bytes
    }
}

impl Layer {
    /// Its weights and its biases.
    fn parts<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        parameters[self.at..self.at + (self.inputs + 1) * self.outputs].split_at(self.inputs * self.outputs)
    }
}

/// The scalar product.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let (mut lanes, rest) = ([0.0f32; LANES], one.len() / LANES * LANES);
    for (one, other) in one.chunks_exact(LANES).zip(other.chunks_exact(LANES)) {
        (0..LANES).for_each(|lane| lanes[lane] += one[lane] * other[lane]);
    }
    let tail = one[rest..].iter().zip(&other[rest..]).fold(0.0, |sum, (one, other)| sum + one * other);
    lanes.iter().fold(tail, |sum, lane| sum + lane)
}

#[cfg(test)]
mod tests;
