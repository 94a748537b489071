//! Stream data that was received, whether or not readers have taken it: what repair symbols are solved with.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hawser_policy::StreamId;

use crate::connection::work::{LOOKUP, Work};

/// Memory of a piece besides its bytes, against the limit.
const PIECE_OVERHEAD: usize = 96;

/// Pieces of streams in the order in which they came; the oldest give way.
#[derive(Debug)]
pub(super) struct History {
    /// By stream and offset. Pieces do not overlap.
    pieces: BTreeMap<(StreamId, u64), Box<[u8]>>,
    order: VecDeque<(StreamId, u64)>,
    /// Bytes, overhead included.
    held: usize,
    limit: usize,
}

impl History {
    pub(super) fn new(limit: usize) -> Self {
        History { pieces: BTreeMap::new(), order: VecDeque::new(), held: 0, limit }
    }

    /// Data arrived; what is there already is kept, and what nobody has paid for is left out.
    pub(super) fn insert(&mut self, work: &mut Work, id: StreamId, offset: u64, data: &[u8]) {
        let end = offset + data.len() as u64;
        let mut start = offset;
        while start < end && work.pay(3, LOOKUP) {
            if let Some(covered) = self.covered_to(id, start) {
                start = covered;
                continue;
            }
            let next = self.pieces.range((id, start)..(id, end)).next().map_or(end, |((_, next), _)| *next);
            let piece = data.get((start - offset) as usize..(next - offset) as usize).unwrap_or_default();
            self.held += piece.len() + PIECE_OVERHEAD;
            self.pieces.insert((id, start), piece.into());
            self.order.push_back((id, start));
            start = next;
        }
        self.evict();
    }

    /// The end of the piece that holds this byte.
    fn covered_to(&self, id: StreamId, offset: u64) -> Option<u64> {
        let (&(_, start), piece) = self.pieces.range((id, 0)..=(id, offset)).next_back()?;
        Some(start + piece.len() as u64).filter(|end| *end > offset)
    }

    fn evict(&mut self) {
        while self.held > self.limit {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(piece) = self.pieces.remove(&oldest) {
                self.held -= piece.len() + PIECE_OVERHEAD;
            }
        }
    }

    /// Returns whether all of the range is there. `None`: nobody has paid for the answer.
    pub(super) fn has(&self, work: &mut Work, id: StreamId, range: Range<u64>) -> Option<bool> {
        let mut start = range.start;
        while start < range.end {
            if !work.pay(1, LOOKUP) {
                return None;
            }
            let Some(end) = self.covered_to(id, start) else { return Some(false) };
            start = end;
        }
        Some(true)
    }

    /// Puts the range into `out`, which is as long. Returns whether it was there, and paid for.
    pub(super) fn read(&self, work: &mut Work, id: StreamId, start: u64, out: &mut [u8]) -> bool {
        let mut filled = 0;
        while filled < out.len() {
            if !work.pay(1, LOOKUP) {
                return false;
            }
            let offset = start + filled as u64;
            let Some((&(_, at), piece)) = self.pieces.range((id, 0)..=(id, offset)).next_back() else {
                return false;
            };
            let Some(from) = piece.get((offset - at) as usize..).filter(|from| !from.is_empty()) else {
                return false;
            };
            let count = from.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&from[..count]);
            filled += count;
        }
        true
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = History::new(self.limit);
    }

    /// Bytes of memory held, roughly.
    pub(super) fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: StreamId = StreamId(3);

    /// More than a test spends at a time.
    fn rich() -> Work {
        let mut work = Work::new();
        work.earn(1 << 20);
        work
    }

    fn has(history: &History, range: Range<u64>) -> bool {
        history.has(&mut rich(), ID, range).unwrap()
    }

    fn content(range: Range<u64>) -> Vec<u8> {
        range.map(|offset| (offset * 7) as u8).collect()
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut history = History::new(10 * (100 + PIECE_OVERHEAD));
        for at in 0..15 {
            history.insert(&mut rich(), ID, at * 100, &content(at * 100..at * 100 + 100));
        }
        assert!(!has(&history, 400..500) && has(&history, 500..1_500));
        assert!(history.held() <= 10 * (100 + PIECE_OVERHEAD));
        // Bytes one by one cost what they cost.
        for at in 0..100_000 {
            history.insert(&mut rich(), ID, 2 * at, &[1]);
            assert!(history.held() <= 10 * (100 + PIECE_OVERHEAD));
        }
        history.clear();
        assert_eq!(history.held(), 0);
    }

    proptest! {
        #[test]
        fn what_came_in_any_pieces_is_there(
            pieces in proptest::collection::vec((0..300_u64, 1..60_u64), 0..40),
            asked in (0..300_u64, 1..80_u64),
        ) {
            let mut history = History::new(1 << 20);
            let mut there = [false; 400];
            for (start, length) in pieces {
                history.insert(&mut rich(), ID, start, &content(start..start + length));
                there[start as usize..(start + length) as usize].fill(true);
            }
            let range = asked.0..asked.0 + asked.1;
            let expected = there[range.start as usize..range.end as usize].iter().all(|there| *there);
            prop_assert_eq!(has(&history, range.clone()), expected);
            let mut out = vec![0; asked.1 as usize];
            prop_assert_eq!(history.read(&mut rich(), ID, range.start, &mut out), expected);
            if expected {
                prop_assert_eq!(out, content(range.clone()));
            }
            prop_assert_eq!(history.has(&mut rich(), StreamId(4), range), Some(false));
        }
    }
}
