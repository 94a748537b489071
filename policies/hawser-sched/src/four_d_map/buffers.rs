//! What each path is to send and has not sent yet, and what nobody was given.
//!
//! The plan lives here and not in the core ([`Command::Assign`](hawser_policy::Command::Assign)), which would have lost bytes
//! sent again on the path that lost them: here they are bytes like others, and go where Dispatch puts them.

use std::collections::VecDeque;
use std::ops::Range;

use hawser_policy::{PathId, StreamId, Time};

/// Bytes that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) stream: StreamId,
    pub(super) range: Range<u64>,
    /// Whether other paths get copies of them.
    pub(super) is_copied: bool,
    /// Whether they were lost, and go before all others of their path: the reader waits for them.
    pub(super) is_lost: bool,
}

impl Piece {
    fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Whether `next` goes on where this ends, and shares its fate.
    fn joins(&self, next: &Piece) -> bool {
        let fate = |piece: &Piece| (piece.stream, piece.is_copied, piece.is_lost);
        self.range.end == next.range.start && fate(self) == fate(next)
    }
}

/// Pieces in the order in which they are sent; none is empty.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: VecDeque<Piece>,
    bytes: u64,
}

impl Pieces {
    fn clear(&mut self) {
        self.list.clear();
        self.bytes = 0;
    }

    fn push(&mut self, piece: Piece) {
        let bytes = piece.bytes();
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        match self.list.back_mut() {
            Some(last) if last.joins(&piece) => last.range.end = piece.range.end,
            _ => self.list.push_back(piece),
        }
    }

    /// Puts lost bytes behind other lost ones, and others at the end.
    fn insert(&mut self, piece: Piece) {
        let at = self.list.iter().position(|other| !other.is_lost).unwrap_or(self.list.len());
        if !piece.is_lost || at == self.list.len() {
            return self.push(piece);
        }
        self.bytes += piece.bytes();
        self.list.insert(at, piece);
    }

    /// The first bytes of a piece, at most `most`.
    fn pop(&mut self, most: u64, at: usize) -> Option<Piece> {
        let first = self.list.get_mut(at)?;
        let taken = most.min(first.bytes());
        let piece = Piece { range: first.range.start..first.range.start + taken, ..first.clone() };
        first.range.start += taken;
        if first.range.is_empty() {
            self.list.remove(at);
        }
        self.bytes -= taken;
        Some(piece)
    }

    /// Takes a range out; returns how many bytes of it were there.
    fn remove(&mut self, stream: StreamId, range: &Range<u64>) -> u64 {
        let wanted = range.end.saturating_sub(range.start);
        let (mut removed, mut at) = (0, 0);
        while at < self.list.len() && removed < wanted {
            let piece = &mut self.list[at];
            let common = range.start.max(piece.range.start)..range.end.min(piece.range.end);
            if piece.stream != stream || common.is_empty() {
                at += 1;
                continue;
            }
            removed += common.end - common.start;
            let tail = Piece { range: common.end..piece.range.end, ..piece.clone() };
            piece.range.end = common.start;
            match (piece.range.is_empty(), tail.range.is_empty()) {
                (true, true) => drop(self.list.remove(at)),
                (true, false) => self.list[at] = tail,
                (false, true) => at += 1,
                (false, false) => {
                    self.list.insert(at + 1, tail);
                    at += 1;
                }
            }
        }
        self.bytes -= removed;
        removed
    }
}

/// A path's part.
#[derive(Debug)]
pub(super) struct PathBuffer {
    pub(super) path: PathId,
    pieces: Pieces,
    /// When it last sent something, or was given something while it had nothing.
    active_at: Time,
    /// Lost what it had, and has not been able to send since.
    pub(super) is_stalled: bool,
    /// What it had when the queue was last looked through.
    held: u64,
}

impl PathBuffer {
    /// Bytes that it has.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.bytes
    }

    /// Since when it has sent nothing although it has something.
    pub(super) fn silent_since(&self) -> Option<Time> {
        (self.pieces.bytes > 0).then_some(self.active_at)
    }

    /// What it sends next.
    pub(super) fn first(&self) -> Option<&Piece> {
        self.pieces.list.front()
    }
}

/// Who has a range, while the queue is looked through.
#[derive(Clone, Debug)]
struct Owned {
    stream: StreamId,
    range: Range<u64>,
    owner: usize,
}

/// The parts of all paths, and what is left.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    paths: Vec<PathBuffer>,
    unassigned: Pieces,
    owned: Vec<Owned>,
}

impl Buffers {
    /// Bytes that wait, as far as is known.
    pub(super) fn total(&self) -> u64 {
        self.paths.iter().map(PathBuffer::bytes).sum::<u64>() + self.unassigned.bytes
    }

    /// Bytes that nobody was given.
    pub(super) fn unassigned(&self) -> u64 {
        self.unassigned.bytes
    }

    pub(super) fn of(&self, path: PathId) -> Option<&PathBuffer> {
        self.paths.iter().find(|buffer| buffer.path == path)
    }

    /// What a path had when the queue was last looked through: it is being looked through.
    pub(super) fn held(&self, path: PathId) -> u64 {
        self.of(path).map_or(0, |buffer| buffer.held)
    }

    fn of_mut(&mut self, now: Time, path: PathId) -> &mut PathBuffer {
        let at = self.paths.iter().position(|buffer| buffer.path == path).unwrap_or_else(|| {
            let pieces = Pieces::default();
            self.paths.push(PathBuffer { path, pieces, active_at: now, is_stalled: false, held: 0 });
            self.paths.len() - 1
        });
        &mut self.paths[at]
    }

    /// Only these paths are left. Whether another one had something, which nobody has now: then the queue is to be looked
    /// through.
    pub(super) fn keep(&mut self, is_usable: impl Fn(PathId) -> bool) -> bool {
        let before = self.total();
        self.paths.retain(|buffer| is_usable(buffer.path));
        self.total() != before
    }

    /// A path loses what it has; the queue is to be looked through.
    pub(super) fn reclaim(&mut self, path: PathId) {
        if let Some(buffer) = self.paths.iter_mut().find(|buffer| buffer.path == path) {
            buffer.pieces.clear();
            buffer.is_stalled = true;
        }
    }

    /// A path can send again.
    pub(super) fn revive(&mut self, path: PathId) {
        if let Some(buffer) = self.paths.iter_mut().find(|buffer| buffer.path == path) {
            buffer.is_stalled = false;
        }
    }

    /// All pieces, with their owners.
    #[cfg(test)]
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Option<PathId>, &Piece)> {
        let of_paths = self
            .paths
            .iter()
            .flat_map(|buffer| buffer.pieces.list.iter().map(move |piece| (Some(buffer.path), piece)));
        of_paths.chain(self.unassigned.list.iter().map(|piece| (None, piece)))
    }

    // --- looking through the queue ---

    /// The queue is looked through from its head: what is found there and belonged to a path goes on belonging to it.
    pub(super) fn begin(&mut self) {
        self.owned.clear();
        self.unassigned.clear();
        for (owner, buffer) in self.paths.iter_mut().enumerate() {
            let had = buffer.pieces.list.drain(..);
            self.owned.extend(had.map(|piece| Owned { stream: piece.stream, range: piece.range, owner }));
            buffer.held = buffer.pieces.bytes;
            buffer.pieces.bytes = 0;
        }
        self.owned.sort_unstable_by_key(|owned| (owned.stream, owned.range.start));
    }

    /// The next bytes in the queue.
    pub(super) fn add(&mut self, piece: Piece) {
        let mut start = piece.range.start;
        let key = (piece.stream, start);
        let mut at = self.owned.partition_point(|owned| (owned.stream, owned.range.end) <= key);
        while start < piece.range.end {
            let next = self.owned.get(at).filter(|owned| owned.stream == piece.stream);
            let (end, owner) = match next {
                Some(owned) if owned.range.start <= start => (owned.range.end, Some(owned.owner)),
                Some(owned) => (owned.range.start, None),
                None => (u64::MAX, None),
            };
            let end = end.min(piece.range.end);
            let part = Piece { range: start..end, ..piece.clone() };
            match owner {
                Some(owner) => self.paths[owner].pieces.push(part),
                None => self.unassigned.push(part),
            }
            start = end;
            at += usize::from(owner.is_some());
        }
    }

    // --- assigning and sending ---

    /// Gives a path the first `bytes` that nobody has.
    pub(super) fn assign(&mut self, now: Time, path: PathId, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let Some(piece) = self.unassigned.pop(left, 0) else { return };
            left -= piece.bytes();
            self.give(now, path, piece);
        }
    }

    /// Gives a path the first `bytes` of those of which others get copies.
    pub(super) fn assign_copied(&mut self, now: Time, path: PathId, bytes: u64) {
        let mut left = bytes;
        while left > 0
            && let Some(at) = self.unassigned.list.iter().position(|piece| piece.is_copied)
        {
            let Some(piece) = self.unassigned.pop(left, at) else { return };
            left -= piece.bytes();
            self.give(now, path, piece);
        }
    }

    /// Whether anything waits of which others are to get copies.
    pub(super) fn has_copied(&self) -> bool {
        self.unassigned.list.iter().any(|piece| piece.is_copied)
    }

    fn give(&mut self, now: Time, path: PathId, piece: Piece) {
        let buffer = self.of_mut(now, path);
        if buffer.pieces.bytes == 0 {
            buffer.active_at = now;
        }
        buffer.pieces.insert(piece);
    }

    /// One above the last byte that a packet with the end of `piece` may be filled up with: what follows and nobody has.
    pub(super) fn filled_up(&self, piece: &Piece) -> u64 {
        let follows = |next: &&Piece| piece.joins(next);
        self.unassigned.list.front().filter(follows).map_or(piece.range.end, |next| next.range.end)
    }

    /// A packet with these bytes left on a path, whichever had them.
    pub(super) fn on_sent(&mut self, now: Time, path: PathId, stream: StreamId, range: &Range<u64>) {
        let wanted = range.end.saturating_sub(range.start);
        let mut removed = 0;
        if let Some(buffer) = self.paths.iter_mut().find(|buffer| buffer.path == path) {
            buffer.active_at = now;
            buffer.is_stalled = false;
            removed = buffer.pieces.remove(stream, range);
        }
        if removed < wanted {
            removed += self.unassigned.remove(stream, range);
        }
        if removed < wanted {
            for buffer in self.paths.iter_mut().filter(|buffer| buffer.path != path) {
                buffer.pieces.remove(stream, range);
            }
        }
    }
}

#[cfg(test)]
mod tests;
