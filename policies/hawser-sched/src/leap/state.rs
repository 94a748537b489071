//! What the parts know in common.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_learn::Ewma;
use hawser_policy::{PacketReport, PathId, Time};

use super::forecast::{Arrival, LeapForecast, dispersion};
use super::parameters::LeapParameters;

/// Paths that are remembered.
const MAX_PATHS: usize = 64;
/// Packets of a sample that are kept; at 20 ms this is some 100 Mbit/s, and enough at any rate.
const MAX_ARRIVALS: usize = 256;

/// The state of a connection.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    parameters: LeapParameters,
    paths: Arc<Mutex<Vec<Path>>>,
}

/// What is known of a path.
#[derive(Debug)]
struct Path {
    id: PathId,
    forecast: LeapForecast,
    /// Of the sample that is being taken.
    arrivals: Vec<Arrival>,
    began: Option<Time>,
    has_receive_times: bool,
    /// One-way delays of the last packets, with an unknown offset.
    delays: VecDeque<Duration>,
    least_delay: Option<Duration>,
    loss: Ewma,
}

impl Path {
    fn new(id: PathId, memory: usize) -> Self {
        // A first packet that is lost says no more than any other.
        let mut loss = Ewma::new(1.0 / memory.max(1) as f64);
        loss.update(0.0);
        Path {
            id,
            forecast: LeapForecast::default(),
            arrivals: Vec::new(),
            began: None,
            has_receive_times: false,
            delays: VecDeque::new(),
            least_delay: None,
            loss,
        }
    }

    /// A packet was acknowledged.
    fn on_acked(&mut self, parameters: &LeapParameters, report: &PacketReport<'_>) {
        let PacketReport { now, sent_at, .. } = *report;
        self.loss.update(0.0);
        if report.one_way_delay.is_some() && !self.has_receive_times {
            self.has_receive_times = true;
            self.delays.clear();
            self.arrivals.clear();
            self.least_delay = None;
        }
        // A peer without receive times: half of the time there and back stands for the delay. Of one with them, packets whose
        // time did not come say nothing of delays: the offset of its clock is in all others.
        let delay = match report.one_way_delay {
            None if self.has_receive_times => return,
            delay => delay.unwrap_or(now.since(sent_at) / 2),
        };
        self.least_delay = Some(self.least_delay.map_or(delay, |least| least.min(delay)));
        if self.delays.len() >= parameters.memory {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
        if self.arrivals.len() < MAX_ARRIVALS {
            self.arrivals.push(Arrival {
                number: report.packet_number,
                bytes: report.bytes,
                sent_at,
                arrived_at: report.one_way_delay.map_or(now, |delay| sent_at + delay),
            });
        }
        let began = *self.began.get_or_insert(now);
        if now.since(began) >= parameters.sample {
            if let Some(rate) = dispersion(&mut self.arrivals) {
                self.forecast.update(now, rate);
            }
            self.arrivals.clear();
            self.began = None;
        }
    }

    /// Probability that a packet arrives, and in time.
    fn on_time(&self, deadline: Duration, round_trip: Duration) -> f64 {
        // The offset between the clocks is what makes the least delay half of the least round-trip time.
        let least = self.least_delay.unwrap_or_default();
        let is_in_time = |delay: &&Duration| delay.saturating_sub(least) + round_trip / 2 <= deadline;
        let share = match self.delays.len() {
            0 => 1.0,
            all => self.delays.iter().filter(is_in_time).count() as f64 / all as f64,
        };
        (1.0 - self.loss.value().unwrap_or(0.0)) * share
    }
}

impl Shared {
    pub(super) fn new(parameters: LeapParameters) -> Self {
        Shared { parameters, paths: Arc::default() }
    }

    fn paths(&self) -> MutexGuard<'_, Vec<Path>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, id: PathId, change: impl FnOnce(&mut Path) -> T) -> Option<T> {
        let mut paths = self.paths();
        let at = paths.iter().position(|path| path.id == id).or_else(|| {
            (paths.len() < MAX_PATHS).then(|| {
                paths.push(Path::new(id, self.parameters.memory));
                paths.len() - 1
            })
        })?;
        Some(change(&mut paths[at]))
    }

    pub(super) fn on_acked(&self, report: &PacketReport<'_>) {
        self.with(report.path, |path| path.on_acked(&self.parameters, report));
    }

    pub(super) fn on_lost(&self, report: &PacketReport<'_>) {
        self.with(report.path, |path| path.loss.update(1.0));
    }

    /// The path is gone, or leads elsewhere.
    pub(super) fn forget(&self, id: PathId) {
        self.paths().retain(|path| path.id != id);
    }

    /// What a path will carry at the least, in bit/s.
    pub(super) fn low(&self, id: PathId) -> Option<f64> {
        let paths = self.paths();
        paths.iter().find(|path| path.id == id)?.forecast.low(&self.parameters)
    }

    /// Probability that a packet on this path arrives within the deadline, where it takes so long there and back at the least.
    pub(super) fn on_time(&self, id: PathId, round_trip: Duration) -> f64 {
        let paths = self.paths();
        let path = paths.iter().find(|path| path.id == id);
        path.map_or(1.0, |path| path.on_time(self.parameters.deadline, round_trip))
    }
}
