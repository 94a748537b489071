//! Runs that are watched: groups and controllers of the sending end, what arrived when, and what was in flight.

use std::time::Duration;

use hawser_cc::sscc::{self, Candidate, Choice, DataUnit, RewardForm};
use hawser_policy::{GroupId, Note, PathId, Time};
use hawser_scenario::Scenario;
use hawser_sim::run::{Outcome, Probes, Series};

use super::cuts::{self, Cuts};
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

impl Decisions {
    /// All flows are downloads: the client sends acknowledgements only.
    fn of(probes: &Probes) -> Decisions {
        let mut decisions = Decisions::default();
        for (_, note) in probes.notes().filter(|(_, note)| note.side.is_server()) {
            decisions.add(note);
        }
        decisions
    }

    fn add(&mut self, note: &Note) -> Option<()> {
        let path = note.path?;
        let controller = |name| note.word(name).and_then(Choice::named);
        match note.name {
            "sscc.group" => self.groups.push((note.at, path, GroupId(note.number("group")? as u32))),
            "sscc.controller" => match (controller("from"), controller("controller")?) {
                (None, to) => self.first.push((path, to)),
                (Some(from), to) if from != to => self.changes.push((note.at, path, to)),
                _ => {}
            },
            DataUnit::NOTE => self.units.push(DataUnit::of_note(note)?),
            _ => {}
        }
        Some(())
    }
}

/// The notes that decisions are made of.
const DECISIONS: [&str; 3] = ["sscc.group", "sscc.controller", DataUnit::NOTE];

/// What is sampled: of each flow the bytes that had arrived, and the paths of `main`.
const PROBES: [&str; 5] = [
    "flow.*.bytes",
    "path.main.*.in_flight_bytes",
    "path.main.*.acked_bytes",
    "path.main.*.latest_rtt_s",
    "path.main.*.min_rtt_s",
];

/// A run that was watched.
pub(super) struct Watched {
    pub(super) outcome: Outcome,
    pub(super) decisions: Decisions,
    probes: Probes,
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
    run_noting(request, scenario, &[])
}

/// Runs the scenario of the request and follows the cuts of windows.
pub(super) fn run_with_cuts(request: &Request<'_>) -> Result<Watched, String> {
    run_noting(request, &request.scenario(&policies(request))?, &cuts::NOTES)
}

fn run_noting(request: &Request<'_>, scenario: &Scenario, notes: &[&'static str]) -> Result<Watched, String> {
    let probes = Probes::every(INTERVAL, &PROBES).map_err(|error| error.to_string())?;
    let mut probes = probes.with_notes(&DECISIONS).with_notes(notes);
    let outcome = request.run(scenario, &mut probes)?;
    Ok(Watched { outcome, decisions: Decisions::of(&probes), probes })
}

impl Watched {
    pub(super) fn measured(&self) -> Measured {
        Measured::of_run(&self.outcome)
    }

    /// Cuts of windows, if they were followed.
    pub(super) fn cuts(&self) -> Cuts<'_> {
        Cuts::of(&self.probes)
    }

    /// The ids of the paths of `main`.
    pub(super) fn paths(&self) -> Vec<PathId> {
        let paths = self.outcome.paths.iter().filter(|path| path.flow == "main");
        paths.map(|path| PathId(path.path)).collect()
    }

    /// Mbit/s of a flow in a stretch of time, seconds.
    pub(super) fn rate(&self, flow: &str, from: f64, until: f64) -> f64 {
        mbps(self.probes.series(&format!("flow.{flow}.bytes")), from, until)
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
        let in_flight = self.probes.series("path.main.0.in_flight_bytes");
        let rise = |at: Time| {
            let until = at.as_secs_f64() + within;
            let after = in_flight.points().iter().filter(|it| it.0 > at && it.0.as_secs_f64() <= until);
            let most = after.map(|(_, bytes)| *bytes).reduce(f64::max)?;
            Some(most / in_flight.at(at)?.max(1.0) - 1.0)
        };
        self.decisions.changes.iter().filter_map(|(at, ..)| rise(*at)).collect()
    }

    /// The path of `main` over this link.
    pub(super) fn path_over(&self, link: &str) -> Option<PathId> {
        let path = self.outcome.paths.iter().find(|path| path.flow == "main" && path.link == link)?;
        Some(PathId(path.path))
    }

    /// Mbit/s that were acknowledged on a path in a stretch of time, seconds.
    pub(super) fn path_rate(&self, path: PathId, from: f64, until: f64) -> f64 {
        mbps(self.probes.series(&format!("path.main.{path}.acked_bytes")), from, until)
    }

    /// Queueing delay while something was in flight, all paths of `main` together, ms: round-trip times less the least one of the
    /// path in the whole run. Mean and 95th percentile.
    pub(super) fn queueing_delay(&self) -> (f64, f64) {
        let mut delays = Vec::new();
        for (path, in_flight) in self.probes.each("path.main.", ".in_flight_bytes") {
            let of_path = |field: &str| self.probes.series(&format!("path.main.{path}.{field}"));
            let least = of_path("min_rtt_s").values().fold(f64::INFINITY, f64::min);
            let rtts = in_flight.values().zip(of_path("latest_rtt_s").values());
            let busy = rtts.filter(|(in_flight, _)| *in_flight > 0.0);
            delays.extend(busy.map(|(_, rtt)| 1e3 * (rtt - least).max(0.0)));
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

/// Mbit/s by which a counter of bytes rises in a stretch of time, seconds.
fn mbps(bytes: &Series, from: f64, until: f64) -> f64 {
    let [begin, end] = [from, until].map(|seconds| Time::ZERO + Duration::from_secs_f64(seconds));
    bytes.rise(begin, end) * 8.0 / (until - from) / 1e6
}
