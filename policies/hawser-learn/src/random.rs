//! Random values for learners that explore.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): eight bytes of state, the same values on every machine. Good enough to
/// explore with; not for keys.
///
/// ```
/// let mut random = hawser_learn::Random::new(7);
/// let value = random.fraction();
/// assert!((0.0..1.0).contains(&value));
/// assert_eq!(hawser_learn::Random::new(7).fraction(), value);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, 1 left out.
    pub fn fraction(&mut self) -> f64 {
        (self.next_random() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal value (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.fraction())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.fraction())
    }

    /// Fills `direction` with a point of the unit sphere, every one equally likely; (1) or (-1) in one dimension.
    pub fn direction(&mut self, direction: &mut [f64]) {
        let mut square = 0.0;
        for value in direction.iter_mut() {
            *value = self.normal();
            square += *value * *value;
        }
        let length = square.sqrt();
        for (at, value) in direction.iter_mut().enumerate() {
            // All zero is possible in theory only.
            *value = if length > 0.0 { *value / length } else { f64::from(u8::from(at == 0)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first values of the reference implementation for seed 1234567.
    #[test]
    fn it_is_splitmix64() {
        let mut random = Random::new(1_234_567);
        let values = [0; 3].map(|_| random.next_random());
        assert_eq!(values, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn normal_values_have_mean_zero_and_deviation_one() {
        let mut random = Random::new(3);
        let values: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn directions_lie_on_the_unit_sphere() {
        let mut random = Random::new(5);
        let mut sum = [0.0; 3];
        for _ in 0..10_000 {
            let mut direction = [0.0; 3];
            random.direction(&mut direction);
            assert!((direction.iter().map(|value| value * value).sum::<f64>() - 1.0).abs() < 1e-12);
            (0..3).for_each(|axis| sum[axis] += direction[axis] / 10_000.0);
        }
        assert!(sum.iter().all(|mean| mean.abs() < 0.03), "{sum:?}");
    }
}
