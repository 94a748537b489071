//! A model of what missing bytes do to the picture, for runs without a decoder.
//!
//! Figures that come from it are modelled, not measured: structural similarity (SSIM) of a frame is [`INTACT`] when nothing is
//! missing; what a frame lacks lowers it by up to [`LOSS`], and all frames until the next key frame, which build on it, are no
//! better. Both constants are those of H.264 with concealment at a few megabits per second, to the nearest hundredth.

use crate::video::FrameKind;

/// SSIM of a decoded frame of which nothing is missing, nor of those that it builds on.
pub const INTACT: f64 = 0.98;
/// How much lower it is for a frame of which everything is missing.
pub const LOSS: f64 = 0.13;

/// SSIM of the frames of a video, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct QualityModel {
    /// That of the frame before.
    last: f64,
    sum: f64,
    frames: u64,
}

impl Default for QualityModel {
    fn default() -> Self {
        QualityModel { last: INTACT, sum: 0.0, frames: 0 }
    }
}

impl QualityModel {
    /// The next frame is shown, of which this share (0 to 1) is missing. Returns its SSIM.
    pub fn on_frame(&mut self, kind: FrameKind, missing: f64) -> f64 {
        let own = INTACT - LOSS * missing.clamp(0.0, 1.0);
        self.last = match kind {
            FrameKind::Key => own,
            FrameKind::Delta => own.min(self.last),
        };
        self.sum += self.last;
        self.frames += 1;
        self.last
    }

    /// So many frames were left out, none of them a key frame: the picture before is shown in their place.
    pub fn on_left_out(&mut self, frames: u64) {
        if frames > 0 {
            self.last = self.last.min(INTACT - LOSS);
            self.sum += self.last * frames as f64;
            self.frames += frames;
        }
    }

    /// aSSIM: the mean over all frames, where each frame period that the picture stood still counts as a frame of SSIM 0
    /// (4D-MAP, section on metrics). Zero if nothing was shown.
    pub fn average(&self, stalled_periods: f64) -> f64 {
        let frames = self.frames as f64 + stalled_periods.max(0.0);
        if frames > 0.0 { self.sum / frames } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_left_out_are_shown_as_the_picture_before() {
        let (mut left_out, mut missing) = (QualityModel::default(), QualityModel::default());
        for model in [&mut left_out, &mut missing] {
            model.on_frame(FrameKind::Key, 0.0);
        }
        left_out.on_left_out(2);
        for _ in 0..2 {
            missing.on_frame(FrameKind::Delta, 1.0);
        }
        assert!((left_out.average(0.0) - missing.average(0.0)).abs() < 1e-12);
        // What builds on them is no better.
        assert!((left_out.on_frame(FrameKind::Delta, 0.0) - (INTACT - LOSS)).abs() < 1e-12);
    }

    #[test]
    fn damage_lasts_until_the_next_key_frame() {
        let mut model = QualityModel::default();
        let frames = [
            (FrameKind::Key, 0.0, 0.98),
            (FrameKind::Delta, 1.0, 0.85),
            (FrameKind::Delta, 0.0, 0.85),
            (FrameKind::Key, 0.0, 0.98),
            (FrameKind::Delta, 0.5, 0.915),
        ];
        for (kind, missing, expected) in frames {
            assert!((model.on_frame(kind, missing) - expected).abs() < 1e-12);
        }
        assert!((model.average(0.0) - (0.98 + 0.85 + 0.85 + 0.98 + 0.915) / 5.0).abs() < 1e-12);
        assert!((model.average(5.0) - (0.98 + 0.85 + 0.85 + 0.98 + 0.915) / 10.0).abs() < 1e-12);
    }
}
