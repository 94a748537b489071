//! Puts received stream data in order.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::{Buf, Bytes};

use crate::connection::work::{ENTRY, LOOKUP, MOVE};

/// Disjoint ranges, over all streams of a connection, that wait for what lies before them. A peer that spreads
/// single bytes costs us about 150 bytes each; data interleaved over paths of very different delay makes thousands
/// of ranges without malice. Beyond the cap data that makes another range is refused, and the peer sends it again later.
pub(super) const MAX_DISJOINT_RANGES: usize = 16_384;

/// What slices of receive buffers may be charged, over all streams of a connection, before they are copied together. Each
/// may pin the whole buffer it was received in, which is shared by several datagrams and with other things.
pub(super) const MAX_CHARGED: usize = 24 << 20;

/// The least that a slice is charged, so that at most 8,192 are held: about 11 MiB of full datagrams. The reordering of two
/// fast paths of unequal delay stays below, so that bulk data is not copied.
pub(super) const MIN_CHARGE: usize = 3 << 10;

/// Beyond the limit, the slices of a stream that are charged so much are worth copying together.
const WORTH_COPYING: usize = 16 * MIN_CHARGE;

/// The largest receive buffer of a driver: what the kernel coalesces into one message. A slice that lies farther from all
/// recent ones is taken to be alone in its buffer.
const RECEIVE_BUFFER: usize = 64 << 10;

/// Receive buffers that are filled at the same time: about one for each path.
const RECENT_BUFFERS: usize = 4;

/// Shorter slices are copied as soon as they have to wait.
const MIN_SHARED: usize = 512;

/// Copied-together blocks are at most this long, and those shorter than [`SMALL_BLOCK`] grow with the next copy.
const MAX_BLOCK: usize = 64 << 10;
const SMALL_BLOCK: usize = 4 << 10;

/// A queue of pieces that was emptied is kept for the next range if it has at most so many places.
const MAX_SPARE: usize = 64;

/// What all assemblers of a connection hold, against the caps above.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pub(super) charged: usize,
    pub(super) ranges: usize,
    /// Units of [`work`](crate::connection::work) that data has cost.
    pub(super) work: u64,
    /// Where the newest slices lie, one for each receive buffer: several paths fill several at a time. Addresses
    /// decide when memory is copied, nothing that the peer or a trace could see.
    recent: [usize; RECENT_BUFFERS],
    /// The place in `recent` that is used next.
    next_recent: usize,
}

#[cfg(test)]
impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        (self.charged, self.ranges) == (other.charged, other.ranges)
    }
}

impl Budget {
    /// The bytes of a receive buffer that a slice keeps from being freed, those that earlier ones keep left out: an
    /// estimate that is at most half of the truth.
    #[inline]
    fn pinned_by(&mut self, slice: &Bytes) -> usize {
        let address = slice.as_ptr() as usize;
        match self.recent.iter_mut().find(|recent| address.abs_diff(**recent) < RECEIVE_BUFFER) {
            Some(recent) => {
                *recent = address;
                slice.len()
            }
            None => {
                self.recent[self.next_recent] = address;
                self.next_recent = (self.next_recent + 1) % RECENT_BUFFERS;
                RECEIVE_BUFFER
            }
        }
    }
}

/// [`MAX_DISJOINT_RANGES`] would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyRanges;

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// What it is charged as a slice of a receive buffer; 0 once it is copied together with others.
    charge: u32,
}

impl Piece {
    /// Data that came just now. What is short and `waits` is copied at once.
    #[inline(always)]
    fn new(bytes: Bytes, waits: bool, budget: &mut Budget) -> Self {
        if waits && bytes.len() < MIN_SHARED {
            return Piece { bytes: Bytes::copy_from_slice(&bytes), charge: MIN_CHARGE as u32 };
        }
        Piece { charge: budget.pinned_by(&bytes).max(MIN_CHARGE) as u32, bytes }
    }
}

#[derive(Debug, Default)]
struct Segment {
    end: u64,
    pieces: VecDeque<Piece>,
}

/// Reassembles one stream.
///
/// Data in order goes straight to the queue the application reads from; the map is touched only when something is
/// missing.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// What the application has read.
    read_to: u64,
    /// Received without holes up to here; `ready` holds `[read_to, ready_to)`.
    ready_to: u64,
    ready: VecDeque<Piece>,
    /// Ranges above `ready_to`, by their start; they neither overlap nor touch.
    ahead: BTreeMap<u64, Segment>,
    /// The queue of a range that was joined to another: while data comes over several paths, ranges come and go.
    spare: Option<VecDeque<Piece>>,
    /// What all its pieces are charged.
    charged: usize,
}

impl Assembler {
    #[inline]
    pub(super) fn read_to(&self) -> u64 {
        self.read_to
    }

    #[inline]
    pub(super) fn ready_to(&self) -> u64 {
        self.ready_to
    }

    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.read_to < self.ready_to
    }

    /// Adds data; what is there already is kept and not compared. Returns how many bytes were not there before. After an error
    /// nothing was added.
    //= rfc9000-21.7-1: fragmented streams are bounded
    #[inline]
    pub(super) fn insert(
        &mut self,
        mut offset: u64,
        mut data: Bytes,
        budget: &mut Budget,
    ) -> Result<u64, TooManyRanges> {
        let end = offset + data.len() as u64;
        if end <= self.ready_to || data.is_empty() {
            return Ok(0);
        }
        if offset < self.ready_to {
            data.advance((self.ready_to - offset) as usize);
            offset = self.ready_to;
        }
        let is_next =
            offset == self.ready_to && self.ahead.first_key_value().is_none_or(|(&start, _)| start > end);
        let added = if is_next {
            self.push_ready(data, budget);
            end - offset
        } else if let Some(last) = self.ahead.last_entry().filter(|last| last.get().end == offset) {
            // The path that is farthest ahead goes on.
            let piece = Piece::new(data, true, budget);
            self.charged += piece.charge as usize;
            budget.charged += piece.charge as usize;
            let segment = last.into_mut();
            segment.pieces.push_back(piece);
            segment.end = end;
            end - offset
        } else {
            self.insert_ahead(offset, end, data, budget)?
        };
        if budget.charged > MAX_CHARGED && self.charged >= WORTH_COPYING {
            self.compact(budget);
        }
        Ok(added)
    }

    #[inline]
    fn push_ready(&mut self, data: Bytes, budget: &mut Budget) {
        self.ready_to += data.len() as u64;
        let piece = Piece::new(data, !self.ready.is_empty(), budget);
        self.charged += piece.charge as usize;
        budget.charged += piece.charge as usize;
        self.ready.push_back(piece);
    }

    /// Adds the parts of `[start, end)` that are missing, the last one first. Returns their sum.
    #[inline(never)]
    fn insert_ahead(
        &mut self,
        start: u64,
        mut end: u64,
        mut data: Bytes,
        budget: &mut Budget,
    ) -> Result<u64, TooManyRanges> {
        let mut added = 0;
        budget.work += LOOKUP;
        while start < end {
            budget.work += ENTRY;
            let (previous, next) = neighbours(&mut self.ahead, end);
            let held_to = match &previous {
                Some((at, segment)) if segment.end >= end => {
                    end = *at;
                    data.truncate(end.saturating_sub(start) as usize);
                    continue;
                }
                Some((_, segment)) => segment.end,
                None => 0,
            };
            // The gap from here to `end` is filled, and what touches it joined.
            let from = start.max(held_to);
            // Only the first part, and then it is all of it, may be one more range.
            let touches = next.is_some() || from == self.ready_to || (previous.is_some() && held_to == from);
            if !touches && budget.ranges >= MAX_DISJOINT_RANGES {
                return Err(TooManyRanges);
            }
            added += end - from;
            let piece = Piece::new(data.split_off((from - start) as usize), true, budget);
            self.charged += piece.charge as usize;
            budget.charged += piece.charge as usize;
            // An empty range stays in the map until the neighbours are no longer borrowed from it.
            let next = next.map(std::mem::take);
            let joins_next = next.is_some();
            budget.ranges -= usize::from(joins_next);
            let spare = &mut self.spare;
            match previous {
                Some((_, segment)) if held_to == from => {
                    segment.end = append(&mut segment.pieces, piece, end, next, spare, &mut budget.work)
                }
                _ if from == self.ready_to => {
                    self.ready_to = append(&mut self.ready, piece, end, next, spare, &mut budget.work)
                }
                _ => {
                    let mut segment = next.unwrap_or_else(|| {
                        let pieces = spare.take().unwrap_or_else(|| VecDeque::with_capacity(1));
                        Segment { end, pieces }
                    });
                    segment.pieces.push_front(piece);
                    self.ahead.insert(from, segment);
                    budget.ranges += 1;
                }
            }
            if joins_next {
                self.ahead.remove(&end);
            }
            end = from;
        }
        Ok(added)
    }

    /// Copies ready bytes out; returns how many.
    //= rfc9000-2.2-1: the application reads a stream's bytes in order
    pub(super) fn read(&mut self, out: &mut [u8], budget: &mut Budget) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            let Some(chunk) = self.take(out.len() - filled, budget) else { break };
            out[filled..filled + chunk.len()].copy_from_slice(&chunk);
            filled += chunk.len();
        }
        filled
    }

    /// Takes the next ready bytes without copying, at most `max` and at least one.
    pub(super) fn take(&mut self, max: usize, budget: &mut Budget) -> Option<Bytes> {
        let front = self.ready.front_mut()?;
        let chunk = if front.bytes.len() > max {
            front.bytes.split_to(max)
        } else {
            let piece = self.ready.pop_front()?;
            self.charged -= piece.charge as usize;
            budget.charged -= piece.charge as usize;
            piece.bytes
        };
        self.read_to += chunk.len() as u64;
        Some(chunk)
    }

    /// Where the first range begins that waits for what lies before it.
    pub(super) fn next_ahead(&self) -> Option<u64> {
        self.ahead.first_key_value().map(|(&start, _)| start)
    }

    /// The first part of `range` that was not received. `range` begins no lower than what was read.
    pub(super) fn first_hole(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut start = range.start.max(self.ready_to);
        if let Some((_, segment)) = self.ahead.range(..=start).next_back() {
            start = start.max(segment.end);
        }
        let next = self.ahead.range(start..).next().map_or(u64::MAX, |(&next, _)| next);
        let hole = start..next.min(range.end);
        (!hole.is_empty()).then_some(hole)
    }

    /// Reads on at `to`, past bytes that will not be there. Nothing may be ready, and nothing received below `to`.
    pub(super) fn pass(&mut self, to: u64, budget: &mut Budget) {
        debug_assert!(!self.is_readable() && self.next_ahead().is_none_or(|next| next >= to));
        (self.read_to, self.ready_to) = (to, to);
        if let Some(segment) = self.ahead.remove(&to) {
            budget.ranges -= 1;
            self.ready_to = segment.end;
            self.ready = segment.pieces;
        }
    }

    /// Drops what lies at or above `end`; nothing there will be inserted again.
    pub(super) fn truncate(&mut self, end: u64, budget: &mut Budget) {
        while let Some(mut last) = self.ahead.last_entry() {
            let start = *last.key();
            let segment = last.get_mut();
            if segment.end <= end {
                break;
            }
            let keep = end.saturating_sub(start);
            let dropped = cut(&mut segment.pieces, segment.end - start, keep);
            self.charged -= dropped;
            budget.charged -= dropped;
            if keep > 0 {
                segment.end = end;
                break;
            }
            last.remove();
            budget.ranges -= 1;
        }
        if self.ready_to > end {
            let keep = end.saturating_sub(self.read_to);
            let dropped = cut(&mut self.ready, self.ready_to - self.read_to, keep);
            self.charged -= dropped;
            budget.charged -= dropped;
            self.ready_to = self.read_to + keep;
        }
    }

    /// Drops everything held.
    pub(super) fn clear(&mut self, budget: &mut Budget) {
        budget.charged -= self.charged;
        budget.ranges -= self.ahead.len();
        *self = Assembler { read_to: self.read_to, ready_to: self.read_to, ..Assembler::default() };
    }

    /// Copies slices of receive buffers together, so that those buffers are freed and small pieces vanish.
    fn compact(&mut self, budget: &mut Budget) {
        budget.work += compact_pieces(&mut self.ready);
        for segment in self.ahead.values_mut() {
            budget.work += compact_pieces(&mut segment.pieces);
        }
        budget.charged -= std::mem::take(&mut self.charged);
    }

    /// Bytes held.
    pub(super) fn held(&self) -> u64 {
        let ahead: u64 = self.ahead.iter().map(|(start, segment)| segment.end - start).sum();
        self.ready_to - self.read_to + ahead
    }

    #[cfg(test)]
    fn pieces(&self) -> usize {
        self.ready.len() + self.ahead.values().map(|segment| segment.pieces.len()).sum::<usize>()
    }
}

/// The range before `end`, with its start, and the one that begins there, found in one search.
#[inline]
fn neighbours(
    ahead: &mut BTreeMap<u64, Segment>,
    end: u64,
) -> (Option<(u64, &mut Segment)>, Option<&mut Segment>) {
    let mut below = ahead.range_mut(..=end).rev().map(|(&at, segment)| (at, segment));
    match below.next() {
        Some((at, next)) if at == end => (below.next(), Some(next)),
        previous => (previous, None),
    }
}

/// Appends a piece that ends at `end`, and what touches it, whose queue becomes the spare one; returns where all that
/// ends.
#[inline]
fn append(
    pieces: &mut VecDeque<Piece>,
    piece: Piece,
    end: u64,
    next: Option<Segment>,
    spare: &mut Option<VecDeque<Piece>>,
    work: &mut u64,
) -> u64 {
    pieces.push_back(piece);
    let Some(next) = next else { return end };
    *work += pieces.len().min(next.pieces.len()) as u64 * MOVE;
    *spare = Some(join(pieces, next.pieces)).filter(|emptied| emptied.capacity() <= MAX_SPARE);
    next.end
}

/// Appends `right` to `left`, moving the shorter of both; returns the queue that is now empty.
fn join(left: &mut VecDeque<Piece>, mut right: VecDeque<Piece>) -> VecDeque<Piece> {
    if left.len() >= right.len() {
        left.append(&mut right);
    } else {
        while let Some(piece) = left.pop_back() {
            right.push_front(piece);
        }
        std::mem::swap(left, &mut right);
    }
    right
}

/// Shortens pieces of `length` bytes to `keep`; returns what those that went were charged.
fn cut(pieces: &mut VecDeque<Piece>, mut length: u64, keep: u64) -> usize {
    let mut dropped = 0;
    while length > keep {
        let Some(last) = pieces.back_mut() else { break };
        let size = last.bytes.len() as u64;
        if length - size < keep {
            last.bytes.truncate((keep + size - length) as usize);
            break;
        }
        dropped += last.charge as usize;
        length -= size;
        pieces.pop_back();
    }
    dropped
}

/// Returns the [work](crate::connection::work) of it: a unit for each byte that is copied again, which is a last block that was
/// small. That a byte is copied once its packet has paid for by far, however many wait for it together.
fn compact_pieces(pieces: &mut VecDeque<Piece>) -> u64 {
    let mut work = ENTRY * (1 + pieces.len() as u64);
    if !pieces.iter().any(|piece| piece.charge > 0) {
        return work;
    }
    let mut small = 0;
    let mut block: Vec<u8> = Vec::new();
    let mut compacted = VecDeque::new();
    for piece in pieces.drain(..) {
        let settled = piece.charge == 0 && piece.bytes.len() >= SMALL_BLOCK;
        if settled || block.len() + piece.bytes.len() > MAX_BLOCK {
            flush(&mut block, &mut compacted);
        }
        if settled {
            compacted.push_back(piece);
        } else {
            small += if piece.charge == 0 { piece.bytes.len() } else { 0 };
            block.extend_from_slice(&piece.bytes);
        }
    }
    flush(&mut block, &mut compacted);
    *pieces = compacted;
    work += small.min(SMALL_BLOCK) as u64;
    work
}

fn flush(block: &mut Vec<u8>, pieces: &mut VecDeque<Piece>) {
    if !block.is_empty() {
        // Into a boxed slice: no spare capacity is kept.
        let bytes = Bytes::from(std::mem::take(block).into_boxed_slice());
        pieces.push_back(Piece { bytes, charge: 0 });
    }
}

#[cfg(test)]
mod tests;
