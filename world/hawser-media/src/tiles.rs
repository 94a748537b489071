//! `tiles`: 360-degree video in tiles, the application of RIDE (W. Yang 2024, chapter 5).
//!
//! A frame of the sphere is cut into 200 tiles, each coded in groups of pictures of I, P and B frames; a head sees some 45 tiles. What is
//! viewed of a frame is released at the time of the frame. Each viewed tile-frame is a *unit*: it takes along what it needs, was
//! not sent before and is not viewed itself, and is a stream of its own, with the time until which it is of use as deadline. An
//! [`Index`] of every frame goes ahead on a reliable stream. The rules of the video are those of `hawser-ride`, whose
//! environment is the fluid model of the same: so are the figures.

mod receiver;
mod sender;
pub mod wire;

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, Time};
use hawser_ride::{FRAMES_PER_SECOND, Sizes, Video, Viewing, Views};

use crate::Application;

pub use receiver::Receiver;
pub use sender::Sender;

/// Streams that may be open at a time: what is released in three seconds.
pub(crate) const STREAMS: u64 = 4_096;

/// Frames of a group of pictures.
const GOP: u32 = 50;
const LENGTH: Duration = Duration::from_secs(60);
/// From the release of a frame to its display.
const PLAYOUT: Duration = Duration::from_millis(200);
/// Mean of a tile-frame, bytes: 40 of them are 36 Mbit/s.
const MEAN: f64 = 3_750.0;

/// What can be set.
pub(crate) fn parameters() -> Vec<ParameterInfo> {
    vec![
        ParameterInfo::duration("length", Duration::from_secs(2)..=Duration::from_secs(600), LENGTH)
            .meaning("of the film; whole groups of 50 frames of it are sent"),
        ParameterInfo::duration("playout", Duration::ZERO..=Duration::from_secs(10), PLAYOUT)
            .meaning("from the release of a frame to its display"),
        ParameterInfo::number("mean", 64.0..=1e6, MEAN).unit("bytes").meaning("mean of a tile-frame"),
        ParameterInfo::choice("sizes", ["graded", "equal"]).meaning("graded: I, P and B frames as 8 : 3 : 1"),
        ParameterInfo::choice("viewing", ["head", "switching", "fixed"])
            .meaning(
                "head: it turns; switching: it looks elsewhere each second, too; fixed: the same 40 tiles",
            )
            .source("W. Yang 2024, section 5.4"),
    ]
}

/// What both ends have to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Frames of the film.
    pub frames: u32,
    /// From the release of a frame to its display.
    pub playout: Duration,
}

impl Format {
    fn read(parameters: &Parameters) -> Self {
        let frames = parameters.duration("length").as_secs() * FRAMES_PER_SECOND as u64;
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        Format { frames: frames - frames % GOP, playout: parameters.duration("playout") }
    }

    /// When the display of a frame ends, of a film that began at `start`.
    pub fn display_ends(&self, start: Time, frame: u32) -> Time {
        start + release(frame + 1) + self.playout
    }
}

/// From the start of the film to the release of a frame: exact, since a sum of rounded periods drifts.
fn release(frame: u32) -> Duration {
    Duration::from_nanos(u64::from(frame) * 1_000_000_000 / FRAMES_PER_SECOND as u64)
}

/// The end that sends.
pub(crate) fn sender(parameters: &Parameters, seed: u64) -> Box<dyn Application> {
    let format = Format::read(parameters);
    let ratio = if parameters.choice("sizes") == "equal" { [1.0; 3] } else { [8.0, 3.0, 1.0] };
    let sizes = Sizes { mean: parameters.number("mean"), sigma: 0.6, ratio, saliency: false };
    let viewing = match parameters.choice("viewing") {
        "switching" => Viewing::Switching,
        "fixed" => Viewing::Fixed,
        _ => Viewing::Head,
    };
    let frames = format.frames as usize;
    let video = Video::synthetic(seed, frames, &sizes);
    let views = Views::synthetic(seed ^ 0x5eed, frames, GOP as usize, viewing);
    Box::new(Sender::new(format, video, views))
}

/// The end that shows.
pub(crate) fn receiver(parameters: &Parameters) -> Box<dyn Application> {
    Box::new(Receiver::new(Format::read(parameters)))
}

#[cfg(test)]
mod tests;
