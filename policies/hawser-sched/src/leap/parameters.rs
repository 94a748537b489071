//! What can be set of LEAP.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::Leap;

/// What can be set of [`Leap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeapParameters {
    /// Probability with which a layer of a frame should be decoded in time.
    pub gamma: f64,
    /// Within which it should; also how far ahead is forecast.
    pub deadline: Duration,
    /// The least time between two samples of a path's rate.
    pub sample: Duration,
    /// Deviations by which the forecast is lower than the estimate.
    pub caution: f64,
    /// The forecast is at least this share of the estimate.
    pub floor: f64,
    /// The window over what the forecast and the least round-trip time make.
    pub headroom: f64,
    /// Packets over which losses and late packets of a path are counted.
    pub memory: usize,
}

impl Default for LeapParameters {
    fn default() -> Self {
        LeapParameters {
            gamma: 0.99,
            deadline: Duration::from_millis(150),
            sample: Duration::from_millis(20),
            caution: 1.645,
            floor: 0.1,
            headroom: 1.25,
            memory: 100,
        }
    }
}

impl LeapParameters {
    pub(super) fn read(parameters: &Parameters) -> Self {
        LeapParameters {
            gamma: parameters.number("gamma"),
            deadline: parameters.duration("deadline"),
            sample: parameters.duration("sample"),
            caution: parameters.number("caution"),
            floor: parameters.number("floor"),
            headroom: parameters.number("headroom"),
            memory: parameters.integer("memory") as usize,
        }
    }
}

pub(super) fn info() -> PolicyInfo {
    let default = LeapParameters::default();
    let span = Duration::from_millis(1)..=Duration::from_secs(10);
    let parameters = [
        ParameterInfo::number("gamma", 0.0..=1.0, default.gamma)
            .meaning("probability with which a layer of a frame should be decoded in time")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::duration("deadline", span.clone(), default.deadline)
            .meaning("within which it should; also how far ahead is forecast")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::duration("sample", span, default.sample)
            .meaning("least time between two samples of a path's rate")
            .source("Hawser"),
        ParameterInfo::number("caution", 0.0..=10.0, default.caution)
            .meaning("deviations by which the forecast is below the estimate: the 5th percentile")
            .source("Hawser"),
        ParameterInfo::number("floor", 0.001..=1.0, default.floor)
            .meaning("the forecast is at least this share of the estimate")
            .source("Hawser"),
        ParameterInfo::number("headroom", 1.0..=10.0, default.headroom)
            .meaning("window over what the forecast and the least round-trip time make")
            .source("Hawser"),
        ParameterInfo::integer("memory", 10..=10_000, default.memory as u64)
            .unit("packets")
            .meaning("over which losses and late packets of a path are counted")
            .source("Hawser"),
    ];
    let about = "rates by a cautious forecast, and a code across paths, for layered video with a deadline";
    let info = PolicyInfo::new(Leap::NAME, about)
        .source("Chiariotti and others, IEEE/ACM ToN 2019; W. Yang 2024, section 4.5.1");
    parameters.into_iter().fold(info, PolicyInfo::parameter)
}
