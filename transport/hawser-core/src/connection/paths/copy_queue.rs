//! Copies that wait for a path.

use std::collections::VecDeque;

use crate::connection::frames::SentStream;

/// Copies that may wait for one path.
const MAX_COPIES: usize = 4096;

/// Ranges to send on a path although another one carries them too, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CopyQueue {
    ranges: VecDeque<SentStream>,
    bytes: u64,
    clearances: u64,
}

impl CopyQueue {
    /// Bytes in the queue. Ranges without bytes, which are the mere end of a stream, count nothing.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many more ranges it takes.
    pub(crate) fn room(&self) -> usize {
        MAX_COPIES.saturating_sub(self.ranges.len())
    }

    /// How often it was cleared.
    pub(crate) fn clearances(&self) -> u64 {
        self.clearances
    }

    /// Adds a range; whether there was room.
    pub(crate) fn push(&mut self, range: SentStream) -> bool {
        let fits = self.room() > 0;
        if fits {
            self.bytes += u64::from(range.length);
            self.ranges.push_back(range);
        }
        fits
    }

    /// Puts what is left of a range back to the front, from where it was taken.
    pub(crate) fn put_back(&mut self, rest: SentStream) {
        self.bytes += u64::from(rest.length);
        self.ranges.push_front(rest);
    }

    /// Takes the oldest range.
    pub(crate) fn pop(&mut self) -> Option<SentStream> {
        let range = self.ranges.pop_front()?;
        self.bytes -= u64::from(range.length);
        Some(range)
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
        self.clearances += 1;
    }

    /// Gives back memory of a burst that is over.
    pub(crate) fn shrink(&mut self) {
        self.ranges.shrink_to_fit();
    }
}
