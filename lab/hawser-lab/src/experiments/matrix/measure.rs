//! One run, and what is measured of it.

use std::time::Duration;

use hawser_policy::{Registry, Time};
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{Options, Outcome, Probes, Simulation};

use super::grid::{Against, Cell};
use super::{Plan, Settings};
use crate::data::sweep::CellOutput;

/// The segment that all flows share, and the link behind which the first one's receiver is.
const BOTTLENECK: &str = "bottleneck";
const ACCESS: &str = "x0";
/// The controller in question and the flow beside it.
const OWN: &str = "x";
const OTHER: &str = "y";
const SAMPLES: Duration = Duration::from_millis(100);
/// Two flows have converged when over this time ...
const CONVERGED_OVER: Duration = Duration::from_secs(2);
/// ... Jain's index is at least this: shares of a third and two thirds.
const CONVERGED: f64 = 0.9;

/// What came of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    /// Stands for everything that happened.
    pub trace_hash: String,
    /// Packets that arrived.
    pub packets: u64,
    /// Instants at which something happened.
    pub events: u64,
    /// Bytes that the bottleneck delivered, over its capacity.
    pub utilisation: Option<f64>,
    /// 95th percentile of the one-way delay of the flow's packets, less the least of them, milliseconds.
    pub queue_p95_ms: Option<f64>,
    /// Share of the packets that came to the bottleneck and found its queue full.
    pub dropped: Option<f64>,
    /// Jain's index of two flows over the second half of the run.
    pub jain: Option<f64>,
    /// Share of the controller in question in that time.
    pub share: Option<f64>,
    /// From the start of the second flow until two seconds with an index of at least 0.9 begin; none: they did not.
    pub converged_seconds: Option<f64>,
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

/// What is sampled: bytes received, by flow.
const PROBES: [&str; 1] = ["flow.*.bytes"];

/// Jain's index and the share of the first of two flows from one moment to another; none if neither received anything.
fn fairness(probes: &Probes, from: Time, to: Time) -> Option<(f64, f64)> {
    let received = |flow: &str| probes.series(&format!("flow.{flow}.bytes")).rise(from, to);
    let (own, other) = (received(OWN), received(OTHER));
    let sum = own + other;
    (sum > 0.0).then(|| (sum * sum / (2.0 * (own * own + other * other)), own / sum))
}

/// See [`Numbers::converged_seconds`].
fn converged(probes: &Probes, from: Time, end: Time) -> Option<f64> {
    let windows = (0..).map(|step| from + SAMPLES.saturating_mul(step));
    let fits = |start: &Time| *start + CONVERGED_OVER <= end;
    let is_even = |start: &Time| {
        fairness(probes, *start, *start + CONVERGED_OVER).is_some_and(|(jain, _)| jain >= CONVERGED)
    };
    windows.take_while(fits).find(is_even).map(|start| start.since(from).as_secs_f64())
}

/// The fields of a scenario that make a cell of it, but for the buffer, whose size depends on the rate.
pub(super) fn overrides(cell: &Cell, settings: &Settings) -> Vec<String> {
    let mut set = cell.link.set.clone();
    set.push(format!("seed={}", cell.seed));
    set.push(format!("duration={} s", cell.seconds(settings)));
    set.push(format!("link.*.down.loss={}", cell.loss));
    set.push(format!("flow.{OWN}.congestion={}", cell.controller));
    if cell.against.has_two_paths() {
        set.push(format!("flow.{OWN}.links=[\"x0\", \"x1\"]"));
    }
    let other = match cell.against {
        Against::Nothing => return set,
        Against::Itself => &cell.controller,
        Against::Cubic | Against::PathsCubic => "cubic",
        Against::PathsNewReno => "newreno",
    };
    set.push(format!("flow.{OTHER}.congestion={other}"));
    if cell.against == Against::Itself {
        set.push(format!("flow.{OTHER}.start={} s", settings.plan.second_flow_after_seconds));
    }
    set
}

/// The buffer of a cell: so many bandwidth-delay products of the mean rate, and room for two packets at least.
pub(super) fn buffer(cell: &Cell, scenario: &Scenario) -> Option<String> {
    let segment = scenario.segments.iter().find(|segment| segment.name == BOTTLENECK)?;
    let until = u64::try_from(scenario.duration?.as_nanos()).ok()?;
    let rate = segment.down.mean_rate(until)? as f64;
    let bytes = (cell.buffer * rate / 8.0 * cell.link.rtt().as_secs_f64()).max(3_000.0);
    Some(format!("segment.{BOTTLENECK}.down.queue={bytes:.0}"))
}

/// Runs a cell whose scenario was read.
pub(super) fn run(
    cell: &Cell,
    mut scenario: Scenario,
    plan: &Plan,
    registry: &Registry,
) -> Result<Numbers, String> {
    if cell.against == Against::Nothing {
        scenario.flows.retain(|flow| flow.name == OWN);
    }
    let simulation = Simulation::new(&scenario, registry, Options::default());
    let mut probes = Probes::every(SAMPLES, &PROBES).map_err(|error| error.to_string())?;
    let outcome = simulation.map_err(|error| error.to_string())?.run(&mut probes);
    Ok(numbers(cell, plan, &outcome, &probes))
}

fn numbers(cell: &Cell, plan: &Plan, outcome: &Outcome, probes: &Probes) -> Numbers {
    let link =
        |name: &str| outcome.links.iter().find(|link| link.link == name && link.direction == Direction::Down);
    let bottleneck = link(BOTTLENECK);
    let delays = link(ACCESS).and_then(|link| link.one_way_delay).filter(|delays| delays.count > 0);
    let mut numbers = Numbers {
        trace_hash: outcome.trace_hash.clone(),
        packets: outcome.packets,
        events: outcome.events,
        utilisation: bottleneck.and_then(|link| link.utilisation),
        queue_p95_ms: delays.map(|delays| delays.p95_ms - delays.min_ms),
        dropped: bottleneck.filter(|link| link.counters.offered_packets > 0).map(|link| {
            let dropped = link.counters.dropped_queue + link.counters.dropped_aqm;
            dropped as f64 / link.counters.offered_packets as f64
        }),
        ..Numbers::default()
    };
    if cell.against != Against::Nothing {
        let end = Time::ZERO + Duration::from_secs_f64(outcome.simulated_seconds);
        let half = Time::ZERO + Duration::from_secs_f64(outcome.simulated_seconds / 2.0);
        let fairness = fairness(probes, half, end);
        (numbers.jain, numbers.share) = (fairness.map(|it| it.0), fairness.map(|it| it.1));
        if cell.against == Against::Itself {
            numbers.converged_seconds = converged(probes, Time::ZERO + plan.second_flow(), end);
        }
    }
    numbers
}
