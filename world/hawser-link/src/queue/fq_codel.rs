//! FQ-CoDel, a CoDel queue per flow with a deficit round robin that lets sparse flows go first: RFC 8290.

use std::collections::VecDeque;

use super::codel::CoDelState;
use super::{Backlog, CoDel, Fifo};
use crate::frame::{Frame, mix};
use crate::link_log::LinkLog;
use crate::random::derive_seed;
use crate::stats::DropCause;
use crate::time::Nanos;
use crate::waiting::Waiting;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    /// Number of queues to which flows are hashed, above zero.
    pub flows: u32,
    /// Bytes that a queue may send in a turn, above zero.
    pub quantum: u32,
    /// The control of each queue.
    pub codel: CoDel,
}

impl Default for FqCoDel {
    /// 1024 queues, a quantum of 1514 bytes, CoDel with 5 ms and 100 ms (RFC 8290 section 5.2), without ECN.
    fn default() -> Self {
        Self { flows: 1024, quantum: 1514, codel: CoDel::default() }
    }
}

#[derive(Debug)]
pub(super) struct FairQueues<P> {
    parameters: FqCoDel,
    mtu: u32,
    /// Makes collisions of flows differ between links and seeds.
    perturbation: u64,
    queues: Vec<FlowQueue<P>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    total: Backlog,
}

#[derive(Debug)]
struct FlowQueue<P> {
    fifo: Fifo<P>,
    state: CoDelState,
    credits: i64,
    /// In one of the two lists.
    listed: bool,
}

impl<P: Frame> FairQueues<P> {
    pub(super) fn new(parameters: FqCoDel, mtu: u32, seed: u64) -> Self {
        let queue =
            || FlowQueue { fifo: Fifo::new(), state: CoDelState::default(), credits: 0, listed: false };
        Self {
            parameters,
            mtu,
            perturbation: derive_seed(seed, "fq-codel"),
            queues: (0..parameters.flows.max(1)).map(|_| queue()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            total: Backlog::default(),
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.total
    }

    pub(super) fn enqueue(&mut self, packet: Waiting<P>) {
        let hash = mix(packet.payload.flow() ^ self.perturbation);
        let index = (hash % self.queues.len() as u64) as usize;
        self.total.packets += 1;
        self.total.bytes += u64::from(packet.length);
        let queue = &mut self.queues[index];
        queue.fifo.push(packet);
        if !queue.listed {
            // RFC 8290 section 4.1: a queue that was empty is new, with one quantum of credits.
            queue.listed = true;
            queue.credits = i64::from(self.parameters.quantum);
            self.new.push_back(index);
        }
    }

    /// Drops from the head of the queue with most bytes until the limit is kept (RFC 8290 section 4.1).
    pub(super) fn drop_from_fattest(
        &mut self,
        now: Nanos,
        in_service: Backlog,
        exceeded: impl Fn(Backlog) -> bool,
        log: &mut LinkLog<P>,
    ) {
        loop {
            let held = Backlog {
                packets: self.total.packets + in_service.packets,
                bytes: self.total.bytes + in_service.bytes,
            };
            let listed = self.new.iter().chain(&self.old).copied();
            let fattest = listed.max_by_key(|&index| (self.queues[index].fifo.backlog().bytes, index));
            let Some(index) = fattest.filter(|_| exceeded(held)) else { return };
            let Some(packet) = self.queues[index].fifo.pop() else { return };
            self.total.packets -= 1;
            self.total.bytes -= u64::from(packet.length);
            log.drop(now, DropCause::Queue, packet);
        }
    }

    /// RFC 8290 section 4.2.
    pub(super) fn dequeue(&mut self, now: Nanos, log: &mut LinkLog<P>) -> Option<Waiting<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.parameters.quantum);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = queue.fifo.backlog();
            let packet = queue.state.dequeue(&mut queue.fifo, now, &self.parameters.codel, self.mtu, log);
            let after = queue.fifo.backlog();
            self.total.packets -= before.packets - after.packets;
            self.total.bytes -= before.bytes - after.bytes;
            if let Some(packet) = packet {
                queue.credits -= i64::from(packet.length);
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // It must wait for the others once, or a flow could stay new by sending one packet at a time.
                self.old.push_back(index);
            } else {
                queue.listed = false;
            }
        }
    }
}
