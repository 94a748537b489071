//! One run, and what is measured of it.

use std::time::Duration;

use hawser_policy::PolicySpec;
use hawser_scenario::{Flow, FlowKind, Scenario};
use hawser_sim::run::{Outcome, Probes, Simulation};

use super::grid::{Cell, Settings};
use super::rows::Schedulers;
use crate::data::sweep::Measured;
use crate::experiments::matrix::{Grid, Key, Runs};
use crate::experiments::verify::Load;

/// How often what waits to be read is looked at.
const SAMPLES: Duration = Duration::from_millis(10);

impl Grid for Settings {
    type Cell = Cell;
    type Rows = Schedulers;
    const NAME: &'static str = "schedulers";
    const TEXTS: &'static [&'static str] = &["links", "workload", "controller", "scheduler"];
    const NUMBERS: &'static [&'static str] = &[];
    const METRICS: &'static [&'static str] =
        &["goodput_bps", "completion_seconds", "p50_ms", "p99_ms", "reordered_bytes", "redundancy"];

    fn key(cell: &Cell) -> Key<'_> {
        let texts = vec![cell.links.name.as_str(), &cell.workload.name, &cell.controller, &cell.scheduler];
        Key { texts, numbers: Vec::new(), seed: cell.seed }
    }

    /// Its workload over these links, with whatever else these carry.
    fn scenario(&self, cell: &Cell, load: &Load<'_>) -> Result<Scenario, String> {
        let mut set = cell.links.set.clone();
        set.push(format!("seed={}", cell.seed));
        let mut scenario = load(&cell.links.file, &set)?;
        let spec = |text: &str| text.parse::<PolicySpec>().map_err(|error| error.to_string());
        let mut flows = scenario.traffic().into_owned();
        let main = flows.iter().position(has_connection).ok_or("the scenario has no connection")?;
        flows.iter_mut().for_each(|flow| flow.awaited = false);
        let mut flow = cell.workload.traffic.in_place_of(&flows[main]);
        flow.policies = scenario.policies_of(&flow);
        flow.policies.scheduler = Some(spec(&cell.policy())?);
        flow.policies.congestion = Some(spec(&cell.controller)?);
        flows[main] = flow;
        scenario.flows = flows;
        scenario.duration = Some(cell.workload.longest);
        Ok(scenario)
    }

    fn measure(&self, _: &Cell, scenario: &Scenario, mut simulation: Simulation) -> Result<Measured, String> {
        let flow = scenario.flows.iter().find(|flow| has_connection(flow));
        let name = flow.ok_or("the scenario has no connection")?.name.as_str();
        let waiting = format!("flow.{name}.waiting");
        let mut probes = Probes::every(SAMPLES, &[&waiting]).map_err(|error| error.to_string())?;
        let outcome = simulation.run(&mut probes);
        let reordered = probes.series(&waiting).values().fold(0.0, f64::max);
        measured(&outcome, name).map(|measured| measured.with("reordered_bytes", reordered.trunc()))
    }

    fn rows(&self, runs: &Runs<'_>) -> Schedulers {
        Schedulers::of(runs, self)
    }
}

fn has_connection(flow: &Flow) -> bool {
    !matches!(flow.kind, FlowKind::Udp { .. })
}

/// Goodput in bit/s, of a tunnel that of the download; seconds from the beginning of the flow to its end, if it ended in time, of a tunnel
/// the mean of its pages; median and 99th percentile of the delay in milliseconds, if anything arrived, of a tunnel those of the call in
/// the worse direction; bytes sent as copies, over those that arrived in order.
fn measured(outcome: &Outcome, name: &str) -> Result<Measured, String> {
    let flow = outcome.flows.iter().find(|flow| flow.flow == name).ok_or("the flow has no outcome")?;
    let delay = Some(flow.delay).filter(|delay| delay.count > 0);
    let of = |key: &str| flow.measures.iter().find(|it| it.key() == key).map(|it| it.value);
    // A call is as good as what both hear.
    let worse = |down: &str, up: &str| Some(of(down)?.max(of(up)?));
    let [seconds, median, late] = match flow.kind {
        "tunnel-mix" => [
            of("page_mean_ms").map(|ms| ms / 1e3),
            worse("call_down_delay_p50_ms", "call_up_delay_p50_ms"),
            worse("call_down_delay_p99_ms", "call_up_delay_p99_ms"),
        ],
        _ => [flow.completion_seconds, delay.map(|delay| delay.p50_ms), delay.map(|delay| delay.p99_ms)],
    };
    let copied = flow.copies.copied_bytes as f64 / flow.bytes.max(1) as f64;
    Ok(Measured::of_run(outcome)
        .with("goodput_bps", flow.goodput_bps)
        .with_some("completion_seconds", seconds)
        .with_some("p50_ms", median)
        .with_some("p99_ms", late)
        .with("redundancy", copied))
}
