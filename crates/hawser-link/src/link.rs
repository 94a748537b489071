//! One direction of a link: queue, server, loss, delay line.

use std::collections::VecDeque;

use crate::config::DirectionConfig;
use crate::delay::DelayLine;
use crate::loss::LossProcess;
use crate::outage::{OutagePolicy, Outages};
use crate::rate::RateServer;
use crate::stats::LinkStats;
use crate::time::{NEVER, Nanos};

/// A held packet is cut by at most this many outages in a row. One that fits between none of them passes then:
/// the link is slow, not stuck.
const MOST_ATTEMPTS: usize = 16;

/// One direction of a link, carrying packets with a payload of type `P`.
///
/// Calls must come with times that never go back. Between calls nothing happens: the link catches up with
/// `now` first, so its results do not depend on how often it is called.
#[derive(Debug)]
pub struct Link<P> {
    server: RateServer,
    loss: LossProcess,
    line: DelayLine,
    outages: Outages,
    outage_policy: OutagePolicy,
    queue_bound: u64,
    mtu: u32,
    /// `Some(up)` overrides the schedule of outages.
    forced: Option<bool>,

    queue: VecDeque<Waiting<P>>,
    queued_bytes: u64,
    /// When the head of the queue will have left; `None` until its sending is planned.
    head_finish: Option<Nanos>,
    server_free_at: Nanos,
    flight: VecDeque<Departure<P>>,
    stats: LinkStats,
}

#[derive(Debug)]
struct Waiting<P> {
    arrived: Nanos,
    length: u32,
    payload: P,
}

/// A packet that left the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure<P> {
    /// When it was due at the other end; not after the `now` of the call that returned it.
    pub at: Nanos,
    /// Its length in bytes.
    pub length: u32,
    /// What was handed to [`Link::enqueue`].
    pub payload: P,
}

/// A packet that the link did not take, with its payload for reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected<P> {
    /// Why.
    pub cause: DropCause,
    /// What was handed to [`Link::enqueue`].
    pub payload: P,
}

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// Random loss.
    Loss,
    /// The link was down.
    Down,
    /// Larger than the MTU.
    Mtu,
}

impl<P> Link<P> {
    /// A link at time zero. The same configuration, seed and calls give the same results on any machine.
    pub fn new(config: &DirectionConfig, seed: u64) -> Self {
        Self {
            server: RateServer::new(config.rate.clone()),
            loss: LossProcess::new(config.loss, seed),
            line: DelayLine::new(config.delay.clone(), seed),
            outages: config.outages.clone(),
            outage_policy: config.outage_policy,
            queue_bound: config.queue_bytes,
            mtu: config.mtu,
            forced: None,
            queue: VecDeque::new(),
            queued_bytes: 0,
            head_finish: None,
            server_free_at: 0,
            flight: VecDeque::new(),
            stats: LinkStats::default(),
        }
    }

    /// Takes a packet of `length` bytes.
    ///
    /// # Errors
    /// Gives the payload back when the packet is dropped at the entrance: too large, link down, queue full.
    /// (Packets can also be lost later; only [`Link::stats`] tells.)
    pub fn enqueue(&mut self, now: Nanos, length: u32, payload: P) -> Result<(), Rejected<P>> {
        self.advance(now);
        self.stats.offered_packets += 1;
        self.stats.offered_bytes += u64::from(length);
        if let Some(cause) = self.refusal(now, length) {
            self.stats.dropped(cause);
            return Err(Rejected { cause, payload });
        }
        self.queued_bytes += u64::from(length);
        self.stats.queue_peak_bytes = self.stats.queue_peak_bytes.max(self.queued_bytes);
        self.queue.push_back(Waiting { arrived: now, length, payload });
        // An idle link plans at once, and an unlimited one sends at once.
        self.advance(now);
        Ok(())
    }

    /// When [`Link::dequeue`] should be called next: nothing departs earlier. `None` when the link is empty or
    /// stuck for ever.
    ///
    /// Exact for packets on the way; for a packet that is still being sent it leaves out jitter and loss, so
    /// that the call may come back empty-handed.
    pub fn next_departure(&self) -> Option<Nanos> {
        match (self.flight.front(), self.head_finish) {
            (Some(packet), _) => Some(packet.at),
            (None, Some(finish)) if finish < NEVER => Some(self.line.earliest_arrival(finish)),
            _ => None,
        }
    }

    /// The next packet that has arrived by `now`, in order; call until `None`.
    pub fn dequeue(&mut self, now: Nanos) -> Option<Departure<P>> {
        self.advance(now);
        let packet = self.flight.pop_front_if(|packet| packet.at <= now)?;
        self.stats.delivered_packets += 1;
        self.stats.delivered_bytes += u64::from(packet.length);
        Some(packet)
    }

    /// Takes the link down (`Some(false)`) or up (`Some(true)`) from `now` on, whatever its schedule says, or
    /// gives it back to the schedule (`None`).
    pub fn force(&mut self, now: Nanos, state: Option<bool>) {
        self.advance(now);
        self.forced = state;
        // A packet that waited out an outage that just changed is planned anew.
        if self.outage_policy == OutagePolicy::Hold && self.head_finish.is_some() {
            self.head_finish = None;
            self.server_free_at = self.server_free_at.max(now);
            self.advance(now);
        }
    }

    /// Whether the link is up at `now`.
    pub fn is_up(&self, now: Nanos) -> bool {
        self.forced.unwrap_or_else(|| !self.outages.is_down(now))
    }

    /// Counters since the start.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Bytes waiting to be sent, including the packet being sent, as of the last call.
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Why a packet cannot enter, if so.
    fn refusal(&self, now: Nanos, length: u32) -> Option<DropCause> {
        if length > self.mtu {
            Some(DropCause::Mtu)
        } else if self.outage_policy == OutagePolicy::Drop && !self.is_up(now) {
            Some(DropCause::Down)
        } else if self.queued_bytes + u64::from(length) > self.queue_bound {
            Some(DropCause::Queue)
        } else {
            None
        }
    }

    /// Moves every packet whose last bit has left by `now` from the queue to the delay line.
    fn advance(&mut self, now: Nanos) {
        loop {
            if self.head_finish.is_none() {
                self.head_finish = self.plan_head();
            }
            let Some(finish) = self.head_finish.filter(|&finish| finish <= now && finish < NEVER) else {
                return;
            };
            self.head_finish = None;
            self.server_free_at = finish;
            if let Some(packet) = self.queue.pop_front() {
                self.queued_bytes -= u64::from(packet.length);
                self.send(packet, finish);
            }
        }
    }

    /// When the head of the queue will have left.
    fn plan_head(&mut self) -> Option<Nanos> {
        let head = self.queue.front()?;
        let length = head.length;
        let start = head.arrived.max(self.server_free_at);
        if self.outage_policy == OutagePolicy::Drop || self.forced == Some(true) {
            return Some(self.server.finish(start, length));
        }
        if self.forced == Some(false) {
            return Some(NEVER);
        }
        let mut start = self.outages.next_up(start);
        let mut finish = NEVER;
        for _ in 0..MOST_ATTEMPTS {
            if start == NEVER {
                return Some(NEVER);
            }
            finish = self.server.finish(start, length);
            match self.outages.next_down(start).filter(|&down| down < finish) {
                Some(down) => start = self.outages.next_up(down),
                None => break,
            }
        }
        Some(finish)
    }

    /// Decides what becomes of a packet whose last bit left at `finish`.
    fn send(&mut self, packet: Waiting<P>, finish: Nanos) {
        self.stats.queue_time_total += finish - packet.arrived;
        if self.outage_policy == OutagePolicy::Drop && !self.is_up(finish) {
            self.stats.dropped(DropCause::Down);
        } else if self.loss.loses() {
            self.stats.dropped(DropCause::Loss);
        } else {
            let at = self.line.arrival(finish);
            self.flight.push_back(Departure { at, length: packet.length, payload: packet.payload });
        }
    }
}

#[cfg(test)]
mod tests;
