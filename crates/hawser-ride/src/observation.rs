//! What an agent sees of a decision.

use crate::paths::PathView;
use crate::{FrameKind, PATHS, Unit};

/// Values of the longest observation.
pub const MAX_OBSERVATION: usize = PLAIN + 4;
const PLAIN: usize = 4 * PATHS + 2;

/// What an observation lacks, for ablations: the value is 0 there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hidden {
    /// It lacks nothing.
    #[default]
    Nothing,
    /// The time until the deadline.
    Deadline,
    /// The size.
    Size,
}

/// Number of values of an observation.
pub(crate) fn length(extended: bool) -> usize {
    if extended { MAX_OBSERVATION } else { PLAIN }
}

/// Writes an observation, each value within -5 to 5: per path the window left (200 kB, negative where more is queued), rate
/// (50 Mbit/s), round-trip time (100 ms) and loss rate (.02), all paths of one after all of the other; then the time until the
/// deadline (500 ms) and the size (50 kB). Extended: time until playback (200 ms), and whether it is an I, P or B frame.
pub(crate) fn write(out: &mut [f32], paths: &[PathView; PATHS], unit: &Unit, hidden: Hidden, extended: bool) {
    let mut at = 0;
    let mut put = |value: f64| {
        out[at] = value.clamp(-5.0, 5.0) as f32;
        at += 1;
    };
    paths.iter().for_each(|path| put(path.window_left() / 200e3));
    paths.iter().for_each(|path| put(path.rate / 50e6));
    paths.iter().for_each(|path| put(path.rtt / 0.1));
    paths.iter().for_each(|path| put(path.loss / 0.02));
    let shown = |value, what| if hidden == what { 0.0 } else { value };
    put(shown((unit.playback.deadline - unit.release) / 0.5, Hidden::Deadline));
    put(shown(unit.bytes / 50e3, Hidden::Size));
    if extended {
        put((unit.playback.start - unit.release) / 0.2);
        for kind in [FrameKind::I, FrameKind::P, FrameKind::B] {
            put(f64::from(u8::from(unit.kind == kind)));
        }
    }
}
