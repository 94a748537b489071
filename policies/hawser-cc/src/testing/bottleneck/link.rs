//! A drop-tail link.

use std::time::Duration;

use hawser_policy::{Rate, Time};

use super::BYTES;
use hawser_learn::Random;

const JITTER_HOLD: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// From when on which rate holds, bit/s.
    pub(crate) rates: Vec<(Time, u64)>,
    pub(crate) buffer: u64,
    /// Share of packets lost at random.
    pub(crate) loss: f64,
    /// Every so many packets one is lost.
    pub(crate) loss_every: Option<u64>,
    carried: u64,
    overflows: u64,
    /// Mean of a delay that takes another value every [`JITTER_HOLD`], without changing the order of packets.
    pub(crate) jitter: Duration,
    noise: (Time, Duration),
    idle_at: Time,
    random: Random,
}

impl Link {
    /// `megabits` per second with a buffer of so many bytes.
    pub(crate) fn new(megabits: f64, buffer: u64) -> Link {
        Link {
            rates: vec![(Time::ZERO, (megabits * 1e6) as u64)],
            buffer,
            loss: 0.0,
            loss_every: None,
            carried: 0,
            overflows: 0,
            jitter: Duration::ZERO,
            noise: (Time::ZERO, Duration::ZERO),
            idle_at: Time::ZERO,
            random: Random::new(7),
        }
    }

    pub(crate) fn with_loss(mut self, share: f64) -> Link {
        self.loss = share;
        self
    }

    /// Packets that found no room.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows
    }

    fn rate(&self, now: Time) -> Rate {
        let bits = self.rates.iter().rev().find(|(from, _)| *from <= now).map_or(0, |(_, bits)| *bits);
        Rate::from_bits_per_second(bits)
    }

    /// When a packet that arrives now leaves the queue, and for how long it waited; `None` if it is lost.
    pub(super) fn carry(&mut self, now: Time) -> Option<(Time, Duration)> {
        let rate = self.rate(now);
        let wait = self.idle_at.since(now);
        if rate.bytes_in(wait) + BYTES > self.buffer {
            self.overflows += 1;
            return None;
        }
        self.idle_at = self.idle_at.max(now) + rate.time_for(BYTES);
        self.carried += 1;
        let hit = self.loss_every.is_some_and(|every| self.carried.is_multiple_of(every));
        (!hit && self.random.fraction() >= self.loss).then_some((self.idle_at, wait))
    }

    /// A positive normal delay around the mean, half of it its deviation.
    pub(super) fn noise(&mut self, now: Time) -> Duration {
        if !self.jitter.is_zero() && now >= self.noise.0 {
            let normal = (0..12).map(|_| self.random.fraction()).sum::<f64>() - 6.0;
            self.noise = (now + JITTER_HOLD, self.jitter.mul_f64((1.0 + normal / 2.0).max(0.0)));
        }
        self.noise.1
    }
}
