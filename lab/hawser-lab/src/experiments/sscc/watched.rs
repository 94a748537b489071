//! Runs that are watched: groups and controllers of the sending end, what arrived when, and what was in flight.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_cc::sscc::{self, Candidate, Choice, DataUnit, Observer, RewardForm, SsccParts};
use hawser_policy::{GroupId, PathId, Registry, Side, Time};
use hawser_scenario::Scenario;
use hawser_sim::run::{FlowSample, Options, Outcome, PathSample, Recorder, Simulation};

use super::cuts;
use crate::data::statistics::{mean, quantile};
use crate::experiments::verify::{Measured, Request};

/// Between samples.
const INTERVAL: Duration = Duration::from_millis(10);

/// What the set decided at the sending end.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Decisions {
    /// A path was put into a group.
    pub(super) groups: Vec<(Time, PathId, GroupId)>,
    /// A path got another controller.
    pub(super) changes: Vec<(Time, PathId, Choice)>,
    /// The first controller of each path.
    pub(super) first: Vec<(PathId, Choice)>,
    /// The Data Units.
    pub(super) units: Vec<DataUnit>,
}

#[derive(Default)]
struct Watch(Mutex<Decisions>);

impl Watch {
    fn note(&self, side: Side, note: impl FnOnce(&mut Decisions)) {
        // All flows are downloads: the client sends acknowledgements only.
        if side == Side::Server {
            note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Observer for Watch {
    fn on_group(&self, side: Side, now: Time, path: PathId, group: GroupId) {
        self.note(side, |decisions| decisions.groups.push((now, path, group)));
    }

    fn on_controller(&self, side: Side, now: Time, path: PathId, from: Option<Choice>, to: Choice) {
        match from {
            None => self.note(side, |decisions| decisions.first.push((path, to))),
            Some(from) if from != to => {
                self.note(side, |decisions| decisions.changes.push((now, path, to)));
            }
            Some(_) => {}
        }
    }

    fn on_unit(&self, side: Side, unit: &DataUnit) {
        self.note(side, |decisions| decisions.units.push(*unit));
    }
}

/// Samples of a run.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Of each flow the bytes that had arrived.
    delivered: Vec<(String, Vec<(f64, u64)>)>,
    /// Samples of the paths of `main`.
    paths: Vec<(PathId, Vec<PathPoint>)>,
}

/// A path at one moment.
#[derive(Debug, Clone, Copy)]
struct PathPoint {
    at: f64,
    in_flight: u64,
    acked: u64,
    /// Of the last sample, and the least so far, seconds.
    rtt: f64,
    least_rtt: f64,
}

impl Recorder for Course {
    fn sample_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        let at = self.delivered.iter().position(|(flow, _)| flow == sample.flow).unwrap_or_else(|| {
            self.delivered.push((sample.flow.to_owned(), Vec::new()));
            self.delivered.len() - 1
        });
        self.delivered[at].1.push((sample.at.as_secs_f64(), sample.bytes));
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        if sample.flow != "main" {
            return;
        }
        let at = self.paths.iter().position(|(path, _)| *path == sample.path).unwrap_or_else(|| {
            self.paths.push((sample.path, Vec::new()));
            self.paths.len() - 1
        });
        self.paths[at].1.push(PathPoint {
            at: sample.at.as_secs_f64(),
            in_flight: sample.stats.bytes_in_flight,
            acked: sample.stats.bytes_acked,
            rtt: sample.stats.latest_rtt.as_secs_f64(),
            least_rtt: sample.stats.min_rtt.as_secs_f64(),
        });
    }
}

/// A run that was watched.
pub(super) struct Watched {
    pub(super) outcome: Outcome,
    pub(super) decisions: Decisions,
    /// Cuts of windows.
    pub(super) cuts: u64,
    /// Those that came twice.
    pub(super) second_cuts: u64,
    course: Course,
}

/// Runs the scenario of the request. A controller in its place runs on every path of the set, which detects and asks for receive
/// timestamps as it always does: what those change is no advantage of either.
pub(super) fn run(request: &Request<'_>) -> Result<Watched, String> {
    run_in(request, &request.scenario(&policies(request))?)
}

/// The policy of the request, or its controller under the set, as overrides.
pub(super) fn policies(request: &Request<'_>) -> Vec<String> {
    match request.registry.congestion(request.policy) {
        Ok(_) => {
            vec!["transport.policy=sscc".to_owned(), format!("transport.congestion={}", request.policy)]
        }
        Err(_) => vec![format!("transport.policy={}", request.policy)],
    }
}

/// Runs a scenario that has its policies.
pub(super) fn run_in(request: &Request<'_>, scenario: &Scenario) -> Result<Watched, String> {
    let watch = Arc::new(Watch::default());
    let mut registry: Registry = (**request.registry).clone();
    let cuts = cuts::watch(&mut registry).map_err(|error| error.to_string())?;
    let parts = SsccParts { observer: Some(watch.clone()), ..SsccParts::of(&registry) };
    sscc::register(&mut registry, parts).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(scenario, &registry, Options::default());
    let mut simulation = simulation.map_err(|error| error.to_string())?;
    let mut course = Course::default();
    let outcome = simulation.run(&mut course);
    let decisions = watch.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let cuts = cuts.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Watched { outcome, decisions, cuts: cuts.cuts, second_cuts: cuts.second, course })
}

impl Watched {
    pub(super) fn measured(&self) -> Measured {
        let measured = Measured::new(self.outcome.trace_hash.clone());
        Measured { packets: self.outcome.packets, events: self.outcome.events, ..measured }
    }

    /// The ids of the paths of `main`.
    pub(super) fn paths(&self) -> Vec<PathId> {
        let paths = self.outcome.paths.iter().filter(|path| path.flow == "main");
        paths.map(|path| PathId(path.path)).collect()
    }

    /// Mbit/s of a flow in a stretch of time, seconds.
    pub(super) fn rate(&self, flow: &str, from: f64, until: f64) -> f64 {
        let of = self.course.delivered.iter().find(|(name, _)| name == flow);
        let samples = of.map_or(&[][..], |(_, samples)| samples);
        let at = |time: f64| {
            samples.iter().take_while(|(at, _)| *at <= time).last().map_or(0, |(_, bytes)| *bytes)
        };
        at(until).saturating_sub(at(from)) as f64 * 8.0 / (until - from) / 1e6
    }

    /// Stretches in which a path was in a group, seconds.
    fn coupled(&self, path: PathId) -> Vec<(f64, f64)> {
        let mut stretches: Vec<(f64, f64)> = Vec::new();
        let mut since = None;
        for (at, _, group) in self.decisions.groups.iter().filter(|(_, of, _)| *of == path) {
            let at = at.as_secs_f64();
            match (since, *group != GroupId(0)) {
                (None, true) => since = Some(at),
                (Some(began), false) => {
                    stretches.push((began, at));
                    since = None;
                }
                _ => {}
            }
        }
        stretches.extend(since.map(|began| (began, self.outcome.simulated_seconds)));
        stretches
    }

    /// Share of a stretch in which paths were in groups: mean over the paths of `main`.
    pub(super) fn coupled_share(&self, from: f64, until: f64) -> f64 {
        let paths = self.paths();
        let of = |path: &PathId| {
            let stretches = self.coupled(*path).into_iter();
            stretches.map(|(began, ended)| (ended.min(until) - began.max(from)).max(0.0)).sum::<f64>()
        };
        mean(&paths.iter().map(of).collect::<Vec<f64>>()) / (until - from)
    }

    /// When every path had been in a group for the first time; the end of the run if one never was.
    pub(super) fn all_coupled_by(&self) -> f64 {
        let end = self.outcome.simulated_seconds;
        let first = |path: &PathId| self.coupled(*path).first().map_or(end, |(began, _)| *began);
        self.paths().iter().map(first).fold(0.0, f64::max)
    }

    /// How long after a moment the groups of that moment were left: the longest of all paths, seconds.
    pub(super) fn released_after(&self, moment: f64) -> f64 {
        let stretches = self.paths().into_iter().flat_map(|path| self.coupled(path));
        let lasting = stretches.filter(|(began, ended)| *began <= moment && *ended > moment);
        lasting.map(|(_, ended)| ended - moment).fold(0.0, f64::max)
    }

    /// By how much the volume in flight rose within a time after each change of controller, as shares of that before.
    pub(super) fn rises(&self, within: f64) -> Vec<f64> {
        let points = self.points(PathId::ZERO);
        let rise = |at: f64| {
            let before = points.iter().take_while(|point| point.at <= at).last()?.in_flight;
            let after = points.iter().filter(|point| point.at > at && point.at <= at + within);
            Some(after.map(|point| point.in_flight).max()? as f64 / before.max(1) as f64 - 1.0)
        };
        self.decisions.changes.iter().filter_map(|(at, ..)| rise(at.as_secs_f64())).collect()
    }

    fn points(&self, path: PathId) -> &[PathPoint] {
        let of = self.course.paths.iter().find(|(id, _)| *id == path);
        of.map_or(&[][..], |(_, points)| points)
    }

    /// The path of `main` over this link.
    pub(super) fn path_over(&self, link: &str) -> Option<PathId> {
        let path = self.outcome.paths.iter().find(|path| path.flow == "main" && path.link == link)?;
        Some(PathId(path.path))
    }

    /// Mbit/s that were acknowledged on a path in a stretch of time, seconds.
    pub(super) fn path_rate(&self, path: PathId, from: f64, until: f64) -> f64 {
        let points = self.points(path);
        let at = |time: f64| {
            points.iter().take_while(|point| point.at <= time).last().map_or(0, |point| point.acked)
        };
        at(until).saturating_sub(at(from)) as f64 * 8.0 / (until - from) / 1e6
    }

    /// Queueing delay while something was in flight, all paths of `main` together, ms: round-trip times less the least one of the
    /// path in the whole run. Mean and 95th percentile.
    pub(super) fn queueing_delay(&self) -> (f64, f64) {
        let mut delays = Vec::new();
        for (_, points) in &self.course.paths {
            let least = points.iter().map(|point| point.least_rtt).fold(f64::INFINITY, f64::min);
            let busy = points.iter().filter(|point| point.in_flight > 0);
            delays.extend(busy.map(|point| 1e3 * (point.rtt - least).max(0.0)));
        }
        delays.sort_unstable_by(f64::total_cmp);
        (mean(&delays), quantile(&delays, 0.95))
    }

    /// Mean reward over time of all paths, on the scale of links p0, p1, ... of this rate (Mbit/s) and round-trip time (ms).
    pub(super) fn mean_reward(&self, links: &[(f64, f64)]) -> f64 {
        let paths: Vec<_> = (0..links.len()).map(|link| self.path_over(&format!("p{link}"))).collect();
        let (mut sum, mut seconds) = (0.0, 0.0);
        for unit in &self.decisions.units {
            let Some(at) = paths.iter().position(|path| *path == Some(unit.path)) else { continue };
            let (rate, delay) = &links[at];
            let scaled = DataUnit { tput_max: *rate, delay_min: *delay, ..*unit };
            let duration = unit.duration.as_secs_f64();
            sum += duration * sscc::reward(&scaled, RewardForm::Thesis);
            seconds += duration;
        }
        // NaN where nothing was decided.
        sum / seconds
    }

    /// Share of a stretch of time, seconds, in which a path ran one of these.
    pub(super) fn ran_share(&self, path: PathId, wanted: &[Candidate], from: f64, until: f64) -> f64 {
        let first = self.decisions.first.iter().find(|(of, _)| *of == path).map(|(_, choice)| (0.0, *choice));
        let changes = self.decisions.changes.iter().filter(|(_, of, _)| *of == path);
        let changes = changes.map(|(at, _, choice)| (at.as_secs_f64(), *choice));
        let course: Vec<(f64, Choice)> = first.into_iter().chain(changes).collect();
        let mut total = 0.0;
        for (at, (began, choice)) in course.iter().enumerate() {
            let ended = course.get(at + 1).map_or(until, |(next, _)| *next);
            if wanted.iter().any(|candidate| *choice == Choice::Single(*candidate)) {
                total += (ended.min(until) - began.max(from)).max(0.0);
            }
        }
        total / (until - from)
    }
}
