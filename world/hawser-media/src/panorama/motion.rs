//! How a head moves.

use hawser_learn::Random;

use super::View;

/// Samples of a trace: more than two hours at 120 per second.
const MAX_SAMPLES: usize = 1 << 20;
/// Samples per second of a synthetic trace.
const SAMPLES_PER_SECOND: f64 = 30.0;
/// Over how long a velocity is measured to tell where the head will look, seconds.
const VELOCITY_SPAN: f64 = 0.1;
/// Pitch beyond which a synthetic head does not look, degrees.
const MAX_PITCH: f64 = 60.0;

/// Where a head looks, by time. Between two samples it turns the shorter way; behind the last one it rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Seconds, rising, and the view then.
    samples: Vec<(f64, View)>,
}

/// Why a text is no trace of a head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MotionError {
    /// A line that makes no sense.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What was wrong and what was expected.
        problem: String,
    },
    /// No line has a sample.
    #[error("there is no sample: expected lines of time,yaw,pitch (seconds, degrees, degrees)")]
    Empty,
    /// Too much of it.
    #[error("more than {MAX_SAMPLES} samples")]
    TooLong,
}

impl Motion {
    /// Reads lines of `time,yaw,pitch`: seconds, rising; degrees, of which yaw may be any number and pitch is from -90 to 90.
    /// Empty lines, those that begin with `#` and a heading are passed over.
    ///
    /// # Errors
    /// [`MotionError`].
    pub fn read(text: &str) -> Result<Self, MotionError> {
        let mut samples: Vec<(f64, View)> = Vec::new();
        let mut may_be_heading = true;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let is_heading = may_be_heading && line.starts_with(|first: char| first.is_ascii_alphabetic());
            may_be_heading = false;
            if is_heading {
                continue;
            }
            let before = samples.last().map(|(time, _)| *time);
            let wrong = |problem| MotionError::Line { line: at + 1, problem };
            samples.push(sample(line, before).map_err(wrong)?);
            if samples.len() > MAX_SAMPLES {
                return Err(MotionError::TooLong);
            }
        }
        if samples.is_empty() { Err(MotionError::Empty) } else { Ok(Motion { samples }) }
    }

    /// A head as the specification of RIDE has it, of so many seconds: the velocity of yaw has a deviation of 30 degrees per
    /// second, pitch one of 15 degrees, both with a correlation of 0.98 from frame to frame. It begins at the horizon.
    pub fn synthetic(seed: u64, seconds: f64) -> Self {
        let mut random = Random::new(seed);
        let (mut yaw, mut velocity, mut height) = (180.0, random.normal(), 0.0f64);
        let fresh = (1.0 - 0.98f64 * 0.98).sqrt();
        let count = ((seconds * SAMPLES_PER_SECOND) as usize + 1).min(MAX_SAMPLES);
        let samples = (0..count).map(|at| {
            let pitch = (15.0 * height).clamp(-MAX_PITCH, MAX_PITCH);
            let sample = (at as f64 / SAMPLES_PER_SECOND, View { yaw, pitch });
            velocity = 0.98 * velocity + fresh * random.normal();
            height = 0.98 * height + fresh * random.normal();
            yaw = (yaw + 30.0 * velocity / SAMPLES_PER_SECOND).rem_euclid(360.0);
            sample
        });
        Motion { samples: samples.collect() }
    }

    /// Where the head looks at a time.
    pub fn at(&self, time: f64) -> View {
        let next = self.samples.partition_point(|(when, _)| *when <= time);
        let Some((from, before)) = next.checked_sub(1).map(|last| self.samples[last]) else {
            return self.samples[0].1;
        };
        let Some((to, after)) = self.samples.get(next) else { return before };
        let part = (time - from) / (to - from);
        View {
            yaw: (before.yaw + part * turn(before.yaw, after.yaw)).rem_euclid(360.0),
            pitch: before.pitch + part * (after.pitch - before.pitch),
        }
    }

    /// Where it will look `ahead` seconds after a time, for one who knows nothing of what comes then: it goes on turning as it
    /// did last.
    pub fn forecast(&self, time: f64, ahead: f64) -> View {
        let (before, now) = (self.at(time - VELOCITY_SPAN), self.at(time));
        let times = ahead / VELOCITY_SPAN;
        View {
            yaw: (now.yaw + times * turn(before.yaw, now.yaw)).rem_euclid(360.0),
            pitch: (now.pitch + times * (now.pitch - before.pitch)).clamp(-90.0, 90.0),
        }
    }
}

/// The shorter way from one yaw to another, -180 to 180.
fn turn(from: f64, to: f64) -> f64 {
    (to - from + 180.0).rem_euclid(360.0) - 180.0
}

fn sample(line: &str, before: Option<f64>) -> Result<(f64, View), String> {
    let wrong = || format!("expected time,yaw,pitch (seconds, degrees, degrees), found `{}`", shorten(line));
    let mut numbers = line.split(',').map(|word| word.trim().parse::<f64>().ok().filter(|n| n.is_finite()));
    let (Some(Some(time)), Some(Some(yaw)), Some(Some(pitch)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(wrong());
    };
    if before.is_some_and(|before| time <= before) {
        return Err(format!("the time {time} is not later than the one before"));
    }
    if !(-90.0..=90.0).contains(&pitch) {
        return Err(format!("expected a pitch from -90 to 90 degrees, found {pitch}"));
    }
    Ok((time, View { yaw: yaw.rem_euclid(360.0), pitch }))
}

/// The beginning of what may be anything.
fn shorten(line: &str) -> String {
    line.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_turns_the_shorter_way_and_rests_at_the_end() {
        let motion = Motion::read("# a head\n\n1, 350, -10\n2, 20, 10\n").unwrap();
        assert_eq!(motion.at(0.0), View { yaw: 350.0, pitch: -10.0 });
        assert_eq!(motion.at(1.5), View { yaw: 5.0, pitch: 0.0 });
        assert_eq!(motion.at(9.0), View { yaw: 20.0, pitch: 10.0 });
        // 30 degrees per second, from what was seen only.
        let forecast = motion.forecast(1.5, 0.2);
        assert!((forecast.yaw - 11.0).abs() < 1e-9 && (forecast.pitch - 4.0).abs() < 1e-9, "{forecast:?}");
    }

    #[test]
    fn what_is_no_trace_is_told_with_its_line() {
        let error = |text: &str| Motion::read(text).unwrap_err().to_string();
        assert_eq!(
            error("time,yaw,pitch\n0,1,2\n1,x,2\n"),
            "line 3: expected time,yaw,pitch (seconds, degrees, degrees), found `1,x,2`"
        );
        assert_eq!(error("0,1,2\n0,1,2\n"), "line 2: the time 0 is not later than the one before");
        assert_eq!(error("0,1,91\n"), "line 1: expected a pitch from -90 to 90 degrees, found 91");
        assert!(error("0,1\n").starts_with("line 1: expected time,yaw,pitch"));
        assert!(error("0,inf,0\n").starts_with("line 1: expected time,yaw,pitch"));
        assert!(error("time,yaw,pitch\n").starts_with("there is no sample"));
    }

    #[test]
    fn a_synthetic_head_has_the_published_velocity() {
        let motion = Motion::synthetic(3, 600.0);
        let speeds =
            motion.samples.windows(2).map(|pair| turn(pair[0].1.yaw, pair[1].1.yaw) * SAMPLES_PER_SECOND);
        let deviation = (speeds.map(|speed| speed * speed).sum::<f64>() / motion.samples.len() as f64).sqrt();
        assert!((25.0..35.0).contains(&deviation), "{deviation}");
        assert_eq!(motion, Motion::synthetic(3, 600.0));
        assert_ne!(motion.at(9.0), Motion::synthetic(4, 600.0).at(9.0));
    }

    proptest! {
        /// Whatever a file says: an answer, and views within their ranges.
        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9.,eE#\n a]{0,200}", time in -10.0..10.0f64) {
            if let Ok(motion) = Motion::read(&text) {
                for view in [motion.at(time), motion.forecast(time, 1.0)] {
                    prop_assert!((0.0..=360.0).contains(&view.yaw) && (-90.0..=90.0).contains(&view.pitch), "{view:?}");
                }
            }
        }
    }
}
