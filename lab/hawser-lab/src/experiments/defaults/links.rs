//! One scenario: a download over all links, over each link alone with several controllers, and the same with a conversation.

use std::time::Duration;

use hawser_scenario::{Flow, FlowKind, Medium, Scenario};
use hawser_sim::run::{Delays, LinkOutcome, NoRecorder, Outcome};

use crate::experiments::verify::{Measured, Request};

/// A link alone is tried with the system and with these: the best of them is what it gives.
const CONTROLLERS: [&str; 3] = ["cubic", "bbr", "tide"];
const CONTROLLER_KEY: &str = "transport.congestion";

/// Requests of 200 bytes for answers of 64 kB, one after the other.
const CONVERSATION: FlowKind = FlowKind::Requests {
    request: 200,
    response: 64_000,
    think: Duration::from_millis(100),
    number: None,
    parallel: 1,
    every: None,
};

/// Links with fewer packets than this in a run have no share of losses, and no quantile of a delay.
const TELLING: u64 = 200;

/// A run, and what the first flow's answers took.
struct Run {
    outcome: Outcome,
    answers: Delays,
}

impl Run {
    fn goodput(&self) -> f64 {
        self.outcome.flows.first().map_or(0.0, |flow| flow.goodput_bps)
    }
}

/// The measures of the program `default-links`.
pub(super) fn all_and_each(request: &Request<'_>) -> Result<Measured, String> {
    let scenario = request.scenario(&[request.chosen()])?;
    let flow = scenario.traffic().first().cloned().ok_or("the scenario has no flow")?;
    let bulk = FlowKind::Bulk { direction: flow.kind.direction(), size: None };
    let all = run(request, &[request.chosen()], &bulk, None)?;
    let talk = run(request, &[request.chosen()], &CONVERSATION, None)?;
    let (mut best_goodput, mut best_answer) = (0.0f64, f64::INFINITY);
    for link in &flow.links {
        for chosen in alone(request) {
            best_goodput = best_goodput.max(run(request, &chosen, &bulk, Some(*link))?.goodput());
            let answers = run(request, &chosen, &CONVERSATION, Some(*link))?.answers;
            if answers.count() > 0 {
                best_answer = best_answer.min(millis(&answers));
            }
        }
    }
    let measured = of_links(Measured::of_run(&all.outcome), &scenario, &flow, &all.outcome);
    let Some(own) = all.outcome.flows.first() else { return Ok(measured) };
    let needless = own.copies.needless_bytes as f64 / own.bytes.max(1) as f64;
    Ok(measured
        .with("goodput_of_best_share", all.goodput() / best_goodput)
        .with("byte_delay_p99_ms", own.delay.p99_ms)
        .with("longest_gap_ms", own.longest_gap_ms)
        .with("needless_share", needless)
        .with("answers_p99_ms", millis(&talk.answers))
        .with("answers_of_best_share", millis(&talk.answers) / best_answer))
}

/// What a link alone is tried with: the system, and other controllers under the default scheduler.
fn alone(request: &Request<'_>) -> Vec<Vec<String>> {
    let controllers = CONTROLLERS.map(|name| vec![format!("{CONTROLLER_KEY}={name}")]);
    std::iter::once(vec![request.chosen()]).chain(controllers).collect()
}

/// The 99th percentile of answers; not a number: there were none.
fn millis(answers: &Delays) -> f64 {
    if answers.count() == 0 { f64::NAN } else { answers.quantile(0.99).as_secs_f64() * 1e3 }
}

/// Runs the scenario with its first flow doing this over all its links, or over one.
fn run(
    request: &Request<'_>,
    chosen: &[String],
    kind: &FlowKind,
    link: Option<usize>,
) -> Result<Run, String> {
    let mut scenario = request.scenario(chosen)?;
    let mut flows = scenario.traffic().into_owned();
    flows.iter_mut().for_each(|flow| flow.awaited = false);
    let Some(first) = flows.first_mut() else { return Err("the scenario has no flow".to_owned()) };
    let name = first.name.clone();
    (first.kind, first.stop, first.count, first.pattern) = (kind.clone(), None, 1, None);
    if let Some(link) = link {
        first.links = vec![link];
    }
    scenario.flows = flows;
    let mut simulation = request.simulation(&scenario)?;
    let outcome = simulation.run(&mut NoRecorder);
    let answers = simulation.meter(&name).map(|meter| meter.delays).unwrap_or_default();
    Ok(Run { outcome, answers })
}

/// Use of the capacity, losses in queues and the longest queue, in the direction of the data.
fn of_links(measured: Measured, scenario: &Scenario, flow: &Flow, outcome: &Outcome) -> Measured {
    let direction = flow.kind.direction();
    let of = |index: usize| {
        let name = &scenario.links[index].name;
        let found = outcome.links.iter().find(|it| it.link == *name && it.direction == direction);
        found.map(|link| (scenario.links[index].medium, link))
    };
    let links: Vec<(Medium, &LinkOutcome)> = flow.links.iter().filter_map(|index| of(*index)).collect();
    // What arrived twice was of no use.
    let copies = outcome.flows.first().and_then(|flow| flow.copies.duplicate_share).unwrap_or(0.0);
    let seconds = outcome.simulated_seconds;
    let delivered: f64 =
        links.iter().map(|(_, link)| 8.0 * link.counters.delivered_bytes as f64 / seconds).sum();
    let offered: f64 = links.iter().filter_map(|(_, link)| link.capacity_bps).map(|bps| bps as f64).sum();
    let lost = |leo: bool| {
        let of_kind = || links.iter().filter(|(medium, _)| (*medium == Medium::Satellite) == leo);
        let sent: u64 = of_kind().map(|(_, link)| link.counters.offered_packets).sum();
        let lost: u64 = of_kind().map(|(_, link)| link.counters.dropped_queue).sum();
        if sent < TELLING { 0.0 } else { lost as f64 / sent as f64 }
    };
    let queue = |link: &LinkOutcome| link.one_way_delay.as_ref().map(|delays| delays.p95_ms - delays.min_ms);
    let telling = links.iter().filter(|(_, link)| link.counters.delivered_packets >= TELLING);
    let longest = telling.filter_map(|(_, link)| queue(link)).fold(0.0, f64::max);
    measured
        .with("use_share", delivered * (1.0 - copies) / offered)
        .with("lost_leo_share", lost(true))
        .with("lost_other_share", lost(false))
        .with("queue_p95_ms", longest)
}
