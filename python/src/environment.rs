//! Learning environments on the real stack: the simulator runs on a thread of its own and stops at each question.

mod congestion;
mod course;
mod scheduler;

pub(crate) use congestion::CongestionCourse;
pub(crate) use scheduler::SchedulerCourse;

/// A value without a bound as one from 0 to 1: `scale` gives one half.
fn saturated(value: f64, scale: f64) -> f32 {
    (value / (value + scale)) as f32
}

/// Half a second's worth of nothing: the scales of observations.
const RTT_SCALE: f64 = 0.1;
const RATE_SCALE: f64 = 20e6;
const BYTES_SCALE: f64 = 1e6;
