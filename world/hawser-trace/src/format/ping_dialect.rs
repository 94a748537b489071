//! How the lines of `ping` look: of iputils old and new, of the BSDs, BusyBox and Windows, translated or not.

use hawser_link::{Nanos, SECOND};

use super::ping::{Answer, SEQUENCE_NUMBERS};
use crate::TraceError;
use crate::lines::{Line, decimal};

/// What stands before a number: iputils until 2011 had `icmp_req`, BusyBox has `seq`.
const NUMBERS: [&str; 3] = ["icmp_seq=", "icmp_req=", " seq="];

/// Whether a text may be the output of a `ping`.
pub(super) fn is_ping(head: &str) -> bool {
    let has_number = NUMBERS[..2].iter().any(|key| head.contains(key));
    let is_short =
        |line: &str| (line.contains(" seq=") || line.contains("TTL=")) && round_trip(line).is_some();
    has_number || head.lines().any(is_short) || head.trim_start().lines().next().is_some_and(is_headline)
}

/// The first line of a Windows `ping`, `Pinging HOST [ADDRESS] with 32 bytes of data:` in any language.
pub(super) fn is_headline(text: &str) -> bool {
    let is_size = |word: &str| word.parse::<u16>().is_ok();
    text.trim().ends_with(':') && !text.contains('=') && text.split_whitespace().skip(1).any(is_size)
}

/// How many requests the summary counts: `150 packets transmitted, 149 received, ...`, translated or not.
pub(super) fn requests(text: &str) -> Option<u64> {
    let text = text.rsplit(']').next()?.trim();
    let is_summary = text.contains('%') || text.contains(" packets transmitted");
    text.split(' ').next()?.parse().ok().filter(|_| is_summary)
}

/// Number and time of an answer, if the line is one; no number in a dialect that has none.
pub(super) fn answer(line: &Line<'_>) -> Result<Option<(Option<u64>, Answer)>, TraceError> {
    let number = NUMBERS.iter().find_map(|key| {
        let (_, rest) = line.text.split_once(key)?;
        rest.split_whitespace().next()
    });
    let Some(time) = round_trip(line.text) else { return Ok(None) };
    let number = match number {
        Some(number) => Some(u64::from(line.whole(number, "icmp_seq")?)),
        None if line.text.contains("TTL=") => None,
        None => return Ok(None),
    };
    if let Some(number) = number.filter(|number| *number >= SEQUENCE_NUMBERS) {
        return Err(line.error(format!("icmp_seq is {number}; expected less than {SEQUENCE_NUMBERS}")));
    }
    // A decimal comma, where the language has one.
    let round_trip = line.delay(&time.replace(',', "."), "the round-trip time in ms")?;
    let arrived = match line.text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((stamp, _)) => Some(time_stamp(stamp).ok_or_else(|| {
            line.error(format!(
                "[{stamp}] is no time stamp; expected [2024-05-31 12:00:00.123] or [1717156800.123]"
            ))
        })?),
        None => None,
    };
    let sent = arrived.map(|at| at.saturating_sub(round_trip));
    Ok(Some((number, Answer { sent, round_trip })))
}

/// The value that has milliseconds, whatever it is called: `time=31.4 ms`, `Zeit=14ms`, `temps<1ms`.
fn round_trip(text: &str) -> Option<&str> {
    let words = text.split_whitespace();
    let next = words.clone().skip(1).map(Some).chain([None]);
    words.zip(next).find_map(|(word, next)| {
        let (_, value) = word.split_once(['=', '<'])?;
        match value.strip_suffix("ms") {
            Some(value) => Some(value),
            None => (next == Some("ms")).then_some(value),
        }
    })
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
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> u64 {
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days_before_month = (153 * month + 2) / 5;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + days_before_month + day - 1;
    // The same count for 1970-01-01.
    u64::try_from(days - 719_468).unwrap_or(0)
}
