//! What `ping` prints: round-trip times and, by the numbers that are missing, losses.

use std::collections::BTreeMap;

use hawser_link::{Nanos, SECOND, Series};

use super::ping_dialect as dialect;
use crate::lines::Source;
use crate::{DirectionTrace, LinkTrace, Trace, TraceError};

/// Time between two requests where the log has no time stamps.
const INTERVAL: Nanos = SECOND;
/// Numbers are 16 bit on the wire.
pub(super) const SEQUENCE_NUMBERS: u64 = 1 << 16;

/// A request that was answered.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    /// When it was sent; none without time stamps.
    pub(super) sent: Option<Nanos>,
    pub(super) round_trip: Nanos,
}

/// Reads a log. Half of a round-trip time is taken for the delay of either direction.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut answers: BTreeMap<u64, Answer> = BTreeMap::new();
    let (mut last, mut wraps, mut transmitted) = (0u64, 0u64, None);
    let (unnumbered, mut is_unnumbered) = (Unnumbered::find(source), false);
    for line in source.lines() {
        let found = dialect::answer(&line)?;
        transmitted = transmitted.or_else(|| dialect::requests(line.text));
        let (number, answer) = match found {
            Some((Some(number), answer)) => (number, answer),
            // Windows does not number; each line of its list is a request.
            Some((None, answer)) => {
                is_unnumbered = true;
                (unnumbered.number_of(line.number()), answer)
            }
            None => continue,
        };
        // A number far below the last one is the first of another round.
        if number + wraps * SEQUENCE_NUMBERS + SEQUENCE_NUMBERS / 2 < last {
            wraps += 1;
        }
        let number = number + wraps * SEQUENCE_NUMBERS;
        last = last.max(number);
        // The first answer counts; later ones are duplicates.
        answers.entry(number).or_insert(answer);
    }
    let is_unnumbered = is_unnumbered || (answers.is_empty() && transmitted.is_none());
    let transmitted = Some(unnumbered.requests).filter(|count| is_unnumbered && *count > 0).or(transmitted);
    let Some((&first, &earliest)) = answers.iter().next() else {
        return match transmitted.filter(|count| (1..=SEQUENCE_NUMBERS).contains(count)) {
            Some(count) => Ok(outage(source, name, count * INTERVAL)),
            None => Err(source.error("no answer: expected lines with icmp_seq= and time=, or a summary")),
        };
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
    let sent = transmitted
        .filter(|count| (1..SEQUENCE_NUMBERS).contains(count))
        .map_or(last, |count| first.min(1) + count - 1);
    if sent > last {
        losses.push((end, 1.0));
        end = end.saturating_add((sent - last).saturating_mul(times.interval));
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

/// A log without any answer: nothing came through for as long as it was asked.
fn outage(source: Source<'_>, name: &str, duration: Nanos) -> Trace {
    let direction = DirectionTrace { outages: vec![(0, duration)], ..DirectionTrace::default() };
    let mut link = LinkTrace::new(carrier(name));
    (link.up, link.down) = (direction.clone(), direction);
    let notes = vec![format!("{}: no request was answered; all of it is an outage", source.short_name())];
    Trace { name: name.to_owned(), links: vec![link], duration, notes }
}

/// The requests of a log that has no numbers: the lines between its headline and the next blank line.
struct Unnumbered {
    /// Number of the first of these lines in the file.
    first_line: usize,
    requests: u64,
}

impl Unnumbered {
    fn find(source: Source<'_>) -> Self {
        let lines =
            source.text.lines().enumerate().skip_while(|(_, text)| !dialect::is_headline(text)).skip(1);
        let mut list = lines.take_while(|(_, text)| !text.trim().is_empty());
        let first_line = list.next().map(|(index, _)| index + 1);
        let requests = first_line.map_or(0, |_| 1 + list.count() as u64);
        Unnumbered { first_line: first_line.unwrap_or(1), requests }
    }

    /// The number of the request that a line of the file is about.
    fn number_of(&self, line: usize) -> u64 {
        line.saturating_sub(self.first_line) as u64
    }
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
