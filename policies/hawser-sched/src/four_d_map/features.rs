//! The state that the learner sees (4D-MAP, section 3.2): four numbers for each path, four for the video.

use std::time::Duration;

/// Paths that have features of their own, at most.
pub(super) const MAX_PATHS: usize = 4;

/// Features, at most.
pub(super) const MAX_FEATURES: usize = 4 * MAX_PATHS + 5;

/// The numbers of a state; those beyond the features of a map are zero.
pub(super) type Context = [f64; MAX_FEATURES];

/// How a state becomes numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FourDMapFeatures {
    /// Each between 0 and about 1, and a constant: raw units differ by a factor of a million, which makes the models of the
    /// arms nearly singular.
    #[default]
    Scaled,
    /// Seconds, bytes, bits per second and frames per second, as in the paper.
    Raw,
}

/// A path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FourDMapPathState {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Congestion window, in bytes.
    pub window: u64,
    /// In flight, and assigned but not sent, in bytes.
    pub outstanding: u64,
    /// Lost packets of sent ones, from 0 to 1.
    pub loss: f64,
}

/// A frame, and those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FourDMapFrameState {
    /// Frames per second.
    pub frame_rate: f64,
    /// Bits of the frames of the last second.
    pub recent_bits: f64,
    /// Bytes of the frame.
    pub size: u64,
    /// Mean of the frames so far, in bytes.
    pub mean_size: f64,
    /// Whether it is a key frame.
    pub is_key: bool,
}

impl FourDMapFeatures {
    /// How many numbers there are for so many paths.
    pub fn count(self, paths: usize) -> usize {
        match self {
            FourDMapFeatures::Scaled => 4 * paths + 5,
            FourDMapFeatures::Raw => 4 * paths + 4,
        }
    }

    /// The numbers of a state. A path that is missing has zeros.
    pub(super) fn context(self, paths: &[Option<FourDMapPathState>], frame: &FourDMapFrameState) -> Context {
        let mut context = [0.0; MAX_FEATURES];
        let (of_paths, of_frame) = context.split_at_mut(4 * paths.len().min(MAX_PATHS));
        for (numbers, path) in of_paths.chunks_exact_mut(4).zip(paths) {
            if let Some(path) = path {
                numbers.copy_from_slice(&self.path(path));
            }
        }
        let type_of = f64::from(u8::from(frame.is_key));
        let size = frame.size as f64;
        let numbers = match self {
            FourDMapFeatures::Raw => [frame.frame_rate, frame.recent_bits, size, type_of, 0.0],
            FourDMapFeatures::Scaled => {
                let capacity: f64 = paths.iter().flatten().map(capacity).sum();
                let usual = (10.0 * frame.mean_size).max(1.0);
                let load = if capacity > 0.0 { frame.recent_bits / capacity } else { 3.0 };
                [frame.frame_rate / 60.0, load.min(3.0) / 3.0, (size / usual).min(1.0), type_of, 1.0]
            }
        };
        of_frame[..5].copy_from_slice(&numbers);
        context
    }

    fn path(self, path: &FourDMapPathState) -> [f64; 4] {
        let (rtt, window, outstanding) =
            (path.rtt.as_secs_f64(), path.window as f64, path.outstanding as f64);
        match self {
            FourDMapFeatures::Raw => [rtt, window, outstanding, path.loss],
            FourDMapFeatures::Scaled => {
                let used = (outstanding / window.max(1.0)).min(1.5);
                [rtt / 0.2, window / (512.0 * 1024.0), used, (path.loss / 0.05).min(1.0)]
            }
        }
    }
}

/// Bits per second by window and round-trip time.
fn capacity(path: &FourDMapPathState) -> f64 {
    8.0 * path.window as f64 / path.rtt.as_secs_f64().max(1e-4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [Option<FourDMapPathState>; 2] = [
        Some(FourDMapPathState {
            rtt: Duration::from_millis(50),
            window: 131_072,
            outstanding: 65_536,
            loss: 0.01,
        }),
        Some(FourDMapPathState {
            rtt: Duration::from_millis(100),
            window: 65_536,
            outstanding: 131_072,
            loss: 0.2,
        }),
    ];
    const FRAME: FourDMapFrameState = FourDMapFrameState {
        frame_rate: 30.0,
        recent_bits: 13_107_200.0,
        size: 50_000,
        mean_size: 10_000.0,
        is_key: true,
    };

    #[test]
    fn features_are_scaled_to_about_one() {
        let context = FourDMapFeatures::Scaled.context(&PATHS, &FRAME);
        // 8 * 131072 / 0.05 + 8 * 65536 / 0.1 = 26.2144 Mbit/s.
        let expected = [0.25, 0.25, 0.5, 0.2, 0.5, 0.125, 1.5, 1.0, 0.5, 0.5 / 3.0, 0.5, 1.0, 1.0];
        assert_eq!(FourDMapFeatures::Scaled.count(2), expected.len());
        for (at, value) in expected.iter().enumerate() {
            assert!((context[at] - value).abs() < 1e-12, "{at}: {} for {value}", context[at]);
        }
        assert!(context[13..].iter().all(|value| *value == 0.0));
    }

    #[test]
    fn raw_features_are_those_of_the_paper() {
        let context = FourDMapFeatures::Raw.context(&PATHS, &FourDMapFrameState { is_key: false, ..FRAME });
        let expected = [
            0.05,
            131_072.0,
            65_536.0,
            0.01,
            0.1,
            65_536.0,
            131_072.0,
            0.2,
            30.0,
            13_107_200.0,
            50_000.0,
            0.0,
        ];
        assert_eq!(context[..FourDMapFeatures::Raw.count(2)], expected);
    }

    #[test]
    fn what_is_not_known_is_no_infinity() {
        for map in [FourDMapFeatures::Scaled, FourDMapFeatures::Raw] {
            let nothing = [Some(FourDMapPathState::default()), None, None, None, None];
            let context = map.context(&nothing[..4], &FourDMapFrameState::default());
            assert!(context.iter().all(|value| value.is_finite()), "{context:?}");
            map.context(&[], &FourDMapFrameState { size: u64::MAX, ..FRAME });
        }
    }
}
