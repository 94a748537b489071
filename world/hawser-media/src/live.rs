//! `live`: a video is sent while it is made, on one stream, and played at the other end.
//!
//! Bodies of key frames are reliable. Those of other frames are retransmitted unless a policy discards them or says that their
//! losses are not worth it; the viewer then goes on without the bytes ([`Reliability::UntilDeadline`] without a deadline).

mod publisher;
mod viewer;

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, Rate};

use crate::video::VideoModel;
use crate::{Application, LeftOut};

#[cfg(doc)]
use hawser_policy::Reliability;

pub use publisher::{HEADER_ID, Publisher};
pub use viewer::Viewer;
pub(crate) use {publisher::body, viewer::fill, viewer::mismatches};

/// The clips of 4D-MAP, table 1 of its appendix: name, Mbit/s on average and at most, frames per second, seconds.
const CLIPS: [(&str, f64, f64, u32, u64); 6] = [
    ("bbb", 2.78, 6.54, 30, 60),
    ("sintel", 9.42, 20.71, 24, 60),
    ("ss", 22.33, 34.41, 24, 60),
    ("hy", 30.55, 73.34, 60, 60),
    ("sintel-10min", 10.20, 26.72, 24, 600),
    ("ss-10min", 20.46, 56.04, 24, 600),
];
/// Frames per second where nobody says.
const FRAME_RATE: u32 = 25;
/// How long a frame may wait at the publisher, where frames are left out.
const LAG: Duration = Duration::from_millis(500);
/// The choice of `video` that goes by `rate` and `maximum`.
const CUSTOM: &str = "custom";
/// Of `padding`: only what the sender gave up is passed over.
const ANNOUNCED: &str = "announced";
/// Of `behind`: nothing is left out.
const NOTHING: &str = "nothing";
/// Of `behind`: single frames.
const FRAMES: &str = "frames";
/// A frame is late for its viewer after so long (4D-MAP, section on rewards).
const DEADLINE: Duration = Duration::from_millis(200);

/// What can be set.
pub(crate) fn parameters() -> Vec<ParameterInfo> {
    let clips = CLIPS.iter().map(|clip| clip.0).chain([CUSTOM]);
    let any_rate = Rate::from_bits_per_second(10_000)..=Rate::from_bits_per_second(1_000_000_000);
    let rate =
        |name, default| ParameterInfo::rate(name, any_rate.clone(), Rate::from_bits_per_second(default));
    let hour = Duration::from_secs(3600);
    vec![
        ParameterInfo::choice("video", clips)
            .meaning("averages of which clip; custom: those of rate, maximum")
            .source("4D-MAP, table 1 of the appendix"),
        rate("rate", 5_000_000).meaning("mean, of a custom video"),
        rate("maximum", 10_000_000).meaning("of any second, of a custom video"),
        ParameterInfo::duration("length", Duration::ZERO..=hour, Duration::ZERO)
            .meaning("of the video; 0: as long as the clip, or 60s"),
        ParameterInfo::integer("fps", 0..=240, 0)
            .unit("frames/s")
            .meaning("frame rate; 0: that of the clip, 25 of a custom one"),
        ParameterInfo::duration("gop", Duration::from_millis(100)..=hour, Duration::from_secs(2))
            .meaning("from key frame to key frame"),
        ParameterInfo::duration("deadline", Duration::from_millis(1)..=hour, DEADLINE)
            .meaning("later than this after it was written a frame is reported as late"),
        ParameterInfo::choice("behind", [NOTHING, FRAMES, "groups"]).meaning(
            "left out where the publisher lags: nothing, single frames, or the ends of groups of pictures",
        ),
        ParameterInfo::duration("lag", Duration::from_millis(1)..=hour, LAG)
            .meaning("what would wait for longer at the publisher is left out, of behind"),
        ParameterInfo::choice("padding", [ANNOUNCED, "any"])
            .meaning("announced: bytes of a body that the sender gave up; any: also those that are late"),
    ]
}

/// Frames per second.
fn frame_rate(parameters: &Parameters) -> u32 {
    let of_clip = CLIPS.iter().find(|clip| clip.0 == parameters.choice("video")).map(|clip| clip.3);
    match parameters.integer("fps") as u32 {
        0 => of_clip.unwrap_or(FRAME_RATE),
        said => said,
    }
}

/// The video that the parameters describe.
fn video(parameters: &Parameters) -> VideoModel {
    let clip = CLIPS.iter().find(|clip| clip.0 == parameters.choice("video"));
    let bits = |name| parameters.rate(name).bits_per_second() as f64;
    let (mean, maximum, seconds) = match clip {
        Some((_, mean, maximum, _, seconds)) => (mean * 1e6, maximum * 1e6, *seconds),
        None => (bits("rate"), bits("maximum").max(bits("rate")), 60),
    };
    let length = parameters.duration("length");
    VideoModel {
        mean,
        maximum,
        duration: if length.is_zero() { Duration::from_secs(seconds) } else { length },
        frame_rate: frame_rate(parameters),
        key_interval: parameters.duration("gop"),
    }
}

/// The end that sends.
pub(crate) fn publisher(parameters: &Parameters, seed: u64) -> Box<dyn Application> {
    let publisher = Publisher::new(video(parameters).frames(seed));
    let lag = parameters.duration("lag");
    Box::new(match parameters.choice("behind") {
        NOTHING => publisher,
        FRAMES => publisher.leaving_out(LeftOut::Frames, lag),
        _ => publisher.leaving_out(LeftOut::Groups, lag),
    })
}

/// The end that plays.
pub(crate) fn viewer(parameters: &Parameters) -> Box<dyn Application> {
    let viewer = Viewer::new(frame_rate(parameters), parameters.duration("deadline"));
    Box::new(match parameters.choice("padding") {
        ANNOUNCED => viewer,
        _ => viewer.passing_what_is_late(),
    })
}

#[cfg(test)]
mod tests;
