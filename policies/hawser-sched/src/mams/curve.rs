//! Expected deliveries q(T): how many packets a path delivers by a time (equations 9 to 21).
//!
//! The recursion of the paper asks for the number of deliveries within a budget, and meets the same windows at the same times
//! again and again. Here the rounds are followed forwards from the beginning of the cycle: windows that are equal at the same
//! time are one, their likelihoods added (which is what memoisation is for), and one pass gives q for every budget.

use std::cmp::Reverse;

use super::forecast::MamsForecast;
use super::window::{MamsWindowModel, Window};
use crate::deliveries::{NewReno, outcomes};

/// A path at the beginning of a cycle. Windows in packets, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MamsPath {
    /// Congestion window.
    pub window: f64,
    /// Slow-start threshold.
    pub threshold: f64,
    /// Round-trip time: the length of a round.
    pub rtt: f64,
    /// One-way delay, half of the round-trip time unless more is known.
    pub one_way: f64,
    /// Retransmission timeout.
    pub timeout: f64,
    /// Packets that are in flight already: their share of the window leaves as acknowledgements come in, over the next
    /// round trip. Zero, as in the paper: the whole window leaves at once.
    pub in_flight: f64,
    /// Time on the link per packet; zero: not known.
    pub packet_time: f64,
    /// Loss that no forecast tells of, 0 to 1.
    pub loss: f64,
    /// The sender's end: BDP_up.
    pub up: MamsForecast,
    /// The receiver's end: BDP_down.
    pub down: MamsForecast,
}

impl MamsPath {
    /// What the window and the capacity of both ends allow at a time (equation 17), and the share that is lost.
    pub(super) fn limit(&self, window: f64, at: f64) -> (f64, f64) {
        let ((up, up_loss), (down, down_loss)) = (self.up.at(at), self.down.at(at));
        let packets = (window.min(up).min(down) + TOLERANCE).floor().max(0.0);
        (packets, 1.0 - (1.0 - up_loss) * (1.0 - down_loss) * (1.0 - self.loss))
    }

    /// Packets of the first round.
    pub fn first_round(&self) -> f64 {
        self.limit(self.window, 0.0).0
    }

    fn newreno(&self) -> NewReno {
        let MamsPath { window, threshold, rtt, timeout, .. } = *self;
        // The loss is that of each round.
        NewReno { window, threshold, rtt, timeout, loss: 0.0 }
    }
}

/// Times that differ by less are equal, and so many packets more are whole.
pub(super) const TOLERANCE: f64 = 1e-9;

/// What is in flight leaves in so many parts, one after the other.
pub(super) const PARTS: u64 = 8;

/// A bound on the work: windows that wait for their round, and rounds that are looked at.
const MAX_WAITING: usize = 512;
const MAX_ROUNDS: usize = 4_096;

/// So many packets have arrived by a time, on the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) at: f64,
    pub(super) packets: f64,
}

/// A window at the beginning of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Nanoseconds since the beginning of the cycle: sums of the same times in another order are equal.
    at: u64,
    window: Window,
    likelihood: f64,
}

impl Round {
    /// The earliest is the last in this order, and equal windows at the same time are one.
    fn key(&self) -> (Reverse<u64>, [u64; 4]) {
        (Reverse(self.at), self.window.bits())
    }
}

/// q(T) of a path, as steps in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    steps: Vec<Step>,
    /// In order of their keys.
    waiting: Vec<Round>,
    /// Rounds that were looked at.
    pub(super) rounds: usize,
}

impl Curve {
    /// Follows a path until `horizon`. Branches less likely than `least` are cut off.
    pub(super) fn follow(&mut self, path: &MamsPath, model: MamsWindowModel, horizon: f64, least: f64) {
        self.clear();
        if path.rtt <= TOLERANCE || !path.one_way.is_finite() || !path.window.is_finite() {
            return;
        }
        let window = Window::new(path.newreno());
        let last = nanos(horizon - path.one_way + TOLERANCE);
        self.waiting.push(Round { at: 0, window, likelihood: 1.0 });
        while let Some(round) = self.waiting.pop() {
            if round.at > last || path.one_way > horizon + TOLERANCE || self.rounds >= MAX_ROUNDS {
                break;
            }
            self.rounds += 1;
            self.play(path, model, &round, least);
        }
        self.spread_what_is_in_flight(path);
        let mut total = 0.0;
        for step in &mut self.steps {
            total += step.packets;
            step.packets = total;
        }
        let known = self.steps.partition_point(|step| step.at <= horizon + TOLERANCE);
        self.steps.truncate(known);
    }

    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.waiting.clear();
        self.rounds = 0;
    }

    fn play(&mut self, path: &MamsPath, model: MamsWindowModel, round: &Round, least: f64) {
        let Round { at, window, likelihood } = *round;
        let began = at as f64 * 1e-9;
        let (sent, loss) = path.limit(window.newreno.window, began);
        if sent < 1.0 {
            // The path is forecast to be down: nothing leaves, and the window stays.
            return self.wait(Round { at: at.saturating_add(nanos(path.rtt)), ..*round });
        }
        self.deliver(began + path.one_way, likelihood * sent * (1.0 - loss));
        let timeout = window.newreno.timeout.max(path.rtt);
        let next =
            window.after(model).into_iter().zip(outcomes(sent, loss)).zip([path.rtt, path.rtt, timeout]);
        for ((window, probability), cost) in next {
            let likelihood = likelihood * probability;
            if probability > 0.0 && likelihood >= least {
                let window = window.normalised(least > 0.0);
                self.wait(Round { at: at.saturating_add(nanos(cost)), window, likelihood });
            }
        }
    }

    fn deliver(&mut self, at: f64, packets: f64) {
        match self.steps.last_mut() {
            Some(last) if at - last.at <= TOLERANCE => last.packets += packets,
            _ => self.steps.push(Step { at, packets }),
        }
    }

    fn wait(&mut self, round: Round) {
        match self.waiting.binary_search_by_key(&round.key(), Round::key) {
            Ok(same) => self.waiting[same].likelihood += round.likelihood,
            Err(place) if self.waiting.len() < MAX_WAITING => self.waiting.insert(place, round),
            Err(_) => {}
        }
    }

    /// Of each round the share that is in flight now leaves as its acknowledgements come in, over a round trip.
    fn spread_what_is_in_flight(&mut self, path: &MamsPath) {
        let share = share_in_flight(path);
        if share <= 0.0 {
            return;
        }
        for index in 0..self.steps.len() {
            let Step { at, packets } = self.steps[index];
            self.steps[index].packets = packets * (1.0 - share);
            for part in 0..PARTS {
                let at = at + path.rtt * (part as f64 + 0.5) / PARTS as f64;
                self.steps.push(Step { at, packets: packets * share / PARTS as f64 });
            }
        }
        // Unstable sorting needs no memory; equal times are the same step.
        self.steps.sort_unstable_by(|one, other| one.at.total_cmp(&other.at));
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// q(T): packets that have arrived `time` after the beginning, on the average.
    pub(super) fn delivered_by(&self, time: f64) -> f64 {
        delivered_by(&self.steps, time)
    }
}

/// The share of the window that leaves as acknowledgements come in.
pub(super) fn share_in_flight(path: &MamsPath) -> f64 {
    let share = path.in_flight / path.window.max(1.0);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// Whole nanoseconds; none of what is below zero.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// What has arrived by a time, by these steps.
pub(super) fn delivered_by(steps: &[Step], time: f64) -> f64 {
    let known = steps.partition_point(|step| step.at <= time + TOLERANCE);
    known.checked_sub(1).and_then(|last| steps.get(last)).map_or(0.0, |step| step.packets)
}

#[cfg(test)]
mod tests;
