//! Records of `hawser measure`: a JSON object per line. Sessions become rates of the link that they measured, and what is
//! between them its outages.

use std::collections::BTreeMap;

use hawser_link::{Direction, MILLISECOND, Nanos, SECOND, Series};
use serde::Deserialize;

use crate::combine::check_duration;
use crate::lines::Source;
use crate::model::merged;
use crate::{DirectionTrace, LinkTrace, RateTrace, Trace, TraceError};

/// Longest time of a run that is believed, in ms.
const LATEST_MS: f64 = 31.0 * 86_400.0 * 1e3;

/// Of all records the parts that matter here.
#[derive(Deserialize)]
struct Record {
    kind: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    run: String,
    #[serde(default)]
    interface: String,
    #[serde(default)]
    run_ms: f64,
    address_down_ms: Option<f64>,
    #[serde(default)]
    stopped_ms: f64,
    configuration: Option<Configuration>,
    #[serde(default)]
    flows: Vec<Flow>,
    // Of what a server saw.
    #[serde(default)]
    session: String,
    samples: Option<Samples>,
    min_rtt_ms: Option<f64>,
    #[serde(default)]
    index: u32,
}

#[derive(Deserialize)]
struct Configuration {
    direction: Direction,
}

#[derive(Deserialize)]
struct Flow {
    #[serde(default)]
    index: u32,
    connected_ms: Option<f64>,
    samples: Samples,
    min_rtt_ms: Option<f64>,
}

#[derive(Deserialize)]
struct Samples {
    interval_ms: u32,
    bytes: Vec<u64>,
}

/// What one session says of its link, on the time of the trace.
struct Measured {
    from: Nanos,
    to: Nanos,
    direction: Direction,
    rates: Vec<Rate>,
    delay: Option<Nanos>,
    is_connected: bool,
}

/// A time in which the flows of a session brought so much.
#[derive(Clone, Copy)]
struct Rate {
    at: Nanos,
    /// Its length in units of [`TICK`].
    ticks: u64,
    bit_rate: u64,
}

/// Unit of the time of intervals.
const TICK: Nanos = 100 * MILLISECOND;
/// Longest name of an interface, in characters; Linux has 15.
const LONGEST_NAME: usize = 40;

/// Whether a text begins like such a file.
pub(super) fn is_record(line: &str) -> bool {
    const KINDS: [&str; 4] = ["session", "run", "server_flow", "track"];
    line.starts_with('{')
        && serde_json::from_str::<Record>(line).is_ok_and(|record| KINDS.contains(&record.kind.as_str()))
}

/// Reads the sessions; runs follow each other without a pause.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut sessions: BTreeMap<(String, String), Vec<Record>> = BTreeMap::new();
    let mut flows: BTreeMap<(String, u32), Option<f64>> = BTreeMap::new();
    // A `#` begins a comment in other formats, and may be part of a text here.
    for (number, text) in source.text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let record: Record = serde_json::from_str(text)
            .map_err(|error| source.line_error(number + 1, format!("this is no record: {error}")))?;
        let times = [record.run_ms, record.stopped_ms, record.address_down_ms.unwrap_or(0.0)];
        if times.iter().any(|time| !(0.0..=LATEST_MS).contains(time)) {
            return Err(source.line_error(number + 1, "a time is negative, or above 31 days"));
        }
        match record.kind.as_str() {
            "session" => {
                sessions.entry((record.run.clone(), printable(&record.interface))).or_default().push(record)
            }
            "server_flow" if record.samples.is_some() => {
                flows.insert((record.session, record.index), record.min_rtt_ms);
            }
            _ => {}
        }
    }
    let mut links: BTreeMap<String, Vec<Measured>> = BTreeMap::new();
    let (mut begin, mut notes) = (0, vec![about(source)]);
    let runs: Vec<String> = sessions.keys().map(|(run, _)| run.clone()).collect();
    let mut runs: Vec<&String> = runs.iter().collect();
    runs.dedup();
    for run in &runs {
        let of_run = || {
            let from_here = sessions.range(((*run).clone(), String::new())..);
            from_here.take_while(|((other, _), _)| other == *run)
        };
        let records = || of_run().flat_map(|(_, records)| records);
        let first = records().map(|record| record.run_ms).fold(f64::INFINITY, f64::min);
        let mut end = begin;
        for ((_, interface), records) in of_run() {
            for record in records {
                let measured = measured(record, begin, first, &flows);
                end = end.max(measured.to);
                links.entry(interface.clone()).or_default().push(measured);
            }
        }
        begin = end;
        check_duration(source, begin)?;
    }
    if begin == 0 {
        return Err(source.error("no session has a length: expected records of the kind `session`"));
    }
    if runs.len() > 1 {
        notes.push(format!("{}: {} runs follow each other without a pause", source.short_name(), runs.len()));
    }
    let links = links.into_iter().map(|(interface, sessions)| link(interface, sessions, begin)).collect();
    Ok(Trace { name: name.to_owned(), links, duration: begin, notes })
}

fn about(source: Source<'_>) -> String {
    format!(
        "{}: a rate is the goodput of the sessions, which need not fill the link; a direction has its mean rate while the \
         other one was measured; half of the least round-trip time is taken for the delay of either direction; losses are \
         left out, for most were made by the flows themselves",
        source.short_name()
    )
}

/// The name of an interface as a terminal may show it: anyone who reaches a server can add records.
fn printable(name: &str) -> String {
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().take(LONGEST_NAME).map(plain).collect()
}

fn nanos(ms: f64) -> Nanos {
    (ms.max(0.0) * MILLISECOND as f64).round() as u64
}

fn measured(
    record: &Record,
    begin: Nanos,
    first: f64,
    flows: &BTreeMap<(String, u32), Option<f64>>,
) -> Measured {
    let from = begin + nanos(record.run_ms - first);
    let to = from + nanos(record.address_down_ms.unwrap_or(record.stopped_ms));
    let direction = record.configuration.as_ref().map_or(Direction::Up, |it| it.direction);
    // Flows begin at different times and have intervals of different lengths: bytes are spread evenly over their interval. By
    // ticks, of what brings how many bytes per tick begins (more) or ends there, and how many of these. An interval may be as
    // long as its record says.
    let mut changes: BTreeMap<u64, (f64, i64)> = BTreeMap::new();
    let end = (to - from).div_ceil(TICK);
    let mut least = None::<f64>;
    for flow in &record.flows {
        let theirs = flows.get(&(record.id.clone(), flow.index)).copied().flatten();
        for rtt in flow.min_rtt_ms.into_iter().chain(theirs).filter(|rtt| (0.0..=LATEST_MS).contains(rtt)) {
            least = Some(least.map_or(rtt, |least| least.min(rtt)));
        }
        let Some(connected) = flow.connected_ms.filter(|time| (0.0..=LATEST_MS).contains(time)) else {
            continue;
        };
        let ticks = u64::from(flow.samples.interval_ms / 100).max(1);
        let starts = (0..).map(|index| (connected / 100.0) as u64 + index * ticks);
        for (bytes, start) in flow.samples.bytes.iter().zip(starts).take_while(|(_, start)| *start < end) {
            let bytes = *bytes as f64 / ticks as f64;
            for (tick, bytes, count) in [(start, bytes, 1), ((start + ticks).min(end), -bytes, -1)] {
                let change = changes.entry(tick).or_default();
                *change = (change.0 + bytes, change.1 + count);
            }
        }
    }
    let rates = rates_between(&changes, from);
    let is_connected = record.flows.iter().any(|flow| flow.connected_ms.is_some());
    Measured { from, to, direction, rates, delay: least.map(|rtt| nanos(rtt / 2.0)), is_connected }
}

/// The rates from one change to the next, where anything was measured.
fn rates_between(changes: &BTreeMap<u64, (f64, i64)>, from: Nanos) -> Vec<Rate> {
    let (mut rates, mut bytes, mut count) = (Vec::new(), 0.0, 0);
    for ((tick, (more, begun)), (next, _)) in changes.iter().zip(changes.iter().skip(1)) {
        count += begun;
        // What is left of sums that were rounded is nothing.
        bytes = if count == 0 { 0.0 } else { bytes + more };
        if count > 0 {
            let bit_rate = (bytes * 80.0).round() as u64;
            rates.push(Rate { at: from + tick * TICK, ticks: next - tick, bit_rate });
        }
    }
    rates
}

/// One interface over the time of the trace.
fn link(name: String, mut sessions: Vec<Measured>, duration: Nanos) -> LinkTrace {
    sessions.sort_by_key(|session| session.from);
    // An address without transport carries nothing.
    let worked = sessions.iter().filter(|session| session.is_connected);
    let covered = merged(worked.map(|session| (session.from, session.to)).collect());
    let mut outages = Vec::new();
    let mut before = 0;
    for (from, to) in covered {
        outages.push((before, from));
        before = to;
    }
    outages.push((before, duration));
    let outages = merged(outages);
    let mut delays: Vec<(Nanos, Nanos)> =
        sessions.iter().filter_map(|session| Some((session.from, session.delay?))).collect();
    delays.dedup_by_key(|point| point.0);
    let delay = Series::new(from_zero(delays), None).ok();
    let mut link = LinkTrace::new(name);
    for (direction, trace) in [(Direction::Up, &mut link.up), (Direction::Down, &mut link.down)] {
        *trace = DirectionTrace {
            rate: rates(&sessions, direction)
                .and_then(|points| Series::new(points, None).ok())
                .map(RateTrace::Steps),
            delay: delay.clone(),
            outages: outages.clone(),
            ..DirectionTrace::default()
        };
    }
    link
}

/// The rates of a direction; while the other one was measured, its mean. None if it never was.
fn rates(sessions: &[Measured], direction: Direction) -> Option<Vec<(Nanos, u64)>> {
    let own = || sessions.iter().filter(|session| session.direction == direction && session.is_connected);
    let bits = |rate: &Rate| rate.bit_rate as f64 / 10.0 * rate.ticks as f64;
    let bits: f64 = own().flat_map(|session| &session.rates).map(bits).sum();
    let seconds: f64 = own().map(|session| (session.to - session.from) as f64 / SECOND as f64).sum();
    if seconds == 0.0 || bits == 0.0 {
        return None;
    }
    let mean = (bits / seconds).round() as u64;
    let mut points: Vec<(Nanos, u64)> = Vec::new();
    for session in sessions {
        match session.direction == direction {
            true => points.extend(session.rates.iter().map(|rate| (rate.at, rate.bit_rate))),
            false => points.push((session.from, mean)),
        }
    }
    points.sort_by_key(|point| point.0);
    points.dedup_by_key(|point| point.0);
    Some(from_zero(points))
}

/// Series begin at zero: with the first value.
fn from_zero<T: Copy>(mut points: Vec<(Nanos, T)>) -> Vec<(Nanos, T)> {
    if let Some(first) = points.first().copied().filter(|point| point.0 > 0) {
        points.insert(0, (0, first.1));
    }
    points
}
