//! A session of the tool over one association of the generator, on the real transport: the simulator runs its connections over the
//! link of that association, from the address to its end.

use std::time::Duration;

use hawser_link::{Direction, QueueLimit};
use hawser_policy::PolicySpec;
use hawser_radio::{Association, Profile, Sample};
use hawser_scenario::{FlowKind, Scenario};
use hawser_sim::run::Probes;

use crate::data::measure::{Configuration, variation};
use crate::experiments::verify::Request;

/// How often the tool samples a flow.
const SAMPLE: Duration = Duration::from_millis(100);
const SAMPLES_OF_A_SECOND: usize = 10;

/// What a session amounts to.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    /// Payload that arrived in order, of all flows.
    pub(super) bytes: u64,
    /// From the address to its end.
    pub(super) seconds: f64,
    /// How even each flow was.
    pub(super) flows: Vec<Quality>,
}

/// How even a flow was, as its sender sees it; absent where there is too little to tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quality {
    /// Standard deviation over mean of the round-trip times.
    pub(super) rtt: Option<f64>,
    /// Packets declared lost, less those that were not, over packets sent.
    pub(super) loss: Option<f64>,
    /// Standard deviation over mean of the throughput of whole seconds.
    pub(super) throughput: Option<f64>,
}

impl Session {
    /// Mean goodput, bit/s.
    pub(super) fn goodput(&self) -> f64 {
        8.0 * self.bytes as f64 / self.seconds
    }
}

/// Reads the scenario around an association, with so many bytes of queue in each direction.
pub(super) fn base(request: &Request<'_>, queue: u64) -> Result<Scenario, String> {
    let file = request.scenarios.first().ok_or("there is no scenario")?;
    let mut scenario = (request.load)(file, &[])?;
    for link in &mut scenario.links {
        for direction in [&mut link.up, &mut link.down] {
            direction.queue.limit = QueueLimit::Bytes(queue);
        }
    }
    Ok(scenario)
}

/// Runs a session over an association that works. With `is_sampled` its flows are looked at as the tool does.
pub(super) fn run(
    request: &Request<'_>,
    base: &Scenario,
    profile: &Profile,
    association: &Association,
    configuration: &Configuration,
    is_sampled: bool,
) -> Result<Session, String> {
    let from = association.address_from().ok_or("an association without an address")?;
    let (from, until) = (nanos(from), nanos(association.end));
    let life = Duration::from_nanos(until.saturating_sub(from));
    let scenario = scenario(base, &between(profile, from, until), life, configuration, from ^ request.seed)?;
    let probes = if is_sampled { Probes::every(SAMPLE, &PROBES) } else { Ok(Probes::default()) };
    let mut probes = probes.map_err(|error| error.to_string())?;
    let outcome = request.run(&scenario, &mut probes)?;
    let flows = outcome.paths.iter().map(|path| {
        let lost = path.packets_lost.saturating_sub(path.packets_spuriously_lost);
        let loss = (path.packets_sent > 0).then(|| lost as f64 / path.packets_sent as f64);
        Quality { loss, ..quality(&probes, &path.flow) }
    });
    Ok(Session {
        bytes: outcome.flows.iter().map(|flow| flow.bytes).sum(),
        seconds: life.as_secs_f64(),
        flows: flows.collect(),
    })
}

fn scenario(
    base: &Scenario,
    profile: &Profile,
    life: Duration,
    configuration: &Configuration,
    seed: u64,
) -> Result<Scenario, String> {
    let mut scenario = Scenario { seed, duration: Some(life), ..base.clone() };
    let link = scenario.links.first_mut().ok_or("no link")?;
    let [up, down] = Direction::BOTH.map(|direction| link.following(direction, profile));
    (link.up, link.down) = (up, down);
    let flow = scenario.flows.first_mut().ok_or("no flow")?;
    let controller = configuration.controller.parse::<PolicySpec>();
    let controller = controller.map_err(|error| format!("{}: {error}", configuration.controller))?;
    flow.policies.congestion = Some(controller);
    flow.count = configuration.flows;
    flow.kind = FlowKind::Bulk { direction: configuration.direction, size: None };
    Ok(scenario)
}

/// The part of a link between two times, which begins at zero.
fn between(profile: &Profile, from: u64, until: u64) -> Profile {
    let part = |samples: &[Sample]| {
        // What holds at the beginning was said before.
        let first = samples.partition_point(|sample| sample.at <= from).saturating_sub(1);
        let part = samples[first..].iter().take_while(|sample| sample.at < until);
        part.map(|sample| Sample { at: sample.at.saturating_sub(from), ..*sample }).collect()
    };
    Profile { up: part(&profile.up), down: part(&profile.down), ..Profile::default() }
}

/// Nanoseconds, as the generator rounds them.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// What the tool samples of each flow.
const PROBES: [&str; 3] = ["flow.*.bytes", "path.*.*.latest_rtt_s", "path.*.*.acked_packets"];

/// How even a flow was.
fn quality(probes: &Probes, flow: &str) -> Quality {
    let received = probes.series(&format!("flow.{flow}.bytes"));
    let seconds: Vec<f64> = received.values().step_by(SAMPLES_OF_A_SECOND).collect();
    let rates: Vec<f64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let of_flow = format!("path.{flow}.");
    let rtts = probes.each(&of_flow, ".latest_rtt_s").flat_map(|(path, rtts)| {
        let acked = probes.series(&format!("{of_flow}{path}.acked_packets"));
        // Before the first acknowledgement the round-trip time is what is assumed of it.
        rtts.values().zip(acked.values()).filter(|(_, acked)| *acked > 0.0).map(|(rtt, _)| rtt)
    });
    Quality { rtt: variation(&rtts.collect::<Vec<f64>>()), loss: None, throughput: variation(&rates) }
}
