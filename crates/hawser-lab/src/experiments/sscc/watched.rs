//! Runs that are watched: groups and controllers of the sending end, what arrived when, and what was in flight.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_cc::sscc::{self, Choice, Observer, SsccParts};
use hawser_policy::{GroupId, PathId, Registry, Side, Time};
use hawser_sim::run::{FlowSample, Options, Outcome, PathSample, Recorder, Simulation};

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
        if from.is_some_and(|from| from != to) {
            self.note(side, |decisions| decisions.changes.push((now, path, to)));
        }
    }
}

/// Samples of a run.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Of each flow the bytes that had arrived.
    delivered: Vec<(String, Vec<(f64, u64)>)>,
    /// Of the first path of `main` the bytes in flight.
    in_flight: Vec<(f64, u64)>,
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
        if sample.flow == "main" && sample.path == PathId::ZERO {
            self.in_flight.push((sample.at.as_secs_f64(), sample.stats.bytes_in_flight));
        }
    }
}

/// A run that was watched.
pub(super) struct Watched {
    pub(super) outcome: Outcome,
    pub(super) decisions: Decisions,
    course: Course,
}

/// Runs a scenario with the policy of the request. A controller in its place runs in a set that chooses nothing.
pub(super) fn run(request: &Request<'_>, file: &str, set: &[&str]) -> Result<Watched, String> {
    let mut set: Vec<String> = set.iter().map(|field| (*field).to_owned()).collect();
    if request.registry.controller(request.policy).is_ok() {
        set.push("transport.policy=sscc,coupling=off".to_owned());
        set.push(format!("transport.congestion={}", request.policy));
    } else {
        set.push(format!("transport.policy={}", request.policy));
    }
    set.push(format!("seed={}", request.seed));
    let scenario = (request.load)(file, &set)?;
    let watch = Arc::new(Watch::default());
    let mut registry: Registry = (**request.registry).clone();
    let parts = SsccParts { observer: Some(watch.clone()), ..SsccParts::default() };
    sscc::register(&mut registry, parts).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&scenario, &registry, Options::default());
    let mut simulation = simulation.map_err(|error| error.to_string())?;
    let mut course = Course::default();
    let outcome = simulation.run(&mut course);
    let decisions = watch.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Watched { outcome, decisions, course })
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
        paths.iter().map(of).sum::<f64>() / paths.len().max(1) as f64 / (until - from)
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
        let flight = &self.course.in_flight;
        let rise = |at: f64| {
            let before = flight.iter().take_while(|(time, _)| *time <= at).last()?.1;
            let after = flight.iter().filter(|(time, _)| *time > at && *time <= at + within);
            Some(after.map(|(_, bytes)| *bytes).max()? as f64 / before.max(1) as f64 - 1.0)
        };
        self.decisions.changes.iter().filter_map(|(at, ..)| rise(at.as_secs_f64())).collect()
    }
}
