//! Ranges of which several transmissions are in flight at a time: copies on other paths.
//!
//! Most bytes are in flight once. When their packet is lost they are queued again, and nothing need be remembered. A range
//! that a scheduler has copied is in flight several times; it is queued again when the last of these transmissions is
//! lost, and not before. [`Copies`] counts them, for copied ranges only: a stream without copies has an empty one and asks
//! it nothing.
//!
//! A transmission belongs to a *round*. Those of one round answer for the range together. When the range is retransmitted,
//! or taken over by a path on which a scheduler counts more, a new round begins: what becomes of transmissions of earlier
//! rounds then changes nothing, unless they are acknowledged.

use std::collections::VecDeque;
use std::ops::Range;

use smallvec::SmallVec;

#[cfg(test)]
mod tests;

/// The round of a copy that is meant for whatever is in flight when it is sent.
pub(crate) const ANY_ROUND: u16 = u16::MAX;

/// Bytes that share a fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
    /// The present round.
    round: u16,
    /// Its transmissions that are neither lost nor acknowledged.
    in_flight: u8,
    /// How many of them were sent besides the first.
    copies: u8,
}

impl Piece {
    fn joins(&self, next: &Piece) -> bool {
        let fate = |piece: &Piece| (piece.round, piece.in_flight, piece.copies);
        self.end == next.start && fate(self) == fate(next)
    }
}

/// The copied ranges of a stream, in order; they do not overlap. A range leaves when it is acknowledged.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pieces: VecDeque<Piece>,
}

impl Copies {
    /// Whether no unacknowledged range of the stream was ever copied.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A copy of a range that is in flight is queued.
    pub(super) fn on_queued(&mut self, range: Range<u64>) {
        let (first, past) = self.cut(&range);
        let missing: SmallVec<[Range<u64>; 2]> = self.missing(first, past, &range).collect();
        for part in missing {
            self.insert(Piece { start: part.start, end: part.end, round: 0, in_flight: 1, copies: 0 });
        }
    }

    /// The first part of `range` whose bytes share a fate, and their round.
    pub(super) fn first_part(&self, range: Range<u64>) -> (Range<u64>, u16) {
        let at = self.pieces.partition_point(|piece| piece.end <= range.start);
        match self.pieces.get(at) {
            Some(piece) if piece.start <= range.start => (range.start..range.end.min(piece.end), piece.round),
            Some(piece) => (range.start..range.end.min(piece.start), 0),
            None => (range, 0),
        }
    }

    /// A copy of a part whose bytes share a fate was sent. Returns its round.
    pub(super) fn on_copy_sent(&mut self, range: Range<u64>) -> u16 {
        self.on_queued(range.clone());
        let (first, past) = self.cut(&range);
        let mut round = 0;
        for piece in self.pieces.range_mut(first..past) {
            piece.in_flight = piece.in_flight.saturating_add(1);
            piece.copies = piece.copies.saturating_add(1);
            round = piece.round;
        }
        round
    }

    /// The range was sent by a path that answers for it alone from now on. Returns the new round.
    pub(super) fn on_taken_over(&mut self, range: Range<u64>) -> u16 {
        self.begin_round(range, |copies| copies.saturating_add(1))
    }

    /// Lost bytes were sent again. Returns the round of that transmission.
    pub(super) fn on_retransmitted(&mut self, range: Range<u64>) -> u16 {
        let (first, past) = self.cut(&range);
        if first == past { 0 } else { self.begin_round(range, |_| 0) }
    }

    fn begin_round(&mut self, range: Range<u64>, copies: impl Fn(u8) -> u8) -> u16 {
        let (first, past) = self.cut(&range);
        let held = || self.pieces.range(first..past);
        let round = held().map(|piece| piece.round).max().unwrap_or(0).saturating_add(1).min(ANY_ROUND - 1);
        let copies = copies(held().map(|piece| piece.copies).max().unwrap_or(0));
        self.pieces.drain(first..past);
        self.insert(Piece { start: range.start, end: range.end, round, in_flight: 1, copies });
        round
    }

    /// A transmission of `round` is lost. Hands what nothing in flight answers for any more to `requeue`.
    pub(super) fn on_lost(&mut self, range: Range<u64>, round: u16, mut requeue: impl FnMut(Range<u64>)) {
        let (first, past) = self.cut(&range);
        self.missing(first, past, &range).for_each(&mut requeue);
        for piece in self.pieces.range_mut(first..past) {
            if piece.round == round && piece.in_flight > 0 {
                piece.in_flight -= 1;
                if piece.in_flight == 0 {
                    requeue(piece.start..piece.end);
                }
            }
        }
    }

    /// Whether a transmission in flight answers for the byte, as one of several.
    pub(super) fn is_answered(&self, offset: u64) -> bool {
        let at = self.pieces.partition_point(|piece| piece.end <= offset);
        self.pieces.get(at).is_some_and(|piece| piece.start <= offset && piece.in_flight > 0)
    }

    /// Takes a range out: it is acknowledged, or given up. Returns the bytes that were sent as copies of it.
    pub(super) fn on_acked(&mut self, range: Range<u64>) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let (first, past) = self.cut(&range);
        let copied = |piece: Piece| (piece.end - piece.start) * u64::from(piece.copies);
        self.pieces.drain(first..past).map(copied).sum()
    }

    /// Nothing from `end` on matters any more.
    pub(super) fn truncate(&mut self, end: u64) {
        let (first, _) = self.cut(&(end..u64::MAX));
        self.pieces.truncate(first);
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
    }

    /// Splits pieces so that those within `range` are the ones between the two indices returned.
    fn cut(&mut self, range: &Range<u64>) -> (usize, usize) {
        self.split_at(range.start);
        self.split_at(range.end);
        let first = self.pieces.partition_point(|piece| piece.end <= range.start);
        let past = self.pieces.partition_point(|piece| piece.start < range.end);
        (first, past.max(first))
    }

    fn split_at(&mut self, offset: u64) {
        let at = self.pieces.partition_point(|piece| piece.end <= offset);
        if let Some(piece) = self.pieces.get_mut(at)
            && piece.start < offset
        {
            let tail = Piece { start: offset, ..*piece };
            piece.end = offset;
            self.pieces.insert(at + 1, tail);
        }
    }

    /// What is missing of `range` between the pieces `first..past` within it.
    fn missing(&self, first: usize, past: usize, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut start = range.start;
        let held = self.pieces.range(first..past).map(|piece| piece.start..piece.end);
        held.chain(std::iter::once(range.end..range.end)).filter_map(move |next| {
            let part = start..next.start;
            start = next.end;
            (!part.is_empty()).then_some(part)
        })
    }

    /// Adds a piece that overlaps no other, joined to the one before it if they are alike.
    fn insert(&mut self, piece: Piece) {
        let at = self.pieces.partition_point(|other| other.start < piece.start);
        match at.checked_sub(1).and_then(|before| self.pieces.get_mut(before)) {
            Some(previous) if previous.joins(&piece) => previous.end = piece.end,
            _ => self.pieces.insert(at, piece),
        }
    }
}
