//! Exponentially weighted moving average.

/// An average in which a sample's weight falls by the same factor with every later sample.
///
/// The first sample is the first average, as in RFC 6298 section 2.2: there is no start from zero to be corrected.
///
/// ```
/// let mut average = hawser_learn::Ewma::new(0.25);
/// assert_eq!(average.value(), None);
/// average.update(8.0);
/// assert_eq!(average.update(16.0), 10.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ewma {
    gain: f64,
    value: Option<f64>,
}

impl Ewma {
    /// An average that moves by `gain` of the way to every sample.
    ///
    /// # Panics
    /// If `gain` is not above 0 and at most 1.
    pub fn new(gain: f64) -> Self {
        assert!(gain > 0.0 && gain <= 1.0, "a gain above 0 and at most 1, not {gain}");
        Self { gain, value: None }
    }

    /// The average, once there was a sample.
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// Takes a sample in and gives the new average.
    pub fn update(&mut self, sample: f64) -> f64 {
        let value = self.value.map_or(sample, |value| value + self.gain * (sample - value));
        self.value = Some(value);
        value
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.value = None;
    }
}

#[cfg(test)]
mod tests {
    use super::Ewma;

    #[test]
    fn the_weight_of_a_sample_falls_by_the_same_factor_with_every_later_one() {
        let mut average = Ewma::new(0.5);
        let values = [1.0, 0.0, 0.0, 8.0].map(|sample| average.update(sample));
        assert_eq!(values, [1.0, 0.5, 0.25, 4.125]);
    }
}
