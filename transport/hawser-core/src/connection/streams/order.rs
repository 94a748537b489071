//! In which order streams send.

use std::collections::VecDeque;

use super::key::Key;

/// Streams with something to send: by priority, and in turn among those of equal priority.
///
/// An entry whose stream has nothing left stays until a walk meets it and removes it, or the stream is over.
#[derive(Debug, Default)]
pub(super) struct SendOrder {
    /// Highest priority first.
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    priority: i32,
    queue: VecDeque<Key>,
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
        match self.find_level(priority) {
            Ok(index) => self.levels[index].queue.push_back(key),
            Err(_) => {
                self.levels.retain(|level| !level.queue.is_empty());
                let index = self.find_level(priority).unwrap_or_else(|place| place);
                self.levels.insert(index, Level { priority, queue: VecDeque::from([key]) });
            }
        }
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
            level.queue.remove(cursor.position);
        }
    }

    /// Puts the entry at the cursor behind the others of its priority.
    #[inline]
    pub(super) fn rotate(&mut self, cursor: Cursor) {
        if let Some(level) = self.levels.get_mut(cursor.level)
            && level.queue.len() > 1
            && let Some(key) = level.queue.remove(cursor.position)
        {
            level.queue.push_back(key);
        }
    }

    /// Removes a stream that has this priority. Looks through the whole level.
    pub(super) fn remove_key(&mut self, priority: i32, key: Key) {
        if let Ok(index) = self.find_level(priority) {
            self.levels[index].queue.retain(|&entry| entry != key);
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

#[cfg(test)]
mod tests;
