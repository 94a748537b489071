//! What an agent sees of a decision.

use crate::{FrameKind, PATHS, PathView, Unit};

/// Values of the longest observation.
pub const MAX_OBSERVATION: usize = PLAIN + 4;
/// Values of an observation without those of [`Config::extended`](crate::Config::extended).
pub const PLAIN: usize = 4 * PATHS + 2;

/// What an observation lacks, for ablations: the value is 0 there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

impl Hidden {
    /// Takes out of an observation what is hidden.
    pub(crate) fn hide(self, observation: &mut [f32]) {
        match self {
            Hidden::Nothing => {}
            Hidden::Deadline => observation[4 * PATHS] = 0.0,
            Hidden::Size => observation[4 * PATHS + 1] = 0.0,
        }
    }
}

/// Number of values of an observation.
pub(crate) fn length(extended: bool) -> usize {
    if extended { MAX_OBSERVATION } else { PLAIN }
}

/// Writes an observation, each value within -5 to 5: per path the window left (200 kB, negative where more is queued), rate
/// (50 Mbit/s), round-trip time (100 ms) and loss rate (0.02), all paths of one after all of the other; then the time until the
/// deadline (500 ms) and the size (50 kB). Extended: time until playback (200 ms), and whether it is an I, P or B frame.
pub(crate) fn write(out: &mut [f32], paths: &[PathView; PATHS], unit: &Unit, hidden: Hidden, extended: bool) {
    out[..PLAIN].copy_from_slice(&observe(paths, unit.playback.deadline - unit.release, unit.bytes));
    hidden.hide(out);
    if extended {
        out[PLAIN] = limited((unit.playback.start - unit.release) / 0.2);
        for (place, kind) in out[PLAIN + 1..].iter_mut().zip([FrameKind::I, FrameKind::P, FrameKind::B]) {
            *place = f32::from(u8::from(unit.kind == kind));
        }
    }
}

/// The observation of a unit that is of use for `left` seconds more and has so many bytes, wherever the paths are: those of the
/// environment, or of a connection.
pub fn observe(paths: &[PathView; PATHS], left: f64, bytes: f64) -> [f32; PLAIN] {
    let mut out = [0.0; PLAIN];
    for (at, path) in paths.iter().enumerate() {
        let values = [path.window_left() / 200e3, path.rate / 50e6, path.rtt / 0.1, path.loss / 0.02];
        for (kind, value) in values.into_iter().enumerate() {
            out[kind * PATHS + at] = limited(value);
        }
    }
    (out[4 * PATHS], out[4 * PATHS + 1]) = (limited(left / 0.5), limited(bytes / 50e3));
    out
}

fn limited(value: f64) -> f32 {
    value.clamp(-5.0, 5.0) as f32
}
