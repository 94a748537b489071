//! The next time of each of many things, by number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::{NEVER, Nanos};

/// Up to so many things are looked through; a heap is only quicker for more.
const FEW: usize = 16;

/// [`TimerQueue::first`] of an empty queue.
const NOTHING: (Nanos, usize) = (NEVER, 0);

/// When each of many things, numbered from zero, wants attention next.
#[derive(Debug)]
pub struct TimerQueue {
    /// By number; [`NEVER`] for what wants none.
    times: Vec<Nanos>,
    /// What comes first: asked for several times for each change of it. [`NEVER`] when nothing wants attention.
    first: (Nanos, usize),
    /// Used once there are many. Entries that are not in `times` are out of date, except the first, which is dropped
    /// when it is.
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
}

impl Default for TimerQueue {
    fn default() -> Self {
        TimerQueue { times: Vec::new(), first: NOTHING, heap: BinaryHeap::new() }
    }
}

impl TimerQueue {
    /// When thing `index` wants attention, or [`NEVER`].
    pub fn get(&self, index: usize) -> Nanos {
        self.times.get(index).copied().unwrap_or(NEVER)
    }

    /// Sets when thing `index` wants attention; [`NEVER`]: it does not.
    #[inline]
    pub fn set(&mut self, index: usize, time: Nanos) {
        if self.get(index) != time {
            self.change(index, time);
        }
    }

    /// What comes first, and when; of several at the same time the lowest number.
    #[inline]
    pub fn first(&self) -> Option<(Nanos, usize)> {
        (self.first.0 != NEVER).then_some(self.first)
    }

    fn change(&mut self, index: usize, time: Nanos) {
        if self.times.len() <= index {
            self.grow_to(index + 1);
        }
        self.times[index] = time;
        if self.is_large() {
            self.change_of_many(index, time);
        } else if (time, index) < self.first {
            self.first = (time, index);
        } else if index == self.first.1 {
            self.first = self.search();
        }
    }

    /// The rest of [`Self::change`] once there is a heap.
    #[inline(never)]
    fn change_of_many(&mut self, index: usize, time: Nanos) {
        self.heap.extend((time != NEVER).then_some(Reverse((time, index as u32))));
        self.drop_outdated();
        self.first = self.heap.peek().map_or(NOTHING, |Reverse((time, index))| (*time, *index as usize));
    }

    fn search(&self) -> (Nanos, usize) {
        let mut first = NOTHING;
        for (index, &time) in self.times.iter().enumerate() {
            if time < first.0 {
                first = (time, index);
            }
        }
        first
    }

    fn is_large(&self) -> bool {
        self.times.len() > FEW
    }

    #[cold]
    fn grow_to(&mut self, length: usize) {
        let was_large = self.is_large();
        self.times.resize(length, NEVER);
        if self.is_large() && !was_large {
            let entries = self.times.iter().zip(0..).filter(|(time, _)| **time != NEVER);
            self.heap = entries.map(|(time, index)| Reverse((*time, index))).collect();
        }
    }

    /// Keeps a valid entry on top.
    fn drop_outdated(&mut self) {
        while let Some(Reverse((time, index))) = self.heap.peek() {
            if self.times[*index as usize] == *time {
                return;
            }
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_and_many_agree_with_a_search(
            sets in proptest::collection::vec((0..40_usize, prop_oneof![0..50_u64, Just(NEVER)]), 1..200),
            few in any::<bool>(),
        ) {
            let mut timers = TimerQueue::default();
            let mut times = [NEVER; 40];
            for (index, time) in sets {
                let index = if few { index % FEW } else { index };
                timers.set(index, time);
                times[index] = time;
                let first = times.iter().zip(0..).map(|(time, index)| (*time, index)).min().unwrap();
                prop_assert_eq!(timers.first(), (first.0 != NEVER).then_some(first));
                prop_assert_eq!(timers.get(index), time);
            }
        }
    }
}
