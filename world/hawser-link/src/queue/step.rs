//! Marking beyond a threshold: what switches do for DCTCP (RFC 8257 section 3.1) and a shallow step for L4S.

use super::Backlog;
use crate::frame::Frame;
use crate::link_log::LinkLog;
use crate::time::Nanos;
use crate::waiting::Waiting;

/// Every ECN-capable packet beyond the threshold is marked; the others pass, and the limit drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMarking {
    /// From where on.
    pub threshold: StepThreshold,
}

/// When a packet is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepThreshold {
    /// On arrival, when the queue with this packet and the one being sent holds more bytes.
    Bytes(u64),
    /// On arrival, when the queue with this packet and the one being sent holds more packets.
    Packets(u64),
    /// On leaving, when the packet has waited longer, nanoseconds.
    Sojourn(Nanos),
}

impl StepMarking {
    pub(super) fn mark_arriving<P: Frame>(
        &self,
        packet: &mut Waiting<P>,
        held: Backlog,
        log: &mut LinkLog<P>,
    ) {
        let beyond = match self.threshold {
            StepThreshold::Bytes(bytes) => held.bytes > bytes,
            StepThreshold::Packets(packets) => held.packets > packets,
            StepThreshold::Sojourn(_) => false,
        };
        if beyond {
            log.mark(packet);
        }
    }

    pub(super) fn mark_leaving<P: Frame>(&self, packet: &mut Waiting<P>, now: Nanos, log: &mut LinkLog<P>) {
        if let StepThreshold::Sojourn(longest) = self.threshold
            && now - packet.arrived > longest
        {
            log.mark(packet);
        }
    }
}
