//! First in, first out.

use std::collections::VecDeque;

use super::Backlog;
use crate::waiting::Waiting;

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
