//! One run, and what is measured of it.

use std::time::Duration;

use hawser_policy::{PolicySpec, Registry};
use hawser_scenario::{Flow, FlowKind, Scenario};
use hawser_sim::run::{Options, Outcome, Probes, Simulation};

use super::grid::Cell;
use crate::data::sweep::CellOutput;

/// How often what waits to be read is looked at.
const SAMPLES: Duration = Duration::from_millis(10);

/// What came of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    /// Stands for everything that happened.
    pub trace_hash: String,
    /// Packets that arrived.
    pub packets: u64,
    /// Instants at which something happened.
    pub events: u64,
    /// Bit/s; of a tunnel that of the download.
    pub goodput_bps: f64,
    /// From the beginning of the flow to its end; none: it did not end in time. Of a tunnel: the mean of its pages.
    pub completion_seconds: Option<f64>,
    /// Median of the delay, milliseconds; none: nothing arrived. Of a tunnel: of the call, in the worse direction.
    pub p50_ms: Option<f64>,
    /// 99th percentile, likewise.
    pub p99_ms: Option<f64>,
    /// Most bytes that waited at the receiver for earlier ones.
    pub reordered_bytes: u64,
    /// Bytes sent as copies, over those that arrived in order.
    pub redundancy: f64,
}

impl CellOutput for Numbers {
    fn trace_hash(&self) -> &str {
        &self.trace_hash
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn rows(&self) -> usize {
        1
    }
}

/// Runs a cell over the links of a scenario, with whatever else these carry.
pub(super) fn run(cell: &Cell, scenario: Scenario, registry: &Registry) -> Result<Numbers, String> {
    let (mut simulation, name) = simulation(cell, scenario, registry)?;
    let waiting = format!("flow.{name}.waiting");
    let mut probes = Probes::every(SAMPLES, &[&waiting]).map_err(|error| error.to_string())?;
    let outcome = simulation.run(&mut probes);
    let most = probes.series(&waiting).values().fold(0.0, f64::max);
    Ok(Numbers { reordered_bytes: most as u64, ..numbers(&outcome, &name) })
}

/// The run of a cell before its first packet, and the name of the flow that is measured.
pub(super) fn simulation(
    cell: &Cell,
    mut scenario: Scenario,
    registry: &Registry,
) -> Result<(Simulation, String), String> {
    let spec = |text: &str| text.parse::<PolicySpec>().map_err(|error| error.to_string());
    let mut flows = scenario.traffic().into_owned();
    let has_connection = |flow: &Flow| !matches!(flow.kind, FlowKind::Udp { .. });
    let main = flows.iter().position(has_connection).ok_or("the scenario has no connection")?;
    flows.iter_mut().for_each(|flow| flow.awaited = false);
    let mut flow = cell.workload.traffic.in_place_of(&flows[main]);
    flow.policies = scenario.policies_of(&flow);
    flow.policies.scheduler = Some(spec(&cell.policy())?);
    flow.policies.congestion = Some(spec(&cell.controller)?);
    let name = flow.name.clone();
    flows[main] = flow;
    scenario.flows = flows;
    scenario.duration = Some(cell.workload.longest);
    let simulation = Simulation::new(&scenario, registry, Options::default());
    Ok((simulation.map_err(|error| error.to_string())?, name))
}

fn numbers(outcome: &Outcome, name: &str) -> Numbers {
    let Some(flow) = outcome.flows.iter().find(|flow| flow.flow == name) else { return Numbers::default() };
    let delay = Some(flow.delay).filter(|delay| delay.count > 0);
    let all = Numbers {
        trace_hash: outcome.trace_hash.clone(),
        packets: outcome.packets,
        events: outcome.events,
        goodput_bps: flow.goodput_bps,
        completion_seconds: flow.completion_seconds,
        p50_ms: delay.map(|delay| delay.p50_ms),
        p99_ms: delay.map(|delay| delay.p99_ms),
        reordered_bytes: 0,
        redundancy: flow.copies.copied_bytes as f64 / flow.bytes.max(1) as f64,
    };
    if flow.kind != "tunnel-mix" {
        return all;
    }
    let measured = |key: &str| flow.measures.iter().find(|it| it.key() == key).map(|it| it.value);
    // A call is as good as what both hear.
    let worse = |down: &str, up: &str| Some(measured(down)?.max(measured(up)?));
    Numbers {
        completion_seconds: measured("page_mean_ms").map(|ms| ms / 1e3),
        p50_ms: worse("call_down_delay_p50_ms", "call_up_delay_p50_ms"),
        p99_ms: worse("call_down_delay_p99_ms", "call_up_delay_p99_ms"),
        ..all
    }
}
