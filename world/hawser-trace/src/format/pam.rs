//! Drives with two carriers in one file: the CSV files of the PAM 2025 multi-carrier data.
//!
//! Columns ending in `_x` are AT&T, in `_y` Verizon. A row joins what both had at about the same time, so cells
//! are empty, rows and times repeat, and a time can go back a little where rows of events were put in between.
//! Here each carrier gets its own list again. `Start` and `End` mark a handover: nothing arrives between them.

use hawser_link::{Direction, Nanos, OutagePolicy, SECOND, Series};

use crate::lines::{Line, Source};
use crate::model::merged;
use crate::{DirectionTrace, Event, EventKind, LinkTrace, RateTrace, Trace, TraceError};

/// The suffixes of the columns and the names of their links, which are those in the names of the files.
const CARRIERS: [(&str, &str); 2] = [("_x", "atnt"), ("_y", "verizon")];
/// How far a time may go back: more is another order of the rows than that of the data set.
const MOST_BACK: Nanos = 2 * SECOND;
/// Time between two samples, as a rule.
const SAMPLE: Nanos = SECOND / 2;
/// A longer time without a sample deserves a remark.
const LONG_GAP: Nanos = 2 * SECOND;

/// Positions of the columns of a carrier.
struct Columns {
    time: usize,
    rate: usize,
    technology: usize,
    status: usize,
}

/// What one carrier says in a row.
struct Row<'a> {
    time: Nanos,
    rate: Option<u64>,
    technology: &'a str,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Sample,
    Start,
    End,
}

/// Reads both carriers.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut lines = source.lines();
    let Some(header) = lines.next() else { return Err(source.empty()) };
    let names = header.cells();
    let direction =
        if names.iter().any(|name| name.starts_with("ULtput")) { Direction::Up } else { Direction::Down };
    let columns = CARRIERS.map(|(suffix, _)| Columns::find(&header, &names, suffix, direction));
    let [first, second] = columns;
    let columns = [first?, second?];
    let mut rows: [Vec<Row<'_>>; 2] = [Vec::new(), Vec::new()];
    for line in lines {
        let cells = line.cells();
        if cells.len() != names.len() {
            return Err(line.error(format!(
                "expected {} columns as in the first line, found {}",
                names.len(),
                cells.len()
            )));
        }
        for (rows, columns) in rows.iter_mut().zip(&columns) {
            if let Some(row) = columns.read(&line, &cells)? {
                if rows.last().is_some_and(|last| row.time + MOST_BACK < last.time) {
                    return Err(
                        line.error(format!("the time {} goes back by more than 2 s", cells[columns.time]))
                    );
                }
                rows.push(row);
            }
        }
    }
    let times = || rows.iter().flatten().map(|row| row.time);
    let (Some(start), Some(end)) = (times().min(), times().max()) else { return Err(source.empty()) };
    let mut trace =
        Trace { name: name.to_owned(), links: Vec::new(), duration: end - start + SAMPLE, notes: Vec::new() };
    for (rows, (_, link)) in rows.into_iter().zip(CARRIERS) {
        trace.links.extend(carrier(link, rows, start, direction, &mut trace.notes));
    }
    if trace.links.is_empty() {
        return Err(source.error("no row has both a time and a rate"));
    }
    Ok(trace)
}

impl Columns {
    fn find(
        header: &Line<'_>,
        names: &[&str],
        suffix: &str,
        direction: Direction,
    ) -> Result<Self, TraceError> {
        let find = |name: &str| {
            let name = format!("{name}{suffix}");
            let missing = || header.error(format!("the column {name} is missing"));
            names.iter().position(|found| *found == name).ok_or_else(missing)
        };
        let rate = if direction == Direction::Up { "ULtput" } else { "DLtput" };
        Ok(Self {
            time: find("TIME_STAMP")?,
            rate: find(rate)?,
            technology: find("modified_tech")?,
            status: find("handover_status")?,
        })
    }

    /// What a row says about this carrier; nothing if it has no time for it.
    fn read<'a>(&self, line: &Line<'a>, cells: &[&'a str]) -> Result<Option<Row<'a>>, TraceError> {
        let time = cells[self.time];
        if time.is_empty() {
            return Ok(None);
        }
        let time = line.time(time, "the time in seconds", SECOND)?;
        let rate = match cells[self.rate] {
            "" => None,
            text => Some(line.rate(text, "the throughput in Mbit/s")?),
        };
        let status = match cells[self.status] {
            "Start" => Status::Start,
            "End" => Status::End,
            // The first throughput after a handover is one like the others.
            "" | "newtput" => Status::Sample,
            other => {
                return Err(line.error(format!("the handover status {other:?} is not Start, End or newtput")));
            }
        };
        Ok(Some(Row { time, rate, technology: cells[self.technology], status }))
    }
}

/// One carrier's link; none if it has no sample.
fn carrier(
    name: &str,
    mut rows: Vec<Row<'_>>,
    start: Nanos,
    direction: Direction,
    notes: &mut Vec<String>,
) -> Option<LinkTrace> {
    rows.sort_by_key(|row| row.time);
    let mut points: Vec<(Nanos, u64)> = Vec::new();
    let mut technologies: Vec<Event> = Vec::new();
    let mut longest_gap = 0;
    for row in &rows {
        let at = row.time - start;
        if let (Status::Sample, Some(rate)) = (row.status, row.rate) {
            match points.last_mut() {
                // A row that is repeated, or corrected.
                Some(last) if last.0 == at => last.1 = rate,
                _ => {
                    longest_gap = longest_gap.max(at - points.last().map_or(at, |last| last.0));
                    points.push((at, rate));
                }
            }
        }
        let known = technologies.last().map(|event| &event.kind);
        let kind = EventKind::Technology(row.technology.to_owned());
        if !row.technology.is_empty() && known != Some(&kind) {
            technologies.push(Event { from: at, to: at, kind });
        }
    }
    if longest_gap > LONG_GAP {
        let seconds = longest_gap as f64 / SECOND as f64;
        notes.push(format!("{name}: up to {seconds:.1} s without a sample; the last rate holds meanwhile"));
    }
    let hand_overs = hand_overs(&rows, start);
    let outages = merged(hand_overs.iter().map(|event| (event.from, event.to)).collect());
    let rate = RateTrace::Steps(Series::new(points, None).ok()?);
    let mut link = LinkTrace::new(name);
    for each in Direction::BOTH {
        // What waits in the base station during a handover is handed over, too.
        *link.direction_mut(each) = DirectionTrace {
            outages: outages.clone(),
            outage_policy: OutagePolicy::Hold,
            ..DirectionTrace::default()
        };
    }
    link.direction_mut(direction).rate = Some(rate);
    link.events = technologies.into_iter().chain(hand_overs).collect();
    link.events.sort_by_key(|event| event.from);
    Some(link)
}

/// Pairs of `Start` and `End`. Marks repeat as rows do; what has no counterpart is no handover.
fn hand_overs(rows: &[Row<'_>], start: Nanos) -> Vec<Event> {
    let mut begun: Option<Nanos> = None;
    let mut hand_overs = Vec::new();
    for row in rows {
        let at = row.time - start;
        match (row.status, begun) {
            (Status::Start, None) => begun = Some(at),
            (Status::End, Some(from)) if at > from => {
                hand_overs.push(Event { from, to: at, kind: EventKind::HandOver });
                begun = None;
            }
            _ => {}
        }
    }
    hand_overs
}
