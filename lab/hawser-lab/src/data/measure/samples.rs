//! What a flow did over time, in bounded space.

use serde::{Deserialize, Serialize};

/// A flow is looked at this often, in milliseconds.
const TICK_MS: u32 = 100;
/// Samples kept: beyond it two become one. At first they cover two minutes.
const MOST: usize = 1200;

/// Counters of a flow at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Payload bytes acknowledged, or received.
    pub bytes: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost, less those acknowledged later.
    pub packets_lost: u64,
    /// The newest round-trip time in milliseconds, if there was a sample since the last time.
    pub rtt_ms: Option<f64>,
}

/// What a flow did in intervals of the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Length of an interval, in milliseconds.
    pub interval_ms: u32,
    /// Payload bytes acknowledged (the sending end) or received.
    pub bytes: Vec<u64>,
    /// Packets sent.
    pub packets_sent: Vec<u64>,
    /// Packets declared lost, less those acknowledged later, of which there may be more.
    pub packets_lost: Vec<i64>,
    /// Round-trip time at its end, in milliseconds; none without a sample.
    pub rtt_ms: Vec<Option<f64>>,
    /// Ticks in the last interval, if it is not complete.
    #[serde(skip)]
    filled: u32,
    #[serde(skip)]
    before: Totals,
}

impl Default for Samples {
    fn default() -> Self {
        Samples {
            interval_ms: TICK_MS,
            bytes: Vec::new(),
            packets_sent: Vec::new(),
            packets_lost: Vec::new(),
            rtt_ms: Vec::new(),
            filled: 0,
            before: Totals::default(),
        }
    }
}

impl Samples {
    /// Milliseconds between two calls of [`push`](Samples::push).
    pub const TICK_MS: u32 = TICK_MS;

    /// Takes in the counters, a tick after the last time.
    pub fn push(&mut self, totals: Totals) {
        if self.filled == 0 {
            if self.bytes.len() == MOST {
                self.halve();
            }
            self.bytes.push(0);
            self.packets_sent.push(0);
            self.packets_lost.push(0);
            self.rtt_ms.push(None);
        }
        let lost = totals.packets_lost as i64 - self.before.packets_lost as i64;
        add(&mut self.bytes, totals.bytes.saturating_sub(self.before.bytes));
        add(&mut self.packets_sent, totals.packets_sent.saturating_sub(self.before.packets_sent));
        add(&mut self.packets_lost, lost);
        if let (Some(last), Some(rtt)) = (self.rtt_ms.last_mut(), totals.rtt_ms) {
            *last = Some((rtt * 1e3).round() / 1e3);
        }
        self.before = totals;
        self.filled = (self.filled + 1) % (self.interval_ms / TICK_MS).max(1);
    }

    /// Makes one interval of two. Called with an even number of complete ones.
    fn halve(&mut self) {
        self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.packets_sent = self.packets_sent.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.packets_lost = self.packets_lost.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.rtt_ms = self.rtt_ms.chunks(2).map(|pair| pair.iter().rev().find_map(|rtt| *rtt)).collect();
        self.interval_ms *= 2;
    }

    /// Mean rates of whole seconds, in bit/s, of as many as there are; none where intervals are longer.
    pub fn rates(&self) -> Vec<f64> {
        let per_second = (1000 / self.interval_ms.max(1)) as usize;
        if per_second == 0 {
            return Vec::new();
        }
        let seconds = f64::from(self.interval_ms) * per_second as f64 / 1e3;
        self.bytes
            .chunks_exact(per_second)
            .map(|bin| bin.iter().map(|bytes| *bytes as f64).sum::<f64>() * 8.0 / seconds)
            .collect()
    }
}

fn add<T: Copy + std::ops::AddAssign>(list: &mut [T], value: T) {
    if let Some(last) = list.last_mut() {
        *last += value;
    }
}
