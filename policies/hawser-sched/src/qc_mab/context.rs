//! What the receiver measures on a path, slot by slot, and the context that it makes of it.

use std::time::Duration;

use hawser_learn::{DifferenceKalman, Ewma};
use hawser_policy::{PacketReceived, Time};

use super::formulas::interval;
use super::parameters::QcMabParameters;

/// A silence of this length ends a burst.
const BURST_GAP: Duration = Duration::from_millis(25);
/// Packets of a burst whose dispersion is believed.
const BURST_PACKETS: u64 = 8;
/// Differences from which the noise of the rate is learned. With 60 the filter misses its own bound where the capacity moves as
/// much as samples are off (an error of 0.90 of the samples' instead of at most 0.85); with 300, 45 s, it is 0.80.
const WINDOW: usize = 300;
/// Raw features of table 4.1 that a host can see.
pub(super) const FEATURES: usize = 11;

/// Packets of a path since the last slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) packets: u64,
    bytes: u64,
    missing: u64,
    largest: Option<u64>,
    burst: Burst,
    longest: Burst,
}

/// Packets without a silence between them.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    first: Option<Time>,
    last: Time,
    packets: u64,
    /// Of all but the first.
    bytes: u64,
}

impl Burst {
    /// What its packets were spread by, Mbit/s.
    fn rate(&self) -> Option<f64> {
        let span = self.last.since(self.first?).as_secs_f64();
        (self.packets >= BURST_PACKETS && span > 0.0).then(|| 8.0 * self.bytes as f64 / span / 1e6)
    }
}

impl Slot {
    pub(super) fn on_packet(&mut self, packet: &PacketReceived) {
        self.packets += 1;
        self.bytes += packet.bytes;
        let is_late = self.largest.is_some_and(|largest| packet.packet_number < largest);
        self.largest = self.largest.max(Some(packet.packet_number));
        // What came late had been counted as missing.
        self.missing = if is_late { self.missing.saturating_sub(1) } else { self.missing + packet.gap };
        let at = packet.received_at;
        let goes_on = self.burst.first.is_some() && at.since(self.burst.last) < BURST_GAP;
        self.burst = if goes_on {
            Burst {
                last: at,
                packets: self.burst.packets + 1,
                bytes: self.burst.bytes + packet.bytes,
                ..self.burst
            }
        } else {
            Burst { first: Some(at), last: at, packets: 1, bytes: 0 }
        };
        if self.burst.packets > self.longest.packets {
            self.longest = self.burst;
        }
    }

    /// Received rate in Mbit/s: of the longest burst, else equation 4.10 over the slot.
    pub(super) fn rate(&self, length: Duration) -> f64 {
        let average = 8.0 * self.bytes as f64 / length.as_secs_f64().max(1e-3) / 1e6;
        self.longest.rate().unwrap_or(average)
    }

    /// Share of the packets that did not come, before anything is repaired.
    pub(super) fn loss(&self) -> f64 {
        self.missing as f64 / (self.packets + self.missing).max(1) as f64
    }

    /// Begins the next slot.
    pub(super) fn reset(&mut self) {
        *self = Slot { largest: self.largest, burst: self.burst, ..Slot::default() };
    }
}

/// A path in a slot, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QcMabSample {
    /// Received rate, Mbit/s.
    pub rate: f64,
    /// Whether the sender had no more to send: then the rate is a lower bound.
    pub app_limited: bool,
    /// One-way delay, ms.
    pub delay: f64,
    /// Share of packets lost before repair: the worst of what was counted, what the link says, and what the sender says.
    pub loss: f64,
    /// What the link could carry, Mbit/s, if it is known (equation 4.7).
    pub capacity: Option<f64>,
}

/// The refined context of a path (section 4.4): an adaptive Kalman filter over the rate, averages over delay and loss, and the
/// cell that they lie in.
#[derive(Clone, Debug)]
pub struct QcMabContext {
    rates: [f64; 2],
    delays: [f64; 2],
    losses: [f64; 2],
    filter: Option<DifferenceKalman<WINDOW>>,
    delay: Ewma,
    loss: Ewma,
    capacity: Option<f64>,
}

impl QcMabContext {
    /// Before any sample.
    pub fn new(parameters: &QcMabParameters) -> Self {
        let QcMabParameters { rates, delays, losses, delay_gain, loss_gain, .. } = *parameters;
        let [delay, loss] = [delay_gain, loss_gain].map(|gain| Ewma::new(gain.clamp(1e-3, 1.0)));
        QcMabContext { rates, delays, losses, filter: None, delay, loss, capacity: None }
    }

    /// Takes a slot in, in which something arrived.
    pub fn update(&mut self, sample: &QcMabSample) {
        match &mut self.filter {
            None => self.filter = Some(DifferenceKalman::new(sample.rate)),
            // What the sender held down says nothing about the path, unless it is more than was thought.
            Some(filter) if sample.app_limited && sample.rate <= filter.estimate() => {}
            Some(filter) => {
                filter.update(sample.rate);
            }
        }
        self.delay.update(sample.delay);
        self.loss.update(sample.loss);
        self.capacity = sample.capacity;
    }

    /// What the path carries, Mbit/s: the lesser of what was received and what the link gives (equation 4.8).
    pub fn rate(&self) -> f64 {
        let received = self.filter.as_ref().map_or(0.0, DifferenceKalman::<WINDOW>::estimate);
        self.capacity.map_or(received, |capacity| received.min(capacity))
    }

    /// Smoothed one-way delay, ms.
    pub fn delay(&self) -> f64 {
        self.delay.value().unwrap_or(0.0)
    }

    /// Smoothed loss.
    pub fn loss(&self) -> f64 {
        self.loss.value().unwrap_or(0.0)
    }

    /// The cell of these values, 0 to 26.
    pub fn cell_of(&self, rate: f64, delay: f64, loss: f64) -> u32 {
        9 * interval(rate, self.rates) + 3 * interval(delay, self.delays) + interval(loss, self.losses)
    }

    /// The cell of the context now.
    pub fn cell(&self) -> u32 {
        self.cell_of(self.rate(), self.delay(), self.loss())
    }
}

/// The context without refinement, for comparison: eleven raw features, each scaled by the least and the most that it was,
/// and cut in three.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawContext {
    ranges: [(f64, f64); FEATURES],
}

impl Default for RawContext {
    fn default() -> Self {
        RawContext { ranges: [(f64::INFINITY, f64::NEG_INFINITY); FEATURES] }
    }
}

impl RawContext {
    /// The cell of these features, 0 to 3^11 - 1.
    pub(super) fn cell(&mut self, features: &[f64; FEATURES]) -> u32 {
        self.ranges.iter_mut().zip(features).fold(0, |cell, ((low, high), value)| {
            (*low, *high) = (low.min(*value), high.max(*value));
            let share = if *high > *low { (value - *low) / (*high - *low) } else { 0.0 };
            3 * cell + ((3.0 * share) as u32).min(2)
        })
    }
}
