//! Timesteps: what was sent under which shares, and what became of it.

use hawser_learn::MAX_SHARES;
use hawser_policy::{Tag, Time};

use super::learner::Played;
use super::parameters::FtrlStepTime;
use crate::dispatch::{is_redirected, step_of};
use std::time::Duration;

/// The steps that are open: the one that sends, and the one before, whose acknowledgements still come in.
#[derive(Debug)]
pub(super) struct Steps {
    paths: usize,
    current: Option<Step>,
    previous: Option<Step>,
    next: u64,
    /// The largest packet number of each path that was acknowledged or declared lost.
    settled: [Option<u64>; MAX_SHARES],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) number: u64,
    pub(super) played: Played,
    /// Whether the sender paused for want of data.
    pub(super) app_limited: bool,
    started: Time,
    ended: Time,
    paths: usize,
    carried: [Carried; MAX_SHARES],
    sent: u64,
    redirected: u64,
}

/// What became of the packets of a step on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    bytes: u64,
    packets: u64,
    last: Option<u64>,
    /// Largest delivery rate while it was sending, in bit/s.
    rate: f64,
}

impl Steps {
    pub(super) fn new(paths: usize) -> Self {
        let paths = paths.min(MAX_SHARES);
        Steps { paths, current: None, previous: None, next: 1, settled: [None; MAX_SHARES] }
    }

    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// The number of the step that sends; 0 before the first.
    pub(super) fn number(&self) -> u64 {
        self.next - 1
    }

    /// Whether the step that sends is the first.
    pub(super) fn is_first(&self) -> bool {
        self.next == 2
    }

    /// When the step that sends began.
    pub(super) fn started(&self) -> Time {
        self.current.map_or(Time::ZERO, |step| step.started)
    }

    /// The share of a path in the step that sends.
    pub(super) fn share(&self, at: usize) -> f64 {
        self.current.map_or(0.5, |step| step.played.share(at))
    }

    /// The next step begins.
    pub(super) fn begin(&mut self, played: Played, now: Time) {
        if let Some(mut current) = self.current.take() {
            current.ended = now;
            self.previous = Some(current);
        }
        self.current = Some(Step {
            number: self.next,
            played,
            app_limited: false,
            started: now,
            ended: Time::FAR_FUTURE,
            paths: self.paths,
            carried: [Carried::default(); MAX_SHARES],
            sent: 0,
            redirected: 0,
        });
        self.next += 1;
    }

    /// The previous step, once all its packets were acknowledged or lost, or enough time has passed.
    pub(super) fn take_complete(&mut self, now: Time, patience: Duration) -> Option<Step> {
        let step = self.previous.as_ref()?;
        let settled = |(carried, settled): (&Carried, &Option<u64>)| carried.last <= *settled;
        let all = step.carried.iter().zip(&self.settled).take(self.paths).all(settled);
        if all || now >= step.ended + patience { self.previous.take() } else { None }
    }

    pub(super) fn note_rate(&mut self, at: usize, rate: f64) {
        if let Some(carried) = self.current.as_mut().and_then(|step| step.carried.get_mut(at)) {
            carried.rate = carried.rate.max(rate);
        }
    }

    /// A packet left; `idle` if the sender had nothing to send before.
    pub(super) fn on_sent(&mut self, at: usize, packet_number: u64, tag: Tag, idle: bool) {
        let Some(step) = self.step(tag) else { return };
        step.app_limited |= idle;
        step.sent += 1;
        step.redirected += u64::from(is_redirected(tag));
        if let Some(carried) = step.carried.get_mut(at) {
            carried.last = carried.last.max(Some(packet_number));
        }
    }

    pub(super) fn on_acked(&mut self, at: usize, packet_number: u64, bytes: u64, tag: Tag) {
        if let Some(carried) = self.step(tag).and_then(|step| step.carried.get_mut(at)) {
            carried.bytes += bytes;
            carried.packets += 1;
        }
        self.on_lost(at, packet_number);
    }

    /// A lost packet is one that need not be waited for: it is declared lost when a later one was acknowledged.
    pub(super) fn on_lost(&mut self, at: usize, packet_number: u64) {
        if let Some(settled) = self.settled.get_mut(at) {
            *settled = (*settled).max(Some(packet_number));
        }
    }

    fn step(&mut self, tag: Tag) -> Option<&mut Step> {
        let number = step_of(tag);
        [&mut self.current, &mut self.previous].into_iter().flatten().find(|step| step.number == number)
    }
}

impl Step {
    /// Packets that were acknowledged.
    pub(super) fn packets(&self) -> u64 {
        self.carried.iter().map(|carried| carried.packets).sum()
    }

    /// The share of a path in what was acknowledged.
    pub(super) fn carried(&self, at: usize) -> f64 {
        let all: u64 = self.carried.iter().map(|carried| carried.bytes).sum();
        self.carried.get(at).map_or(0.0, |carried| carried.bytes as f64 / all.max(1) as f64)
    }

    /// The share of packets that were redirected.
    pub(super) fn redirected(&self) -> f64 {
        self.redirected as f64 / self.sent.max(1) as f64
    }

    /// The loss of its shares; `None` without time or bandwidth.
    pub(super) fn loss(&self, time: FtrlStepTime, now: Time) -> Option<f64> {
        let ended = match time {
            FtrlStepTime::SendSpan => self.ended,
            FtrlStepTime::SendToAck => now,
        };
        let seconds = ended.since(self.started).as_secs_f64();
        let carried = &self.carried[..self.paths];
        let bandwidth: f64 = carried.iter().map(|carried| carried.rate).sum();
        if seconds <= 0.0 || bandwidth <= 0.0 {
            return None;
        }
        let shares =
            carried.iter().enumerate().map(|(at, carried)| (self.played.share(at), carried.bytes as f64));
        Some(step_loss(shares, bandwidth / 8.0 * seconds))
    }
}

/// `(1 - min(1, tp_eff / bw))^2`: how far paths stay behind their bandwidth, given what was planned for each (a share) and what
/// it carried (bytes), and what all could have carried.
///
/// The effective throughput leaves out what travelled elsewhere than planned (Li 2024, section 3.1): of two paths,
/// `tp p / X` where the first carried a share `p` below its `X`, `tp (1-p) / (1-X)` where it carried more. Both are the least of
/// carried over planned, which is how it reads for any number of paths.
pub fn step_loss(paths: impl Iterator<Item = (f64, f64)> + Clone, could_carry: f64) -> f64 {
    let least = paths.map(|(share, bytes)| bytes / share.max(1e-9)).fold(f64::INFINITY, f64::min);
    (1.0 - (least / could_carry).min(1.0)).powi(2)
}
