//! What waits for the link, and who goes first or is dropped: queue disciplines.

mod codel;
mod fifo;
mod fq_codel;
mod red;
mod step;

pub use codel::CoDel;
pub use fq_codel::FqCoDel;
pub use red::Red;
pub use step::{StepMarking, StepThreshold};

pub(crate) use fifo::Fifo;

use crate::frame::Frame;
use crate::link_log::LinkLog;
use crate::stats::DropCause;
use crate::time::{Nanos, SECOND};
use crate::waiting::Waiting;
use codel::CoDelQueue;
use fq_codel::FairQueues;
use red::RedQueue;

/// The queue in front of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    /// How much may wait.
    pub limit: QueueLimit,
    /// What is done before that, and in which order packets leave.
    pub discipline: Discipline,
}

/// How much may wait, including the packet being sent; a packet that finds no room is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Bytes of IP packets.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
    /// Bytes that the link sends in this time, nanoseconds, at the rate of the moment: a buffer that is set again
    /// with the rate. At least two of the largest packets; no limit in front of an unlimited link. Counts the mean
    /// rate of a trace and of a token bucket.
    Time(Nanos),
}

/// A queue discipline.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Discipline {
    /// First in, first out; only the limit drops.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289): drops at the head when packets have waited too long for too long.
    CoDel(CoDel),
    /// A CoDel queue per flow, served in turn (RFC 8290).
    FqCoDel(FqCoDel),
    /// Random early detection (Floyd and Jacobson 1993): drops or marks by the mean length of the queue.
    Red(Red),
    /// Marks every packet beyond a threshold (RFC 8257 section 3.1).
    StepMarking(StepMarking),
}

impl QueueConfig {
    /// Bytes of the default queue.
    pub const DEFAULT_BYTES: u64 = 250_000;

    /// A drop-tail queue of so many bytes.
    pub fn bytes(bytes: u64) -> Self {
        Self { limit: QueueLimit::Bytes(bytes), discipline: Discipline::DropTail }
    }

    /// A drop-tail queue of so many packets.
    pub fn packets(packets: u64) -> Self {
        Self { limit: QueueLimit::Packets(packets), discipline: Discipline::DropTail }
    }

    /// The same limit with another discipline.
    #[must_use]
    pub fn with(self, discipline: Discipline) -> Self {
        Self { discipline, ..self }
    }

    /// Most bytes that can wait when packets have at most `mtu` bytes and the link sends at `rate` bit/s.
    pub fn most_bytes(&self, mtu: u32, rate: Option<u64>) -> u64 {
        match self.limit.at_rate(mtu, || rate) {
            QueueLimit::Time(_) => u64::MAX,
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Packets(packets) => packets.saturating_mul(u64::from(mtu)),
        }
    }
}

impl Default for QueueConfig {
    /// A drop-tail queue of 250,000 bytes.
    fn default() -> Self {
        Self::bytes(Self::DEFAULT_BYTES)
    }
}

/// Packets and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Backlog {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl QueueLimit {
    /// The limit in bytes or packets while the link has this rate.
    fn at_rate(self, mtu: u32, rate: impl FnOnce() -> Option<u64>) -> Self {
        let Self::Time(time) = self else { return self };
        let bytes = rate().map_or(u64::MAX, |rate| {
            let bytes = u128::from(rate) * u128::from(time) / u128::from(8 * SECOND);
            u64::try_from(bytes).unwrap_or(u64::MAX).max(2 * u64::from(mtu))
        });
        Self::Bytes(bytes)
    }

    /// Whether `held` is more than may wait.
    fn exceeded_by(self, held: Backlog) -> bool {
        match self {
            Self::Bytes(bytes) => held.bytes > bytes,
            Self::Packets(packets) => held.packets > packets,
            Self::Time(_) => false,
        }
    }
}

/// The waiting packets of a link, without the one being sent.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    limit: QueueLimit,
    mtu: u32,
    kind: Kind<P>,
}

#[derive(Debug)]
enum Kind<P> {
    DropTail(Fifo<P>),
    CoDel(CoDelQueue<P>),
    FqCoDel(Box<FairQueues<P>>),
    Red(Box<RedQueue<P>>),
    StepMarking(StepMarking, Fifo<P>),
}

impl<P: Frame> Queue<P> {
    /// An empty queue in front of a link with this highest rate in bit/s, if it has one.
    pub(crate) fn new(config: &QueueConfig, mtu: u32, rate: Option<u64>, seed: u64) -> Self {
        let kind = match &config.discipline {
            Discipline::DropTail => Kind::DropTail(Fifo::new()),
            Discipline::CoDel(parameters) => Kind::CoDel(CoDelQueue::new(*parameters, mtu)),
            Discipline::FqCoDel(parameters) => {
                Kind::FqCoDel(Box::new(FairQueues::new(*parameters, mtu, seed)))
            }
            Discipline::Red(parameters) => Kind::Red(Box::new(RedQueue::new(*parameters, rate, seed))),
            Discipline::StepMarking(parameters) => Kind::StepMarking(*parameters, Fifo::new()),
        };
        Self { limit: config.limit, mtu, kind }
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        match &self.kind {
            Kind::DropTail(fifo) | Kind::StepMarking(_, fifo) => fifo.backlog(),
            Kind::CoDel(queue) => queue.backlog(),
            Kind::FqCoDel(queues) => queues.backlog(),
            Kind::Red(queue) => queue.backlog(),
        }
    }

    /// Whether a packet that finds the server idle could as well go past the queue: it does so in the most
    /// frequent case, because it costs time to move packets about.
    pub(crate) fn lets_pass(&self, length: u32) -> bool {
        let alone = Backlog { packets: 1, bytes: u64::from(length) };
        matches!(&self.kind, Kind::DropTail(fifo) if fifo.backlog().packets == 0)
            && !self.limit.exceeded_by(alone)
    }

    /// Takes a packet while `in_service` is being sent, or gives it back with the cause of its drop. The rate of the
    /// link is asked for only if the limit depends on it.
    pub(crate) fn enqueue(
        &mut self,
        mut packet: Waiting<P>,
        in_service: Backlog,
        rate: impl FnOnce() -> Option<u64>,
        log: &mut LinkLog<P>,
    ) -> Result<(), (DropCause, P)> {
        let limit = self.limit.at_rate(self.mtu, rate);
        let waiting = self.backlog();
        let held = Backlog {
            packets: waiting.packets + in_service.packets + 1,
            bytes: waiting.bytes + in_service.bytes + u64::from(packet.length),
        };
        let full = limit.exceeded_by(held);
        if let Kind::FqCoDel(queues) = &mut self.kind {
            // The queue that takes most of the room pays, and not necessarily the newcomer.
            let now = packet.arrived;
            queues.enqueue(packet);
            if full {
                queues.drop_from_fattest(now, in_service, |held| limit.exceeded_by(held), log);
            }
            return Ok(());
        }
        if let Kind::Red(queue) = &mut self.kind
            && let Err(cause) = queue.admit(&mut packet, log)
        {
            return Err((cause, packet.payload));
        }
        if full {
            return Err((DropCause::Queue, packet.payload));
        }
        match &mut self.kind {
            Kind::DropTail(fifo) => fifo.push(packet),
            Kind::StepMarking(parameters, fifo) => {
                parameters.mark_arriving(&mut packet, held, log);
                fifo.push(packet);
            }
            Kind::CoDel(queue) => queue.push(packet),
            Kind::Red(queue) => queue.push(packet),
            Kind::FqCoDel(queues) => queues.enqueue(packet),
        }
        Ok(())
    }

    /// The next packet to send at `now`, which is when the server takes it.
    pub(crate) fn dequeue(&mut self, now: Nanos, log: &mut LinkLog<P>) -> Option<Waiting<P>> {
        match &mut self.kind {
            Kind::DropTail(fifo) => fifo.pop(),
            Kind::StepMarking(parameters, fifo) => {
                let mut packet = fifo.pop()?;
                parameters.mark_leaving(&mut packet, now, log);
                Some(packet)
            }
            Kind::CoDel(queue) => queue.pop(now, log),
            Kind::FqCoDel(queues) => queues.dequeue(now, log),
            Kind::Red(queue) => queue.pop(now),
        }
    }
}

#[cfg(test)]
mod tests;
