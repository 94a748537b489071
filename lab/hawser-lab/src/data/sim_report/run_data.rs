//! The figures of a single run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::SimReportError;
use super::delays::{self, DelayRow};
use super::rows::{each, find, number, text};
use crate::data::record::OUTCOME;
use crate::data::table::Cell;

/// Flows, links and connections whose course is drawn.
const MOST_DRAWN: usize = 16;

/// The figures of a single run.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// What `hawser sim run --json` printed.
    pub outcome: Value,
    /// Delays of packets, if they were recorded.
    pub delays: Vec<DelayRow>,
    /// Seconds.
    #[serde(skip)]
    pub(super) end: f64,
    #[serde(skip)]
    pub(super) flows: Vec<Course<1>>,
    #[serde(skip)]
    pub(super) paths: Vec<PathCourse>,
    #[serde(skip)]
    pub(super) links: Vec<LinkCourse>,
    /// Whether some of them were left out.
    #[serde(skip)]
    pub(super) is_cut: bool,
}

/// Samples over time: seconds, and values.
#[derive(Debug, Clone, Default)]
pub(super) struct Course<const N: usize> {
    pub(super) name: String,
    pub(super) samples: Vec<(f64, [f64; N])>,
}

/// What a path did: window and bytes in flight, smoothed and least round-trip time (ms), acknowledged, lost.
#[derive(Debug, Clone, Default)]
pub(super) struct PathCourse {
    pub(super) flow: String,
    pub(super) link: String,
    pub(super) course: Course<6>,
}

/// What a direction of a link did: queue, bytes delivered, packets dropped; and when it was down.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkCourse {
    pub(super) link: String,
    pub(super) direction: String,
    pub(super) course: Course<3>,
    pub(super) down: Vec<(f64, f64)>,
}

impl RunReport {
    pub(super) fn read(folder: &Path) -> Result<Self, SimReportError> {
        let path = folder.join(OUTCOME);
        let bytes =
            std::fs::read(&path).map_err(|source| SimReportError::Read { path: path.clone(), source })?;
        let outcome: Value = serde_json::from_slice(&bytes)
            .map_err(|error| SimReportError::Malformed { path, reason: error.to_string() })?;
        let end = outcome["simulated_seconds"].as_f64().unwrap_or(0.0);
        let mut report = RunReport {
            outcome,
            delays: Vec::new(),
            end,
            flows: Vec::new(),
            paths: Vec::new(),
            links: Vec::new(),
            is_cut: false,
        };
        report.read_flows(folder)?;
        report.read_paths(folder)?;
        report.read_links(folder)?;
        report.read_packets(folder)?;
        Ok(report)
    }

    fn read_flows(&mut self, folder: &Path) -> Result<(), SimReportError> {
        let Some(path) = find(folder, "flows") else { return Ok(()) };
        let mut places: BTreeMap<String, Option<usize>> = BTreeMap::new();
        each(&path, ["time_ns", "flow", "bytes"], |[time, flow, bytes]| {
            let (flows, name) = (&mut self.flows, text(flow));
            let make = || Course { name: name.to_owned(), samples: Vec::new() };
            match place(&mut places, name, flows, make) {
                Some(flow) => flow.samples.push((seconds(time), [number(bytes).unwrap_or(0.0)])),
                None => self.is_cut = true,
            }
        })
    }

    fn read_paths(&mut self, folder: &Path) -> Result<(), SimReportError> {
        let Some(path) = find(folder, "paths") else { return Ok(()) };
        let columns = [
            "time_ns",
            "flow",
            "path",
            "link",
            "congestion_window_bytes",
            "in_flight_bytes",
            "smoothed_rtt_ns",
            "min_rtt_ns",
            "acked_bytes",
            "lost_packets",
        ];
        let mut places: BTreeMap<String, Option<usize>> = BTreeMap::new();
        each(&path, columns, |[time, flow, id, link, window, in_flight, smoothed, least, acked, lost]| {
            let (flow, link, id) = (text(flow), text(link), number(id).unwrap_or(0.0));
            let key = format!("{flow}\n{id}\n{link}");
            let make = || PathCourse {
                flow: flow.to_owned(),
                link: link.to_owned(),
                course: Course { name: format!("{link} (path {id})"), samples: Vec::new() },
            };
            let Some(path) = place(&mut places, &key, &mut self.paths, make) else {
                self.is_cut = true;
                return;
            };
            let value = |cell| number(cell).unwrap_or(0.0);
            let values = [
                value(window),
                value(in_flight),
                value(smoothed) / 1e6,
                value(least) / 1e6,
                value(acked),
                value(lost),
            ];
            path.course.samples.push((seconds(time), values));
        })
    }

    fn read_links(&mut self, folder: &Path) -> Result<(), SimReportError> {
        let Some(path) = find(folder, "links") else { return Ok(()) };
        let columns =
            ["time_ns", "link", "direction", "up", "queued_bytes", "delivered_bytes", "dropped_packets"];
        let mut places: BTreeMap<String, Option<usize>> = BTreeMap::new();
        each(&path, columns, |[time, link, direction, up, queued, delivered, dropped]| {
            let (link, direction) = (text(link), text(direction));
            let make = || LinkCourse {
                link: link.to_owned(),
                direction: direction.to_owned(),
                course: Course { name: link.to_owned(), samples: Vec::new() },
                down: Vec::new(),
            };
            let Some(course) = place(&mut places, &format!("{link}\n{direction}"), &mut self.links, make)
            else {
                self.is_cut = true;
                return;
            };
            let now = seconds(time);
            course.note_up(now, up != Cell::Bool(false));
            course
                .course
                .samples
                .push((now, [queued, delivered, dropped].map(|cell| number(cell).unwrap_or(0.0))));
        })
    }

    fn read_packets(&mut self, folder: &Path) -> Result<(), SimReportError> {
        let Some(path) = find(folder, "packets") else { return Ok(()) };
        self.delays = delays::read(&path)?;
        Ok(())
    }
}

impl LinkCourse {
    fn note_up(&mut self, now: f64, is_up: bool) {
        let before = self.course.samples.last().map_or(now, |sample| sample.0);
        match (self.down.last_mut(), is_up) {
            (Some(last), _) if last.1 == before && before < now => {
                // It was down at the sample before: until now at most.
                last.1 = now;
                if is_up {
                    last.1 = f64::midpoint(before, now);
                }
            }
            (_, false) => self.down.push((now, now)),
            _ => {}
        }
    }
}

/// The course of this name, made if there is room.
fn place<'a, T>(
    places: &mut BTreeMap<String, Option<usize>>,
    key: &str,
    courses: &'a mut Vec<T>,
    make: impl FnOnce() -> T,
) -> Option<&'a mut T> {
    let place = match places.get(key) {
        Some(place) => *place,
        None => {
            let place = (courses.len() < MOST_DRAWN).then_some(courses.len());
            if place.is_some() {
                courses.push(make());
            }
            places.insert(key.to_owned(), place);
            place
        }
    };
    courses.get_mut(place?)
}

fn seconds(nanos: Cell<'_>) -> f64 {
    number(nanos).unwrap_or(0.0) / 1e9
}
