//! Sizes and kinds of the frames of a video.

use std::time::Duration;

use hawser_numbers::Draws;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a frame is to its decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Decodable by itself (I).
    Key,
    /// Decodable with all frames since the last key frame (P).
    Delta,
}

/// A frame of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoFrame {
    /// Its number, from 0.
    pub number: u32,
    /// Its kind.
    pub kind: FrameKind,
    /// When it is shown, since the beginning of the video.
    pub at: Duration,
    /// Bytes of its body.
    pub size: u32,
}

/// A video without B frames, known by its averages: groups of pictures of one length, key frames a fixed multiple of the
/// others, and a rate that wanders from second to second as a log-normal process with a correlation of
/// [`CORRELATION`], rescaled to the mean and clipped at the maximum. It stands in for clips that are not at hand (4D-MAP, table 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoModel {
    /// Bit/s on average.
    pub mean: f64,
    /// Largest bit/s of any second, at least the mean.
    pub maximum: f64,
    /// Its length.
    pub duration: Duration,
    /// Frames per second.
    pub frame_rate: u32,
    /// Time from key frame to key frame.
    pub key_interval: Duration,
}

/// Of the rates of two seconds that follow each other.
pub const CORRELATION: f64 = 0.9;
/// Bytes of a key frame to those of another one.
pub const KEY_RATIO: f64 = 6.0;
/// The smallest frame: there is always something to code.
const SMALLEST: u32 = 64;
/// Rounds of rescaling and clipping.
const ROUNDS: usize = 30;

impl VideoModel {
    /// The frames, the same for the same seed.
    pub fn frames(&self, seed: u64) -> Vec<VideoFrame> {
        let frame_rate = self.frame_rate.max(1);
        let rates = self.rates(seed);
        let period = (self.key_interval.as_secs_f64() * f64::from(frame_rate)).round().max(1.0) as u32;
        let number = (self.duration.as_secs_f64() * f64::from(frame_rate)).round() as u32;
        let weight = |frame: u32| if frame.is_multiple_of(period) { KEY_RATIO } else { 1.0 };
        // Mean weight over a whole group, so that the size of a key frame is spread over all its seconds: an encoder with a
        // constant rate does the same, and a second that happens to have two key frames is larger than its neighbours.
        let mean_weight = (KEY_RATIO + f64::from(period - 1)) / f64::from(period);
        (0..number)
            .map(|frame| {
                let rate = rates.get((frame / frame_rate) as usize).copied().unwrap_or(self.mean);
                let bytes = rate / 8.0 / f64::from(frame_rate) * weight(frame) / mean_weight;
                VideoFrame {
                    number: frame,
                    kind: if frame.is_multiple_of(period) { FrameKind::Key } else { FrameKind::Delta },
                    at: Duration::from_secs_f64(f64::from(frame) / f64::from(frame_rate)),
                    size: (bytes.round() as u32).max(SMALLEST),
                }
            })
            .collect()
    }

    /// Bit/s of each second.
    fn rates(&self, seed: u64) -> Vec<f64> {
        let seconds = self.duration.as_secs_f64().ceil() as usize;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // The maximum is taken for two and a half deviations from the mean.
        let deviation = libm::log((self.maximum / self.mean).max(1.0)) / 2.5;
        let mut state = normal(&mut random);
        let mut rates: Vec<f64> = (0..seconds)
            .map(|_| {
                let rate = self.mean * libm::exp(deviation * state);
                state = CORRELATION * state + (1.0 - CORRELATION * CORRELATION).sqrt() * normal(&mut random);
                rate
            })
            .collect();
        // Clipping lowers the mean, and rescaling raises the largest: both until neither does anything.
        for _ in 0..ROUNDS {
            let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
            rates.iter_mut().for_each(|rate| *rate = (*rate * self.mean / mean).min(self.maximum));
        }
        rates
    }
}

/// A standard normal number.
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    (|| random.random::<f64>()).normal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sintel() -> VideoModel {
        VideoModel {
            mean: 9.42e6,
            maximum: 20.71e6,
            duration: Duration::from_secs(60),
            frame_rate: 25,
            key_interval: Duration::from_secs(2),
        }
    }

    #[test]
    fn averages_are_those_of_the_model() {
        for seed in 0..20 {
            let frames = sintel().frames(seed);
            assert_eq!(frames.len(), 1_500);
            let bits: f64 = frames.iter().map(|frame| f64::from(frame.size) * 8.0).sum();
            assert!((bits / 60.0 / 9.42e6 - 1.0).abs() < 0.02, "seed {seed}: {} bit/s", bits / 60.0);
            let keys = frames.iter().filter(|frame| frame.kind == FrameKind::Key).count();
            assert_eq!(keys, 30);
            // Two seconds have one key frame whatever their rate: no group is above the maximum.
            for group in frames.chunks(50) {
                let bits: f64 = group.iter().map(|frame| f64::from(frame.size) * 8.0).sum();
                assert!(bits / 2.0 < 20.71e6 * 1.06, "seed {seed}: {} bit/s", bits / 2.0);
            }
        }
    }

    #[test]
    fn a_seed_is_a_video() {
        assert_eq!(sintel().frames(3), sintel().frames(3));
        assert_ne!(sintel().frames(3), sintel().frames(4));
    }

    #[test]
    fn a_rate_that_never_changes_is_possible() {
        let frames = VideoModel { maximum: 9.42e6, ..sintel() }.frames(1);
        let sizes: std::collections::BTreeSet<u32> = frames.iter().map(|frame| frame.size).collect();
        assert_eq!(sizes.len(), 2, "key frames and others");
    }
}
