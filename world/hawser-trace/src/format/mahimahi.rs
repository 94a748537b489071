//! Mahimahi traces: chances to send a packet.

use hawser_link::{Direction, MILLISECOND, Nanos, SECOND, Series};

use crate::lines::Source;
use crate::model::period_of;
use crate::{DirectionTrace, LinkTrace, PACKET_BYTES, Piece, RateTrace, Trace, TraceError};

/// Times in ms at which [`PACKET_BYTES`] can leave: at least one, not decreasing, the last above 0.
pub(super) fn parse_chances(source: Source<'_>) -> Result<Vec<u32>, TraceError> {
    let mut chances: Vec<u32> = Vec::new();
    for line in source.lines() {
        let time = line.whole(line.text, "the time in ms")?;
        match chances.last() {
            Some(&before) if time < before => {
                return Err(line.error(format!("{time} ms comes after {before} ms; times must not decrease")));
            }
            _ => chances.push(time),
        }
    }
    match chances.last() {
        None => Err(source.empty()),
        Some(0) => Err(source.error("all chances are at 0 ms: the trace has no length")),
        Some(_) => Ok(chances),
    }
}

/// Reads chances. The ending `.up` or `.down` says which direction; otherwise it is both.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let chances = parse_chances(source)?;
    let duration = period_of(&chances);
    let direction = DirectionTrace { rate: Some(RateTrace::Chances(chances)), ..DirectionTrace::default() };
    let mut link = LinkTrace::new(name);
    match direction_of(source.file) {
        Some(only) => *link.direction_mut(only) = direction,
        None => (link.up, link.down) = (direction.clone(), direction),
    }
    Ok(Trace { name: name.to_owned(), links: vec![link], duration, notes: Vec::new() })
}

/// What the ending of a file name says.
pub(super) fn direction_of(file: &str) -> Option<Direction> {
    let name = file.to_ascii_lowercase();
    Direction::BOTH.into_iter().find(|direction| name.ends_with(&format!(".{}", direction.name())))
}

/// Delivery chances that carry what these pieces carry: after every ms the chances so far are the packets so far,
/// rounded down. The last one is at the end, because that is where mahimahi starts again; so there may be
/// one more than the pieces carry.
pub fn chances_of(pieces: &[Piece]) -> Vec<u32> {
    let mut chances = Vec::new();
    let bits_per_chance = (PACKET_BYTES * 8) as f64;
    let per_chance = bits_per_chance * SECOND as f64;
    // In bit-nanoseconds per second, so that no division is rounded on the way.
    let mut credit = 0.0;
    for piece in pieces {
        let mut from = piece.from;
        while from < piece.to {
            let to = (from / MILLISECOND * MILLISECOND + MILLISECOND).min(piece.to);
            credit += piece.value * (to - from) as f64;
            // A chance that is due up to rounding is due.
            while credit >= per_chance * (1.0 - 1e-9) {
                chances.push(milliseconds(to));
                credit -= per_chance;
            }
            from = to;
        }
    }
    let end = pieces.last().map_or(0, |piece| milliseconds(piece.to)).max(1);
    if chances.last().is_some_and(|&last| last < end) {
        chances.push(end);
    }
    chances
}

/// The next whole ms.
fn milliseconds(time: Nanos) -> u32 {
    u32::try_from(time.div_ceil(MILLISECOND)).unwrap_or(u32::MAX)
}

/// A rate that repeats after `period`.
pub(super) fn repeating(points: Vec<(Nanos, u64)>, period: Nanos) -> Option<Series<u64>> {
    Series::new(points, Some(period)).ok()
}
