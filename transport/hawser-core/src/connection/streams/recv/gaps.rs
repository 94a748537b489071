//! Gaps: ranges of which the peer said that they will not come (STREAM_SKIP), and how a reader meets them.
//!
//! Data that is there counts for more than the word that it will not come: a gap is what the peer gave up less what
//! arrived all the same. It is worked out when a reader gets there, so that data on its way in costs nothing.

use std::ops::Range;

use hawser_wire::codepoints::frame;

use super::super::assembler::{Budget, MAX_DISJOINT_RANGES};
use super::super::errors::{Chunk, ReadError};
use super::{RecvStream, Shared, State};
use crate::TransportError;
use crate::connection::range_set::RangeSet;
use crate::connection::work::MOVE;

/// Ranges that [`RecvStream::missing`] lists at most.
pub(in super::super) const MAX_LISTED: usize = 256;

/// What the peer gave up, from where the reader is.
#[derive(Debug, Default)]
pub(super) struct Gaps(RangeSet);

impl Gaps {
    fn change(&mut self, budget: &mut Budget, change: impl FnOnce(&mut RangeSet)) {
        budget.ranges -= self.0.len();
        change(&mut self.0);
        budget.ranges += self.0.len();
    }

    /// Whether the peer gave up something within this range, or next to it.
    fn touches(&self, range: &Range<u64>) -> bool {
        self.0.first_in(range.start.saturating_sub(1)..range.end.saturating_add(1)).is_some()
    }
}

impl RecvStream {
    /// A STREAM_SKIP frame.
    pub(in super::super) fn on_skip(
        &mut self,
        mut range: Range<u64>,
        shared: &mut Shared,
    ) -> Result<(), TransportError> {
        self.count(range.end, false, frame::STREAM_SKIP, shared)?;
        match self.state {
            State::Receiving | State::SizeKnown { .. } => {}
            State::Reset { reliable_size, .. } => range.end = range.end.min(reliable_size),
            State::Stopped { .. } => return Ok(()),
        }
        let read_to = self.assembler.read_to();
        range.start = range.start.max(read_to);
        if range.is_empty() {
            return Ok(());
        }
        // The peer's ranges share the cap with those of data that arrived out of order.
        let gaps = self.gaps.get_or_insert_default();
        if shared.budget.ranges >= MAX_DISJOINT_RANGES && !gaps.touches(&range) {
            shared.refused = true;
            return Ok(());
        }
        shared.work += gaps.0.moves_at(range.start) * MOVE;
        gaps.change(&mut shared.budget, |set| {
            set.remove(0..read_to);
            set.insert(range);
        });
        Ok(())
    }

    /// The gap that the reader has reached, as far as it is known.
    pub(super) fn gap_ahead(&self) -> Option<Range<u64>> {
        let gaps = self.gaps.as_ref()?;
        if self.assembler.is_readable() {
            return None;
        }
        let at = self.assembler.read_to();
        let gap = gaps.0.first_in(at..u64::MAX).filter(|gap| gap.start == at)?;
        Some(at..gap.end.min(self.assembler.next_ahead().unwrap_or(u64::MAX)))
    }

    /// Takes the next at most `max` bytes, or the gap in their place. After `End` or `Reset` the half has ended.
    pub(in super::super) fn next_chunk(
        &mut self,
        max: usize,
        shared: &mut Shared,
    ) -> Result<Chunk, ReadError> {
        let offset = self.assembler.read_to();
        if let Some(gap) = self.gap_ahead() {
            self.pass(&gap, shared);
            return Ok(Chunk::Gap { offset, length: gap.end - gap.start });
        }
        match self.read_chunk(max, shared)? {
            Some(bytes) => Ok(Chunk::Data { offset, bytes }),
            None => Ok(Chunk::End),
        }
    }

    /// The reader goes past bytes that are not there.
    fn pass(&mut self, gap: &Range<u64>, shared: &mut Shared) {
        self.assembler.pass(gap.end, &mut shared.budget);
        self.consume(gap.end - gap.start, shared);
        if let Some(gaps) = &mut self.gaps {
            gaps.change(&mut shared.budget, |set| {
                set.remove(0..gap.end);
            });
        }
    }

    /// The reader waits no longer for what is missing where it is, if something behind is known: returns the range, which
    /// is a gap from then on.
    pub(in super::super) fn pass_missing(&mut self, shared: &mut Shared) -> Option<Range<u64>> {
        if self.assembler.is_readable() || self.gap_ahead().is_some() {
            return None;
        }
        let gap = self.missing_from(self.assembler.read_to())?;
        self.pass(&gap, shared);
        Some(gap)
    }

    /// What is missing before data, gaps or the end that are known, and may still come: from where the reader is, at most
    /// [`MAX_LISTED`] ranges.
    pub(in super::super) fn missing(&self) -> Vec<Range<u64>> {
        let mut list = Vec::new();
        let mut at = self.assembler.read_to();
        while list.len() < MAX_LISTED
            && let Some(range) = self.missing_from(at)
        {
            at = range.end;
            list.push(range);
        }
        list
    }

    /// The first range at or above `from` that neither arrived nor was given up, below what is known to exist.
    fn missing_from(&self, from: u64) -> Option<Range<u64>> {
        let end = match self.state {
            State::Receiving | State::SizeKnown { .. } => self.window.received(),
            State::Reset { reliable_size, .. } => reliable_size,
            State::Stopped { .. } => return None,
        };
        let mut at = from;
        while at < end {
            let hole = self.assembler.first_hole(at..end)?;
            match &self.gaps {
                None => return Some(hole),
                Some(gaps) => match gaps.0.first_missing(hole.clone()) {
                    Some(missing) => return Some(missing),
                    None => at = hole.end,
                },
            }
        }
        None
    }

    /// Forgets gaps at or above `end`.
    pub(super) fn cut_gaps(&mut self, end: u64, shared: &mut Shared) {
        if let Some(gaps) = &mut self.gaps {
            gaps.change(&mut shared.budget, |set| {
                set.remove(end..u64::MAX);
            });
        }
    }
}
