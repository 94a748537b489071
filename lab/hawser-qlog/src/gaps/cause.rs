//! Which cause a gap has.

use super::{Cause, Transmission, bytes, length};
use crate::delivery::Wait;
use crate::study::Study;
use crate::trace::{Change, Series};

/// How full a window is when it holds up the sender.
const FULL: f64 = 0.9;

/// How long after a gap a sender may find out that a path is silent, in microseconds.
const LATER: i64 = 1_000_000;

pub(super) struct Verdict {
    pub(super) cause: Cause,
    pub(super) path: Option<u64>,
    pub(super) because: String,
}

pub(super) fn judge(study: &Study, wait: &Wait, sent: &[Transmission]) -> Verdict {
    if study.sender().is_none() {
        return from_arrivals(study, wait);
    }
    let Some(first) = sent.first() else {
        return from_arrivals(study, wait);
    };
    let (from, to) = (wait.from_us as i64, wait.to_us as i64);
    let unsent = (first.sent_us - from).max(0);
    let underway = to - first.sent_us.max(from);
    if unsent > underway {
        return not_sent(study, wait, first);
    }
    let name = study.path_name(first.path);
    let arrived = (first.path, first.number) == wait.ended_by;
    let took = length(to - first.sent_us);
    if arrived {
        let others = study.fastest_other(first.path, from, to);
        let compared =
            others.map(|(path, us)| format!("; {} delivers in {}", study.path_name(path), length(us)));
        return Verdict {
            cause: Cause::SlowPath,
            path: Some(first.path),
            because: format!(
                "the first missing bytes were under way on {name} for {took}{}",
                compared.unwrap_or_default()
            ),
        };
    }
    let again = sent.iter().find(|other| (other.path, other.number) == wait.ended_by);
    let again = again.map_or(String::new(), |other| {
        let after = length(other.sent_us - first.sent_us);
        format!("; sent again after {after}, on {}", study.path_name(other.path))
    });
    let late = study.arrival_of(first.path, first.number).map(|at| length(at as i64 - first.sent_us));
    let (cause, because) = if fell_silent(study, wait, first) {
        (Cause::PathSilent, format!("{name} fell silent with the first missing bytes under way{again}"))
    } else if let Some(late) = late {
        (Cause::SlowPath, format!("the first missing bytes took {late} on {name}{again}"))
    } else {
        (Cause::Loss, format!("the packet with the first missing bytes was lost on {name}{again}"))
    };
    Verdict { cause, path: Some(first.path), because }
}

/// Whether the path of a transmission was found to be silent before the gap ended; or soon after, where nothing has arrived over it
/// since the gap began: what is repaired fast ends the gap before the sender knows why.
fn fell_silent(study: &Study, wait: &Wait, sent: &Transmission) -> bool {
    let path = study.sender().and_then(|sender| sender.paths.get(&sent.path));
    let (from, to) = (wait.from_us as i64, wait.to_us as i64);
    let is_silence = |change: &Change| {
        let at = study.sender_time(change.at_us);
        let is_in_time = at <= to || (at <= to + LATER && study.is_unheard(sent.path, from, at));
        at >= sent.sent_us
            && is_in_time
            && matches!(change.to.as_str(), "suspect" | "abandoning" | "draining" | "closed")
    };
    path.is_some_and(|path| path.states.iter().any(is_silence))
}

fn not_sent(study: &Study, wait: &Wait, first: &Transmission) -> Verdict {
    let waited = length(first.sent_us - wait.from_us as i64);
    let sender = study.sender();
    let at = first.sent_us - 1;
    let paths = sender.into_iter().flat_map(|sender| &sender.paths);
    let filled: Vec<(u64, f64)> = paths
        .filter_map(|(id, path)| {
            let (window, in_flight) = (value(study, &path.window, at)?, value(study, &path.in_flight, at)?);
            Some((*id, in_flight / window.max(1.0)))
        })
        .collect();
    let is_full = !filled.is_empty() && filled.iter().all(|(_, share)| *share >= FULL);
    let (cause, why) = if is_full {
        (Cause::WindowFull, "the congestion windows of all paths were full")
    } else {
        (
            Cause::NothingSent,
            "its application had no more data, flow control forbade it, or the scheduler waited",
        )
    };
    Verdict {
        cause,
        path: is_full.then_some(first.path),
        because: format!("the sender sent the first missing bytes only after {waited}: {why}"),
    }
}

/// The last value of the sender before a time on the axis.
fn value(study: &Study, series: &Series, at: i64) -> Option<f64> {
    let next = series.partition_point(|(time, _)| study.sender_time(*time) <= at);
    Some(series.get(next.checked_sub(1)?)?.1)
}

/// What the receiver alone can tell.
fn from_arrivals(study: &Study, wait: &Wait) -> Verdict {
    let arrived = study.arrivals(wait.from_us, wait.to_us);
    let meanwhile: u64 = arrived.values().sum();
    if wait.buffered == 0 {
        let seen = if meanwhile == 0 { "no packet with data" } else { "no new data" };
        return Verdict {
            cause: Cause::NothingArrived,
            path: None,
            because: format!("{seen} arrived; the trace of the other end would tell why"),
        };
    }
    let silent = study.silent_paths(wait.from_us, wait.to_us);
    let blamed = silent.first().copied();
    let because = match blamed {
        Some(path) => format!(
            "{} of later data waited, and nothing came over {}, which had carried data before",
            bytes(wait.buffered),
            study.path_name(path)
        ),
        None => format!("{} of later data waited for bytes that came last", bytes(wait.buffered)),
    };
    Verdict {
        cause: if blamed.is_some() { Cause::PathSilent } else { Cause::OutOfOrder },
        path: blamed,
        because,
    }
}
