//! The planner: which paths are needed, and which packets each of them gets (algorithms 1 and 2).
//!
//! Algorithm 2 is printed with ranges that collapse. What it is meant to do is kept: within the time that a slow path needs for
//! its first packet the faster paths deliver `Q` packets, so it gets packet `FP + Q`, and its later packets lie as much further
//! behind as the faster paths deliver meanwhile. Path by path, from the fastest to the slowest, the packets of the next one
//! are inserted between those of the faster ones. Runs of packets are moved, not packets, so that the work depends on the
//! number of rounds and not on that of packets.

use super::curve::{Curve, MamsPath, PARTS, Step, TOLERANCE, delivered_by, share_in_flight};
use super::window::MamsWindowModel;

/// The budget of path selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MamsBudget {
    /// The one-way delay of the path in question (algorithm 1).
    #[default]
    OneWay,
    /// The cycle (equation 5).
    Cycle,
}

/// How a [`MamsPlanner`] plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MamsPlannerSettings {
    /// Whether paths that are not needed for what is queued are left out.
    pub selection: bool,
    /// The budget of that.
    pub budget: MamsBudget,
    /// How windows change.
    pub model: MamsWindowModel,
    /// Branches less likely than this are cut off.
    pub least_likelihood: f64,
}

impl Default for MamsPlannerSettings {
    fn default() -> Self {
        MamsPlannerSettings {
            selection: true,
            budget: MamsBudget::OneWay,
            model: MamsWindowModel::NewReno,
            least_likelihood: 1e-4,
        }
    }
}

/// Consecutive packets for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MamsRun {
    /// Position of the path among those that were planned.
    pub path: usize,
    /// How many packets; at least one.
    pub packets: u64,
}

/// Plans a cycle. It keeps its memory from plan to plan.
#[derive(Clone, Debug, Default)]
pub struct MamsPlanner {
    settings: MamsPlannerSettings,
    /// In the order of the paths.
    curves: Vec<Curve>,
    /// Positions of the paths, the fastest first; of the selected ones only.
    order: Vec<usize>,
    /// What the paths planned so far deliver together.
    faster: Vec<Step>,
    merged: Vec<Step>,
    /// When packets of the path that is being planned arrive, and how many.
    rounds: Vec<(f64, u64)>,
    runs: Vec<MamsRun>,
    inserted: Vec<MamsRun>,
}

/// A plan of this many packets is as good as any longer one: a bound on numbers, not on work.
const MAX_PACKETS: f64 = 1e9;

impl MamsPlanner {
    /// A planner.
    pub fn new(settings: MamsPlannerSettings) -> Self {
        MamsPlanner { settings, ..MamsPlanner::default() }
    }

    /// Plans for so many packets that are queued. The runs follow each other: the first has packet FP, the first that waits. They
    /// cover no more than is queued; what is queued behind them belongs to a later cycle.
    pub fn plan(&mut self, paths: &[MamsPath], queued: u64) -> &[MamsRun] {
        self.runs.clear();
        self.faster.clear();
        let end = self.follow(paths);
        self.select(paths, queued);
        for place in 0..self.order.len() {
            let index = self.order[place];
            let is_slowest = place + 1 == self.order.len();
            self.collect(index, &paths[index], if is_slowest { None } else { Some(end) });
            self.insert(index, paths[index].packet_time);
            self.combine(index);
        }
        self.cut(queued);
        &self.runs
    }

    /// Positions of the paths that the last plan uses, the fastest first.
    pub fn selected(&self) -> &[usize] {
        &self.order
    }

    /// Packets that the last plan expects of a path within `time`, in seconds.
    pub fn expected(&self, path: usize, time: f64) -> f64 {
        self.curves.get(path).map_or(0.0, |curve| curve.delivered_by(time))
    }

    /// Rounds that the last plan looked at: the measure of its work.
    pub fn rounds(&self) -> usize {
        self.curves.iter().map(|curve| curve.rounds).sum()
    }

    /// Follows every path until the last packet of any first round has arrived, or the end of the cycle if it is asked for.
    /// Returns that time.
    fn follow(&mut self, paths: &[MamsPath]) -> f64 {
        if self.curves.len() < paths.len() {
            self.curves.resize_with(paths.len(), Curve::default);
        }
        self.curves[paths.len()..].iter_mut().for_each(Curve::clear);
        self.order.clear();
        self.order.extend(0..paths.len());
        self.order.sort_unstable_by(|one, other| {
            paths[*one].rtt.total_cmp(&paths[*other].rtt).then(one.cmp(other))
        });
        let last = |path: &MamsPath| path.one_way + duration(path);
        let end = paths.iter().map(last).filter(|end| end.is_finite()).fold(0.0, f64::max);
        let cycle = paths.iter().map(|path| path.rtt).filter(|rtt| rtt.is_finite()).fold(0.0, f64::max);
        for (path, curve) in paths.iter().zip(&mut self.curves) {
            curve.follow(path, self.settings.model, end.max(cycle), self.settings.least_likelihood);
        }
        // What nothing is expected of is down, or was never heard of.
        let curves = &self.curves;
        self.order.retain(|index| curves[*index].delivered_by(end) > 0.0);
        end
    }

    /// Algorithm 1: the fewest of the fastest paths that deliver all that is queued. The sum is reset for each number of
    /// paths, and one path may be enough (equation 5).
    fn select(&mut self, paths: &[MamsPath], queued: u64) {
        if !self.settings.selection {
            return;
        }
        let cycle = paths.iter().map(|path| path.rtt).filter(|rtt| rtt.is_finite()).fold(0.0, f64::max);
        for number in 1..self.order.len() {
            let budget = match self.settings.budget {
                MamsBudget::OneWay => paths[self.order[number - 1]].one_way,
                MamsBudget::Cycle => cycle,
            };
            let fastest = &self.order[..number];
            let expected: f64 = fastest.iter().map(|index| self.curves[*index].delivered_by(budget)).sum();
            if expected >= queued as f64 {
                return self.order.truncate(number);
            }
        }
    }

    /// The packets that a path gets, by the round in which they arrive: until `end`, or of the first round alone.
    fn collect(&mut self, index: usize, path: &MamsPath, end: Option<f64>) {
        self.rounds.clear();
        let Some(end) = end else {
            let (late, all) = (share_in_flight(path), path.first_round());
            let mut given = whole(all * (1.0 - late));
            self.rounds.push((path.one_way, given));
            for part in 0..PARTS {
                let until = whole(all * (1.0 - late + late * (part + 1) as f64 / PARTS as f64));
                let at = path.one_way + path.rtt * part as f64 / PARTS as f64;
                self.rounds.push((at, until.saturating_sub(given)));
                given = given.max(until);
            }
            return;
        };
        let mut before = 0;
        for step in self.curves[index].steps().iter().take_while(|step| step.at <= end + TOLERANCE) {
            let packets = whole(step.packets);
            self.rounds.push((step.at, packets.saturating_sub(before)));
            before = packets;
        }
    }

    /// Algorithm 2: inserts the packets of a path where the faster paths will be when they arrive.
    fn insert(&mut self, path: usize, packet_time: f64) {
        self.inserted.clear();
        let mut faster = Runs::new(&self.runs);
        for (at, count) in self.rounds.iter().copied() {
            let mut given = 0;
            while given < count {
                let arrival = at + given as f64 * packet_time;
                let delivered = whole(delivered_by(&self.faster, arrival));
                faster.copy_until(delivered, &mut self.inserted);
                let later = self.faster.partition_point(|step| step.at <= arrival + TOLERANCE);
                // The packets that arrive before the faster paths' next ones lie one behind the other.
                let until_next = self.faster.get(later).map(|step| step.at - arrival - TOLERANCE);
                let together = match until_next.filter(|_| packet_time > 0.0) {
                    Some(time) => whole((time / packet_time).ceil()).max(1),
                    None => count,
                };
                let packets = together.min(count - given);
                add(&mut self.inserted, MamsRun { path, packets });
                given += packets;
            }
        }
        faster.copy_until(u64::MAX, &mut self.inserted);
        std::mem::swap(&mut self.runs, &mut self.inserted);
    }

    /// Adds what a path delivers to what the faster ones do.
    fn combine(&mut self, index: usize) {
        self.merged.clear();
        let (mut one, mut other) =
            (self.faster.iter().peekable(), self.curves[index].steps().iter().peekable());
        let (mut first, mut second) = (0.0, 0.0);
        loop {
            let at = match (one.peek(), other.peek()) {
                (None, None) => break,
                (Some(step), None) | (None, Some(step)) => step.at,
                (Some(step), Some(also)) => step.at.min(also.at),
            };
            while let Some(step) = one.next_if(|step| step.at <= at) {
                first = step.packets;
            }
            while let Some(step) = other.next_if(|step| step.at <= at) {
                second = step.packets;
            }
            self.merged.push(Step { at, packets: first + second });
        }
        std::mem::swap(&mut self.faster, &mut self.merged);
    }

    /// No more than is queued.
    fn cut(&mut self, queued: u64) {
        let mut left = queued;
        self.runs.retain_mut(|run| {
            run.packets = run.packets.min(left);
            left -= run.packets;
            run.packets > 0
        });
    }
}

/// Runs that are copied one after the other.
struct Runs<'a> {
    rest: std::slice::Iter<'a, MamsRun>,
    /// What is left of the run that was begun.
    begun: Option<MamsRun>,
    copied: u64,
}

impl<'a> Runs<'a> {
    fn new(runs: &'a [MamsRun]) -> Self {
        Runs { rest: runs.iter(), begun: None, copied: 0 }
    }

    /// Copies on until so many packets were copied in all.
    fn copy_until(&mut self, packets: u64, to: &mut Vec<MamsRun>) {
        while self.copied < packets {
            let Some(run) = self.begun.take().or_else(|| self.rest.next().copied()) else { return };
            let taken = run.packets.min(packets - self.copied);
            add(to, MamsRun { packets: taken, ..run });
            self.copied += taken;
            let left = run.packets - taken;
            self.begun = (left > 0).then_some(MamsRun { packets: left, ..run });
        }
    }
}

/// Adds a run; two of one path are one.
fn add(runs: &mut Vec<MamsRun>, run: MamsRun) {
    match runs.last_mut() {
        Some(last) if last.path == run.path => last.packets += run.packets,
        _ if run.packets > 0 => runs.push(run),
        _ => {}
    }
}

/// From the first to the last arrival of the first round.
fn duration(path: &MamsPath) -> f64 {
    let late = share_in_flight(path) * path.rtt;
    (path.first_round() * path.packet_time).max(late).min(path.rtt)
}

/// The nearest whole number of packets.
fn whole(packets: f64) -> u64 {
    packets.round().clamp(0.0, MAX_PACKETS) as u64
}

#[cfg(test)]
mod tests;
