//! Packets on their way to the other end.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::frame::Frame;
use crate::time::Nanos;

/// A packet that left the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure<P> {
    /// When it was due at the other end; not after the `now` of the call that returned it.
    pub at: Nanos,
    /// When it entered the link.
    pub entered: Nanos,
    /// When its last bit had left the queue and the server: `sent - entered` is the time in the queue and on the
    /// wire, `at - sent` the propagation with its jitter.
    pub sent: Nanos,
    /// Its length in bytes.
    pub length: u32,
    /// What was handed to [`Link::enqueue`](crate::Link::enqueue).
    pub payload: P,
}

/// Packets by the time of their arrival; of equal times the one sent first is first.
///
/// Almost always packets arrive in the order of sending: those are a plain queue. The others are a heap.
#[derive(Debug)]
pub(crate) struct Flight<P> {
    in_order: VecDeque<(u64, Departure<P>)>,
    overtaking: BinaryHeap<Reverse<Entry<P>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<P> {
    sequence: u64,
    departure: Departure<P>,
}

/// So many of the next packets are asked for when one arrives: one needs two steps, first its box and then its content.
const PREFETCHED: usize = 2;

impl<P: Frame> Flight<P> {
    pub(crate) fn new() -> Self {
        Self { in_order: VecDeque::new(), overtaking: BinaryHeap::new(), sequence: 0 }
    }

    /// Adds a packet. One that is `apart` will be overtaken, so that it does not belong into the queue.
    pub(crate) fn push(&mut self, departure: Departure<P>, apart: bool) {
        let sequence = self.sequence;
        self.sequence += 1;
        if !apart && self.in_order.back().is_none_or(|(_, last)| last.at <= departure.at) {
            self.in_order.push_back((sequence, departure));
        } else {
            self.push_overtaking(Entry { sequence, departure });
        }
    }

    /// Rare, and apart so that the other case is short.
    #[inline(never)]
    fn push_overtaking(&mut self, entry: Entry<P>) {
        self.overtaking.push(Reverse(entry));
    }

    /// When the next packet arrives.
    pub(crate) fn next(&self) -> Option<Nanos> {
        let first = self.in_order.front().map(|(_, departure)| departure.at);
        match self.overtaking.peek() {
            None => first,
            Some(Reverse(entry)) => Some(first.map_or(entry.departure.at, |at| at.min(entry.departure.at))),
        }
    }

    /// The next packet if it has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Departure<P>> {
        if !self.overtaking.is_empty() && self.heap_is_first() {
            let due = self.overtaking.peek().is_some_and(|Reverse(entry)| entry.departure.at <= now);
            return if due { self.overtaking.pop().map(|Reverse(entry)| entry.departure) } else { None };
        }
        let (_, departure) = self.in_order.pop_front_if(|(_, departure)| departure.at <= now)?;
        for others in 0..PREFETCHED {
            if let Some((_, next)) = self.in_order.get(others) {
                next.payload.prefetch(others);
            }
        }
        Some(departure)
    }

    fn heap_is_first(&self) -> bool {
        match (self.overtaking.peek(), self.in_order.front()) {
            (Some(Reverse(entry)), Some((sequence, departure))) => entry.key() < (departure.at, *sequence),
            (entry, _) => entry.is_some(),
        }
    }
}

impl<P> Entry<P> {
    fn key(&self) -> (Nanos, u64) {
        (self.departure.at, self.sequence)
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Entry<P> {}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
