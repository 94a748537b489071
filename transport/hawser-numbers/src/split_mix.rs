use crate::{Draws, GOLDEN, mix};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): eight bytes of state, the same values on every machine. Good enough to
/// explore with and to let probing times of flows differ; not for keys.
///
/// ```
/// let mut random = hawser_numbers::SplitMix64::new(7);
/// let value = random.fraction();
/// assert!((0.0..1.0).contains(&value));
/// assert_eq!(hawser_numbers::SplitMix64::new(7).fraction(), value);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A whole number from 0, below `bound`; 0 if `bound` is 0. Small numbers are likelier by less than `bound` in 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_random() % bound.max(1)
    }

    /// From 0 to 1, 1 left out.
    pub fn fraction(&mut self) -> f64 {
        (self.next_random() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal value ([`Draws::normal`]).
    pub fn normal(&mut self) -> f64 {
        Draws::normal(self)
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

impl Draws for SplitMix64 {
    fn unit(&mut self) -> f64 {
        self.fraction()
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The first values of the reference implementation for seed 1234567.
    #[test]
    fn it_is_splitmix64() {
        let mut random = SplitMix64::new(1_234_567);
        let values = [0; 3].map(|_| random.next_random());
        assert_eq!(values, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn directions_lie_on_the_unit_sphere() {
        let mut random = SplitMix64::new(5);
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
