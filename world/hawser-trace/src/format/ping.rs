//! What `ping` prints: round-trip times and, by the numbers that are missing, losses.

use std::collections::BTreeMap;

use hawser_link::{Nanos, SECOND, Series};

use crate::lines::{Line, Source, decimal};
use crate::{DirectionTrace, LinkTrace, Trace, TraceError};

/// Time between two requests where the log has no time stamps.
const INTERVAL: Nanos = SECOND;
/// Numbers are 16 bit on the wire.
const SEQUENCE_NUMBERS: u64 = 1 << 16;

/// A request that was answered.
#[derive(Clone, Copy)]
struct Answer {
    /// When it was sent; none without time stamps.
    sent: Option<Nanos>,
    round_trip: Nanos,
}

/// Reads a log. Half of a round-trip time is taken for the delay of either direction.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut answers: BTreeMap<u64, Answer> = BTreeMap::new();
    let (mut last, mut wraps, mut transmitted) = (0u64, 0u64, None);
    for line in source.lines() {
        transmitted = transmitted.or_else(|| requests(line.text));
        let Some((number, answer)) = answer(&line)? else { continue };
        // A number far below the last one is the first of another round.
        if number + wraps * SEQUENCE_NUMBERS + SEQUENCE_NUMBERS / 2 < last {
            wraps += 1;
        }
        let number = number + wraps * SEQUENCE_NUMBERS;
        last = last.max(number);
        // The first answer counts; later ones are duplicates.
        answers.entry(number).or_insert(answer);
    }
    let Some((&first, &earliest)) = answers.iter().next() else {
        return Err(source.error("no answer: expected lines with icmp_seq= and time="));
    };
    let base = earliest.sent.unwrap_or(0);
    let mut times = Times { base, first, interval: INTERVAL, last: None };
    let mut delays: Vec<(Nanos, Nanos)> = Vec::new();
    let mut losses = vec![(0, 0.0)];
    let mut before = None;
    for (&number, answer) in &answers {
        let at = times.of(number, answer);
        if let Some((from, missing)) = before.map(|(n, t): (u64, Nanos)| (t, number - n - 1))
            && missing > 0
        {
            // Requests went out evenly between the two that were answered.
            losses.push((from + (at - from) / (missing + 1), 1.0));
            losses.push((at, 0.0));
        }
        delays.push((at, answer.round_trip / 2));
        before = Some((number, at));
    }
    let mut end = delays.last().map_or(0, |point| point.0) + times.interval;
    // The summary knows of those at the end that were not answered.
    let sent =
        transmitted.filter(|count| *count < SEQUENCE_NUMBERS).map_or(last, |count| first.min(1) + count - 1);
    if sent > last {
        losses.push((end, 1.0));
        end += (sent - last) * times.interval;
    }
    let direction = DirectionTrace {
        delay: Series::new(delays, Some(end)).ok(),
        loss: losses_of(losses, end),
        ..DirectionTrace::default()
    };
    let mut link = LinkTrace::new(carrier(name));
    (link.up, link.down) = (direction.clone(), direction);
    let notes = vec![format!(
        "{}: half of each round-trip time is taken for either direction; either has the loss of round trips",
        source.short_name()
    )];
    Ok(Trace { name: name.to_owned(), links: vec![link], duration: end, notes })
}

/// None if nothing was lost.
fn losses_of(points: Vec<(Nanos, f64)>, end: Nanos) -> Option<Series<f64>> {
    let lost = points.iter().any(|point| point.1 > 0.0);
    lost.then(|| Series::new(points, Some(end)).ok()).flatten()
}

/// Gives each request its time, later than the one before.
struct Times {
    base: Nanos,
    first: u64,
    /// Between the last two requests.
    interval: Nanos,
    last: Option<(u64, Nanos)>,
}

impl Times {
    fn of(&mut self, number: u64, answer: &Answer) -> Nanos {
        let even = (number - self.first).saturating_mul(INTERVAL);
        let at = answer.sent.map_or(even, |sent| sent.saturating_sub(self.base));
        // Time stamps are those of the output, and a little late at times.
        let at = match self.last {
            Some((_, before)) => at.max(before + 1),
            None => 0,
        };
        if let Some((before, time)) = self.last {
            self.interval = (at - time) / (number - before).max(1);
        }
        self.last = Some((number, at));
        at
    }
}

/// `atnt_ping_1234.out` is about the carrier `atnt`; other names stay.
fn carrier(name: &str) -> &str {
    match name.split_once("_ping") {
        Some((carrier, _)) if !carrier.is_empty() => carrier,
        _ => name,
    }
}

/// How many requests the summary counts: `150 packets transmitted, ...`.
fn requests(text: &str) -> Option<u64> {
    let (before, _) = text.split_once(" packets transmitted")?;
    before.rsplit([' ', ']']).next()?.parse().ok()
}

/// Number and time of an answer, if the line is one.
fn answer(line: &Line<'_>) -> Result<Option<(u64, Answer)>, TraceError> {
    let value = |key: &str| {
        let (_, rest) = line.text.split_once(key)?;
        rest.split_whitespace().next()
    };
    let (Some(number), Some(time)) = (value("icmp_seq="), value(" time=").or_else(|| value(" time<"))) else {
        return Ok(None);
    };
    let number = u64::from(line.whole(number, "icmp_seq")?);
    if number >= SEQUENCE_NUMBERS {
        return Err(line.error(format!("icmp_seq is {number}; expected less than {SEQUENCE_NUMBERS}")));
    }
    let round_trip = line.delay(time.trim_end_matches("ms"), "the round-trip time in ms")?;
    let arrived = match line.text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((stamp, _)) => Some(time_stamp(stamp).ok_or_else(|| {
            line.error(format!(
                "[{stamp}] is no time stamp; expected [2024-05-31 12:00:00.123] or [1717156800.123]"
            ))
        })?),
        None => None,
    };
    Ok(Some((number, Answer { sent: arrived.map(|at| at.saturating_sub(round_trip)), round_trip })))
}

/// `2024-05-31 12:00:00.123` or Unix seconds, in ns.
fn time_stamp(text: &str) -> Option<Nanos> {
    if let Some(time) = decimal(text, SECOND) {
        return Some(time);
    }
    let (date, time) = text.split_once([' ', 'T'])?;
    let date: Vec<i64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = date[..] else { return None };
    let clock: Vec<&str> = time.split(':').collect();
    let [hour, minute, seconds] = clock[..] else { return None };
    let (hour, minute): (u64, u64) = (hour.parse().ok()?, minute.parse().ok()?);
    let seconds: f64 = seconds.parse().ok()?;
    let valid = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !valid || hour > 23 || minute > 59 || !(0.0..61.0).contains(&seconds) {
        return None;
    }
    let whole = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60;
    Some(whole * SECOND + (seconds * SECOND as f64).round() as u64)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar from then on.
fn days_since_1970(year: i64, month: i64, day: i64) -> u64 {
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days_before_month = (153 * month + 2) / 5;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + days_before_month + day - 1;
    // The same count for 1970-01-01.
    u64::try_from(days - 719_468).unwrap_or(0)
}
