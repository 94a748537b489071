//! What waits to be sent, piece by piece, as schedulers see it.

use std::ops::ControlFlow;

use hawser_policy::{QueuedDatagram, Segment, SendQueue};

use super::Targets;
use crate::connection::datagrams::DatagramQueue;
use crate::connection::streams::{Segments, Streams};

/// Shows ranges of streams, and datagrams that any path may carry.
pub(super) struct Waiting<'a> {
    streams: &'a Streams,
    datagrams: &'a DatagramQueue,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(targets: &'a Targets<'_>) -> Self {
        Waiting { streams: targets.streams, datagrams: targets.datagrams }
    }
}

impl SendQueue for Waiting<'_> {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        Segments(self.streams).segments(visit);
    }

    fn datagrams(&self, visit: &mut dyn FnMut(&QueuedDatagram) -> ControlFlow<()>) {
        self.datagrams.visit(visit);
    }

    fn copied_bytes(&self) -> u64 {
        self.streams.copied_bytes()
    }

    fn needless_copies(&self) -> u64 {
        self.streams.needless_copies()
    }
}
