//! The run in virtual time.

use hawser_emu::Lateness;
use hawser_policy::Registry;
use hawser_scenario::{FlowKind, Scenario};
use hawser_sim::run::{Options, PacketRecord, Recorder, Simulation};

use super::error::CompareError;
use super::observation::{Observation, Traffic, direction_index};

struct Collector<'a> {
    scenario: &'a Scenario,
    directions: Vec<Traffic>,
}

impl Recorder for Collector<'_> {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        // UDP flows have routes of their own names.
        let link = self.scenario.links.iter().position(|link| link.name == record.route);
        if let Some(traffic) =
            link.and_then(|link| self.directions.get_mut(direction_index(link, record.direction)))
        {
            traffic.add(
                record.sent.as_nanos(),
                record.at.as_nanos(),
                record.length,
                record.dropped.is_some(),
            );
        }
    }
}

/// Simulates the scenario.
pub(super) fn observe(scenario: &Scenario, registry: &Registry) -> Result<Observation, CompareError> {
    let mut simulation = Simulation::new(scenario, registry, Options::default())?;
    let mut collector = Collector { scenario, directions: Traffic::all(scenario) };
    let outcome = simulation.run(&mut collector);
    let is_connection = |name: &str| {
        !scenario.flows.iter().any(|flow| flow.name == name && matches!(flow.kind, FlowKind::Udp { .. }))
    };
    Ok(Observation {
        seconds: outcome.simulated_seconds,
        goodput_bps: outcome
            .flows
            .iter()
            .filter(|flow| is_connection(&flow.flow))
            .map(|flow| flow.goodput_bps)
            .sum(),
        directions: collector.directions,
        lateness: Lateness::default(),
    })
}
