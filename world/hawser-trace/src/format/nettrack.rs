//! What G-NetTrack writes on a phone: the Irish 4G and 5G datasets (Raca et al. 2018 and 2020). A line per second with the
//! bit rates of a transfer in kbit/s, the cell and its technology.

use hawser_link::{MILLISECOND, Nanos, SECOND, Series};

use super::ping_dialect::days_since_1970;
use crate::lines::{Line, Source};
use crate::{DirectionTrace, Event, EventKind, LinkTrace, RateTrace, Trace, TraceError};

/// A hole in the log that is longer than this is an outage of the log, and the line before it holds no longer.
const STEP: Nanos = SECOND;

/// Where the columns are.
struct Columns {
    time: usize,
    down: usize,
    up: usize,
    mode: Option<usize>,
    cell: Option<usize>,
    round_trip: Option<usize>,
}

/// Whether this line names the columns.
pub(super) fn is_header(text: &str) -> bool {
    columns(text).is_some()
}

fn columns(text: &str) -> Option<Columns> {
    let names: Vec<&str> = text.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    Some(Columns {
        time: find("Timestamp")?,
        down: find("DL_bitrate")?,
        up: find("UL_bitrate")?,
        mode: find("NetworkMode"),
        cell: find("CellID"),
        round_trip: find("PINGMIN"),
    })
}

/// Reads such a file. What is not known of a line, `-`, is as before.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut lines = source.lines();
    let header = lines.next().ok_or_else(|| source.empty())?;
    let columns = columns(header.text)
        .ok_or_else(|| header.error("expected columns Timestamp, DL_bitrate, UL_bitrate"))?;
    let (mut down, mut up, mut delay) = (Vec::new(), Vec::new(), Vec::<(Nanos, Nanos)>::new());
    let (mut start, mut last, mut repeated) = (None, 0, 0u64);
    let mut changes = Changes::default();
    for line in lines {
        let cells = line.cells();
        let cell = |at: usize| cells.get(at).copied().filter(|text| !text.is_empty() && *text != "-");
        let required = |at: usize, what: &str| {
            cell(at).ok_or_else(|| line.error(format!("there is no {what}: found {} columns", cells.len())))
        };
        let stamp = required(columns.time, "Timestamp")?;
        let stamp = time_stamp(stamp).ok_or_else(|| {
            line.error(format!("{stamp:?} is no time; expected one such as 2019.12.16_13.40.04"))
        })?;
        let begin = *start.get_or_insert(stamp);
        if stamp < begin || (stamp - begin <= last && !down.is_empty()) {
            if stamp < begin + last {
                return Err(line.error("the time goes back"));
            }
            // Phones write a second twice at times.
            repeated += 1;
            continue;
        }
        last = stamp - begin;
        down.push((last, kilobits(&line, required(columns.down, "DL_bitrate")?, "DL_bitrate")?));
        up.push((last, kilobits(&line, required(columns.up, "UL_bitrate")?, "UL_bitrate")?));
        if let Some(text) = columns.round_trip.and_then(cell) {
            delay.push((last, line.delay(text, "PINGMIN")? / 2));
        }
        changes.note(last, columns.cell.and_then(cell), columns.mode.and_then(cell));
    }
    if down.is_empty() {
        return Err(source.empty());
    }
    if let Some(first) = delay.first().copied().filter(|point| point.0 > 0) {
        delay.insert(0, (0, first.1));
    }
    let delay = Series::new(delay, None).ok();
    let direction = |rates: Vec<(Nanos, u64)>| DirectionTrace {
        rate: Series::new(rates, None).ok().map(RateTrace::Steps),
        delay: delay.clone(),
        ..DirectionTrace::default()
    };
    let mut link = LinkTrace::new(name);
    (link.up, link.down, link.events) = (direction(up), direction(down), changes.events);
    let mut notes = vec![format!(
        "{}: a rate is what the phone got, which need not be what the link could carry; half of PINGMIN is taken for the \
         delay of either direction",
        source.short_name()
    )];
    if repeated > 0 {
        notes.push(format!(
            "{}: {repeated} lines of a second that was there already are left out",
            source.short_name()
        ));
    }
    Ok(Trace { name: name.to_owned(), links: vec![link], duration: last + STEP, notes })
}

/// Cells and technologies, as far as they were said.
#[derive(Default)]
struct Changes {
    events: Vec<Event>,
    cell: Option<String>,
    mode: Option<String>,
}

impl Changes {
    fn note(&mut self, at: Nanos, cell: Option<&str>, mode: Option<&str>) {
        if let Some(cell) = cell.filter(|cell| self.cell.as_deref() != Some(cell))
            && self.cell.replace(cell.to_owned()).is_some()
        {
            self.events.push(Event { from: at, to: at, kind: EventKind::HandOver });
        }
        if let Some(mode) = mode.filter(|mode| self.mode.as_deref() != Some(mode)) {
            self.mode = Some(mode.to_owned());
            self.events.push(Event { from: at, to: at, kind: EventKind::Technology(mode.to_owned()) });
        }
    }
}

/// A rate in kbit/s, as bit/s.
fn kilobits(line: &Line<'_>, text: &str, what: &str) -> Result<u64, TraceError> {
    Ok((line.value(text, what, 1e12)? * 1e3).round() as u64)
}

/// `2019.12.16_13.40.04`, perhaps with milliseconds behind it, in ns.
fn time_stamp(text: &str) -> Option<Nanos> {
    let (date, time) = text.split_once(['_', ' '])?;
    let numbers = |text: &str| -> Option<Vec<u32>> {
        text.split(['.', ':', '-', '/']).map(|part| part.parse().ok()).collect()
    };
    let (date, time) = (numbers(date)?, numbers(time)?);
    let ([year, month, day], [hour, minute, second, rest @ ..]) = (&date[..], &time[..]) else { return None };
    let is_valid = (1970..2200).contains(year)
        && (1..=12).contains(month)
        && (1..=31).contains(day)
        && *hour < 24
        && *minute < 60
        && *second < 61
        && rest.len() <= 1;
    if !is_valid {
        return None;
    }
    let days = days_since_1970(i64::from(*year), i64::from(*month), i64::from(*day));
    let seconds = days * 86_400 + u64::from(*hour) * 3600 + u64::from(*minute) * 60 + u64::from(*second);
    let milliseconds = rest.first().map_or(0, |part| u64::from((*part).min(999)));
    Some(seconds * SECOND + milliseconds * MILLISECOND)
}
