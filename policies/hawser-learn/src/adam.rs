//! Adam: a gradient step with a rate for each parameter.

/// Adam (Kingma and Ba, ICLR 2015, algorithm 1): `m <- b1 m + (1 - b1) g`, `v <- b2 v + (1 - b2) g^2`, both divided by `1 - b^t`,
/// and a step of `-rate m / (sqrt(v) + epsilon)`, with the paper's `b1` = 0.9, `b2` = 0.999 and `epsilon` = 1e-8.
///
/// ```
/// let mut adam = hawser_learn::Adam::new(1, 0.1);
/// let mut parameter = [1.0];
/// adam.step(&mut parameter, &[20.0]); // the first step has the length of the rate, however steep
/// assert!((parameter[0] - 0.9).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Adam {
    rate: f32,
    /// Moving averages of the gradient, and of its square.
    mean: Vec<f32>,
    square: Vec<f32>,
    /// `b1^t` and `b2^t`: what the averages still have of the zeros that they began with.
    remaining: [f64; 2],
}

const DECAY: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-8;

impl Adam {
    /// For so many parameters, with this rate.
    ///
    /// # Panics
    /// If the rate is not above 0.
    pub fn new(parameters: usize, rate: f32) -> Self {
        assert!(rate > 0.0, "a rate above 0, not {rate}");
        Self { rate, mean: vec![0.0; parameters], square: vec![0.0; parameters], remaining: [1.0; 2] }
    }

    /// Moves the parameters against a gradient. One that is not finite spoils them for good: the caller bounds it.
    ///
    /// # Panics
    /// If parameters or gradient are more or fewer than it was made for.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        assert_eq!((parameters.len(), gradient.len()), (self.mean.len(), self.mean.len()), "parameters");
        for (remaining, decay) in self.remaining.iter_mut().zip(DECAY) {
            *remaining *= f64::from(decay);
        }
        let [mean_scale, square_scale] = self.remaining.map(|remaining| (1.0 / (1.0 - remaining)) as f32);
        let averages = self.mean.iter_mut().zip(&mut self.square);
        for ((parameter, slope), (mean, square)) in parameters.iter_mut().zip(gradient).zip(averages) {
            *mean = DECAY[0] * *mean + (1.0 - DECAY[0]) * slope;
            *square = DECAY[1] * *square + (1.0 - DECAY[1]) * slope * slope;
            *parameter -= self.rate * (*mean * mean_scale) / ((*square * square_scale).sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Adam;

    /// Gradients 1 and 3 by hand: after the second m = 0.1 * 0.9 + 0.1 * 3 = 0.39, corrected 0.39 / 0.19; v = 0.001 * 0.999 + 0.001 * 9 =
    /// 0.009999, corrected 0.009999 / 0.001999; the step is rate * 2.05263 / 2.23652.
    #[test]
    fn the_first_steps_by_hand() {
        let mut adam = Adam::new(2, 0.01);
        let mut parameters = [1.0, -2.0];
        adam.step(&mut parameters, &[1.0, 0.0]);
        assert!((parameters[0] - 0.99).abs() < 1e-6 && parameters[1] == -2.0, "{parameters:?}");
        adam.step(&mut parameters, &[3.0, 0.0]);
        assert!((f64::from(parameters[0]) - (0.99 - 0.01 * 0.917_779)).abs() < 1e-6, "{parameters:?}");
        assert_eq!(parameters[1], -2.0);
    }

    #[test]
    fn it_finds_the_bottom_of_a_narrow_valley() {
        let mut adam = Adam::new(2, 0.05);
        let mut at = [3.0f32, -2.0];
        for _ in 0..2_000 {
            let gradient = [2.0 * (at[0] - 1.0), 200.0 * (at[1] + 1.0)];
            adam.step(&mut at, &gradient);
        }
        assert!((at[0] - 1.0).abs() < 1e-2 && (at[1] + 1.0).abs() < 1e-2, "{at:?}");
    }
}
