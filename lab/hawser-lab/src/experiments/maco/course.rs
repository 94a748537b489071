//! The course of a run below satellites: windows, deliveries and drops by time, and what the sheet asks of them.

use std::time::Duration;

use hawser_policy::Time;
use hawser_radio::sample_at;
use hawser_scenario::Scenario;
use hawser_sim::run::{Probes, Series, UnknownProbe};

/// Between samples.
const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of a segment, in which the dissertation counts windows.
pub(super) const SEGMENT: f64 = 1460.0;
/// Drops that are closer together are one overflow.
const EPOCH: Duration = Duration::from_millis(300);
/// A window that is this share of the product has recovered.
const RECOVERED: f64 = 0.95;

/// By subflow; a path that was given up and its successor are one.
const WINDOWS: [&str; 2] = ["subflow.main.sat0.window_bytes", "subflow.main.sat1.window_bytes"];
/// Bytes that arrived: of the transfer, of the neighbour on the shared satellite.
const DELIVERED: [&str; 2] = ["flow.main.bytes", "flow.tcp0.bytes"];
/// Packets that the first satellite dropped so far, towards the server.
const DROPPED: &str = "link.beam0.up.dropped_packets";

/// What was sampled of a run.
pub(super) struct Course(Probes);

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
    /// What is to be sampled.
    pub(super) fn probes() -> Result<Probes, UnknownProbe> {
        Probes::every(INTERVAL, &[WINDOWS[0], WINDOWS[1], DELIVERED[0], DELIVERED[1], DROPPED])
    }

    /// Of a run with these probes.
    pub(super) fn of(probes: Probes) -> Course {
        Course(probes)
    }

    fn windows(&self, subflow: usize) -> &[(Time, f64)] {
        self.0.series(WINDOWS[subflow]).points()
    }

    fn dropped(&self) -> &Series {
        self.0.series(DROPPED)
    }

    /// Mean over the time from `since` on, in segments, all subflows together.
    pub(super) fn mean_window(&self, since: Time) -> f64 {
        let mean = |subflow| {
            let late = self.windows(subflow).iter().filter(|(at, _)| *at >= since);
            let late: Vec<f64> = late.map(|(_, bytes)| *bytes).collect();
            late.iter().sum::<f64>() / late.len().max(1) as f64 / SEGMENT
        };
        [0, 1].into_iter().map(mean).sum()
    }

    /// The largest window, in segments.
    pub(super) fn peak_window(&self) -> f64 {
        let all = [0, 1].into_iter().flat_map(|subflow| self.windows(subflow));
        all.map(|(_, bytes)| *bytes).fold(0.0, f64::max) / SEGMENT
    }

    /// The largest product that a subflow had, in segments.
    pub(super) fn peak_product(&self, truth: &Truth<'_>) -> f64 {
        let of = |subflow: usize| {
            let times = self.windows(subflow).iter().map(|(at, _)| *at);
            times.filter_map(|at| truth.product(subflow, at)).fold(0.0, f64::max)
        };
        of(0).max(of(1)) / SEGMENT
    }

    /// Goodput of the transfer and of the neighbour, bit/s, in the slots in which both subflows are on one satellite, or in
    /// the others.
    pub(super) fn goodput(&self, truth: &Truth<'_>, shared: bool) -> [f64; 2] {
        DELIVERED.map(|flow| {
            let (mut bytes, mut seconds) = (0.0, 0.0);
            for pair in self.0.series(flow).points().windows(2) {
                if truth.is_shared(pair[0].0) == shared {
                    bytes += pair[1].1 - pair[0].1;
                    seconds += pair[1].0.since(pair[0].0).as_secs_f64();
                }
            }
            if seconds > 0.0 { 8.0 * bytes / seconds } else { 0.0 }
        })
    }

    /// After each hand-over, from the end of its outage: how long until the window of the subflow that moved is the product, in
    /// milliseconds. What does not come to that has the whole slot.
    pub(super) fn hand_over_recoveries(&self, truth: &Truth<'_>, outage: Duration) -> Vec<f64> {
        let end = self.windows(0).last().map_or(Time::ZERO, |(at, _)| *at);
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
        let mut later = self.windows(subflow).iter().filter(|(at, _)| *at >= from && *at < until);
        let recovered = |(at, bytes): &&(Time, f64)| {
            truth.product(subflow, *at).is_some_and(|product| *bytes >= RECOVERED * product)
        };
        later.find(recovered).map_or(until.since(from), |(at, _)| at.since(from))
    }

    /// Packets that the satellite dropped from `from` on, for so long, after each tick that brings both subflows there.
    pub(super) fn drops_after_joining(&self, truth: &Truth<'_>, outage: Duration, length: Duration) -> f64 {
        let end = self.dropped().points().last().map_or(Time::ZERO, |last| last.0);
        let mut drops = 0.0;
        for tick in (1..).step_by(2) {
            let from = Time::from_nanos(tick * truth.period) + outage;
            if from + length > end {
                break;
            }
            drops += self.dropped().rise(from, from + length);
        }
        drops
    }

    /// Times at which the satellite's queue began to overflow.
    pub(super) fn overflows(&self) -> Vec<Time> {
        let mut last = None::<Time>;
        let mut begun = Vec::new();
        for pair in self.dropped().points().windows(2) {
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
