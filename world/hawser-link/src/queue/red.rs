//! Random early detection: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance",
//! IEEE/ACM ToN 1(4), 1993; with the "gentle" slope of S. Floyd, 2000.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{Backlog, Fifo};
use crate::frame::Frame;
use crate::link_log::LinkLog;
use crate::random::generator;
use crate::stats::DropCause;
use crate::time::{Nanos, SECOND};
use crate::waiting::Waiting;

/// Parameters of RED. Lengths of the queue are bytes, without the packet being sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Below this mean length nothing is dropped.
    pub minimum: u64,
    /// At this mean length the probability is [`probability`](Self::probability); above `minimum`.
    pub maximum: u64,
    /// Probability at `maximum`, in `0.0..=1.0`.
    pub probability: f64,
    /// Weight of a new sample in the mean, in `0.0..=1.0`.
    pub weight: f64,
    /// Above `maximum` the probability rises to 1 at twice `maximum` instead of jumping there.
    pub gentle: bool,
    /// Mark packets that understand ECN instead of dropping them. Where the probability is 1 all are dropped
    /// (RFC 3168 section 7).
    pub ecn: bool,
}

impl Red {
    /// The usual choice for given thresholds: probability 0.1, weight 0.002, gentle, without ECN.
    pub fn new(minimum: u64, maximum: u64) -> Self {
        Self { minimum, maximum, probability: 0.1, weight: 0.002, gentle: true, ecn: false }
    }

    /// Probability by the mean length of the queue, before the spacing of drops.
    pub fn curve(&self, mean: f64) -> f64 {
        let (minimum, maximum) = (self.minimum as f64, self.maximum as f64);
        if mean < minimum {
            0.0
        } else if mean < maximum {
            self.probability * (mean - minimum) / (maximum - minimum)
        } else if self.gentle && mean < 2.0 * maximum {
            self.probability + (1.0 - self.probability) * (mean - maximum) / maximum
        } else {
            1.0
        }
    }
}

/// Length of a packet for the number of packets that an idle link could have sent.
const TYPICAL_PACKET_BITS: f64 = 8.0 * 1000.0;

#[derive(Debug)]
pub(super) struct RedQueue<P> {
    parameters: Red,
    random: ChaCha8Rng,
    fifo: Fifo<P>,
    mean: f64,
    /// Packets that passed since the last drop or mark, or since the mean rose above the minimum.
    passed: u64,
    /// Since when the queue is empty.
    idle_since: Option<Nanos>,
    /// Nanoseconds that the link takes for a typical packet.
    packet_time: f64,
}

impl<P: Frame> RedQueue<P> {
    pub(super) fn new(parameters: Red, rate: Option<u64>, seed: u64) -> Self {
        let packet_time = rate.map_or(1.0, |rate| TYPICAL_PACKET_BITS * SECOND as f64 / rate.max(1) as f64);
        Self {
            parameters,
            random: generator(seed, "red"),
            fifo: Fifo::new(),
            mean: 0.0,
            passed: 0,
            idle_since: Some(0),
            packet_time,
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    /// Decides about an arriving packet: passes, is marked, or is dropped for the cause returned.
    pub(super) fn admit(&mut self, packet: &mut Waiting<P>, log: &mut LinkLog<P>) -> Result<(), DropCause> {
        self.update_mean(packet.arrived);
        let probability = self.parameters.curve(self.mean);
        if probability <= 0.0 {
            self.passed = 0;
            return Ok(());
        }
        if probability >= 1.0 {
            self.passed = 0;
            return Err(DropCause::Aqm);
        }
        // Section 7 of the paper, method 2: the distance between drops is uniform in 1..=1/p, not geometric.
        let spaced = probability / (1.0 - self.passed as f64 * probability).max(f64::MIN_POSITIVE);
        if self.random.random::<f64>() >= spaced {
            self.passed += 1;
            return Ok(());
        }
        self.passed = 0;
        if self.parameters.ecn && log.mark(packet) { Ok(()) } else { Err(DropCause::Aqm) }
    }

    pub(super) fn push(&mut self, packet: Waiting<P>) {
        self.idle_since = None;
        self.fifo.push(packet);
    }

    pub(super) fn pop(&mut self, now: Nanos) -> Option<Waiting<P>> {
        let packet = self.fifo.pop();
        if self.fifo.backlog().packets == 0 && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    fn update_mean(&mut self, now: Nanos) {
        let weight = self.parameters.weight;
        if let Some(since) = self.idle_since {
            // As if that many small packets had found the queue empty.
            let packets = (now - since) as f64 / self.packet_time;
            self.mean *= libm::pow(1.0 - weight, packets);
            self.idle_since = Some(now);
        }
        self.mean += weight * (self.fifo.backlog().bytes as f64 - self.mean);
    }
}
