//! Data Units: what a path did during some twenty acknowledgements (F. Yang 2022, section 5.3.4, table 5.2).

use std::time::Duration;

use hawser_policy::{Ack, Figure, GroupId, Loss, Note, PathId, Time};

use super::Choice;

/// Names of what a model sees of a unit, in order ([`DataUnit::features`]).
pub const FEATURES: [&str; 8] = [
    "tput_mbps",
    "loss_mbps",
    "delay_ms",
    "delay_min_ms",
    "tput_max_mbps",
    "tput_share",
    "loss_share",
    "delay_ratio",
];

/// Floors of the scale, so that no reward is divided by nothing.
const LEAST_DELAY_MS: f64 = 1.0;
const LEAST_RATE_MBPS: f64 = 0.1;

/// What a path did in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataUnit {
    /// The path.
    pub path: PathId,
    /// When it ended.
    pub at: Time,
    /// How long it was.
    pub duration: Duration,
    /// The group that the path was in at its end; `GroupId(0)`: it was not coupled.
    pub group: GroupId,
    /// What controlled the path.
    pub running: Choice,
    /// Delivered, Mbit/s.
    pub tput: f64,
    /// Lost, Mbit/s: so that it can be subtracted from what was delivered.
    pub loss: f64,
    /// Mean round-trip time, ms.
    pub delay: f64,
    /// Least round-trip time of the last minute, ms.
    pub delay_min: f64,
    /// Largest `tput` of the last minute, Mbit/s.
    pub tput_max: f64,
}

impl DataUnit {
    /// The name of its note.
    pub const NOTE: &'static str = "sscc.unit";

    /// What is noted of it besides path and time.
    pub(super) fn values(&self) -> [(&'static str, Figure); 8] {
        [
            ("seconds", self.duration.as_secs_f64().into()),
            ("group", self.group.0.into()),
            ("controller", self.running.name().into()),
            ("tput_mbps", self.tput.into()),
            ("loss_mbps", self.loss.into()),
            ("delay_ms", self.delay.into()),
            ("delay_min_ms", self.delay_min.into()),
            ("tput_max_mbps", self.tput_max.into()),
        ]
    }

    /// The unit that a note is of; `None`: it is of something else.
    pub fn of_note(note: &Note) -> Option<DataUnit> {
        let number = |name: &str| note.number(name);
        Some(DataUnit {
            path: note.path.filter(|_| note.name == Self::NOTE)?,
            at: note.at,
            duration: Duration::try_from_secs_f64(number("seconds")?).ok()?,
            group: GroupId(number("group")? as u32),
            running: Choice::named(note.word("controller")?)?,
            tput: number("tput_mbps")?,
            loss: number("loss_mbps")?,
            delay: number("delay_ms")?,
            delay_min: number("delay_min_ms")?,
            tput_max: number("tput_max_mbps")?,
        })
    }

    /// Whether the path shared a bottleneck with another one, as far as was known.
    pub fn is_coupled(&self) -> bool {
        self.group != GroupId(0)
    }

    /// What a model sees, in the order of [`FEATURES`].
    pub fn features(&self) -> [f32; FEATURES.len()] {
        let sent = self.tput + self.loss;
        let loss_share = if sent > 0.0 { self.loss / sent } else { 0.0 };
        [
            self.tput,
            self.loss,
            self.delay,
            self.delay_min,
            self.tput_max,
            self.tput / self.tput_max,
            loss_share,
            self.delay / self.delay_min,
        ]
        .map(|value| value as f32)
    }
}

/// When units end, and how long their scale is remembered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitSettings {
    /// Acknowledgements that newly acknowledged something, at least.
    pub(super) acks: u64,
    /// Round trips, at least. At 100 Mbit/s twenty acknowledgements take 5 ms: without this a unit would tell of the
    /// controller before.
    pub(super) round_trips: f64,
    /// How long the least delay and the largest rate are remembered; zero: for the life of the connection.
    pub(super) memory: Duration,
}

/// Makes units of acknowledgements.
#[derive(Debug, Clone)]
pub(super) struct Collector {
    settings: UnitSettings,
    /// Nothing counts before; `None`: from the next acknowledgement on.
    begins: Option<Time>,
    since: Option<Time>,
    acks: u64,
    /// Of these, how many came while the sender had not enough to send.
    idle_acks: u64,
    bytes: u64,
    lost: u64,
    rtt_sum: f64,
    rtt_count: f64,
    /// Seconds.
    rtt_min: f64,
    least_delay: Extreme,
    largest_rate: Extreme,
}

impl Collector {
    pub(super) fn new(settings: UnitSettings) -> Collector {
        Collector {
            settings,
            begins: None,
            since: None,
            acks: 0,
            idle_acks: 0,
            bytes: 0,
            lost: 0,
            rtt_sum: 0.0,
            rtt_count: 0.0,
            rtt_min: f64::INFINITY,
            least_delay: Extreme::default(),
            largest_rate: Extreme::default(),
        }
    }

    /// Another network: its delay and rate are to be seen.
    pub(super) fn reset(&mut self) {
        *self = Collector::new(self.settings);
    }

    /// Drops what was counted; nothing counts before `begins`.
    pub(super) fn restart(&mut self, begins: Option<Time>) {
        let (least_delay, largest_rate) = (self.least_delay, self.largest_rate);
        *self = Collector { begins, least_delay, largest_rate, ..Collector::new(self.settings) };
    }

    pub(super) fn on_loss(&mut self, loss: &Loss) {
        if self.since.is_some() {
            self.lost = self.lost.saturating_add(loss.bytes);
        }
    }

    /// Returns the unit that ends with this acknowledgement, if one does and there is something to tell: something was
    /// delivered, and for at least half of the acknowledgements the sender had enough to send.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Measured> {
        if self.begins.is_some_and(|begins| ack.now < begins) {
            return None;
        }
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return None;
        };
        self.acks += 1;
        self.idle_acks += u64::from(ack.limited_by.leaves_window_unused());
        self.bytes = self.bytes.saturating_add(ack.bytes);
        if let Some(rtt) = ack.latest_rtt {
            let rtt = rtt.as_secs_f64();
            self.rtt_sum += rtt;
            self.rtt_count += 1.0;
            self.rtt_min = self.rtt_min.min(rtt);
        }
        let duration = ack.now.since(since);
        let long_enough =
            duration.as_secs_f64() >= self.settings.round_trips * ack.smoothed_rtt.as_secs_f64();
        if self.acks < self.settings.acks || !long_enough || duration.is_zero() {
            return None;
        }
        let measured = self.measure(ack, duration);
        self.restart(None);
        self.since = Some(ack.now);
        measured
    }

    fn measure(&mut self, ack: &Ack, duration: Duration) -> Option<Measured> {
        if self.bytes == 0 || 2 * self.idle_acks > self.acks {
            return None;
        }
        let mbps = |bytes: u64| bytes as f64 * 8.0 / duration.as_secs_f64() / 1e6;
        let seconds =
            if self.rtt_count > 0.0 { self.rtt_sum / self.rtt_count } else { ack.smoothed_rtt.as_secs_f64() };
        let (tput, loss, delay) = (mbps(self.bytes), mbps(self.lost), 1e3 * seconds);
        let memory = self.settings.memory;
        let delay_min = -self.least_delay.insert(ack.now, -(1e3 * self.rtt_min).min(delay), memory);
        let tput_max = self.largest_rate.insert(ack.now, tput, memory);
        let (delay_min, tput_max) = (delay_min.max(LEAST_DELAY_MS), tput_max.max(LEAST_RATE_MBPS));
        Some(Measured { duration, tput, loss, delay, delay_min, tput_max })
    }
}

/// The numbers of a unit; see [`DataUnit`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) duration: Duration,
    pub(super) tput: f64,
    pub(super) loss: f64,
    pub(super) delay: f64,
    pub(super) delay_min: f64,
    pub(super) tput_max: f64,
}

/// Parts that the memory is divided into: the oldest is forgotten as a whole.
const PARTS: usize = 16;

/// The largest value of the recent past.
#[derive(Debug, Clone, Copy)]
struct Extreme {
    parts: [f64; PARTS],
    /// Number of the newest part since the origin of time.
    newest: u64,
}

impl Default for Extreme {
    fn default() -> Self {
        Extreme { parts: [f64::NEG_INFINITY; PARTS], newest: 0 }
    }
}

impl Extreme {
    /// Takes a value in and returns the largest one, this included. With a memory of zero nothing is forgotten.
    fn insert(&mut self, now: Time, value: f64, memory: Duration) -> f64 {
        let part = (memory.as_nanos() / PARTS as u128).max(1);
        let number = if memory.is_zero() {
            0
        } else {
            u64::try_from(u128::from(now.as_nanos()) / part).unwrap_or(u64::MAX)
        };
        if number > self.newest {
            let steps = (number - self.newest).min(PARTS as u64);
            (1..=steps).for_each(|step| {
                self.parts[((self.newest + step) % PARTS as u64) as usize] = f64::NEG_INFINITY
            });
            if steps == PARTS as u64 {
                self.parts = [f64::NEG_INFINITY; PARTS];
            }
            self.newest = number;
        }
        let slot = &mut self.parts[(self.newest % PARTS as u64) as usize];
        *slot = slot.max(value);
        self.parts.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests;
