//! What happened around a gap, in the order of time.

use super::{Line, Transmission, bytes, length, seconds};
use crate::delivery::Wait;
use crate::study::Study;

/// Lines of one story.
const MAX_LINES: usize = 24;
/// How long before a gap states of paths are of interest, in microseconds.
const BEFORE: i64 = 500_000;

pub(super) fn tell(study: &Study, wait: &Wait, sent: &[Transmission]) -> Vec<Line> {
    let (from, to) = (wait.from_us as i64, wait.to_us as i64);
    let mut lines = vec![(from, format!("delivery stops at byte {} of stream {}", wait.offset, wait.stream))];
    for (index, one) in sent.iter().enumerate() {
        let again = if index == 0 { "sent" } else { "sent again" };
        let name = study.path_name(one.path);
        lines.push((one.sent_us, format!("these bytes are {again} on {name}, in packet {}", one.number)));
        if let Some(lost) = one.lost_us.filter(|lost| *lost <= to + BEFORE) {
            lines.push((lost, format!("packet {} on {name} counts as lost", one.number)));
        }
    }
    for (id, change, at) in study.changes(from - BEFORE, to) {
        let cause = if change.cause.is_empty() {
            String::new()
        } else {
            format!(" ({})", change.cause.replace('_', " "))
        };
        lines.push((at, format!("{} is {}{cause}", study.path_name(id), change.to)));
    }
    if wait.buffered > 0 {
        let arrived = study.arrivals(wait.from_us, wait.to_us);
        let parts: Vec<String> = arrived
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(id, count)| format!("{} over {}", bytes(*count), study.path_name(*id)))
            .collect();
        if !parts.is_empty() {
            lines.push((to - 1, format!("meanwhile {} arrived", parts.join(", "))));
        }
        lines.push((to - 1, format!("{} of later data wait for them", bytes(wait.buffered))));
    }
    let (path, number) = wait.ended_by;
    let how = if study.is_by_acknowledgement() { "are acknowledged" } else { "arrive" };
    let name = study.path_name(path);
    let took = length(to - from);
    lines.push((to, format!("they {how}: packet {number} on {name}, {took} after delivery stopped")));
    lines.sort_by_key(|(at, _)| *at);
    lines.truncate(MAX_LINES);
    lines.into_iter().map(|(at, text)| Line { at_s: seconds(at), text }).collect()
}
