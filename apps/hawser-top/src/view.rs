//! What is known of the program, and what the person looks at.

use std::collections::{BTreeMap, VecDeque};

use hawser_status::control::protocol::{Answer, Line, Outcome};
use hawser_status::model::{Event, LimitedBy, LinkUsage, PathState, Program, Status};

/// Samples that are kept: more than any terminal is wide.
const KEPT: usize = 512;
/// Events that are kept.
const KEPT_EVENTS: usize = 200;
/// How long what the program answered is shown, in samples; then the keys are again.
const MESSAGE_SAMPLES: u32 = 12;
/// Links and peers that are kept; of more, those that come first by name.
const MAX_ROWS: usize = 32;

/// What each link did, as far back as it is kept; one value for each sample.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Sent and received together, bit/s.
    pub rate: VecDeque<f64>,
    /// Smoothed round-trip time in milliseconds; 0 without a path.
    pub rtt: VecDeque<f64>,
    /// Lost share.
    pub loss: VecDeque<f64>,
}

/// A link of this machine, or at a server a peer, with what its paths do together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name in orders.
    pub name: String,
    /// `active`, `backup`, `SILENT`, `opening`, `paused`, `down`, `idle`.
    pub state: &'static str,
    /// Sent now, bit/s.
    pub sent_bps: f64,
    /// Received now, bit/s.
    pub received_bps: f64,
    /// Smoothed round-trip time of the busiest path.
    pub rtt_ms: f64,
    /// Smallest of that path.
    pub min_rtt_ms: f64,
    /// Lost share of that path.
    pub loss: f64,
    /// Why its sender stopped.
    pub limited_by: LimitedBy,
    /// What is wrong with it, in a word or two.
    pub trouble: Option<&'static str>,
    /// Bytes both ways, over all that it carried.
    pub carried: u64,
    /// Whether it has a path.
    pub has_path: bool,
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Links over all connections.
    #[default]
    Links,
    /// The keys.
    Help,
    /// What the policies say of themselves.
    Policies,
}

/// Everything that is drawn.
#[derive(Debug, Default)]
pub struct View {
    /// The program.
    pub program: Program,
    /// The newest sample.
    pub status: Option<Status>,
    /// By name.
    pub series: BTreeMap<String, Series>,
    /// What happened, the oldest first.
    pub events: VecDeque<Event>,
    /// Which row is chosen.
    pub selected: usize,
    /// What is shown.
    pub shown: Shown,
    /// What the program answered last, or that it has ended.
    pub message: Option<String>,
    /// For how many samples more the message is shown.
    message_left: u32,
    /// Whether the program has ended.
    pub ended: bool,
    /// Whether nothing moves until the person wants it to.
    pub frozen: bool,
}

impl View {
    /// Of this program.
    pub fn new(program: Program) -> Self {
        View { program, ..View::default() }
    }

    /// Takes in a line of the program.
    pub fn on_line(&mut self, line: Line) {
        match line {
            Line::Hello(hello) => self.program = hello.program,
            Line::Sample(status) if !self.frozen => self.on_sample(*status),
            Line::Sample(_) => {}
            Line::Event(event) => {
                if self.events.len() == KEPT_EVENTS {
                    self.events.pop_front();
                }
                self.events.push_back(event);
            }
            Line::Answer(Answer { outcome, .. }) => match outcome {
                Outcome::Done(done) => self.say(done),
                Outcome::Error(reason) => self.say(format!("not done: {reason}")),
                Outcome::Status(_) => {}
            },
        }
    }

    fn say(&mut self, message: String) {
        (self.message, self.message_left) = (Some(message), MESSAGE_SAMPLES);
    }

    fn on_sample(&mut self, status: Status) {
        self.message_left = self.message_left.saturating_sub(1);
        if self.message_left == 0 {
            self.message = None;
        }
        self.status = Some(status);
        let rows = self.rows();
        for row in &rows {
            self.series.entry(row.name.clone()).or_default();
        }
        let length = self.series.values().map(|series| series.rate.len()).max().unwrap_or(0);
        for (name, series) in &mut self.series {
            let row = rows.iter().find(|row| row.name == *name);
            // One that appears now did nothing before.
            push(&mut series.rate, length, row.map_or(0.0, |row| row.sent_bps + row.received_bps));
            push(&mut series.rtt, length, row.filter(|row| row.has_path).map_or(0.0, |row| row.rtt_ms));
            push(&mut series.loss, length, row.map_or(0.0, |row| row.loss));
        }
        // What has been gone for as long as anything is kept is forgotten.
        self.series.retain(|name, series| {
            rows.iter().any(|row| row.name == *name) || series.rate.iter().any(|rate| *rate > 0.0)
        });
        self.selected = self.selected.min(rows.len().saturating_sub(1));
    }

    /// The program has ended.
    pub fn on_end(&mut self, reason: String) {
        self.ended = true;
        self.message = Some(reason);
    }

    /// The links, or the peers of a server, by name.
    pub fn rows(&self) -> Vec<Row> {
        let Some(status) = &self.status else { return Vec::new() };
        let mut rows: BTreeMap<&str, (Row, f64)> = BTreeMap::new();
        for connection in &status.connections {
            for path in &connection.paths {
                let entry = rows.entry(&path.name).or_insert_with(|| (named(&path.name), -1.0));
                let rate = path.rate_sent_bps + path.rate_received_bps;
                let (row, best) = entry;
                row.sent_bps += path.rate_sent_bps;
                row.received_bps += path.rate_received_bps;
                let state = if path.is_silent() { "SILENT" } else { state_of(path.state, path.backup) };
                // One path that is silent is worth knowing of whatever the others do.
                if row.state != "SILENT" && (rate > *best || state == "SILENT") {
                    row.state = state;
                }
                if rate > *best {
                    *best = rate;
                    (row.rtt_ms, row.min_rtt_ms, row.loss) =
                        (path.smoothed_rtt_ms, path.min_rtt_ms, path.loss);
                    row.limited_by = path.limited_by;
                }
                row.has_path = true;
            }
            for carried in &connection.carried {
                let entry = rows.entry(&carried.name).or_insert_with(|| (named(&carried.name), -1.0));
                entry.0.carried += carried.bytes_sent + carried.bytes_received;
            }
        }
        for link in &status.links {
            let entry = rows.entry(&link.name).or_insert_with(|| (named(&link.name), -1.0));
            let row = &mut entry.0;
            row.carried = row.carried.max(link.bytes_sent + link.bytes_received);
            match (link.usage, link.up) {
                (LinkUsage::Paused, _) => row.state = "paused",
                (_, false) => row.state = "down",
                (LinkUsage::Backup, true) if !row.has_path => row.state = "backup",
                _ => {}
            }
        }
        let mut all: Vec<Row> = rows.into_values().map(|(row, _)| row).collect();
        all.truncate(MAX_ROWS);
        all.iter_mut().for_each(|row| row.trouble = trouble(row));
        all
    }
}

fn push(values: &mut VecDeque<f64>, length: usize, value: f64) {
    while values.len() < length {
        values.push_front(0.0);
    }
    values.push_back(value);
    while values.len() > KEPT {
        values.pop_front();
    }
}

fn named(name: &str) -> Row {
    Row { name: name.to_owned(), state: "idle", ..Row::default() }
}

fn state_of(state: PathState, backup: bool) -> &'static str {
    match (state, backup) {
        (PathState::Validating, _) => "opening",
        (PathState::Suspect, _) => "SILENT",
        (PathState::Active, true) => "backup",
        (PathState::Active, false) => "active",
    }
}

/// Loss above this is worth a mark.
const HIGH_LOSS: f64 = 0.05;
/// A queue above so many smallest round trips, and above so many milliseconds, too.
const LONG_QUEUE: (f64, f64) = (3.0, 100.0);

fn trouble(row: &Row) -> Option<&'static str> {
    if row.state == "SILENT" {
        return Some("no answer");
    }
    if row.state == "down" {
        return Some("link down");
    }
    if !row.has_path {
        return None;
    }
    if row.loss >= HIGH_LOSS {
        return Some("loss");
    }
    let queue = row.rtt_ms - row.min_rtt_ms;
    (queue > LONG_QUEUE.0 * row.min_rtt_ms && queue > LONG_QUEUE.1).then_some("long queue")
}

#[cfg(test)]
mod tests {
    use hawser_status::model::{Connection, Link, Path};

    use super::*;

    fn sample(paths: Vec<Path>) -> Line {
        let links = vec![Link { name: "usb0".to_owned(), usage: LinkUsage::Paused, ..Link::default() }];
        let connection = Connection { paths, ..Connection::default() };
        Line::Sample(Box::new(Status { connections: vec![connection], links, ..Status::default() }))
    }

    fn path(name: &str, rate: f64) -> Path {
        Path {
            name: name.to_owned(),
            rate_sent_bps: rate,
            smoothed_rtt_ms: 20.0,
            min_rtt_ms: 18.0,
            ..Path::default()
        }
    }

    #[test]
    fn what_is_wrong_with_a_link_is_named() {
        let mut view = View::default();
        let silent = Path { state: PathState::Suspect, ..path("a", 0.0) };
        let lossy = Path { loss: 0.2, ..path("b", 1e6) };
        let queued = Path { smoothed_rtt_ms: 400.0, ..path("c", 1e6) };
        view.on_line(sample(vec![silent, lossy, queued, path("d", 1e6)]));
        let troubles: Vec<_> =
            view.rows().iter().map(|row| (row.name.clone(), row.state, row.trouble)).collect();
        assert_eq!(
            troubles,
            [
                ("a".to_owned(), "SILENT", Some("no answer")),
                ("b".to_owned(), "active", Some("loss")),
                ("c".to_owned(), "active", Some("long queue")),
                ("d".to_owned(), "active", None),
                ("usb0".to_owned(), "paused", None),
            ]
        );
    }

    #[test]
    fn a_link_that_appears_late_has_a_past_of_zeros_and_memory_is_bounded() {
        let mut view = View::default();
        for _ in 0..10 {
            view.on_line(sample(vec![path("a", 1e6)]));
        }
        view.on_line(sample(vec![path("a", 1e6), path("b", 2e6)]));
        assert_eq!(view.series["b"].rate.len(), view.series["a"].rate.len());
        for _ in 0..2 * KEPT {
            view.on_line(sample(vec![path("a", 1e6)]));
        }
        assert_eq!(view.series["a"].rate.len(), KEPT);
        assert!(!view.series.contains_key("b"), "it is forgotten once its past has gone");
    }
}
