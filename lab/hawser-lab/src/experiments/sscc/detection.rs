//! Item 1: the detector on delays of simulated queues.

use std::time::Duration;

use hawser_cc::sscc::{Detector, DetectorSettings};
use hawser_learn::Random;
use hawser_policy::{GroupId, PathId, Time};

use crate::experiments::verify::{Measured, Request};

/// Nanoseconds that a packet of 1500 bytes takes at 40 Mbit/s, and how many wait at most.
const SERVICE: f64 = 300_000.0;
const LIMIT: f64 = 200.0 * SERVICE;
/// Load is drawn anew after a second in the mean.
const LOADS: (f64, f64) = (0.95, 1.25);
const STEP: Duration = Duration::from_millis(2);
const SECONDS: u64 = 80;

/// A queue with constant service time, Poisson arrivals and cross traffic that changes.
struct Queue {
    random: Random,
    backlog: f64,
    load: f64,
    change_at: f64,
}

impl Queue {
    fn new(seed: u64) -> Queue {
        Queue { random: Random::new(seed), backlog: 0.0, load: 1.0, change_at: 0.0 }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.random.fraction()).ln()
    }

    /// The delay after a step, nanoseconds.
    fn step(&mut self, now: Time) -> i128 {
        if now.as_secs_f64() >= self.change_at {
            self.load = LOADS.0 + (LOADS.1 - LOADS.0) * self.random.fraction();
            self.change_at = now.as_secs_f64() + self.exponential(1.0);
        }
        let mut at = self.exponential(SERVICE / self.load);
        while at < STEP.as_nanos() as f64 {
            self.backlog = (self.backlog + SERVICE).min(LIMIT);
            at += self.exponential(SERVICE / self.load);
        }
        self.backlog = (self.backlog - STEP.as_nanos() as f64).max(0.0);
        self.backlog as i128
    }
}

/// How often paths 0 and 1 were in one group after 20 s, as a share, and each decision.
fn together(seed: u64, other: Option<u64>, offset: i128, parts_per_million: i128) -> (f64, Vec<bool>) {
    let mut detector = Detector::new(DetectorSettings::THESIS);
    let (mut first, mut second) = (Queue::new(seed), other.map(Queue::new));
    let mut decisions = Vec::new();
    for n in 0..SECONDS * 1_000_000_000 / STEP.as_nanos() as u64 {
        let now = Time::ZERO + STEP * n as u32;
        let one = first.step(now);
        let two = second.as_mut().map_or(one, |queue| queue.step(now));
        let clock = offset + i128::from(now.as_nanos()) * parts_per_million / 1_000_000;
        if n % 3 != 0 {
            detector.on_delay(now, PathId(0), 20_000_000 + one + clock);
        }
        if n % 4 != 1 {
            detector.on_delay(now, PathId(1), 70_000_000 + two + clock);
        }
        if detector.advance(now + STEP) && now > Time::from_secs(20) {
            let groups = [0, 1].map(|path| detector.group(PathId(path)));
            decisions.push(groups[0] != GroupId(0) && groups[0] == groups[1]);
        }
    }
    let share = decisions.iter().filter(|together| **together).count() as f64 / decisions.len().max(1) as f64;
    (share, decisions)
}

/// Seconds after the end of congestion after which a path with a constant delay was no longer congested, and whether one that
/// never had any was found congested.
fn after_congestion(seed: u64) -> (f64, bool) {
    let mut detector = Detector::new(DetectorSettings::THESIS);
    let mut queue = Queue::new(seed);
    let (mut last, mut wrong) = (0.0, false);
    for n in 0..30_000u32 {
        let now = Time::ZERO + STEP * n;
        let queued = if now < Time::from_secs(30) { queue.step(now) } else { 0 };
        detector.on_delay(now, PathId(0), 30_000_000 + queued);
        detector.on_delay(now, PathId(1), 30_000_000);
        wrong |= detector.is_congested(PathId(1));
        if detector.is_congested(PathId(0)) {
            last = now.as_secs_f64();
        }
    }
    ((last - 30.0).max(0.0), wrong)
}

/// Item 1.
pub(super) fn queues(request: &Request<'_>) -> Result<Measured, String> {
    let seed = request.seed;
    let (share, decisions) = together(seed, None, 0, 0);
    let (apart, _) = together(seed, Some(1_000 + seed), 0, 0);
    let changed = |offset: i128, parts_per_million: i128| {
        let (_, other) = together(seed, None, offset, parts_per_million);
        other.iter().zip(&decisions).filter(|(one, other)| one != other).count() as f64
    };
    let offset = changed(1_000_000_000, 0) + changed(-1_000_000_000, 0);
    let (idle_after, idle_wrong) = after_congestion(seed);
    Ok(Measured::default()
        .with("one_queue_share", share)
        .with("two_queues_share", apart)
        .with("changed_by_offset", offset)
        .with("changed_by_drift", changed(0, 50) + changed(0, -50))
        .with("congested_after_seconds", idle_after)
        .with("idle_found_congested", f64::from(u8::from(idle_wrong))))
}
