//! Runs that are watched more closely than a scenario's outcome allows.

use hawser_policy::{Note, Time};
use hawser_sched::QcMab;
use hawser_sim::run::{Outcome, Probes};

use crate::data::statistics::mean;
use crate::experiments::verify::{Measured, Request};

/// What receivers note.
pub(super) const DECISION: &str = "qc-mab.decision";
const FRAME: &str = "qc-mab.frame";
/// Packets of a point of the curve (figure 4.6).
const POINT: f64 = 500.0;
/// What counts as the beginning and as the end, seconds.
const BEGINNING: f64 = 30.0;
const END: f64 = 60.0;
/// Share of the final level at which the curve has got there.
const SETTLED: f64 = 0.95;

/// Runs the scenario of the request, and what its receiver noted. A scheduler runs under a receiver that changes nothing and only notes the
/// rewards.
pub(super) fn watched(request: &Request<'_>) -> Result<(Vec<Note>, Outcome), String> {
    let mut policies = Vec::new();
    if request.policy.starts_with(QcMab::NAME) {
        policies.push(format!("transport.policy={}", request.policy));
    } else {
        policies.push("transport.policy=qc-mab,attach=off,fec=off".to_owned());
        policies.push(format!("transport.scheduler={}", request.policy));
    }
    let (outcome, probes) = request.sampled(&policies, Probes::default().with_notes(&[DECISION, FRAME]))?;
    Ok((probes.notes().map(|(_, note)| note.clone()).collect(), outcome))
}

/// The mean reward of so many packets, until when.
fn curve_of(notes: &[Note]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let (mut packets, mut sum) = (0.0, 0.0);
    let mut began: Option<Time> = None;
    for note in notes.iter().filter(|note| note.name == FRAME) {
        let value = |name: &str| note.number(name).unwrap_or(f64::NAN);
        let began = *began.get_or_insert(note.at);
        let all = value("base") + value("enhancement");
        (packets, sum) = (packets + all, sum + value("reward") * all);
        if packets >= POINT {
            points.push((note.at.since(began).as_secs_f64(), sum / packets));
            (packets, sum) = (0.0, 0.0);
        }
    }
    points
}

/// The mean; not a number of nothing.
fn average(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.collect::<Vec<_>>())
}

/// Items 9 and 10: how the reward rises.
pub(super) fn curve(request: &Request<'_>) -> Result<Measured, String> {
    let (notes, outcome) = watched(request)?;
    let points = curve_of(&notes);
    let last = points.last().ok_or("no frame was shown")?.0;
    let within =
        |from: f64, to: f64| points.iter().filter(move |it| (from..=to).contains(&it.0)).map(|it| it.1);
    let beginning = average(within(0.0, BEGINNING));
    let variance = average(within(0.0, BEGINNING).map(|value| (value - beginning).powi(2)));
    let end = average(within(last - END, last));
    let settled = points.iter().find(|(_, value)| *value >= SETTLED * end).map_or(f64::INFINITY, |it| it.0);
    let decisions: Vec<&Note> = notes.iter().filter(|note| note.name == DECISION).collect();
    let share = |of: &str| {
        let sum: f64 = decisions.iter().filter_map(|note| note.number(of)).sum();
        sum / decisions.len().max(1) as f64
    };
    Ok(Measured::of_run(&outcome)
        .with("reward", average(points.iter().map(|it| it.1)))
        .with("reward_at_first", beginning)
        .with("variance_at_first", variance)
        .with("reward_at_last", end)
        .with("settled_s", settled)
        .with("decisions", decisions.len() as f64)
        .with("moves_share", share("moves"))
        .with("protected_share", share("protects")))
}
