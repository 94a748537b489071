//! The course of a run below satellites: windows, deliveries and drops by time, and what the sheet asks of them.

use std::time::Duration;

use hawser_policy::Time;
use hawser_radio::sample_at;
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{FlowSample, LinkSample, PathSample, Recorder};

/// Between samples.
const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of a segment, in which the dissertation counts windows.
pub(super) const SEGMENT: f64 = 1460.0;
/// Drops that are closer together are one overflow.
const EPOCH: Duration = Duration::from_millis(300);
/// A window that is this share of the product has recovered.
const RECOVERED: f64 = 0.95;

/// A window at a time.
#[derive(Clone, Copy, Debug)]
struct Window {
    at: Time,
    bytes: f64,
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// By subflow.
    windows: [Vec<Window>; 2],
    /// Bytes that arrived: of the transfer, of the neighbour on the shared satellite.
    delivered: [Vec<(Time, u64)>; 2],
    /// Packets that the first satellite dropped so far, towards the server.
    dropped: Vec<(Time, u64)>,
}

impl Recorder for Course {
    fn sample_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        let index = match sample.flow {
            "main" => 0,
            "tcp0" => 1,
            _ => return,
        };
        self.delivered[index].push((sample.at, sample.bytes));
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        let index = match (sample.flow, sample.link) {
            ("main", "sat0") => 0,
            ("main", "sat1") => 1,
            _ => return,
        };
        let bytes = sample.stats.congestion_window as f64;
        // A path that was given up and its successor are one subflow: the last one counts.
        match self.windows[index].last_mut().filter(|last| last.at == sample.at) {
            Some(last) => last.bytes = bytes,
            None => self.windows[index].push(Window { at: sample.at, bytes }),
        }
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        if (sample.link, sample.direction) == ("beam0", Direction::Up) {
            self.dropped.push((sample.at, sample.dropped_packets));
        }
    }
}

/// What holds of the links by time, the load that other users put on them included.
pub(super) struct Truth<'a> {
    scenario: &'a Scenario,
    /// Nanoseconds between ticks.
    pub(super) period: u64,
}

impl<'a> Truth<'a> {
    pub(super) fn new(scenario: &'a Scenario, period: Duration) -> Self {
        Truth { scenario, period: period.as_nanos() as u64 }
    }

    /// The bandwidth-delay product of a subflow, half of the satellite's where both are on it, in bytes; none in an outage.
    pub(super) fn product(&self, subflow: usize, at: Time) -> Option<f64> {
        let forecasts = self.scenario.links.get(subflow)?.forecasts.as_ref()?;
        let sample = sample_at(&forecasts.profile.up, at.as_nanos()).filter(|sample| sample.up)?;
        let subflows = if self.is_shared(at) { 2.0 } else { 1.0 };
        Some(sample.rate as f64 / 8.0 * 2.0 * sample.delay as f64 / 1e9 / subflows)
    }

    fn tick(&self, at: Time) -> u64 {
        at.as_nanos() / self.period
    }

    /// Whether both subflows are on one satellite.
    fn is_shared(&self, at: Time) -> bool {
        self.tick(at) % 2 == 1
    }

    /// The subflow that moves at the beginning of a tick; none at the first.
    fn mover(&self, tick: u64) -> Option<usize> {
        (tick > 0).then_some(((tick + 1) % 2) as usize)
    }
}

impl Course {
    /// Mean over the time from `since` on, in segments, all subflows together.
    pub(super) fn mean_window(&self, since: Time) -> f64 {
        let mean = |windows: &Vec<Window>| {
            let late: Vec<f64> = windows.iter().filter(|it| it.at >= since).map(|it| it.bytes).collect();
            late.iter().sum::<f64>() / late.len().max(1) as f64 / SEGMENT
        };
        self.windows.iter().map(mean).sum()
    }

    /// The largest window, in segments.
    pub(super) fn peak_window(&self) -> f64 {
        self.windows.iter().flatten().map(|it| it.bytes).fold(0.0, f64::max) / SEGMENT
    }

    /// The largest product that a subflow had, in segments.
    pub(super) fn peak_product(&self, truth: &Truth<'_>) -> f64 {
        let of = |subflow: usize| {
            self.windows[subflow]
                .iter()
                .filter_map(move |it| truth.product(subflow, it.at))
                .fold(0.0, f64::max)
        };
        of(0).max(of(1)) / SEGMENT
    }

    /// Goodput of the transfer and of the neighbour, bit/s, in the slots in which both subflows are on one satellite, or in
    /// the others.
    pub(super) fn goodput(&self, truth: &Truth<'_>, shared: bool) -> [f64; 2] {
        [0, 1].map(|flow| {
            let (mut bytes, mut seconds) = (0, 0.0);
            for pair in self.delivered[flow].windows(2) {
                if truth.is_shared(pair[0].0) == shared {
                    bytes += pair[1].1.saturating_sub(pair[0].1);
                    seconds += pair[1].0.since(pair[0].0).as_secs_f64();
                }
            }
            if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
        })
    }

    /// After each hand-over, from the end of its outage: how long until the window of the subflow that moved is the product, in
    /// milliseconds. What does not come to that has the whole slot.
    pub(super) fn hand_over_recoveries(&self, truth: &Truth<'_>, outage: Duration) -> Vec<f64> {
        let end = self.windows[0].last().map_or(Time::ZERO, |last| last.at);
        let mut recoveries = Vec::new();
        for tick in 1.. {
            let from = Time::from_nanos(tick * truth.period) + outage;
            let until = Time::from_nanos((tick + 1) * truth.period);
            if until > end {
                return recoveries;
            }
            let Some(subflow) = truth.mover(tick) else { continue };
            // What the hand-over took shows a round trip later.
            let settled = from + 5 * INTERVAL;
            recoveries.push(self.recovery(truth, subflow, settled, until).as_secs_f64() * 1e3);
        }
        recoveries
    }

    /// After each reduction of a subflow below the product: how long until it is that again, in milliseconds.
    pub(super) fn reduction_recoveries(&self, truth: &Truth<'_>, reductions: &[(Time, usize)]) -> Vec<f64> {
        let recovery = |(at, subflow): &(Time, usize)| {
            let until = Time::from_nanos((truth.tick(*at) + 1) * truth.period);
            self.recovery(truth, *subflow, *at + INTERVAL, until).as_secs_f64() * 1e3
        };
        reductions.iter().map(recovery).filter(|milliseconds| *milliseconds > 0.0).collect()
    }

    fn recovery(&self, truth: &Truth<'_>, subflow: usize, from: Time, until: Time) -> Duration {
        let later = self.windows[subflow].iter().filter(|it| it.at >= from && it.at < until);
        let recovered = |it: &&Window| {
            truth.product(subflow, it.at).is_some_and(|product| it.bytes >= RECOVERED * product)
        };
        later.clone().find(recovered).map_or(until.since(from), |it| it.at.since(from))
    }

    /// Packets that the satellite dropped from `from` on, for so long, after each tick that brings both subflows there.
    pub(super) fn drops_after_joining(&self, truth: &Truth<'_>, outage: Duration, length: Duration) -> f64 {
        let dropped_until = |at: Time| {
            let index = self.dropped.partition_point(|sample| sample.0 <= at);
            index.checked_sub(1).map_or(0, |index| self.dropped[index].1)
        };
        let end = self.dropped.last().map_or(Time::ZERO, |last| last.0);
        let mut drops = 0;
        for tick in (1..).step_by(2) {
            let from = Time::from_nanos(tick * truth.period) + outage;
            if from + length > end {
                break;
            }
            drops += dropped_until(from + length) - dropped_until(from);
        }
        drops as f64
    }

    /// Times at which the satellite's queue began to overflow.
    pub(super) fn overflows(&self) -> Vec<Time> {
        let mut last = None::<Time>;
        let mut begun = Vec::new();
        for pair in self.dropped.windows(2) {
            if pair[1].1 > pair[0].1 {
                if last.is_none_or(|at| pair[1].0.since(at) > EPOCH) {
                    begun.push(pair[1].0);
                }
                last = Some(pair[1].0);
            }
        }
        begun
    }
}
