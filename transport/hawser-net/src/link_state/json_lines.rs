use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use hawser_policy::{Forecast, LinkId, LinkInfo, LinkObserver, LinkState, Time};

use super::record::{LineError, Reading, Record};
use super::source::{Input, MAX_LINE, Source};

/// Links remembered, whether they exist or not.
const MAX_RECORDS: usize = 64;
/// Lines whose faults are told; of those that follow only debug output knows.
const MAX_WARNINGS: u64 = 20;

/// Link states from a program that knows them, such as a script that asks a modem: a regular file, a FIFO or a Unix stream
/// socket with a JSON object per line.
///
/// Each line is all that is known of one link and takes the place of the line before; it holds for ten seconds, or as long
/// as it says. A line that is wrong is ignored with a warning that names it. The path need not be there and may go: it is
/// looked for once a second. `docs/links.md` has the fields.
///
/// It belongs to the observer of an [`Endpoint`](crate::Endpoint), see
/// [`EndpointBuilder::link_observer`](crate::EndpointBuilder::link_observer).
pub struct LinkStateFile {
    source: Source,
    links: Vec<LinkInfo>,
    records: Vec<Record>,
    last_read: Option<Time>,
    ignored: u64,
}

impl fmt::Debug for LinkStateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkStateFile").field("path", &self.source.path()).finish_non_exhaustive()
    }
}

impl LinkStateFile {
    /// Will read what is at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        LinkStateFile {
            source: Source::new(path.into()),
            links: Vec::new(),
            records: Vec::new(),
            last_read: None,
            ignored: 0,
        }
    }

    /// Lines that were ignored so far.
    pub fn ignored_lines(&self) -> u64 {
        self.ignored
    }

    /// Takes in what is new, once for each time, and drops what no longer holds.
    fn refresh(&mut self, now: Time) {
        if self.last_read == Some(now) {
            return;
        }
        self.last_read = Some(now);
        let wall_clock = SystemTime::now();
        let unix = wall_clock.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for input in self.source.poll(now, wall_clock) {
            match input {
                Input::Line { number, text, age } => match Record::read(&text, Reading { now, unix, age }) {
                    Ok(Some(record)) => self.remember(record),
                    Ok(None) => tracing::debug!(line = number, "a link state is too old"),
                    Err(error) => self.ignore(number, &error),
                },
                Input::TooLong { number } => {
                    let reason = LineError::Json(format!("it is longer than {MAX_LINE} bytes"));
                    self.ignore(number, &reason);
                }
            }
        }
        self.records.retain(|record| now < record.expires);
    }

    fn remember(&mut self, record: Record) {
        self.records.retain(|older| older.link != record.link);
        if self.records.len() == MAX_RECORDS {
            self.records.remove(0);
        }
        self.records.push(record);
    }

    fn ignore(&mut self, number: u64, reason: &LineError) {
        self.ignored += 1;
        let path = self.source.path().display();
        if self.ignored <= MAX_WARNINGS {
            tracing::warn!("{path}, line {number}: {reason}; the line is ignored");
        } else {
            tracing::debug!("{path}, line {number}: {reason}; the line is ignored");
        }
    }

    /// The newest line about a link. It may name the link as the user does, or by one of its addresses.
    fn record(&self, link: LinkId) -> Option<&Record> {
        let info = self.links.iter().find(|info| info.id == link)?;
        let is_meant = |name: &str| {
            name == info.name || name.parse().is_ok_and(|address| info.addresses.contains(&address))
        };
        self.records.iter().rev().find(|record| is_meant(&record.link))
    }
}

impl LinkObserver for LinkStateFile {
    fn on_links(&mut self, links: &[LinkInfo]) {
        self.links = links.to_vec();
    }

    fn observe(&mut self, now: Time, link: LinkId) -> Option<LinkState> {
        self.refresh(now);
        let mut state = self.record(link)?.state.clone();
        // What was to come has come.
        state.hand_over = state.hand_over.filter(|hand_over| now < hand_over.at);
        Some(state)
    }

    /// The last forecast for that time or before, as forecasts are steps.
    fn forecast(&mut self, now: Time, link: LinkId, at: Time) -> Option<Forecast> {
        self.refresh(now);
        let forecasts = &self.record(link)?.forecasts;
        let known = forecasts.iter().rev().find(|forecast| forecast.at <= at && now < forecast.at)?;
        Some(known.clone().with(|forecast| forecast.at = at))
    }

    /// Those of the source, whatever times they are for.
    fn forecasts(&mut self, now: Time, link: LinkId) -> Vec<Forecast> {
        self.refresh(now);
        let forecasts = self.record(link).map_or(&[][..], |record| &record.forecasts);
        forecasts.iter().filter(|forecast| now < forecast.at).cloned().collect()
    }
}
