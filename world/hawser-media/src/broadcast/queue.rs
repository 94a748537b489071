//! What waits for one subscriber.

use std::collections::VecDeque;

use super::Unit;
use crate::flv::Role;

/// How much may wait for a subscriber before tags are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes.
    pub bytes: usize,
    /// Milliseconds from the first to the last tag, by their timestamps.
    pub span: u32,
}

/// What became of the tags for a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Tags that were skipped.
    pub skipped: u64,
    /// Their bytes.
    pub skipped_bytes: u64,
    /// Runs of skipped tags.
    pub skips: u64,
}

/// Milliseconds from one timestamp to a later one; 0 if it is not later, as of sound that an encoder sends behind its picture.
pub(super) fn milliseconds_from(first: u32, last: u32) -> u32 {
    u32::try_from(last.wrapping_sub(first).cast_signed()).unwrap_or(0)
}

/// A bounded queue of tags. One that is full loses its oldest tags up to a key frame, or all of them and what follows up to
/// the next one; headers are never lost.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    units: VecDeque<Unit>,
    bytes: usize,
    /// Nothing but headers is taken before a key frame.
    waits_for_key: bool,
    /// Whether it waits because something was skipped: a subscriber who is new misses nothing.
    is_skipping: bool,
    counts: QueueCounts,
}

impl Queue {
    pub(super) fn new(limits: Limits, waits_for_key: bool) -> Self {
        let counts = QueueCounts::default();
        Queue { limits, units: VecDeque::new(), bytes: 0, waits_for_key, is_skipping: false, counts }
    }

    pub(super) fn push(&mut self, unit: Unit) {
        if self.waits_for_key && !unit.role.is_header() && unit.role != Role::KeyFrame {
            if self.is_skipping {
                self.note_skipped(&unit);
            }
            return;
        }
        if unit.role == Role::KeyFrame {
            (self.waits_for_key, self.is_skipping) = (false, false);
        }
        self.bytes += unit.size();
        self.units.push_back(unit);
        if self.is_full() {
            self.skip();
        }
    }

    pub(super) fn pop(&mut self) -> Option<Unit> {
        let unit = self.units.pop_front()?;
        self.bytes -= unit.size();
        Some(unit)
    }

    pub(super) fn counts(&self) -> QueueCounts {
        self.counts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_full(&self) -> bool {
        // Headers may have old times, and a single tag is always let through.
        let mut times =
            self.units.iter().filter(|unit| !unit.role.is_header()).map(|unit| unit.tag.timestamp);
        let span =
            times.next().zip(times.next_back()).map_or(0, |(first, last)| milliseconds_from(first, last));
        self.units.len() > 1 && (self.bytes > self.limits.bytes || span > self.limits.span)
    }

    /// Makes room: goes on at the last key frame that waits, if most of the queue lies before it, else at the next one.
    fn skip(&mut self) {
        let last_key = self.units.iter().rposition(|unit| unit.role == Role::KeyFrame);
        let behind = last_key.map(|at| self.units.range(at..).map(Unit::size).sum::<usize>());
        let goes_on_at = last_key.filter(|at| {
            let (first, last) = (&self.units[*at].tag, self.units.back().map(|unit| unit.tag.timestamp));
            let span = last.map_or(0, |last| milliseconds_from(first.timestamp, last));
            *at > 0
                && behind.is_some_and(|bytes| bytes <= self.limits.bytes / 2)
                && span <= self.limits.span / 2
        });
        let dropped: Vec<Unit> = match goes_on_at {
            Some(at) => self.units.drain(..at).collect(),
            None => self.units.drain(..).collect(),
        };
        (self.waits_for_key, self.is_skipping) = (goes_on_at.is_none(), goes_on_at.is_none());
        self.counts.skips += 1;
        let mut headers: Vec<Unit> = Vec::new();
        for unit in dropped {
            if unit.role.is_header() {
                headers.retain(|other| !unit.replaces(other));
                headers.push(unit);
            } else {
                self.note_skipped(&unit);
            }
        }
        // Those that were skipped over still tell how to decode what follows.
        headers.into_iter().rev().for_each(|header| self.units.push_front(header));
        self.bytes = self.units.iter().map(Unit::size).sum();
    }

    fn note_skipped(&mut self, unit: &Unit) {
        self.counts.skipped += 1;
        self.counts.skipped_bytes += unit.tag.data.len() as u64;
    }
}
