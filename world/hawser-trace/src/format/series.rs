//! Formats with one value per line, with and without a time.

use hawser_link::{MILLISECOND, Nanos, SECOND, Series};

use super::mahimahi::{direction_of, repeating};
use crate::lines::{Line, Source};
use crate::{DirectionTrace, LinkTrace, RateTrace, Trace, TraceError};

/// What the values of a series file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Rate,
    Delay,
    Loss,
}

impl Quantity {
    /// What the ending of a file name says.
    pub(super) fn of(file: &str) -> Option<Self> {
        let endings = [(".rate", Self::Rate), (".delay", Self::Delay), (".loss", Self::Loss)];
        let name = file.to_ascii_lowercase();
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, quantity)| quantity)
    }
}

/// Delays in ms, one per line, `interval` apart. They start again after the last.
pub(super) fn parse_delays(source: Source<'_>, name: &str, interval: Nanos) -> Result<Trace, TraceError> {
    let delay = |(time, line, text): Timed<'_>| Ok((time, line.delay(text, "the delay in ms")?));
    let points =
        timed(source, Some(interval)).map(|read| read.and_then(delay)).collect::<Result<Vec<_>, _>>()?;
    let duration = points.len() as u64 * interval;
    let delay = repeating(points, duration).ok_or_else(|| source.empty())?;
    let direction = DirectionTrace { delay: Some(delay), ..DirectionTrace::default() };
    let mut trace = one_link(source.file, name, direction, duration);
    trace.notes.push(format!(
        "{}: delays taken as one per {} ms, one way",
        source.short_name(),
        interval as f64 / MILLISECOND as f64
    ));
    Ok(trace)
}

/// `seconds Mbit/s` as Pensieve reads it: a rate is that of the time since the line before, the whole starts
/// again after the last line, and the rate of the first line is never used.
pub(super) fn parse_pensieve(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut before: Option<Nanos> = None;
    let mut start = 0;
    let mut points = Vec::new();
    for line in source.lines() {
        let (time, value) = pair(&line, before)?;
        let rate = line.rate(value, "the rate in Mbit/s")?;
        match before {
            None => start = time,
            Some(before) => points.push((before - start, rate)),
        }
        before = Some(time);
    }
    let Some(end) = before else { return Err(source.empty()) };
    let series = repeating(points, end - start).ok_or_else(|| {
        source.error("one line makes no trace: a rate is that of the time between two lines")
    })?;
    let direction = DirectionTrace { rate: Some(RateTrace::Steps(series)), ..DirectionTrace::default() };
    Ok(one_link(source.file, name, direction, end - start))
}

/// `seconds value`: the value holds from then on. The ending of the file name says what it is: Mbit/s, ms or
/// a probability.
pub(super) fn parse_series(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let quantity = Quantity::of(source.file).unwrap_or(Quantity::Rate);
    let mut times: Vec<Nanos> = Vec::new();
    let (mut whole, mut losses) = (Vec::new(), Vec::new());
    for read in timed(source, None) {
        let (time, line, value) = read?;
        times.push(time);
        match quantity {
            Quantity::Rate => whole.push((time, line.rate(value, "the rate in Mbit/s")?)),
            Quantity::Delay => whole.push((time, line.delay(value, "the delay in ms")?)),
            Quantity::Loss => losses.push((time, line.probability(value, "the loss")?)),
        }
    }
    let Some(&last) = times.last() else { return Err(source.empty()) };
    // The last value holds as long as the one before it did.
    let step = times.iter().rev().nth(1).map_or(SECOND, |before| last - before);
    let mut direction = DirectionTrace::default();
    match quantity {
        Quantity::Rate => direction.rate = Series::new(whole, None).ok().map(RateTrace::Steps),
        Quantity::Delay => direction.delay = Series::new(whole, None).ok(),
        Quantity::Loss => direction.loss = Series::new(losses, None).ok(),
    }
    // `att.down.rate`: what comes before the quantity names the direction.
    let stem = source.file.rfind('.').map_or(source.file, |end| &source.file[..end]);
    Ok(one_link(stem, name, direction, last + step))
}

/// Values over time in any unit, as [`Format::Series`](super::Format::Series), or one per line and `interval`.
pub(super) fn parse_points(
    source: Source<'_>,
    interval: Option<Nanos>,
) -> Result<Vec<(Nanos, f64)>, TraceError> {
    let value = |(time, line, text): Timed<'_>| Ok((time, line.value(text, "the value", f64::MAX)?));
    let points = timed(source, interval).map(|read| read.and_then(value)).collect::<Result<Vec<_>, _>>()?;
    if points.is_empty() { Err(source.empty()) } else { Ok(points) }
}

/// A time, and the text of the value from then on with its line.
type Timed<'a> = (Nanos, Line<'a>, &'a str);

/// Lines of `seconds value`, or of `value` alone one `interval` after the other.
fn timed(source: Source<'_>, interval: Option<Nanos>) -> impl Iterator<Item = Result<Timed<'_>, TraceError>> {
    let mut next: Option<Nanos> = None;
    source.lines().map(move |line| {
        let Some(interval) = interval else {
            let (time, value) = pair(&line, next)?;
            next = Some(time);
            return Ok((time, line, value));
        };
        let words = line.words();
        let [value] = words[..] else {
            let found = words.len();
            return Err(line.error(format!("expected 1 column, a value per interval; found {found}")));
        };
        let time = next.unwrap_or(0);
        next = Some(time.saturating_add(interval));
        Ok((time, line, value))
    })
}

/// The two columns of a line, the first as a time later than `before`.
fn pair<'a>(line: &Line<'a>, before: Option<Nanos>) -> Result<(Nanos, &'a str), TraceError> {
    let words = line.words();
    let [time, value] = words[..] else {
        return Err(line.error(format!(
            "expected 2 columns, seconds and a value; found {} (values alone need their `interval`)",
            words.len()
        )));
    };
    let seconds = line.time(time, "the time in seconds", SECOND)?;
    match before {
        Some(before) if seconds <= before => {
            Err(line.error(format!("{time} s is not later than the line before; times must increase")))
        }
        _ => Ok((seconds, value)),
    }
}

fn one_link(file: &str, name: &str, direction: DirectionTrace, duration: Nanos) -> Trace {
    let mut link = LinkTrace::new(name);
    match direction_of(file) {
        Some(only) => *link.direction_mut(only) = direction,
        None => (link.up, link.down) = (direction.clone(), direction),
    }
    Trace { name: name.to_owned(), links: vec![link], duration, notes: Vec::new() }
}
