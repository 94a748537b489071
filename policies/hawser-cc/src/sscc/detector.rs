//! Which paths share a bottleneck, from one-way delays and losses (RFC 8382; F. Yang 2022, section 5.3.2).
//!
//! Time is cut into intervals, the same for all paths. At the end of each, paths whose delays look congested are grouped by
//! like statistics; this *partition* is one vote, and the votes of the last ten intervals decide.
//!
//! A detector is pure: time comes with each call, and the same calls give the same groups.

use std::time::Duration;

use hawser_learn::IntervalStatistics;
use hawser_policy::{GroupId, PathId, Time};

use super::detector_settings::{DetectorSettings, MAX_PATHS};
use super::grouping::{self, Measure};
use super::vote::Ballot;

/// What is known of a path.
#[derive(Debug)]
struct Watched {
    path: PathId,
    delays: IntervalStatistics,
    /// The first delay, nanoseconds: all others are taken relative to it, so that the offset between clocks costs no digits.
    reference: Option<i128>,
    congested: bool,
}

/// Finds paths that share a bottleneck.
///
/// ```
/// use std::time::Duration;
/// use hawser_cc::sscc::{Detector, DetectorSettings};
/// use hawser_policy::{GroupId, PathId, Time};
///
/// // Two paths whose delays swing together, one up and down in four seconds; a sample each every 10 ms.
/// let mut detector = Detector::new(DetectorSettings::THESIS);
/// for n in 0..2_000u64 {
///     let now = Time::from_millis(10 * n);
///     let queue = if n % 400 < 320 { 40_000 + n % 7 * 500 } else { n % 400 * 50 };
///     detector.on_delay(now, PathId(0), 20_000_000 + 1_000 * i128::from(queue));
///     detector.on_delay(now, PathId(1), 90_000_000 + 1_000 * i128::from(queue));
///     detector.advance(now);
/// }
/// assert_ne!(detector.group(PathId(0)), GroupId(0));
/// assert_eq!(detector.group(PathId(0)), detector.group(PathId(1)));
/// ```
#[derive(Debug)]
pub struct Detector {
    settings: DetectorSettings,
    /// In order of path id.
    paths: Vec<Watched>,
    ballot: Ballot,
    /// Since when intervals are counted: the first sample.
    origin: Option<Time>,
    /// The interval that runs, and when it ends: most calls ask no more than whether it has.
    current: u64,
    ends: Time,
    partitions: u64,
}

impl Detector {
    /// Nothing seen yet.
    pub fn new(settings: DetectorSettings) -> Self {
        let intervals = settings.keep.as_nanos().div_ceil(settings.interval.as_nanos().max(1));
        let ballot = Ballot::new(settings.vote, u32::try_from(intervals).unwrap_or(u32::MAX));
        Detector {
            settings,
            paths: Vec::with_capacity(MAX_PATHS),
            ballot,
            origin: None,
            current: 0,
            ends: Time::ZERO,
            partitions: 0,
        }
    }

    /// A packet of this path was acknowledged at `now`. `delay` is when it arrived less when it left, in nanoseconds, by clocks
    /// with an unknown offset; negative ones are as good.
    pub fn on_delay(&mut self, now: Time, path: PathId, delay: i128) {
        self.advance(now);
        if let Some(watched) = self.watched(path) {
            let reference = *watched.reference.get_or_insert(delay);
            // Three centuries of nanoseconds fit, and are quicker to convert.
            let relative = i64::try_from(delay - reference).unwrap_or(i64::MAX);
            watched.delays.insert(relative as f64 / 1e3);
        }
    }

    /// Packets of this path were declared lost.
    pub fn on_loss(&mut self, now: Time, path: PathId, packets: u64) {
        self.advance(now);
        if let Some(watched) = self.watched(path) {
            watched.delays.count_events(packets);
        }
    }

    /// Ends intervals that are over by `now`; whether a vote was taken. All other calls do so by themselves. Time that goes
    /// back counts as none.
    #[inline]
    pub fn advance(&mut self, now: Time) -> bool {
        now >= self.ends && self.advance_interval(now)
    }

    fn advance_interval(&mut self, now: Time) -> bool {
        let origin = *self.origin.get_or_insert(now);
        let interval = self.settings.interval.as_nanos().max(1);
        let index = u64::try_from(now.since(origin).as_nanos() / interval).unwrap_or(u64::MAX);
        let until = u64::try_from(interval * (u128::from(index) + 1)).unwrap_or(u64::MAX);
        self.ends = origin + Duration::from_nanos(until);
        if index <= self.current {
            return false;
        }
        let voted = self.close();
        if index > self.current + 1 {
            // Nothing was seen in the intervals between: there is no vote, and no mean right before.
            self.paths.iter_mut().for_each(|watched| {
                watched.delays.close();
            });
        }
        self.current = index;
        voted
    }

    /// The group that this path is in; `GroupId(0)`: it shares no bottleneck with another, as far as is known.
    pub fn group(&self, path: PathId) -> GroupId {
        self.ballot.group(path)
    }

    /// The path is gone.
    pub fn remove(&mut self, path: PathId) {
        self.paths.retain(|watched| watched.path != path);
        self.ballot.remove(path);
    }

    /// Partitions so far.
    pub fn partitions(&self) -> u64 {
        self.partitions
    }

    /// What the statistics of a path say now; `None` if it has none.
    pub fn measure(&self, path: PathId) -> Option<Measure> {
        let watched = self.paths.iter().find(|watched| watched.path == path)?;
        (watched.delays.intervals() > 0).then(|| watched.measure(&self.settings))
    }

    /// Whether the last interval found the path congested.
    pub fn is_congested(&self, path: PathId) -> bool {
        self.paths.iter().any(|watched| watched.path == path && watched.congested)
    }

    /// Bytes that it takes, about.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let histories = self.paths.iter().map(|watched| watched.delays.memory()).sum::<usize>();
        size_of::<Detector>() + self.paths.capacity() * size_of::<Watched>() + histories + Ballot::MEMORY
    }

    fn watched(&mut self, path: PathId) -> Option<&mut Watched> {
        let at = self.paths.partition_point(|watched| watched.path < path);
        if self.paths.get(at).is_none_or(|watched| watched.path != path) {
            if self.paths.len() >= MAX_PATHS {
                return None;
            }
            let delays = IntervalStatistics::weighted(self.settings.history, self.settings.weights)
                .with_recent(self.settings.recent);
            self.paths.insert(at, Watched { path, delays, reference: None, congested: false });
        }
        self.paths.get_mut(at)
    }

    /// Ends the interval that runs, and votes if it had samples.
    fn close(&mut self) -> bool {
        let mut measures = [Measure::default(); MAX_PATHS];
        let mut sampled = 0;
        let mut congested = 0;
        for watched in &mut self.paths {
            if !watched.delays.close() {
                continue;
            }
            sampled += 1;
            let measure = watched.measure(&self.settings);
            watched.congested = is_congested(&self.settings, &measure, watched.congested);
            if watched.congested {
                measures[congested] = measure;
                congested += 1;
            }
        }
        if sampled == 0 {
            return false;
        }
        self.partitions += 1;
        let partition = grouping::partition(&self.settings, &mut measures[..congested]);
        self.ballot.cast(self.paths.iter().map(|watched| watched.path), &partition);
        true
    }
}

impl Watched {
    fn measure(&self, settings: &DetectorSettings) -> Measure {
        Measure {
            path: self.path,
            skewness: self.delays.skewness(),
            deviation: self.delays.deviation(),
            crossings: self.delays.crossing_rate(settings.crossing_margin),
            loss: self.delays.event_rate(),
        }
    }
}

/// Whether a path is congested (section 5.3.2). On a lightly loaded path most samples lie near the least one and a few far above, so that most are
/// below the mean; a queue that stands pushes them up.
fn is_congested(settings: &DetectorSettings, measure: &Measure, before: bool) -> bool {
    if measure.loss >= settings.loss {
        return true;
    }
    if measure.deviation < settings.least_deviation.as_secs_f64() * 1e6 {
        return false;
    }
    measure.skewness < settings.skewness || (before && measure.skewness < settings.skewness_hold)
}

#[cfg(test)]
mod tests;
