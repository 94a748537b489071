//! What the list runs: transfers below satellites that are watched, and computations.

use std::time::Duration;

use hawser_policy::Time;
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{Delays, FlowOutcome, Outcome};

use super::course::{Course, SEGMENT, Truth};
use super::observed::{Log, NOTES};
use crate::data::statistics::{mean, nearest_rank};
use crate::experiments::verify::{Measured, Request};

/// Time without a satellite at a hand-over, and between hand-overs unless said otherwise.
const OUTAGE: Duration = Duration::from_millis(150);
const PERIOD: Duration = Duration::from_secs(15);
/// Slow start is over by then.
const LATER: Time = Time::from_secs(5);
/// Two round trips of the transition in which both subflows come together.
const TWO_ROUND_TRIPS: Duration = Duration::from_millis(220);
const ROUND_TRIP: Duration = Duration::from_millis(100);
/// A run that was watched.
struct Watched {
    outcome: Outcome,
    course: Course,
    log: Log,
    /// One way, of the transfer's packets.
    delays: Delays,
    scenario: Scenario,
}

/// Runs the scenario of the request with its controller observed.
fn watch(request: &Request<'_>) -> Result<Watched, String> {
    let scenario = request.scenario(&[request.chosen()])?;
    let mut simulation = request.simulation(&scenario)?;
    let mut probes = Course::probes().map_err(|error| error.to_string())?.with_notes(&NOTES);
    let outcome = simulation.run(&mut probes);
    let (log, course) = (Log::of(&probes), Course::of(probes));
    let mut delays = Delays::default();
    for link in ["sat0", "sat1"] {
        if let Some(of_link) = simulation.delays(link, Direction::Up) {
            delays.merge(of_link);
        }
    }
    Ok(Watched { outcome, course, log, delays, scenario })
}

impl Watched {
    fn main(&self) -> Option<&FlowOutcome> {
        self.outcome.flows.iter().find(|flow| flow.flow == "main")
    }

    /// Packets sent and lost by the transfer.
    fn packets(&self) -> (f64, f64) {
        let paths = self.outcome.paths.iter().filter(|path| path.flow == "main");
        paths.fold((0.0, 0.0), |(sent, lost), path| {
            (sent + path.packets_sent as f64, lost + path.packets_lost as f64)
        })
    }

    fn measured(&self) -> Measured {
        Measured::of_run(&self.outcome)
    }
}

/// Figures 3.8 to 3.11: a transfer for the whole time, beside NewReno or alone.
pub(super) fn transfer(request: &Request<'_>) -> Result<Measured, String> {
    let watched = watch(request)?;
    let main = watched.main().ok_or("there is no flow main")?;
    let truth = Truth::new(&watched.scenario, PERIOD);
    let (course, log) = (&watched.course, &watched.log);
    let (sent, lost) = watched.packets();
    let [shared, shared_tcp] = course.goodput(&truth, true);
    let [disjoint, disjoint_tcp] = course.goodput(&truth, false);
    let mut hand_overs = course.hand_over_recoveries(&truth, OUTAGE);
    let mut reductions = course.reduction_recoveries(&truth, &log.reductions);
    let mut rounds = start_rounds(log, LATER);
    // BBR's window is twice what it takes for the bandwidth-delay product.
    let gain = if request.policy.starts_with("bbr") { 2.0 } else { 1.0 };
    Ok(watched
        .measured()
        .with("goodput_bps", main.goodput_bps)
        .with("p95_delay_ms", watched.delays.quantile(0.95).as_secs_f64() * 1e3)
        .with("window_packets", course.mean_window(LATER) / gain)
        .with("peak_window_packets", course.peak_window() / gain)
        .with("peak_product_packets", course.peak_product(&truth))
        .with("reductions", log.reductions.len() as f64)
        .with("back_offs", log.back_offs as f64)
        .with("loss_epochs", log.epochs as f64)
        .with("lost_share", lost / sent.max(1.0))
        .with("shared_bps", shared)
        .with("shared_tcp_bps", shared_tcp)
        .with("disjoint_bps", disjoint)
        .with("disjoint_tcp_bps", disjoint_tcp)
        .with("hand_over_recovery_p99_ms", nearest_rank(&mut hand_overs, 0.99))
        .with("hand_over_recovery_mean_ms", mean(&hand_overs))
        .with("reduction_recovery_p99_ms", nearest_rank(&mut reductions, 0.99))
        .with("reduction_recovery_mean_ms", mean(&reductions))
        .with("start_round_trips", nearest_rank(&mut rounds, 0.5))
        .with("joining_drops_packets", course.drops_after_joining(&truth, OUTAGE, TWO_ROUND_TRIPS)))
}

/// How many round trips slow starts up to a threshold took that began after a while, and with history.
fn start_rounds(log: &Log, after: Time) -> Vec<f64> {
    let late = log.starts.iter().filter(|start| start.at >= after && start.window > 12.0 * SEGMENT);
    let rounds = late.filter_map(|start| {
        let (end, rtt) = start.end.filter(|(_, rtt)| *rtt > 0.0)?;
        Some(end.since(start.sent?).as_secs_f64() / rtt)
    });
    rounds.collect()
}

/// Item 4, and what it takes OLIA: the beginning of the first subflow.
pub(super) fn beginning(request: &Request<'_>) -> Result<Measured, String> {
    let watched = watch(request)?;
    let truth = Truth::new(&watched.scenario, PERIOD);
    let log = &watched.log;
    let (first_at, first) = *log.beginning.first().ok_or("nothing was acknowledged")?;
    let product = truth.product(0, first_at).ok_or("there is no satellite")?;
    let reached = log.beginning.iter().find(|(_, window)| *window >= product).map(|(at, _)| *at);
    // Four doublings, and how many round trips they took. What never gets to the product has forty.
    let at_window = |segments: f64| {
        log.beginning.iter().find(|(_, window)| *window >= segments * SEGMENT).map(|(at, _)| *at)
    };
    let rounds = |from: Time, until: Time| until.since(from).as_secs_f64() / ROUND_TRIP.as_secs_f64();
    let growth =
        at_window(8.0).zip(at_window(128.0)).map(|(from, until)| 16f64.powf(1.0 / rounds(from, until)));
    let measured = watched
        .measured()
        .with("growth_per_round_trip", growth.unwrap_or(1.0))
        .with("round_trips_to_product", reached.map_or(40.0, |at| rounds(first_at, at)));
    let Some(start) = log.starts.first() else { return Ok(measured) };
    // What the link was said to carry, for the least round trip that was seen by then.
    let capacity = product / (2.0 * propagation(&watched.scenario).ok_or("there is no satellite")?);
    let expected = capacity * start.min_rtt;
    let datagram = 1472.0;
    Ok(measured
        .with("first_window_packets", (start.window / datagram).min(first / datagram))
        .with("threshold_error_packets", (start.threshold - expected).abs() / datagram)
        .with("reached_threshold", f64::from(u8::from(start.end.is_some()))))
}

/// One way, seconds, at the beginning.
fn propagation(scenario: &Scenario) -> Option<f64> {
    let forecasts = scenario.links.first()?.forecasts.as_ref()?;
    Some(forecasts.profile.up.first()?.delay as f64 / 1e9)
}

/// Item 5: an application that needs nine tenths of what one satellite carries, and 1 % of random loss; or as much as there is.
pub(super) fn random_loss(request: &Request<'_>) -> Result<Measured, String> {
    let watched = watch(request)?;
    let log = &watched.log;
    let main = watched.main().ok_or("there is no flow main")?;
    Ok(watched
        .measured()
        .with("goodput_bps", main.goodput_bps)
        .with("reductions_per_loss_event", log.reductions.len() as f64 / (log.epochs as f64).max(1.0)))
}

/// Item 6: one satellite, whose queue overflows.
pub(super) fn overflow(request: &Request<'_>) -> Result<Measured, String> {
    let watched = watch(request)?;
    let (overflows, log) = (watched.course.overflows(), &watched.log);
    let answered = |at: &&Time| {
        let until = **at + Duration::from_millis(600);
        log.reductions
            .iter()
            .any(|(reduced, _)| *reduced + Duration::from_millis(20) >= **at && *reduced <= until)
    };
    let (sent, lost) = watched.packets();
    let main = watched.main().ok_or("there is no flow main")?;
    Ok(watched
        .measured()
        .with("overflows", overflows.len() as f64)
        .with(
            "answered_share",
            overflows.iter().filter(answered).count() as f64 / overflows.len().max(1) as f64,
        )
        .with("lost_share", lost / sent.max(1.0))
        .with("goodput_bps", main.goodput_bps))
}

/// Figures 3.12 and 3.13: 10 MB.
pub(super) fn completion(request: &Request<'_>) -> Result<Measured, String> {
    let watched = watch(request)?;
    let main = watched.main().ok_or("there is no flow main")?;
    // What does not end in time took all of it.
    let seconds = main.completion_seconds.unwrap_or(watched.outcome.simulated_seconds);
    Ok(watched.measured().with("completion_seconds", seconds))
}
