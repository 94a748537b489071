//! Do the simulator and the emulator agree? `hawser lab agree`.
//!
//! ```text
//!                    +--> hawser-sim: endpoints in virtual time ----> bytes in order, one-way delay of each packet
//!   scenario, seed --+                                                        |
//!                    |                                                    compared
//!                    |                                                        |
//!                    +--> hawser-emu: sockets in namespaces --------> bytes in order, one-way delay of each packet
//! ```
//!
//! Both run the same flows over the same links with the same scheduler and controller for the same time. What differs
//! is everything that a simulator leaves out: system calls, threads, timers of the operating system, encryption. Two
//! figures say whether that matters:
//!
//! * **Goodput**: bytes that the receiving applications got in order, over the time; as a relative difference.
//! * **Delay**: of every packet, from the sending host to the receiving host; as the Kolmogorov-Smirnov distance of its
//!   two distributions, the greatest vertical distance between them ([`delays::ks_distance`]).
//!
//! In the emulator a packet's delay is what the links made of it. By how much the emulator was later than that is its
//! lateness, which is told apart; a run with more than 5 ms of it at the 99th percentile is repeated, as is one during
//! which the machine stood still.

mod client;
pub mod delays;
mod emulated;
mod error;
mod meter;
mod observation;
mod report;
mod server;
mod simulated;

pub use error::CompareError;
pub use report::{Agreement, DelayFigures, DirectionAgreement};

use hawser_policy::Registry;
use hawser_scenario::{FlowKind, Scenario};

/// Lateness of the emulator, at the 99th percentile, beyond which a run says nothing about the links.
const MOST_LATENESS_MS: f64 = 5.0;
/// A single lateness beyond which the machine stood still, and both ends with it.
const MOST_STALL_MS: f64 = 250.0;
/// How often a run is repeated before its lateness is accepted and told.
const MOST_ATTEMPTS: u32 = 4;

/// Runs each scenario in both worlds; they are the same one with different seeds. Policies are those of `registry`. `tell`
/// hears of what happens meanwhile.
///
/// # Errors
/// [`CompareError`].
pub fn compare(
    scenarios: &[Scenario],
    registry: &Registry,
    tell: &mut dyn FnMut(&str),
) -> Result<Agreement, CompareError> {
    let mut pairs = Vec::new();
    let mut repeated = 0;
    for scenario in scenarios {
        check(scenario)?;
        let simulated = simulated::observe(scenario, registry)?;
        for attempt in 1.. {
            let emulated = emulated::observe(scenario, registry)?;
            let late = emulated.lateness;
            let was_in_time = late.p99_ms <= MOST_LATENESS_MS && late.max_ms <= MOST_STALL_MS;
            if was_in_time || attempt == MOST_ATTEMPTS {
                pairs.push((simulated, emulated));
                break;
            }
            repeated += 1;
            tell(&format!(
                "repeated: the emulator was late by {:.1} ms at the 99th percentile, {:.0} ms at most",
                late.p99_ms, late.max_ms
            ));
        }
    }
    Ok(Agreement::of(scenarios, &pairs, repeated))
}

/// Refuses what only one of the two worlds can do.
fn check(scenario: &Scenario) -> Result<(), CompareError> {
    let traffic = scenario.traffic();
    if traffic.iter().all(|flow| matches!(flow.kind, FlowKind::Udp { .. })) {
        return Err(CompareError::NoConnection);
    }
    let has_pattern =
        |flow: &&hawser_scenario::Flow| flow.pattern.is_some() && !matches!(flow.kind, FlowKind::Udp { .. });
    if let Some(flow) = traffic.iter().find(has_pattern) {
        return Err(CompareError::OnOff(flow.name.clone()));
    }
    let is_parallel = |flow: &&hawser_scenario::Flow| matches!(flow.kind, FlowKind::Requests { parallel, every, .. } if parallel > 1 || every.is_some());
    let is_application = |flow: &&hawser_scenario::Flow| {
        matches!(flow.kind, FlowKind::Application { .. } | FlowKind::TunnelMix(_))
    };
    if let Some(flow) = traffic.iter().find(is_application) {
        return Err(CompareError::Application(flow.name.clone()));
    }
    match traffic.iter().find(is_parallel) {
        Some(flow) => Err(CompareError::Parallel(flow.name.clone())),
        None => Ok(()),
    }
}
