//! Ranges that a scheduler gave to paths ahead of time.

use std::ops::Range;

use hawser_policy::PathId;

/// Ranges of one stream that are kept; a scheduler that cuts finer gets no more.
pub(super) const MAX_ASSIGNMENTS: usize = 4_096;

/// Ranges in ascending order that do not overlap, each with the only path that may send it.
#[derive(Debug, Default)]
pub(super) struct Assignments(Vec<(Range<u64>, PathId)>);

impl Assignments {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives `range` to `path`, whichever path had it before. Returns true if there was room.
    pub(super) fn insert(&mut self, range: Range<u64>, path: PathId) -> bool {
        if self.0.len() + 2 > MAX_ASSIGNMENTS {
            return false;
        }
        self.remove(range.clone());
        let index = self.0.partition_point(|(held, _)| held.end <= range.start);
        // Neighbours of the same path are joined: assigning frame by frame makes few entries.
        if let Some((before, owner)) = index.checked_sub(1).and_then(|before| self.0.get_mut(before))
            && *owner == path
            && before.end == range.start
        {
            before.end = range.end;
        } else {
            self.0.insert(index, (range, path));
        }
        true
    }

    /// Takes `range` back; whether any of it was given away.
    pub(super) fn remove(&mut self, range: Range<u64>) -> bool {
        let first = self.0.partition_point(|(held, _)| held.end <= range.start);
        let past = self.0.partition_point(|(held, _)| held.start < range.end);
        if first >= past || range.is_empty() {
            return false;
        }
        let ends = [self.0[first].clone(), self.0[past - 1].clone()];
        let head = (ends[0].0.start..range.start, ends[0].1);
        let tail = (range.end..ends[1].0.end, ends[1].1);
        let kept = [head, tail].into_iter().filter(|(range, _)| !range.is_empty());
        self.0.splice(first..past, kept);
        true
    }

    /// Takes back all that `path` was given.
    pub(super) fn remove_path(&mut self, path: PathId) {
        self.0.retain(|(_, owner)| *owner != path);
    }

    /// Who may send the byte at `offset`, if not all, and where that ends.
    pub(super) fn at(&self, offset: u64) -> (Option<PathId>, u64) {
        let index = self.0.partition_point(|(held, _)| held.end <= offset);
        match self.0.get(index) {
            Some((held, path)) if held.start <= offset => (Some(*path), held.end),
            Some((held, _)) => (None, held.start),
            None => (None, u64::MAX),
        }
    }

    /// The first part of `range` that `path` may send.
    pub(super) fn first_allowed(&self, range: Range<u64>, path: PathId) -> Option<Range<u64>> {
        if self.0.is_empty() {
            return (!range.is_empty()).then_some(range);
        }
        let mut start = range.start;
        while start < range.end {
            let (owner, end) = self.at(start);
            let end = end.min(range.end);
            if owner.is_none_or(|owner| owner == path) {
                return Some(start..end);
            }
            start = end;
        }
        None
    }

    pub(super) fn trim(&mut self, offset: u64) {
        let past = self.0.partition_point(|(held, _)| held.end <= offset);
        self.0.drain(..past);
    }

    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<(Range<u64>, PathId)>()
    }
}

#[cfg(test)]
mod tests;
