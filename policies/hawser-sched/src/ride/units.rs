//! Tiles that wait or are under way, and what was decided for them.

use std::collections::BTreeMap;
use std::ops::Range;

use hawser_policy::{PathId, Segment, StreamId, StreamRange, Time};

/// Tiles that are remembered: more than two seconds of all of them.
const MAX_UNITS: usize = 8_192;

/// What is to become of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// All of it goes on this path.
    Path(PathId),
    /// It is not sent.
    Skip,
}

/// A tile.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) extent: Range<u64>,
    pub(super) deadline: Time,
    pub(super) choice: Choice,
    pub(super) by_agent: bool,
    /// Bytes that were acknowledged; those that were sent twice may count twice.
    acked: u64,
    /// Where a discard that was asked for ends, and in which look through the queue.
    discarded: Option<(u64, u64)>,
}

impl Unit {
    pub(super) fn new(segment: &Segment<'_>, deadline: Time, choice: Choice, by_agent: bool) -> Self {
        Unit { extent: segment.extent.clone(), deadline, choice, by_agent, acked: 0, discarded: None }
    }

    /// What of it is to be discarded in this look through the queue, if anything is.
    pub(super) fn discard(&mut self, pass: u64) -> Option<Range<u64>> {
        let start = self.discarded.map_or(self.extent.start, |(end, _)| end);
        let range = start..self.extent.end;
        self.discarded =
            Some((range.end, self.discarded.filter(|_| range.is_empty()).map_or(pass, |(_, at)| at)));
        (!range.is_empty()).then_some(range)
    }

    /// Whether it was discarded in an earlier look, and waits in the queue all the same: nobody takes gaps.
    pub(super) fn is_refused(&self, pass: u64) -> bool {
        self.discarded.is_some_and(|(end, at)| at < pass && end >= self.extent.end)
    }

    fn is_whole(&self) -> bool {
        self.acked >= self.extent.end - self.extent.start
    }
}

/// All of them, by stream and the application's number.
#[derive(Debug, Default)]
pub(super) struct Units(BTreeMap<(StreamId, u64), Unit>);

/// What became of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) by_agent: bool,
    pub(super) in_time: bool,
}

impl Units {
    pub(super) fn find(&mut self, stream: StreamId, id: u64) -> Option<&mut Unit> {
        self.0.get_mut(&(stream, id))
    }

    pub(super) fn add(&mut self, stream: StreamId, id: u64, unit: Unit) {
        if self.0.len() >= MAX_UNITS {
            self.0.pop_first();
        }
        self.0.insert((stream, id), unit);
    }

    /// A packet was acknowledged; what arrived with it did so at `arrived`. Returns what became of tiles that are whole now.
    pub(super) fn acked(&mut self, ranges: &[StreamRange], arrived: Time, mut done: impl FnMut(Outcome)) {
        for StreamRange { stream, range, .. } in ranges {
            let mut whole = None;
            for ((_, id), unit) in self.0.range_mut((*stream, 0)..=(*stream, u64::MAX)) {
                let both = range.start.max(unit.extent.start)..range.end.min(unit.extent.end);
                unit.acked += both.end.saturating_sub(both.start);
                if unit.is_whole() {
                    whole =
                        Some((*id, Outcome { by_agent: unit.by_agent, in_time: arrived <= unit.deadline }));
                }
            }
            if let Some((id, outcome)) = whole {
                self.0.remove(&(*stream, id));
                done(outcome);
            }
        }
    }

    /// Forgets tiles whose deadline expired before `time`: they did not arrive.
    pub(super) fn expire(&mut self, time: Time, mut done: impl FnMut(Outcome)) {
        self.0.retain(|_, unit| {
            let stays = unit.deadline >= time;
            if !stays {
                done(Outcome { by_agent: unit.by_agent, in_time: false });
            }
            stays
        });
    }
}
