//! What `iperf3 --json` prints: the goodput of one test, interval by interval.

use hawser_link::{Nanos, SECOND, Series};
use serde::Deserialize;

use crate::lines::Source;
use crate::{DirectionTrace, LinkTrace, RateTrace, Trace, TraceError};

/// Longest test that is believed, in seconds.
const LONGEST: f64 = 31.0 * 86_400.0;

/// Of a report the parts that matter here.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    start: Start,
    #[serde(default)]
    intervals: Vec<Interval>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
struct Start {
    #[serde(default)]
    test_start: TestStart,
}

#[derive(Default, Deserialize)]
struct TestStart {
    /// 1 if the server sent.
    #[serde(default)]
    reverse: u8,
}

#[derive(Deserialize)]
struct Interval {
    sum: Option<Sum>,
    /// With `--bidir`: the other direction.
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Clone, Copy, Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    /// Before `--omit` was over.
    #[serde(default)]
    omitted: bool,
}

/// Whether a text begins like a report.
pub(super) fn is_report(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && head.contains("\"intervals\"")
        && head.contains("\"bits_per_second\"")
}

/// Reads a report.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let report: Report = serde_json::from_str(source.text)
        .map_err(|error| source.line_error(error.line(), format!("this is no report: {error}")))?;
    let sums = |of: fn(&Interval) -> Option<Sum>| -> Vec<Sum> {
        report.intervals.iter().filter_map(of).filter(|sum| !sum.omitted).collect()
    };
    let (own, other) = (sums(|interval| interval.sum), sums(|interval| interval.sum_bidir_reverse));
    if own.is_empty() {
        let why = report.error.map_or(String::new(), |error| format!("; iperf3 said: {error}"));
        return Err(source.error(format!("there is no interval with a sum in it{why}")));
    }
    let mut duration = 0;
    let [own, other] = [own, other].map(|sums| direction(source, &sums, &mut duration));
    let (own, other) = (own?, other?);
    let mut link = LinkTrace::new(name);
    (link.up, link.down) = if report.start.test_start.reverse == 1 { (other, own) } else { (own, other) };
    let notes = vec![format!(
        "{}: a rate is the goodput of the test; a direction that was not tested, delay and loss are left out",
        source.short_name()
    )];
    Ok(Trace { name: name.to_owned(), links: vec![link], duration, notes })
}

fn direction(source: Source<'_>, sums: &[Sum], duration: &mut Nanos) -> Result<DirectionTrace, TraceError> {
    let mut points: Vec<(Nanos, u64)> = Vec::new();
    for sum in sums {
        let is_sound = (0.0..LONGEST).contains(&sum.start)
            && (sum.start..LONGEST).contains(&sum.end)
            && (0.0..1e15).contains(&sum.bits_per_second);
        if !is_sound {
            return Err(source.error(format!(
                "an interval from {} to {} s with {} bit/s makes no sense",
                sum.start, sum.end, sum.bits_per_second
            )));
        }
        let begin = sums.first().map_or(0.0, |first| first.start);
        let at = ((sum.start - begin).max(0.0) * SECOND as f64).round() as Nanos;
        *duration = (*duration).max(((sum.end - begin) * SECOND as f64).round() as Nanos);
        if points.last().is_none_or(|last| last.0 < at) {
            points.push((at, sum.bits_per_second.round() as u64));
        }
    }
    let rate = Series::new(points, None).ok().map(RateTrace::Steps);
    Ok(DirectionTrace { rate, ..DirectionTrace::default() })
}
