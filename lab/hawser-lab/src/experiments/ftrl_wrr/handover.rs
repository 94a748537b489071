//! What a hand-over does: the ratio of the bandwidths swings, and the learner starts anew.

use hawser_policy::{Note, Time};
use hawser_sched::FtrlWrr;
use hawser_sim::run::Probes;

use crate::data::statistics::mean;
use crate::experiments::verify::{Measured, Request};

/// When the links of the scenario swap their rates.
const SWING: Time = Time::from_secs(15);

/// Seconds until the reset, and steps until the center crossed one half. Only FTRL-WRR notes what it learnt; anything else never
/// resets.
pub(super) fn reset(request: &Request<'_>) -> Result<Measured, String> {
    // With or without parameters.
    if request.policy.split(',').next() != Some(FtrlWrr::NAME) {
        return Err(format!("{} does not learn shares", request.policy));
    }
    let probes = Probes::default().with_notes(&["ftrl-wrr.step", "ftrl-wrr.reset"]);
    let (outcome, probes) = request.sampled(&[request.chosen()], probes)?;
    let notes: Vec<&Note> = probes.notes().map(|(_, note)| note).collect();
    let reset = notes.iter().find(|note| note.name == "ftrl-wrr.reset" && note.at >= SWING).map(|it| it.at);
    // Where the learner stood before the swing, and where it stands after each step that follows the reset.
    let center = |note: &&Note| note.number("center");
    let before = notes.iter().rev().filter(|note| note.at < SWING).find_map(center);
    let before = before.ok_or("nothing was learnt before the swing")?;
    let after = notes.iter().filter(|note| reset.is_some_and(|reset| note.at >= reset)).filter_map(center);
    let crossed = after.take(100).position(|center| (center < 0.5) != (before < 0.5));
    let redirected: Vec<f64> = notes.iter().filter_map(|note| note.number("redirected")).collect();
    let mut measured = Measured::new(outcome.trace_hash).with("redirected_share", mean(&redirected));
    if let Some(reset) = reset {
        measured = measured.with("until_reset_s", reset.since(SWING).as_secs_f64());
    }
    if let Some(crossed) = crossed {
        measured = measured.with("steps_until_crossed", (crossed + 1) as f64);
    }
    Ok(measured)
}
