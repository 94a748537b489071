//! A part of a trace.

use hawser_link::{MILLISECOND, Nanos, SECOND, Series};

use crate::model::{DirectionTrace, Event, EventKind, LinkTrace, RateTrace, Trace, repeated};
use crate::{PACKET_BYTES, TraceError};

impl Trace {
    /// What the links did from `from` on for so long (without a length: until the end), as a trace of its own.
    ///
    /// # Errors
    /// [`TraceError::Unfitting`]: the trace is shorter, or nothing could be sent in this time, of which delivery chances cannot
    /// tell.
    pub fn part(&self, from: Nanos, length: Option<Nanos>) -> Result<Trace, TraceError> {
        let seconds = |time: Nanos| time as f64 / SECOND as f64;
        let whole = seconds(self.duration);
        if from >= self.duration {
            let message = format!("{} has {whole} s; nothing is left from {} s on", self.name, seconds(from));
            return Err(TraceError::Unfitting(message));
        }
        let left = self.duration - from;
        let length = length.unwrap_or(left);
        if length > left || length == 0 {
            let wanted = format!("{} s from {} s on", seconds(length), seconds(from));
            let message = format!("{} has {whole} s; {wanted} are not in it", self.name);
            return Err(TraceError::Unfitting(message));
        }
        let links = self.links.iter().map(|link| link.part(from, length));
        let links = links.collect::<Option<Vec<_>>>().ok_or_else(|| {
            let wanted = format!("the {} s from {} s on", seconds(length), seconds(from));
            TraceError::Unfitting(format!(
                "{} has no chance to send {PACKET_BYTES} bytes in {wanted}",
                self.name
            ))
        })?;
        let mut notes = self.notes.clone();
        notes.push(format!("{} s from {} s on, of {whole} s", seconds(length), seconds(from)));
        Ok(Trace { name: self.name.clone(), links, duration: length, notes })
    }
}

impl LinkTrace {
    fn part(&self, from: Nanos, length: Nanos) -> Option<LinkTrace> {
        let events = self.events.iter().filter(|event| event.from < from + length);
        let (over, rest): (Vec<&Event>, Vec<&Event>) =
            events.partition(|event| event.to.max(event.from) < from);
        // The radio technology that came last before the part is that of its beginning.
        let held = over.into_iter().rfind(|event| matches!(event.kind, EventKind::Technology(_)));
        let moved = |event: &Event| Event {
            from: event.from.saturating_sub(from),
            to: event.to.saturating_sub(from).min(length),
            kind: event.kind.clone(),
        };
        Some(LinkTrace {
            name: self.name.clone(),
            up: self.up.part(from, length)?,
            down: self.down.part(from, length)?,
            events: held.into_iter().chain(rest).map(moved).collect(),
        })
    }
}

impl DirectionTrace {
    /// `None`: the part has no chance to send.
    fn part(&self, from: Nanos, length: Nanos) -> Option<DirectionTrace> {
        let outages = self.outages.iter().filter(|outage| outage.1 > from && outage.0 < from + length);
        let outages =
            outages.map(|&(start, end)| (start.max(from) - from, end.saturating_sub(from).min(length)));
        let rate = match &self.rate {
            None => None,
            Some(RateTrace::Steps(series)) => Some(RateTrace::Steps(part_of(series, from, length))),
            Some(RateTrace::Chances(chances)) => Some(chances_of(chances, from, length)?),
        };
        Some(DirectionTrace {
            rate,
            delay: self.delay.as_ref().map(|series| part_of(series, from, length)),
            loss: self.loss.as_ref().map(|series| part_of(series, from, length)),
            outages: outages.collect(),
            ..self.clone()
        })
    }
}

/// A part of a step function; one that repeats repeats afterwards as well.
fn part_of<T: Copy>(series: &Series<T>, from: Nanos, length: Nanos) -> Series<T> {
    let mut points = vec![(0, series.value_at(from))];
    let mut time = from;
    while let Some(next) = series.next_change(time).filter(|next| *next < from + length) {
        points.push((next - from, series.value_at(next)));
        time = next;
    }
    let period = series.period().map(|_| length);
    Series::new(points, period).unwrap_or_else(|_| Series::constant(series.value_at(from)))
}

/// The chances of a part; its last one is where they start again, as in every such trace.
fn chances_of(chances: &[u32], from: Nanos, length: Nanos) -> Option<RateTrace> {
    // A chance at the very beginning is the end of what was before.
    let within = repeated(chances, from + length).filter(|at| *at > from);
    let times: Vec<u32> =
        within.filter_map(|at| u32::try_from((at - from).div_ceil(MILLISECOND)).ok()).collect();
    (!times.is_empty()).then_some(RateTrace::Chances(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, parse};

    fn trace(name: &str, text: &str) -> Trace {
        parse(name, text, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn a_part_says_at_each_moment_what_the_whole_says_there() {
        let whole = trace("a.rate", "0 8\n2 4\n5 1\n9 6\n10 6\n");
        let part = whole.part(3 * SECOND, Some(4 * SECOND)).unwrap();
        let service = |trace: &Trace| trace.links[0].down.service(trace.duration).unwrap();
        let at = |trace: &Trace, time: Nanos| {
            service(trace).into_iter().find(|piece| piece.from <= time && time < piece.to).unwrap().value
        };
        assert_eq!(part.duration, 4 * SECOND);
        for tenth in 0..40 {
            let time = tenth * SECOND / 10;
            assert_eq!(at(&part, time), at(&whole, time + 3 * SECOND), "{tenth}");
        }
        assert_eq!(part.notes.last().unwrap(), "4 s from 3 s on, of 11 s");
    }

    #[test]
    fn outages_marks_and_chances_are_cut() {
        let mut whole = trace("a.down", "1000\n1500\n1500\n2000\n4000\n");
        let event = |from, to, kind| Event { from: from * SECOND, to: to * SECOND, kind };
        whole.links[0].down.outages =
            vec![(0, SECOND), (SECOND * 3 / 2, SECOND * 5 / 2), (3 * SECOND, 4 * SECOND)];
        whole.links[0].events = vec![
            event(0, 0, EventKind::Technology("LTE".into())),
            event(0, 1, EventKind::HandOver),
            event(1, 3, EventKind::HandOver),
        ];
        let part = whole.part(SECOND * 5 / 4, Some(SECOND)).unwrap();
        let link = &part.links[0];
        assert_eq!(link.down.rate, Some(RateTrace::Chances(vec![250, 250, 750])));
        assert_eq!(link.down.outages, [(SECOND / 4, SECOND)]);
        let events: Vec<_> = link.events.iter().map(|event| (event.from, event.to)).collect();
        assert_eq!(events, [(0, 0), (0, SECOND)], "the technology, and a handover that had begun");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let whole = trace("a.down", "1\n2\n1000\n");
        let error = |from, length| whole.part(from, length).unwrap_err().to_string();
        assert_eq!(error(SECOND, None), "a has 1 s; nothing is left from 1 s on");
        assert_eq!(error(SECOND / 2, Some(SECOND)), "a has 1 s; 1 s from 0.5 s on are not in it");
        let nothing = error(SECOND / 2, Some(SECOND / 4));
        assert_eq!(nothing, "a has no chance to send 1500 bytes in the 0.25 s from 0.5 s on");
    }
}
