//! What can be set of the scheduler.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::EarliestArrival;

/// What can be set of [`EarliestArrival`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarliestArrivalParameters {
    /// How many round trips of the fastest path a queue must stand before it counts as lasting.
    pub standing_rounds: u32,
    /// Silence shorter than this is no silence: hosts pause, radio links take turns.
    pub shortest_silence: Duration,
    /// Whether what is late on a path, or alone on its way, is copied to another one.
    pub rescue: bool,
    /// Needless copies that are put up with, as a share of the bytes acknowledged.
    pub needless: f64,
    /// Whether announced handovers are told to the peer, and kept out of.
    pub warnings: bool,
    /// Whether fewer acknowledgements are asked for where their way back is full.
    pub thin_acks: bool,
    /// A queue no longer than this is a message, which is copied to a second path that is not metered. Bytes.
    pub message: u64,
    /// The most copies of messages, as a share of the bytes sent; 0 copies none.
    pub budget: f64,
}

impl Default for EarliestArrivalParameters {
    fn default() -> Self {
        EarliestArrivalParameters {
            standing_rounds: 2,
            shortest_silence: Duration::from_millis(15),
            rescue: true,
            needless: 0.01,
            warnings: true,
            thin_acks: true,
            message: 128_000,
            budget: 0.2,
        }
    }
}

impl EarliestArrivalParameters {
    /// Those of a spec such as `default,rescue=off`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        EarliestArrivalParameters {
            standing_rounds: u32::try_from(parameters.integer("standing_rounds")).unwrap_or(u32::MAX),
            shortest_silence: parameters.duration("shortest_silence"),
            rescue: parameters.flag("rescue"),
            needless: parameters.number("needless"),
            warnings: parameters.flag("warnings"),
            thin_acks: parameters.flag("thin_acks"),
            message: parameters.integer("message"),
            budget: parameters.number("budget"),
        }
    }
}

/// What a registry tells of it.
pub(super) fn info() -> PolicyInfo {
    let default = EarliestArrivalParameters::default();
    let second = Duration::from_secs(1);
    PolicyInfo::new(EarliestArrival::NAME, "every byte where it arrives first; no path idle while work lasts")
        .alias(crate::DEFAULT)
        .source("Hawser; after STMS (Shi and others, USENIX ATC 2018)")
        .parameter(
            ParameterInfo::integer("standing_rounds", 0..=100, default.standing_rounds.into())
                .unit("round trips")
                .meaning("a queue that stands so long on the fastest path is no end of the data"),
        )
        .parameter(
            ParameterInfo::duration("shortest_silence", Duration::ZERO..=second, default.shortest_silence)
                .meaning("missing acknowledgements make a path silent after no less than this"),
        )
        .parameter(
            ParameterInfo::flag("rescue", default.rescue)
                .meaning("copy to another path what is late on one, and small messages before they are"),
        )
        .parameter(
            ParameterInfo::number("needless", 0.0..=1.0, default.needless)
                .meaning("share of the acknowledged bytes that copies may repeat needlessly"),
        )
        .parameter(
            ParameterInfo::flag("warnings", default.warnings)
                .meaning("tell the peer of announced handovers, and send nothing into them"),
        )
        .parameter(
            ParameterInfo::flag("thin_acks", default.thin_acks)
                .meaning("ask for fewer acknowledgements where their way back is full"),
        )
        .parameter(
            ParameterInfo::integer("message", 0..=u64::from(u32::MAX), default.message)
                .unit("bytes")
                .meaning("what is queued is copied to a second path, off metered links, if it is no more than this"),
        )
        .parameter(
            ParameterInfo::number("budget", 0.0..=1.0, default.budget)
                .meaning("the most copies of messages, as a share of the bytes sent"),
        )
}
