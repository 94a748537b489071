//! First in, first out.

use std::collections::VecDeque;

use super::Backlog;
use crate::frame::Frame;
use crate::link_log::LinkLog;
use crate::time::Nanos;

/// A packet in the queue.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) arrived: Nanos,
    pub(crate) length: u32,
    pub(crate) payload: P,
}

impl<P: Frame> Waiting<P> {
    /// Sets the ECN field to CE if the sender understands it; returns whether it does.
    pub(crate) fn mark(&mut self, log: &mut LinkLog<P>) -> bool {
        let capable = self.payload.is_ecn_capable();
        if capable {
            self.payload.mark_congestion_experienced();
            log.stats.marked += 1;
        }
        capable
    }
}

/// Packets in the order of their arrival, with their sum.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P> Fifo<P> {
    pub(crate) fn new() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    pub(crate) fn push(&mut self, packet: Waiting<P>) {
        self.bytes += u64::from(packet.length);
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.length);
        Some(packet)
    }
}
