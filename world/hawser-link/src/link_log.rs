//! Where a link writes down what it did, and keeps what it dropped for those who ask.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::stats::{DropCause, LinkStats};
use crate::time::Nanos;
use crate::waiting::Waiting;

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

impl<P: Frame> LinkLog<P> {
    /// Sets the ECN field of a packet to CE if its sender understands it; returns whether it does.
    pub(crate) fn mark(&mut self, packet: &mut Waiting<P>) -> bool {
        let capable = packet.payload.is_ecn_capable();
        if capable {
            packet.payload.mark_congestion_experienced();
            self.stats.marked += 1;
        }
        capable
    }
}
