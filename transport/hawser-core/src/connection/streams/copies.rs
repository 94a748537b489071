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

use hawser_policy::PathId;
use smallvec::SmallVec;

#[cfg(test)]
mod tests;

/// The round of a copy that is meant for whatever is in flight when it is sent.
pub(crate) const ANY_ROUND: u16 = u16::MAX;

/// The path of each transmission that is neither lost nor acknowledged; `None` where it is not known: a copy may be ordered of
/// whatever is in flight, wherever that is.
type Carriers = SmallVec<[Option<PathId>; 2]>;

/// Transmissions of one piece that are counted. A policy that copies more often than that gains nothing.
const MAX_CARRIERS: usize = 255;

/// Bytes that share a fate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
    /// The present round.
    round: u16,
    /// Its transmissions that are neither lost nor acknowledged.
    carriers: Carriers,
    /// How many of them were sent besides the first.
    copies: u8,
}

impl Piece {
    fn joins(&self, next: &Piece) -> bool {
        self.end == next.start
            && (self.round, self.copies) == (next.round, next.copies)
            && self.carriers == next.carriers
    }

    /// A transmission on `path` is lost.
    fn drop_carrier(&mut self, path: Option<PathId>) {
        let place = |wanted: Option<PathId>| self.carriers.iter().position(|carrier| *carrier == wanted);
        // Of the one that is not known, or of one whose path the loser does not know.
        let place = place(path).or_else(|| place(None)).or_else(|| self.carriers.len().checked_sub(1));
        if let Some(place) = place {
            self.carriers.remove(place);
        }
    }
}

/// Whether a path carries what another one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    No,
    Yes,
    /// One of several transmissions may be there, or elsewhere.
    Unknown,
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

    /// A copy of a range that is in flight on `path` is queued.
    pub(super) fn on_queued(&mut self, range: Range<u64>, path: Option<PathId>) {
        let (first, past) = self.cut(&range);
        let missing: SmallVec<[Range<u64>; 2]> = self.missing(first, past, &range).collect();
        for part in missing {
            let carriers = Carriers::from_slice(&[path]);
            self.insert(Piece { start: part.start, end: part.end, round: 0, carriers, copies: 0 });
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

    /// Whether `path` carries bytes that share a fate, of which this is the first, in their present round.
    pub(super) fn is_carried(&self, offset: u64, path: PathId) -> Carried {
        let at = self.pieces.partition_point(|piece| piece.end <= offset);
        match self.pieces.get(at).filter(|piece| piece.start <= offset) {
            Some(piece) if piece.carriers.contains(&Some(path)) => Carried::Yes,
            Some(piece) if piece.carriers.contains(&None) => Carried::Unknown,
            _ => Carried::No,
        }
    }

    /// A copy of a part whose bytes share a fate was sent on `path`. Returns its round.
    pub(super) fn on_copy_sent(&mut self, range: Range<u64>, path: PathId) -> u16 {
        self.on_queued(range.clone(), None);
        let (first, past) = self.cut(&range);
        let mut round = 0;
        for piece in self.pieces.range_mut(first..past) {
            if piece.carriers.len() < MAX_CARRIERS {
                piece.carriers.push(Some(path));
            }
            piece.copies = piece.copies.saturating_add(1);
            round = piece.round;
        }
        round
    }

    /// The range was sent by a path that answers for it alone from now on. Returns the new round.
    pub(super) fn on_taken_over(&mut self, range: Range<u64>, path: PathId) -> u16 {
        self.begin_round(range, path, |copies| copies.saturating_add(1))
    }

    /// Lost bytes were sent again on `path`. Returns the round of that transmission.
    pub(super) fn on_retransmitted(&mut self, range: Range<u64>, path: PathId) -> u16 {
        let (first, past) = self.cut(&range);
        if first == past { 0 } else { self.begin_round(range, path, |_| 0) }
    }

    fn begin_round(&mut self, range: Range<u64>, path: PathId, copies: impl Fn(u8) -> u8) -> u16 {
        let (first, past) = self.cut(&range);
        let held = || self.pieces.range(first..past);
        let round = held().map(|piece| piece.round).max().unwrap_or(0).saturating_add(1).min(ANY_ROUND - 1);
        let copies = copies(held().map(|piece| piece.copies).max().unwrap_or(0));
        self.pieces.drain(first..past);
        let carriers = Carriers::from_slice(&[Some(path)]);
        self.insert(Piece { start: range.start, end: range.end, round, carriers, copies });
        round
    }

    /// A transmission of `round` on `path` is lost. Hands what nothing in flight answers for any more to `requeue`. Returns
    /// whether another transmission answers for some of it.
    pub(super) fn on_lost(
        &mut self,
        range: Range<u64>,
        round: u16,
        path: Option<PathId>,
        mut requeue: impl FnMut(Range<u64>),
    ) -> bool {
        let (first, past) = self.cut(&range);
        self.missing(first, past, &range).for_each(&mut requeue);
        let mut is_answered = false;
        for piece in self.pieces.range_mut(first..past) {
            if piece.round == round && !piece.carriers.is_empty() {
                piece.drop_carrier(path);
                if piece.carriers.is_empty() {
                    requeue(piece.start..piece.end);
                } else {
                    is_answered = true;
                }
            }
        }
        is_answered
    }

    /// Whether a transmission in flight answers for the byte, as one of several.
    pub(super) fn is_answered(&self, offset: u64) -> bool {
        let at = self.pieces.partition_point(|piece| piece.end <= offset);
        self.pieces.get(at).is_some_and(|piece| piece.start <= offset && !piece.carriers.is_empty())
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
            let tail = Piece { start: offset, ..piece.clone() };
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
