//! Where a link writes down what it did, and keeps what it dropped for those who ask.

use std::collections::VecDeque;

use crate::queue::Waiting;
use crate::stats::LinkStats;
use crate::time::Nanos;

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// The queue discipline dropped it before the queue was full.
    Aqm,
    /// Random loss.
    Loss,
    /// The link was down.
    Down,
    /// Larger than the MTU.
    Mtu,
}

/// A packet that was lost inside the link, after [`Link::enqueue`](crate::Link::enqueue) had taken it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<P> {
    /// When it was lost.
    pub at: Nanos,
    /// When it had entered the link.
    pub entered: Nanos,
    /// Why.
    pub cause: DropCause,
    /// Its length in bytes.
    pub length: u32,
    /// What was handed to the link.
    pub payload: P,
}

/// Counters, and the dropped packets if they are wanted.
#[derive(Debug)]
pub(crate) struct LinkLog<P> {
    pub(crate) stats: LinkStats,
    pub(crate) keep_dropped: bool,
    pub(crate) dropped: VecDeque<Dropped<P>>,
}

impl<P> LinkLog<P> {
    pub(crate) fn new() -> Self {
        Self { stats: LinkStats::default(), keep_dropped: false, dropped: VecDeque::new() }
    }

    /// A packet is lost inside the link.
    pub(crate) fn drop(&mut self, at: Nanos, cause: DropCause, packet: Waiting<P>) {
        self.stats.dropped(cause);
        if self.keep_dropped {
            let Waiting { arrived, length, payload } = packet;
            self.dropped.push_back(Dropped { at, entered: arrived, cause, length, payload });
        }
    }
}
