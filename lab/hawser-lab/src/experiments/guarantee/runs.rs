//! The simulations behind a row.

use std::sync::atomic::AtomicBool;

use hawser_policy::{PolicySpec, Registry};
use hawser_scenario::{Flow, FlowKind, Scenario, SourceKind, load};
use hawser_sim::oracle::OracleEdpf;
use hawser_sim::run::{Delays, NoRecorder, RunError, Simulation};

use super::{Case, Options};
use crate::data::sweep::in_parallel;
use crate::experiments::ExperimentError;

/// What came of a scenario.
pub(super) struct Results {
    pub(super) scenario: String,
    /// Scenes that play recordings.
    pub(super) recorded: Vec<String>,
    /// Each link alone.
    pub(super) single: Vec<(String, Variant)>,
    pub(super) all: Variant,
    /// All links with the scheduler that knows their future.
    pub(super) oracle: Variant,
}

/// Who has which links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Alone(usize),
    All,
    Oracle,
}

/// What came of one choice of links.
#[derive(Default)]
pub(super) struct Variant {
    /// Of each seed, bit/s.
    pub(super) goodput: Vec<f64>,
    /// Of all seeds.
    pub(super) answers: Delays,
}

/// One simulation: which links, which seed, which traffic.
#[derive(Clone, Copy)]
struct Job {
    choice: Choice,
    seed: u64,
    converses: bool,
}

enum Measured {
    Goodput(f64),
    Answers(Delays),
}

/// Reads a scenario and puts its simulation together.
pub(super) fn check(case: &Case, options: &Options, registry: &Registry) -> Result<(), ExperimentError> {
    links(case, options)?;
    simulation(case, Job { choice: Choice::All, seed: 1, converses: false }, options, registry).map(drop)
}

/// The scenario, and the links of the flow that the guarantee is about.
fn links(case: &Case, options: &Options) -> Result<(Scenario, Vec<usize>), ExperimentError> {
    let scenario = load(&case.file, &overrides(case, options))?;
    let links = scenario.traffic()[main_flow(&scenario)].links.clone();
    if links.len() < 2 {
        return Err(ExperimentError::Scenario(format!(
            "{}: its first connection has a single link; the guarantee is about several",
            case.file.display()
        )));
    }
    Ok((scenario, links))
}

/// Runs a scenario with every link alone and with all.
pub(super) fn all(case: &Case, options: &Options, registry: &Registry) -> Result<Results, ExperimentError> {
    let (scenario, links) = links(case, options)?;
    let choices: Vec<Choice> =
        links.iter().copied().map(Choice::Alone).chain([Choice::All, Choice::Oracle]).collect();
    let jobs: Vec<Job> = choices
        .iter()
        .flat_map(|choice| (1..=options.seeds).map(move |seed| (*choice, seed)))
        .flat_map(|(choice, seed)| [false, true].map(|converses| Job { choice, seed, converses }))
        .collect();
    let measured = in_parallel(&jobs, options.threads, &AtomicBool::new(false), |job| {
        measure(case, *job, options, registry)
    })?;
    let mut variants: Vec<Variant> = choices.iter().map(|_| Variant::default()).collect();
    for (job, measured) in jobs.iter().zip(measured) {
        let at = choices.iter().position(|choice| *choice == job.choice).unwrap_or(0);
        match measured {
            Measured::Goodput(bps) => variants[at].goodput.push(bps),
            Measured::Answers(delays) => variants[at].answers.merge(&delays),
        }
    }
    let oracle = variants.pop().unwrap_or_default();
    let all = variants.pop().unwrap_or_default();
    let names = links.iter().map(|link| scenario.links[*link].name.clone());
    let recorded = scenario.scenes.iter().filter(|scene| scene.kind == SourceKind::Recording);
    Ok(Results {
        scenario: scenario.name.clone(),
        recorded: recorded.map(|scene| scene.name.clone()).collect(),
        single: names.zip(variants).collect(),
        all,
        oracle,
    })
}

/// The flow that the guarantee is about: the first with a connection.
fn main_flow(scenario: &Scenario) -> usize {
    let has_connection = |flow: &Flow| !matches!(flow.kind, FlowKind::Udp { .. });
    scenario.traffic().iter().position(has_connection).unwrap_or(0)
}

/// What is set otherwise: for the scenario, then for all.
fn overrides(case: &Case, options: &Options) -> Vec<String> {
    case.set.iter().chain(&options.overrides).cloned().collect()
}

/// A simulation before its first packet, and the name of the flow that the guarantee is about.
fn simulation(
    case: &Case,
    job: Job,
    options: &Options,
    registry: &Registry,
) -> Result<(Simulation, String), ExperimentError> {
    let mut overrides = overrides(case, options);
    overrides.push(format!("seed={}", job.seed));
    let mut scenario = load(&case.file, &overrides)?;
    let duration = scenario.duration.map_or(options.duration, |own| own.min(options.duration));
    scenario.duration = Some(duration);
    let main = main_flow(&scenario);
    let mut flows = scenario.traffic().into_owned();
    let flow = &mut flows[main];
    let name = flow.name.clone();
    let traffic = if job.converses { &options.plan.delay } else { &options.plan.goodput };
    *flow = traffic.in_place_of(flow);
    if let Choice::Alone(link) = job.choice {
        flow.links = vec![link];
    }
    if job.choice == Choice::Oracle {
        flow.policies = scenario.policies_of(flow);
        flow.policies.scheduler = PolicySpec::new(OracleEdpf::NAME).ok();
    }
    flows.iter_mut().for_each(|flow| flow.awaited = false);
    scenario.flows = flows;
    let failed = |source: RunError| ExperimentError::Scenario(format!("{}: {source}", case.file.display()));
    Ok((Simulation::new(&scenario, registry, Default::default()).map_err(failed)?, name))
}

fn measure(
    case: &Case,
    job: Job,
    options: &Options,
    registry: &Registry,
) -> Result<Measured, ExperimentError> {
    let (mut simulation, name) = simulation(case, job, options, registry)?;
    let outcome = simulation.run(&mut NoRecorder);
    let goodput = outcome.flows.iter().find(|flow| flow.flow == name).map_or(0.0, |flow| flow.goodput_bps);
    Ok(match job.converses {
        false => Measured::Goodput(goodput),
        true => Measured::Answers(simulation.meter(&name).map(|meter| meter.delays).unwrap_or_default()),
    })
}
