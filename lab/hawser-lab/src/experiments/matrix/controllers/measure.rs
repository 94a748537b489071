//! One run, and what is measured of it.

use std::time::Duration;

use hawser_policy::Time;
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{Outcome, Probes, Simulation};

use super::grid::{Against, Cell, Settings};
use super::plan::Plan;
use super::rows::Controllers;
use crate::data::statistics::jain;
use crate::data::sweep::Measured;
use crate::experiments::matrix::{Grid, Key, Runs};
use crate::experiments::verify::Load;

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

/// What is sampled: bytes received, by flow.
const PROBES: [&str; 1] = ["flow.*.bytes"];

/// Jain's index and the share of the first of two flows from one moment to another; none if neither received anything.
fn fairness(probes: &Probes, from: Time, to: Time) -> Option<(f64, f64)> {
    let received = |flow: &str| probes.series(&format!("flow.{flow}.bytes")).rise(from, to);
    let (own, other) = (received(OWN), received(OTHER));
    let sum = own + other;
    (sum > 0.0).then(|| (jain(&[own, other]), own / sum))
}

/// Seconds from the start of the second flow until two with an index of at least 0.9 begin; none: they did not.
fn converged(probes: &Probes, from: Time, end: Time) -> Option<f64> {
    let windows = (0..).map(|step| from + SAMPLES.saturating_mul(step));
    let fits = |start: &Time| *start + CONVERGED_OVER <= end;
    let is_even = |start: &Time| {
        fairness(probes, *start, *start + CONVERGED_OVER).is_some_and(|(jain, _)| jain >= CONVERGED)
    };
    windows.take_while(fits).find(is_even).map(|start| start.since(from).as_secs_f64())
}

impl Grid for Settings {
    type Cell = Cell;
    type Rows = Controllers;
    const NAME: &'static str = "controllers";
    const TEXTS: &'static [&'static str] = &["link", "controller", "against"];
    const NUMBERS: &'static [&'static str] = &["buffer_bdp", "loss"];
    const METRICS: &'static [&'static str] =
        &["utilisation", "queue_p95_ms", "dropped", "jain", "share", "converged_seconds"];

    fn key(cell: &Cell) -> Key<'_> {
        let texts = vec![cell.link.name.as_str(), &cell.controller, cell.against.name()];
        Key { texts, numbers: vec![cell.buffer, cell.loss], seed: cell.seed }
    }

    /// The size of the buffer depends on the rate, so that the scenario is read twice.
    fn scenario(&self, cell: &Cell, load: &Load<'_>) -> Result<Scenario, String> {
        let mut set = overrides(cell, &self.plan);
        let unbuffered = load(&cell.link.file, &set)?;
        set.push(buffer(cell, &unbuffered).ok_or("the bottleneck has no rate")?);
        let mut scenario = load(&cell.link.file, &set)?;
        if cell.against == Against::Nothing {
            scenario.flows.retain(|flow| flow.name == OWN);
        }
        Ok(scenario)
    }

    fn measure(&self, cell: &Cell, _: &Scenario, mut simulation: Simulation) -> Result<Measured, String> {
        let mut probes = Probes::every(SAMPLES, &PROBES).map_err(|error| error.to_string())?;
        let outcome = simulation.run(&mut probes);
        let measured = alone(Measured::of_run(&outcome), &outcome);
        Ok(shared(measured, cell, &self.plan, &outcome, &probes))
    }

    fn rows(&self, runs: &Runs<'_>) -> Controllers {
        Controllers::of(runs, self)
    }
}

/// The fields of a scenario that make a cell of it, but for the buffer.
fn overrides(cell: &Cell, plan: &Plan) -> Vec<String> {
    let mut set = cell.link.set.clone();
    set.push(format!("seed={}", cell.seed));
    set.push(format!("duration={} s", cell.seconds));
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
        set.push(format!("flow.{OTHER}.start={} s", plan.second_flow_after_seconds));
    }
    set
}

/// The buffer of a cell: so many bandwidth-delay products of the mean rate, and room for two packets at least.
fn buffer(cell: &Cell, scenario: &Scenario) -> Option<String> {
    let segment = scenario.segments.iter().find(|segment| segment.name == BOTTLENECK)?;
    let until = u64::try_from(scenario.duration?.as_nanos()).ok()?;
    let rate = segment.down.mean_rate(until)? as f64;
    let bytes = (cell.buffer * rate / 8.0 * cell.link.rtt().as_secs_f64()).max(3_000.0);
    Some(format!("segment.{BOTTLENECK}.down.queue={bytes:.0}"))
}

/// Bytes that the bottleneck delivered, over its capacity; 95th percentile of the one-way delay of the flow's packets, less the least of
/// them, milliseconds; share of the packets that came to the bottleneck and found its queue full.
fn alone(measured: Measured, outcome: &Outcome) -> Measured {
    let link =
        |name: &str| outcome.links.iter().find(|link| link.link == name && link.direction == Direction::Down);
    let bottleneck = link(BOTTLENECK);
    let delays = link(ACCESS).and_then(|link| link.one_way_delay).filter(|delays| delays.count > 0);
    let dropped = bottleneck.filter(|link| link.counters.offered_packets > 0).map(|link| {
        let dropped = link.counters.dropped_queue + link.counters.dropped_aqm;
        dropped as f64 / link.counters.offered_packets as f64
    });
    measured
        .with_some("utilisation", bottleneck.and_then(|link| link.utilisation))
        .with_some("queue_p95_ms", delays.map(|delays| delays.p95_ms - delays.min_ms))
        .with_some("dropped", dropped)
}

/// Jain's index of two flows over the second half of the run, the share of the controller in question in that time, and when they converged.
fn shared(measured: Measured, cell: &Cell, plan: &Plan, outcome: &Outcome, probes: &Probes) -> Measured {
    if cell.against == Against::Nothing {
        return measured;
    }
    let end = Time::ZERO + Duration::from_secs_f64(outcome.simulated_seconds);
    let half = Time::ZERO + Duration::from_secs_f64(outcome.simulated_seconds / 2.0);
    let fairness = fairness(probes, half, end);
    let measured =
        measured.with_some("jain", fairness.map(|it| it.0)).with_some("share", fairness.map(|it| it.1));
    if cell.against != Against::Itself {
        return measured;
    }
    measured.with_some("converged_seconds", converged(probes, Time::ZERO + plan.second_flow(), end))
}
