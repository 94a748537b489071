//! What can be set of Tide.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

pub(crate) const NAME: &str = "tide";
const SOURCE: &str = "docs/tide.md";
/// A cellular queue of 100 ms costs a call nothing that it notices (ITU-T G.114), and outlasts the gaps of a radio's scheduler.
const BOUND: Duration = Duration::from_millis(100);
const PROBE: Duration = Duration::from_secs(4);

/// Times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The longest standing queue.
    pub(crate) bound: f64,
    /// The part of the aim that is kept where the rate does not move.
    pub(crate) calm: f64,
    /// Without an empty queue for this long, it is emptied for a round trip.
    pub(crate) probe: f64,
    /// Whether it turns to CUBIC next to flows that keep the queue filled.
    pub(crate) competitive: bool,
    /// Whether the peer is asked when packets arrived.
    pub(crate) forward: bool,
    /// First window, in those of RFC 9002 section 7.2.
    pub(crate) first: f64,
}

impl Settings {
    pub(crate) fn read(parameters: &Parameters) -> Settings {
        Settings {
            bound: parameters.duration("bound").as_secs_f64(),
            calm: parameters.number("calm"),
            probe: parameters.duration("probe").as_secs_f64(),
            competitive: parameters.flag("competitive"),
            forward: parameters.flag("forward"),
            first: parameters.number("first"),
        }
    }
}

/// What a registry tells of it.
pub(crate) fn info() -> PolicyInfo {
    PolicyInfo::new(NAME, "rate times delay with a bounded queue, for links whose capacity moves; CUBIC next to flows that fill the queue")
        .alias("default")
        .source(SOURCE)
        .parameter(
            ParameterInfo::duration("bound", Duration::from_millis(5)..=Duration::from_secs(1), BOUND)
                .meaning("longest standing queue; 25 ms for calls and games")
                .source(SOURCE),
        )
        .parameter(
            ParameterInfo::number("calm", 0.2..=1.0, 1.0)
                .meaning("part of the standing queue that is kept where the rate does not move; 0.6 for calls and games")
                .source(SOURCE),
        )
        .parameter(
            ParameterInfo::duration("probe", Duration::from_secs(1)..=Duration::from_secs(60), PROBE)
                .meaning("without an empty queue for this long, it is emptied for a round trip")
                .source(SOURCE),
        )
        .parameter(
            ParameterInfo::flag("competitive", true)
                .meaning("turn to CUBIC next to flows that keep the queue filled")
                .source(SOURCE),
        )
        .parameter(
            ParameterInfo::flag("forward", true)
                .meaning("ask the peer when packets arrive, and judge the queue by the forward delay")
                .source("draft-smith-quic-receive-ts"),
        )
        .parameter(
            ParameterInfo::number("first", 0.2..=10.0, 1.0)
                .meaning("first window, in those of a connection (10 datagrams); 3 where one stands for many, as browsers open six")
                .source("RFC 9002 section 7.2, RFC 6928"),
        )
}
