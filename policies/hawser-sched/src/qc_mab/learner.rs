//! One interface of the receiver: its context, its arms, and what they brought.

use std::collections::{BTreeMap, VecDeque};

use hawser_policy::Time;

use super::bandit::{QcMabArm, QcMabBandit};
use super::context::{FEATURES, QcMabContext, QcMabSample, RawContext};
use super::parameters::{QcMabFec, QcMabKey, QcMabParameters};

/// Decisions whose reward may still come: a slot is 150 ms.
const MAX_DECISIONS: usize = 64;
/// Access points whose delay is remembered.
const MAX_POINTS: usize = 1_024;

/// An access point within reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QcMabPoint {
    /// A number of the owner's.
    pub point: u64,
    /// Received power in dBm, if it is known.
    pub strength: Option<f64>,
}

/// What an interface sees at the end of a slot.
#[derive(Clone, Copy, Debug)]
pub struct QcMabObservation<'a> {
    /// The present.
    pub now: Time,
    /// What was measured; `None` if nothing arrived.
    pub sample: Option<QcMabSample>,
    /// Features of the context without refinement.
    pub features: [f64; FEATURES],
    /// What the interface is attached to, if that is known.
    pub current: Option<u64>,
    /// What it could be attached to.
    pub points: &'a [QcMabPoint],
}

/// What is decided for an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QcMabDecision {
    /// Its number.
    pub id: u32,
    /// The cell of the context.
    pub cell: u32,
    /// The access point, if any is known.
    pub point: Option<u64>,
    /// The arm as it is remembered.
    pub arm: QcMabArm,
    /// Arms that there were.
    pub arms: usize,
    /// Arms' access points with a stronger signal.
    pub rank: usize,
}

/// The bandit of an interface (W. Yang 2024, section 4.4).
#[derive(Clone, Debug)]
pub struct QcMabLearner {
    parameters: QcMabParameters,
    context: QcMabContext,
    raw: RawContext,
    bandit: QcMabBandit,
    decisions: VecDeque<(u32, u32, QcMabArm)>,
    next_id: u32,
    /// Smoothed delay behind each access point in ms, and when it was measured.
    delays: BTreeMap<u64, (f64, Time)>,
    /// Points and arms of the slot, kept for their memory.
    points: Vec<(QcMabPoint, u64)>,
    arms: Vec<QcMabArm>,
}

impl QcMabLearner {
    /// An interface of which nothing is known.
    pub fn new(parameters: QcMabParameters, seed: u64) -> Self {
        QcMabLearner {
            parameters,
            context: QcMabContext::new(&parameters),
            raw: RawContext::default(),
            bandit: QcMabBandit::new(parameters.exploration, parameters.cell_time, seed),
            decisions: VecDeque::new(),
            next_id: 1,
            delays: BTreeMap::new(),
            points: Vec::new(),
            arms: Vec::new(),
        }
    }

    /// The context.
    pub fn context(&self) -> &QcMabContext {
        &self.context
    }

    /// What was learned.
    pub fn bandit(&self) -> &QcMabBandit {
        &self.bandit
    }

    /// A frame that was sent under a decision had this reward. Decisions that are forgotten learn nothing.
    pub fn reward(&mut self, decision: u32, reward: f64) {
        if let Some((_, cell, arm)) = self.decisions.iter().find(|(id, ..)| *id == decision).copied() {
            self.bandit.update(cell, arm, reward);
        }
    }

    /// A slot ends. `None` if nothing is within reach, or nothing is known yet.
    pub fn on_slot(&mut self, seen: &QcMabObservation<'_>) -> Option<QcMabDecision> {
        if let Some(sample) = &seen.sample {
            self.context.update(sample);
            if let Some(current) = seen.current
                && (self.delays.len() < MAX_POINTS || self.delays.contains_key(&current))
            {
                self.delays.insert(current, (self.context.delay(), seen.now));
            }
        }
        self.refine(seen);
        if self.arms.is_empty() {
            return None;
        }
        let cell = match self.parameters.refined {
            true => self.context.cell(),
            false => self.raw.cell(&seen.features),
        };
        let at = self.bandit.choose(cell, &self.arms);
        let arm = *self.arms.get(at)?;
        let rank = self.points.iter().position(|(_, key)| *key == arm.point);
        let point = rank.and_then(|rank| self.points.get(rank)).map(|(point, _)| point.point);
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        if self.decisions.len() == MAX_DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back((id, cell, arm));
        Some(QcMabDecision { id, cell, point, arm, arms: self.arms.len(), rank: rank.unwrap_or(0) })
    }

    /// Arms of the slot: access points that are strong enough, without those whose delay was above the deadline of late. If
    /// none is left, the present one.
    fn refine(&mut self, seen: &QcMabObservation<'_>) {
        let QcMabParameters { coverage_dbm, memory, key, strongest, fec, attach, deadline, .. } =
            self.parameters;
        let deadline = deadline.as_secs_f64() * 1e3;
        let strength = |point: &QcMabPoint| point.strength.unwrap_or(f64::INFINITY);
        self.points.clear();
        let within = seen.points.iter().filter(|point| strength(point) >= coverage_dbm);
        self.points.extend(within.map(|point| (*point, point.point)));
        self.points.sort_by(|one, other| strength(&other.0).total_cmp(&strength(&one.0)));
        if key == QcMabKey::Rank {
            self.points.iter_mut().zip(1..).for_each(|((_, key), rank)| *key = rank);
        }
        if strongest > 0 {
            self.points.truncate(strongest);
        }
        let in_reach = !self.points.is_empty();
        let delays = &self.delays;
        let is_slow = |point: u64| {
            let known = delays.get(&point).filter(|(_, at)| seen.now.since(*at) <= memory);
            known.is_some_and(|(delay, _)| *delay > deadline)
        };
        self.points.retain(|(point, _)| !is_slow(point.point));
        let only_current = !attach || (in_reach && self.points.is_empty()) || seen.points.is_empty();
        if only_current {
            let current = seen.current.unwrap_or(0);
            self.points.clear();
            let point = QcMabPoint { point: current, strength: None };
            // By rank the present one is the first.
            self.points.push((point, if key == QcMabKey::Rank { 1 } else { current }));
        }
        self.arms.clear();
        for (_, key) in &self.points {
            let flags: &[bool] = match fec {
                QcMabFec::Learned => &[false, true],
                QcMabFec::On => &[true],
                QcMabFec::Off => &[false],
            };
            self.arms.extend(flags.iter().map(|fec| QcMabArm { point: *key, fec: *fec }));
        }
    }
}
