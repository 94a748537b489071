//! How large the layers of each frame are.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::video::normal;

/// Mean bit/s of each representation of *Sintel* (222 segments of the DASH data set that QC-MAB used).
pub const RATES: [f64; 8] = [0.0882e6, 0.1740e6, 0.4509e6, 0.9379e6, 1.9694e6, 3.7824e6, 9.1806e6, 20.501e6];
/// Length of a segment.
pub const SEGMENT: Duration = Duration::from_secs(4);
/// A base layer and two enhancement layers.
pub const LAYERS: usize = 3;

/// Coefficient of variation of the sizes of segments.
const VARIATION: f64 = 0.55;
/// Correlation of the logarithms of neighbouring sizes, which makes that of the sizes 0.7: `ln(1 + 0.7 v^2) / ln(1 + v^2)`
/// with the variation `v`.
const CORRELATION: f64 = 0.7267;

/// How large segments are, relative to their mean: the same in all representations.
#[derive(Clone, Debug, PartialEq)]
pub struct Film(Vec<f64>);

impl Film {
    /// Segments of log-normal sizes with mean 1, a coefficient of variation of 0.55 and a correlation of neighbours of 0.7.
    pub fn synthetic(segments: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let variance = libm::log(1.0 + VARIATION * VARIATION);
        let mut state = normal(&mut random);
        let factor = |_| {
            let factor = libm::exp(variance.sqrt() * state - variance / 2.0);
            state = CORRELATION * state + (1.0 - CORRELATION * CORRELATION).sqrt() * normal(&mut random);
            factor
        };
        Film((0..segments).map(factor).collect())
    }

    /// Bytes of each layer of frame `frame`: its share of the segments that its period lies in. Layers are differences of
    /// representations: base layer up to `r - 2`, then up to `r - 1`, then up to `r` = `representation` (1 to 8).
    pub fn layers(&self, frame: u32, period: Duration, representation: u8) -> [u32; LAYERS] {
        let r = usize::from(representation).clamp(1, RATES.len());
        let [base, middle, top] = [r.saturating_sub(2).max(1), r.saturating_sub(1).max(1), r]
            .map(|representation| self.bytes(frame, period, RATES[representation - 1]));
        [base, middle - base, top - middle].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Bytes of a frame at a mean rate.
    fn bytes(&self, frame: u32, period: Duration, rate: f64) -> u64 {
        let start = period.as_secs_f64() * f64::from(frame);
        self.bytes_until(start + period.as_secs_f64(), rate) - self.bytes_until(start, rate)
    }

    /// Bytes before a time in seconds: a byte pointer, since segments are no multiple of frames.
    fn bytes_until(&self, time: f64, rate: f64) -> u64 {
        let length = SEGMENT.as_secs_f64();
        let whole = ((time / length) as usize).min(self.0.len());
        let before: f64 = self.0[..whole].iter().sum::<f64>() * length;
        let part = self.0.get(whole).map_or(0.0, |factor| factor * (time - whole as f64 * length));
        ((before + part) * rate / 8.0).round() as u64
    }
}
