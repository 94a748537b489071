//! Named probes: what of a run is kept as series of numbers, and notes of policies.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_core::PathStats;
use hawser_policy::{Note, Time};

use super::recorder::{FlowSample, LinkSample, PathSample, Recorder};

/// A recorder that keeps what is asked for by name.
///
/// | name | series |
/// |---|---|
/// | `flow.FLOW.FIELD` | of a flow: `bytes`, `completed`, `waiting` (see [`FlowSample`]) |
/// | `path.FLOW.ID.FIELD` | of a path at its sending end: `window_bytes`, `in_flight_bytes`, `acked_bytes`, `acked_packets`, `latest_rtt_s`, `smoothed_rtt_s`, `min_rtt_s` |
/// | `subflow.FLOW.LINK.FIELD` | the same of the newest path of a flow over a link |
/// | `link.LINK.DIRECTION.FIELD` | of a link or segment, `up` or `down`: `queued_bytes`, `delivered_bytes`, `dropped_packets` |
///
/// `*` in the place of `FLOW`, `ID` or `LINK` stands for all of them: each has a series of its own, under its own name.
///
/// ```
/// use std::time::Duration;
/// use hawser_sim::run::Probes;
///
/// let probes = Probes::every(Duration::from_millis(100), &["flow.*.bytes", "link.wifi0.down.queued_bytes"])?;
/// let probes = probes.with_notes(&["mams.plan"]);
/// assert_eq!(
///     Probes::every(Duration::from_secs(1), &["flow.main.butes"]).err().map(|error| error.to_string()),
///     Some("there is no probe \"flow.main.butes\"; of a flow there are: bytes, completed, waiting".to_owned())
/// );
/// # Ok::<(), hawser_sim::run::UnknownProbe>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Probes {
    interval: Option<Duration>,
    flows: Vec<(Part, Field<OfFlow>)>,
    /// Flow, and path id.
    paths: Vec<([Part; 2], Field<OfPath>)>,
    /// Flow, and link.
    subflows: Vec<([Part; 2], Field<OfPath>)>,
    /// Link, and direction.
    links: Vec<([Part; 2], Field<OfLink>)>,
    series: BTreeMap<String, Series>,
    /// Names, and the values that are kept of each; none: all.
    wanted_notes: Vec<(&'static str, &'static [&'static str])>,
    /// Names of flows that noted something.
    noting: Vec<String>,
    /// With the position of the flow's name.
    notes: Vec<(usize, Note)>,
}

/// A name without a probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no probe {name:?}; {known}")]
pub struct UnknownProbe {
    name: String,
    known: String,
}

/// A field of samples, by its name.
type Field<F> = (&'static str, F);
type OfFlow = fn(&FlowSample<'_>) -> f64;
type OfPath = fn(&PathStats) -> f64;
type OfLink = fn(&LinkSample<'_>) -> f64;

const FLOW: &[Field<OfFlow>] = &[
    ("bytes", |flow| flow.bytes as f64),
    ("completed", |flow| flow.completed as f64),
    ("waiting", |flow| flow.waiting as f64),
];

const PATH: &[Field<OfPath>] = &[
    ("window_bytes", |path| path.congestion_window as f64),
    ("in_flight_bytes", |path| path.bytes_in_flight as f64),
    ("acked_bytes", |path| path.bytes_acked as f64),
    ("acked_packets", |path| path.packets_acked as f64),
    ("latest_rtt_s", |path| path.latest_rtt.as_secs_f64()),
    ("smoothed_rtt_s", |path| path.smoothed_rtt.as_secs_f64()),
    ("min_rtt_s", |path| path.min_rtt.as_secs_f64()),
];

const LINK: &[Field<OfLink>] = &[
    ("queued_bytes", |link| link.queued_bytes as f64),
    ("delivered_bytes", |link| link.delivered_bytes as f64),
    ("dropped_packets", |link| link.dropped_packets as f64),
];

/// A part of a name: this one, or any.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    This(String),
    Any,
}

impl Part {
    fn of(text: &str) -> Part {
        if text == "*" { Part::Any } else { Part::This(text.to_owned()) }
    }

    /// Of `FIRST.SECOND`; what comes first may have points in it.
    fn pair(text: &str) -> Option<[Part; 2]> {
        text.rsplit_once('.').map(|(first, second)| [first, second].map(Part::of))
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Part::This(own) => own == name,
            Part::Any => true,
        }
    }
}

impl Probes {
    /// Keeps these series, of which a sample is taken this often.
    ///
    /// # Errors
    /// There is no such probe.
    pub fn every(interval: Duration, names: &[&str]) -> Result<Probes, UnknownProbe> {
        let mut probes = Probes { interval: Some(interval), ..Probes::default() };
        names.iter().try_for_each(|name| probes.add(name))?;
        Ok(probes)
    }

    /// Keeps the notes of policies with these names as well.
    #[must_use]
    pub fn with_notes(mut self, names: &[&'static str]) -> Probes {
        self.wanted_notes.extend(names.iter().map(|name| (*name, &[] as &[_])));
        self
    }

    /// Keeps these values of the notes with a name, where notes are many.
    #[must_use]
    pub fn with_values_of(mut self, name: &'static str, values: &'static [&'static str]) -> Probes {
        self.wanted_notes.push((name, values));
        self
    }

    fn add(&mut self, name: &str) -> Result<(), UnknownProbe> {
        let unknown = |known: String| UnknownProbe { name: name.to_owned(), known };
        let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
        let (whose, field) = rest.rsplit_once('.').unwrap_or((rest, ""));
        let of = |fields: Vec<&str>| unknown(format!("of a {kind} there are: {}", fields.join(", ")));
        let pair = || Part::pair(whose).ok_or_else(|| unknown(format!("a {kind} has two names")));
        match kind {
            "flow" => self.flows.push((Part::of(whose), find(FLOW, field).ok_or_else(|| of(known(FLOW)))?)),
            "path" => self.paths.push((pair()?, find(PATH, field).ok_or_else(|| of(known(PATH)))?)),
            "subflow" => self.subflows.push((pair()?, find(PATH, field).ok_or_else(|| of(known(PATH)))?)),
            "link" => self.links.push((pair()?, find(LINK, field).ok_or_else(|| of(known(LINK)))?)),
            _ => return Err(unknown("known are those of flow, path, subflow and link".to_owned())),
        }
        Ok(())
    }

    /// Returns a series by its name; without samples where there was nothing of that name in the run.
    pub fn series(&self, name: &str) -> &Series {
        static NONE: Series = Series(Vec::new());
        self.series.get(name).unwrap_or(&NONE)
    }

    /// Returns the series whose names begin and end so, each with what is between, in the order of names.
    pub fn each<'a>(&'a self, begin: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a Series)> {
        let between = move |name: &'a str| name.strip_prefix(begin)?.strip_suffix(end);
        self.series.iter().filter_map(move |(name, series)| Some((between(name)?, series)))
    }

    /// Returns what policies noted in the order of the run, with the flow of each.
    pub fn notes(&self) -> impl DoubleEndedIterator<Item = (&str, &Note)> {
        self.notes.iter().map(|(flow, note)| (self.noting[*flow].as_str(), note))
    }

    /// Hands over what policies noted at either end of a flow, in order; what others noted is gone then.
    pub fn take_notes_of(&mut self, flow: &str) -> Vec<Note> {
        let notes = std::mem::take(&mut self.notes).into_iter();
        notes.filter(|(of, _)| self.noting[*of] == flow).map(|(_, note)| note).collect()
    }

    fn push(series: &mut BTreeMap<String, Series>, name: String, at: Time, value: f64) {
        let Series(points) = series.entry(name).or_default();
        match points.last_mut().filter(|(last, _)| *last == at) {
            Some((_, newest)) => *newest = value,
            None => points.push((at, value)),
        }
    }
}

fn find<F: Copy>(fields: &[Field<F>], name: &str) -> Option<Field<F>> {
    fields.iter().find(|(known, _)| *known == name).copied()
}

fn known<F>(fields: &[Field<F>]) -> Vec<&'static str> {
    fields.iter().map(|(name, _)| *name).collect()
}

impl Recorder for Probes {
    fn sample_interval(&self) -> Option<Duration> {
        self.interval
    }

    fn wants_notes(&self) -> Vec<&'static str> {
        self.wanted_notes.iter().map(|(name, _)| *name).collect()
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        for (_, (field, value)) in self.flows.iter().filter(|(flow, _)| flow.fits(sample.flow)) {
            let name = format!("flow.{}.{field}", sample.flow);
            Self::push(&mut self.series, name, sample.at, value(sample));
        }
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        let PathSample { at, flow, path, link, stats } = *sample;
        let id = path.to_string();
        for (kind, probes, second) in [("path", &self.paths, id.as_str()), ("subflow", &self.subflows, link)]
        {
            for ([of_flow, of_second], (field, value)) in probes {
                if of_flow.fits(flow) && of_second.fits(second) {
                    let name = format!("{kind}.{flow}.{second}.{field}");
                    Self::push(&mut self.series, name, at, value(stats));
                }
            }
        }
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        let direction = sample.direction.name();
        for ([of_link, of_direction], (field, value)) in &self.links {
            if of_link.fits(sample.link) && of_direction.fits(direction) {
                let name = format!("link.{}.{direction}.{field}", sample.link);
                Self::push(&mut self.series, name, sample.at, value(sample));
            }
        }
    }

    fn note(&mut self, flow: &str, mut note: Note) {
        let wanted = self.wanted_notes.iter().find(|(name, _)| *name == note.name);
        if let Some((_, values)) = wanted.filter(|(_, values)| !values.is_empty()) {
            note.values.retain(|(name, _)| values.contains(name));
            note.values.shrink_to_fit();
        }
        let at = self.noting.iter().position(|known| known == flow).unwrap_or_else(|| {
            self.noting.push(flow.to_owned());
            self.noting.len() - 1
        });
        self.notes.push((at, note));
    }
}

/// Values of one thing over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series(Vec<(Time, f64)>);

impl Series {
    /// Returns the samples in order.
    pub fn points(&self) -> &[(Time, f64)] {
        &self.0
    }

    /// Returns the values in order.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|(_, value)| *value)
    }

    /// Returns the value at the last sample until a moment, that included.
    pub fn at(&self, moment: Time) -> Option<f64> {
        let after = self.0.partition_point(|(at, _)| *at <= moment);
        Some(self.0[after.checked_sub(1)?].1)
    }

    /// Returns by how much a counter has risen from one moment to another; before the first sample it is zero.
    pub fn rise(&self, from: Time, until: Time) -> f64 {
        let at = |moment| self.at(moment).unwrap_or(0.0);
        (at(until) - at(from)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow<'a>(at: u64, flow: &'a str, bytes: u64) -> FlowSample<'a> {
        FlowSample { at: Time::from_millis(at), flow, bytes, completed: 0, waiting: 7 }
    }

    #[test]
    fn each_flow_has_a_series_of_its_own() {
        let names = ["flow.*.bytes", "flow.x.2.waiting"];
        let mut probes = Probes::every(Duration::from_millis(10), &names).expect("they are known");
        for (at, bytes) in [(0, 0), (10, 100), (20, 250)] {
            probes.flow(&flow(at, "x.1", bytes));
            probes.flow(&flow(at, "x.2", 2 * bytes));
        }
        let first = probes.series("flow.x.1.bytes");
        assert_eq!(first.values().collect::<Vec<_>>(), [0.0, 100.0, 250.0]);
        assert_eq!((first.at(Time::from_millis(19)), first.at(Time::ZERO)), (Some(100.0), Some(0.0)));
        assert_eq!(first.rise(Time::from_millis(10), Time::from_secs(1)), 150.0);
        let all: Vec<_> =
            probes.each("flow.", ".bytes").map(|(name, series)| (name, series.0.len())).collect();
        assert_eq!(all, [("x.1", 3), ("x.2", 3)]);
        assert_eq!(probes.series("flow.x.2.waiting").points()[0], (Time::ZERO, 7.0));
        assert_eq!(probes.series("flow.x.1.waiting").at(Time::from_secs(9)), None);
    }

    #[test]
    fn of_the_paths_over_a_link_the_newest_counts() {
        let names = ["subflow.main.sat0.window_bytes", "path.*.*.window_bytes"];
        let mut probes = Probes::every(Duration::from_millis(10), &names).expect("they are known");
        for (path, window) in [(0, 5_000), (2, 9_000)] {
            let mut stats = PathStats::default();
            stats.congestion_window = window;
            let path = hawser_policy::PathId(path);
            probes.path(&PathSample { at: Time::ZERO, flow: "main", path, link: "sat0", stats: &stats });
        }
        assert_eq!(probes.series("subflow.main.sat0.window_bytes").points(), [(Time::ZERO, 9_000.0)]);
        assert_eq!(probes.series("path.main.0.window_bytes").points(), [(Time::ZERO, 5_000.0)]);
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["flow", "flow.main", "path.main.window_bytes", "link.a0.up.bytes", "window.main.0"] {
            assert!(Probes::every(Duration::from_secs(1), &[name]).is_err(), "{name}");
        }
    }
}
