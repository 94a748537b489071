use std::sync::Arc;

use crate::access::Sites;
use crate::math::{exp, nanos, seconds};

/// The state of one direction of a link from [`at`](Sample::at) until the next sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds since the start of the scene.
    pub at: u64,
    /// bit/s. It keeps its value while the direction is down: what it will have when it comes back.
    pub rate: u64,
    /// One way, nanoseconds, without the queue of the link itself.
    pub delay: u64,
    /// Loss probability per packet, 0..=1, on top of the queue's own drops.
    pub loss: f64,
    /// Whether anything is carried at all.
    pub up: bool,
}

impl Sample {
    /// A direction that is up, with a rate in bit/s and a delay in seconds.
    pub(crate) fn carrying(at: u64, rate: f64, delay: f64, loss: f64) -> Self {
        Sample { at, rate: rate as u64, delay: nanos(delay), loss, up: true }
    }
}

/// What happened to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The link became usable for the first time or after a detachment.
    Attach,
    /// The link stopped being usable.
    Detach,
    /// The old cell was left; nothing is carried until the matching end.
    HandOverStart,
    /// The new cell carries.
    HandOverEnd,
    /// The network reassigned its resources (Starlink: every 15 s), with or without a new satellite.
    Reconfiguration,
    /// The host has another address on this link from now on.
    AddressChange,
}

/// Something that happened to a link, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the start of the scene.
    pub at: u64,
    /// What.
    pub kind: EventKind,
    /// The cell, access point or satellite that serves from then on (at a detachment: that served until then).
    pub cell: Option<u64>,
}

/// Where the host, or the satellite that serves it, is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Nanoseconds since the start of the scene.
    pub at: u64,
    /// Metres east and north of an origin, and altitude.
    pub metres: [f64; 3],
}

/// What a forecaster may see of a link: mean behaviour, without the draws of the fading channel, of the loss coin
/// and of anything else that nobody can foresee.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForecastSamples {
    /// Towards the network.
    pub up: Vec<Sample>,
    /// From the network.
    pub down: Vec<Sample>,
}

/// One link over time: two step functions, what happened, and what could be foreseen.
///
/// `up`, `down` and the forecast have their first sample at 0 and strictly increasing times; only changes have a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What the model calls this link, for example `wifi`.
    pub name: String,
    /// Towards the network.
    pub up: Vec<Sample>,
    /// From the network.
    pub down: Vec<Sample>,
    /// In order of time.
    pub events: Vec<Event>,
    /// The mean behaviour.
    pub forecast: ForecastSamples,
    /// Of the moving end, in order of time; to be interpolated linearly; empty when the model has no geometry.
    pub positions: Vec<Position>,
    /// What else could serve; `None` when the model does not say. Then a host may be attached elsewhere
    /// ([`Sites::attached`]).
    pub sites: Option<Arc<Sites>>,
}

impl Profile {
    /// The position at a time, interpolated.
    pub fn position_at(&self, at: u64) -> Option<[f64; 3]> {
        let next = self.positions.partition_point(|position| position.at <= at);
        let before = self.positions.get(next.saturating_sub(1))?;
        let Some(after) = self.positions.get(next) else { return Some(before.metres) };
        if next == 0 {
            return Some(after.metres);
        }
        let share = (at - before.at) as f64 / (after.at - before.at) as f64;
        Some(std::array::from_fn(|i| before.metres[i] + share * (after.metres[i] - before.metres[i])))
    }

    /// What serves the host at a time, by its number. A handover names the next one when it starts: the old one is left then.
    pub fn serving_at(&self, at: u64) -> Option<u64> {
        let before = self.events.get(..self.events.partition_point(|event| event.at <= at))?;
        let last = before.iter().rev().find(|event| event.cell.is_some())?;
        last.cell.filter(|_| last.kind != EventKind::Detach)
    }

    /// How many events of a kind there are.
    pub fn count(&self, kind: EventKind) -> usize {
        self.events.iter().filter(|event| event.kind == kind).count()
    }
}

/// The state that a step function has at a time; `None` before its first sample.
pub fn sample_at(samples: &[Sample], at: u64) -> Option<&Sample> {
    samples.get(samples.partition_point(|sample| sample.at <= at).checked_sub(1)?)
}

/// The time average of a quantity over [`from`, `until`).
pub fn time_mean(samples: &[Sample], from: u64, until: u64, quantity: impl Fn(&Sample) -> f64) -> f64 {
    let mut total = 0.0;
    for (index, sample) in samples.iter().enumerate() {
        let start = sample.at.max(from);
        let end = samples.get(index + 1).map_or(until, |next| next.at).min(until);
        if end > start {
            total += quantity(sample) * seconds(end - start);
        }
    }
    total / seconds(until.saturating_sub(from)).max(1e-9)
}

/// What could be foreseen of a quantity that was measured: its moving average over 3 s, in steps of 1 s.
///
/// `measured` is a step function by nanoseconds, in order of time.
pub fn foreseeable(measured: impl IntoIterator<Item = (u64, f64)>) -> Vec<(u64, f64)> {
    const TIME_CONSTANT: f64 = 3.0;
    const STEP: u64 = 1_000_000_000;
    let (mut mean, mut before, mut next) = (0.0, None, 0);
    let mut steps = Vec::new();
    for (at, value) in measured {
        let keep = before.map_or(0.0, |last| exp(-seconds(at - last) / TIME_CONSTANT));
        mean = keep * mean + (1.0 - keep) * value;
        before = Some(at);
        if at >= next {
            steps.push((at, mean));
            next = at + STEP;
        }
    }
    steps
}

/// Collects samples in order of time, keeping only changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(Vec<Sample>);

impl Steps {
    pub(crate) fn new() -> Self {
        Steps(Vec::new())
    }

    /// Adds a sample; one at the time of the last replaces it, one equal to the last is left out.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.0.last().is_some_and(|last| last.at == sample.at) {
            self.0.pop();
        }
        let same = |last: &Sample| {
            last.rate == sample.rate
                && last.delay == sample.delay
                && last.loss == sample.loss
                && last.up == sample.up
        };
        if !self.0.last().is_some_and(same) {
            self.0.push(sample);
        }
    }

    pub(crate) fn finish(self) -> Vec<Sample> {
        self.0
    }
}

/// Lays a second loss and an up/down pattern over a step function. Each layer is a step function of its own; before
/// its first step the loss layer is 0 and the up layer `true`.
pub(crate) fn layered(base: &[Sample], loss: &[(u64, f64)], up: &[(u64, bool)]) -> Vec<Sample> {
    let mut steps = Steps::new();
    let (mut base_index, mut loss_index, mut up_index) = (0, 0, 0);
    let mut state: Option<Sample> = None;
    let (mut extra, mut carries) = (0.0, true);
    loop {
        let times = [
            base.get(base_index).map(|sample| sample.at),
            loss.get(loss_index).map(|step| step.0),
            up.get(up_index).map(|step| step.0),
        ];
        let Some(now) = times.into_iter().flatten().min() else { return steps.finish() };
        while let Some(sample) = base.get(base_index).filter(|sample| sample.at <= now) {
            state = Some(*sample);
            base_index += 1;
        }
        while let Some(step) = loss.get(loss_index).filter(|step| step.0 <= now) {
            extra = step.1;
            loss_index += 1;
        }
        while let Some(step) = up.get(up_index).filter(|step| step.0 <= now) {
            carries = step.1;
            up_index += 1;
        }
        if let Some(state) = state {
            let loss = (1.0 - (1.0 - state.loss) * (1.0 - extra)).clamp(0.0, 1.0);
            steps.push(Sample { at: now, loss, up: state.up && carries, ..state });
        }
    }
}

/// The up/down pattern of a list of gaps (start, end), in order and not overlapping, within `duration`.
pub(crate) fn gaps(list: &[(u64, u64)]) -> Vec<(u64, bool)> {
    let mut pattern: Vec<(u64, bool)> = Vec::with_capacity(2 * list.len());
    for &(start, end) in list {
        if end <= start {
            continue;
        }
        // Two gaps that touch or overlap are one.
        if pattern.last().is_some_and(|last| last.0 >= start) {
            let last = pattern.pop().map_or(end, |last| last.0.max(end));
            pattern.push((last, true));
            continue;
        }
        pattern.push((start, false));
        pattern.push((end, true));
    }
    pattern
}

#[cfg(test)]
mod tests;
