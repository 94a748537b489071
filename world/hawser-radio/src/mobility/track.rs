use super::Trajectory;
use crate::RadioError;
use crate::math::{PI, cos};

/// What the columns of a recorded track mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum TrackFormat {
    /// Seconds, latitude, longitude in degrees.
    Geographic,
    /// Seconds, metres east, metres north.
    Metric,
}

/// A recorded way: CSV text with one point per line, `time,lat,lon` or `time,x,y`. A first line with names is skipped;
/// columns after the third are ignored; times start anywhere and must rise.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTrack {
    trajectory: Trajectory,
}

impl RecordedTrack {
    /// Reads the text. Geographic points are projected onto the plane that touches the Earth at the first one, which
    /// is right to 0.1 % within 100 km.
    pub fn parse(text: &str, format: TrackFormat) -> Result<Self, RadioError> {
        let mut points: Vec<(f64, [f64; 2])> = Vec::new();
        let mut origin: Option<(f64, [f64; 2])> = None;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |reason: String| RadioError::Text { what: "track", line: index + 1, reason };
            let fields: Vec<Option<f64>> = line
                .split(',')
                .take(3)
                .map(|field| field.trim().parse().ok().filter(|x: &f64| x.is_finite()))
                .collect();
            let [Some(time), Some(first), Some(second)] = fields[..] else {
                if origin.is_none() && index == 0 {
                    continue;
                }
                return Err(fail(format!(
                    "\"{line}\" has no three numbers: expected time and two coordinates"
                )));
            };
            if format == TrackFormat::Geographic && (first.abs() > 90.0 || second.abs() > 180.0) {
                return Err(fail(format!("latitude {first}, longitude {second}: expected degrees")));
            }
            let (start, base) = *origin.get_or_insert((time, [first, second]));
            let place = match format {
                TrackFormat::Metric => [first, second],
                TrackFormat::Geographic => project(base, [first, second]),
            };
            if points.last().is_some_and(|last| last.0 >= time - start) {
                return Err(fail(format!("time {time} does not come after the line before")));
            }
            points.push((time - start, place));
        }
        if points.is_empty() {
            let reason = "no point: expected lines of time and two coordinates".to_owned();
            return Err(RadioError::Text { what: "track", line: 1, reason });
        }
        Ok(RecordedTrack { trajectory: Trajectory::new(points) })
    }

    /// The way; the host stays at its end.
    pub fn trajectory(&self) -> Trajectory {
        self.trajectory.clone()
    }
}

/// Metres east and north of `base` on the local tangent plane.
fn project(base: [f64; 2], point: [f64; 2]) -> [f64; 2] {
    const METRES_PER_DEGREE: f64 = 111_194.93;
    let east = (point[1] - base[1]) * METRES_PER_DEGREE * cos(base[0] * PI / 180.0);
    [east, (point[0] - base[0]) * METRES_PER_DEGREE]
}
