//! In which order streams send.

use std::collections::VecDeque;

use super::key::Key;

/// Bytes that a stream sends in its turn: most objects of a page fit. Where a packet of each goes in turn, all are as late as the last of
/// them; one after the other they are earlier by half on average, and the reader asks for the next ones sooner.
const TURN: u64 = 64 << 10;

/// Streams with something to send: by priority, and in turn among those of equal priority. Before the others go those that had nothing
/// to send for so long that each of the others sent as much: a keystroke does not wait for downloads. After as many turns of these as
/// there are of them for each of the others, one of the others has its turn.
///
/// An entry whose stream has nothing left stays until a walk meets it and removes it, or the stream is over.
//= rfc9000-2.3-1: the application can give streams priorities
#[derive(Debug, Default)]
pub(super) struct SendOrder {
    /// Highest priority first.
    levels: Vec<Level>,
    /// Bytes sent of all streams.
    served: u64,
}

#[derive(Debug)]
struct Level {
    priority: i32,
    /// Those that come first, and then those that had a turn.
    queue: VecDeque<Key>,
    /// How many come first.
    first: usize,
    /// Bytes sent of those that come first since one of the others had its turn.
    ahead: u64,
    /// Whether the very first is one of the others, whose turn it is.
    is_turn: bool,
}

/// What a stream sent in its turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    sent: u64,
    /// Bytes sent of all streams when it sent last.
    served: u64,
}

/// A place in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    level: usize,
    position: usize,
}

impl Cursor {
    /// The place behind.
    pub(super) fn next(self) -> Cursor {
        Cursor { position: self.position + 1, ..self }
    }
}

impl SendOrder {
    /// Puts a stream behind those of its priority.
    pub(super) fn push(&mut self, priority: i32, key: Key) {
        self.level(priority).queue.push_back(key);
    }

    /// Puts a stream that has something to send again before those that had a turn, if each of them sent as much as it since.
    pub(super) fn begin(&mut self, priority: i32, key: Key, turn: &mut Turn) {
        let since = self.served.saturating_sub(turn.served);
        let level = self.level(priority);
        let others = (level.queue.len() as u64).max(1);
        if turn.sent.saturating_mul(others) <= since {
            level.queue.insert(level.first, key);
            level.first += 1;
        } else {
            level.queue.push_back(key);
        }
        turn.sent = 0;
    }

    /// The stream at the cursor sent so many bytes.
    #[inline]
    pub(super) fn count(&mut self, cursor: Cursor, turn: &mut Turn, bytes: u64) {
        self.served = self.served.saturating_add(bytes);
        turn.sent = turn.sent.saturating_add(bytes);
        turn.served = self.served;
        if let Some(level) = self.levels.get_mut(cursor.level)
            && cursor.position >= usize::from(level.is_turn)
            && cursor.position < level.first
        {
            level.ahead = level.ahead.saturating_add(bytes);
        }
    }

    fn level(&mut self, priority: i32) -> &mut Level {
        let index = self.find_level(priority).unwrap_or_else(|_| {
            self.levels.retain(|level| !level.queue.is_empty());
            let index = self.find_level(priority).unwrap_or_else(|place| place);
            self.levels.insert(index, Level::new(priority));
            index
        });
        &mut self.levels[index]
    }

    fn find_level(&self, priority: i32) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| priority.cmp(&level.priority))
    }

    /// The entry at the cursor, which moves on to the next level where one ends.
    #[inline]
    pub(super) fn at(&self, cursor: &mut Cursor) -> Option<Key> {
        while let Some(level) = self.levels.get(cursor.level) {
            if let Some(&key) = level.queue.get(cursor.position) {
                return Some(key);
            }
            *cursor = Cursor { level: cursor.level + 1, position: 0 };
        }
        None
    }

    /// The priority of the entry at the cursor, which moves on to the next level where one ends.
    #[inline]
    pub(super) fn priority_at(&self, cursor: &mut Cursor) -> Option<i32> {
        self.at(cursor)?;
        self.levels.get(cursor.level).map(|level| level.priority)
    }

    /// Removes the entry at the cursor; the next one takes its place.
    pub(super) fn remove(&mut self, cursor: Cursor) {
        if let Some(level) = self.levels.get_mut(cursor.level) {
            level.remove(cursor.position);
        }
    }

    /// Puts the entry at the cursor behind the others of its priority if its turn is over.
    #[inline]
    pub(super) fn rotate(&mut self, cursor: Cursor, turn: &mut Turn) {
        if turn.sent < TURN {
            return;
        }
        turn.sent = 0;
        if let Some(level) = self.levels.get_mut(cursor.level)
            && let Some(key) = level.remove(cursor.position)
        {
            level.queue.push_back(key);
        }
    }

    /// Removes a stream that has this priority. Looks through the whole level.
    pub(super) fn remove_key(&mut self, priority: i32, key: Key) {
        if let Ok(index) = self.find_level(priority) {
            let level = &mut self.levels[index];
            if let Some(position) = level.queue.iter().position(|&entry| entry == key) {
                level.remove(position);
            }
        }
    }

    pub(super) fn shrink(&mut self) {
        self.levels.retain(|level| !level.queue.is_empty());
        self.levels.shrink_to_fit();
        self.levels.iter_mut().for_each(|level| level.queue.shrink_to_fit());
    }

    /// Each priority with its entries, highest first.
    pub(super) fn levels(&self) -> impl Iterator<Item = (i32, impl Iterator<Item = Key> + '_)> {
        self.levels.iter().map(|level| (level.priority, level.queue.iter().copied()))
    }

    /// All entries in order.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = Key> + '_ {
        self.levels.iter().flat_map(|level| level.queue.iter().copied())
    }
}

impl Level {
    fn new(priority: i32) -> Self {
        Level { priority, queue: VecDeque::new(), first: 0, ahead: 0, is_turn: false }
    }

    #[inline]
    fn remove(&mut self, position: usize) -> Option<Key> {
        let key = self.queue.remove(position)?;
        if position < self.first {
            self.first -= 1;
            self.is_turn &= position > 0;
        }
        if self.first == 0 {
            self.ahead = 0;
        } else if self.ahead >= TURN && !self.is_turn && self.ahead >= self.share() {
            self.let_another_in();
        }
        Some(key)
    }

    /// Bytes of those that come first for a turn of one of the others.
    fn share(&self) -> u64 {
        let others = (self.queue.len() - self.first).max(1) as u64;
        TURN * (self.first as u64 + 1) / others
    }

    /// One of those that had a turn has the next one before those that come first.
    fn let_another_in(&mut self) {
        self.ahead = 0;
        if let Some(key) = self.queue.remove(self.first) {
            self.queue.push_front(key);
            self.first += 1;
            self.is_turn = true;
        }
    }
}

#[cfg(test)]
mod tests;
