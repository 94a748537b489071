//! A set of byte ranges.

use std::collections::VecDeque;
use std::ops::Range;

/// Byte ranges in ascending order that neither overlap nor touch.
///
/// Ranges mostly come and go at the two ends (data is sent, lost and acknowledged roughly in order), where every
/// operation is O(1). In the middle it costs a binary search and a move of the shorter side. An empty set owns no
/// memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl RangeSet {
    /// Bytes in the set.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// How many ranges these are.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The lowest range.
    #[inline]
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().map(|&(start, end)| start..end)
    }

    /// The highest range.
    pub(crate) fn last(&self) -> Option<Range<u64>> {
        self.ranges.back().map(|&(start, end)| start..end)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|&(start, end)| start..end)
    }

    /// What follows the first `skip` bytes, up to the end of its range. Walks from the nearer end.
    pub(crate) fn after(&self, skip: u64) -> Option<Range<u64>> {
        let mut left = self.bytes.checked_sub(skip).filter(|&left| left > 0)?;
        if left > skip {
            let mut skip = skip;
            for &(start, end) in &self.ranges {
                if skip < end - start {
                    return Some(start + skip..end);
                }
                skip -= end - start;
            }
            return None;
        }
        for &(start, end) in self.ranges.iter().rev() {
            if left <= end - start {
                return Some(end - left..end);
            }
            left -= end - start;
        }
        None
    }

    pub(crate) fn contains(&self, offset: u64) -> bool {
        let index = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(index).is_some_and(|range| range.0 <= offset)
    }

    /// How many ranges are moved at most to make room for one that begins there, or when it is taken out.
    pub(crate) fn moves_at(&self, offset: u64) -> u64 {
        if self.ranges.back().is_none_or(|last| last.0 <= offset) {
            return 0;
        }
        let index = self.ranges.partition_point(|range| range.0 <= offset);
        index.min(self.ranges.len() - index) as u64
    }

    /// The range that a value lies in.
    pub(crate) fn range_with(&self, offset: u64) -> Option<Range<u64>> {
        let index = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(index).filter(|range| range.0 <= offset).map(|range| range.0..range.1)
    }

    /// Adds a range; returns how many of its bytes were not there before.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let added = match self.ranges.back_mut() {
            Some(last) if range.start < last.0 => self.insert_inside(range.start, range.end),
            Some(last) if range.start <= last.1 => {
                let added = range.end.saturating_sub(last.1);
                last.1 += added;
                added
            }
            _ => {
                self.ranges.push_back((range.start, range.end));
                range.end - range.start
            }
        };
        self.bytes += added;
        added
    }

    fn insert_inside(&mut self, start: u64, end: u64) -> u64 {
        // Those from `first` up to `past` touch the new range.
        let first = self.ranges.partition_point(|range| range.1 < start);
        let past = self.ranges.partition_point(|range| range.0 <= end);
        if first == past {
            self.ranges.insert(first, (start, end));
            return end - start;
        }
        let before: u64 = self.ranges.range(first..past).map(|range| range.1 - range.0).sum();
        let merged = (start.min(self.ranges[first].0), end.max(self.ranges[past - 1].1));
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..past);
        merged.1 - merged.0 - before
    }

    /// Takes a range out; returns how many of its bytes were there.
    pub(crate) fn remove(&mut self, range: Range<u64>) -> u64 {
        let removed = match self.ranges.front_mut() {
            None => 0,
            Some(_) if range.is_empty() => 0,
            // The common case: from the front, within the first range.
            Some(front) if range.start <= front.0 && range.end < front.1 => {
                let removed = range.end.saturating_sub(front.0);
                front.0 += removed;
                removed
            }
            Some(_) => self.remove_inside(range.start, range.end),
        };
        self.bytes -= removed;
        removed
    }

    fn remove_inside(&mut self, start: u64, end: u64) -> u64 {
        // Those from `first` up to `past` overlap.
        let first = self.ranges.partition_point(|range| range.1 <= start);
        let past = self.ranges.partition_point(|range| range.0 < end);
        if first >= past {
            return 0;
        }
        let mut removed: u64 = self.ranges.range(first..past).map(|range| range.1 - range.0).sum();
        let head = (self.ranges[first].0, start);
        let tail = (end, self.ranges[past - 1].1);
        let mut keep = first;
        if head.0 < head.1 {
            removed -= head.1 - head.0;
            self.ranges[keep] = head;
            keep += 1;
        }
        if tail.0 < tail.1 {
            removed -= tail.1 - tail.0;
            if keep < past {
                self.ranges[keep] = tail;
            } else {
                self.ranges.insert(keep, tail);
            }
            keep += 1;
        }
        if keep < past {
            self.ranges.drain(keep..past);
        }
        removed
    }

    /// If a range begins at or below `offset`, takes everything up to its end out and returns that end; else
    /// returns `offset`.
    #[inline]
    pub(crate) fn absorb(&mut self, mut offset: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > offset {
                break;
            }
            self.bytes -= end - start;
            self.ranges.pop_front();
            offset = offset.max(end);
        }
        offset
    }

    /// The first part of `range` that is in the set.
    pub(crate) fn first_in(&self, range: Range<u64>) -> Option<Range<u64>> {
        let index = self.ranges.partition_point(|held| held.1 <= range.start);
        let &(start, end) = self.ranges.get(index)?;
        let part = start.max(range.start)..end.min(range.end);
        (!part.is_empty()).then_some(part)
    }

    /// The first part of `range` that is not in the set.
    pub(crate) fn first_missing(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut start = range.start;
        let index = self.ranges.partition_point(|held| held.1 <= start);
        for &(held_start, held_end) in self.ranges.range(index..) {
            if held_start > start {
                let end = range.end.min(held_start);
                return (start < end).then_some(start..end);
            }
            start = held_end;
        }
        (start < range.end).then_some(start..range.end)
    }

    /// Bytes of memory behind the set.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests;
