use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, ParameterInfo, Parameters, PathChange, PathId,
    PathView, PolicyInfo, Rate, Scheduler, SendView, Time,
};

use crate::placement::datagram;

/// What can be set of [`Wrr`]: the bounds of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrrParameters {
    /// The shortest turn, in datagrams.
    pub shortest: u64,
    /// The longest turn, in datagrams.
    pub longest: u64,
}

impl Default for WrrParameters {
    fn default() -> Self {
        WrrParameters { shortest: 2, longest: 16 }
    }
}

/// WRR, weighted round robin by pacing, the scheduler of picoquic (as D. Li, University of Victoria 2024, section 2.2.5,
/// describes it).
///
/// Among the paths that window and pacer allow, the one takes its turn that sent longest ago; so each path's share is its
/// pacing rate. The pacer is a leaky bucket in units of time: a datagram costs `t = min(MTU / rate, srtt)`, the bucket
/// holds `quantum / rate` with `quantum = w / 4` between 2 and 16 datagrams, and a path may send while more than `t` is
/// left. The rate is the controller's, so that it follows the gain cycle of BBR.
#[derive(Clone, Debug)]
pub struct Wrr {
    parameters: WrrParameters,
    buckets: Vec<Bucket>,
    turns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    path: PathId,
    /// Credit, in nanoseconds; negative after a batch.
    level: i128,
    filled_at: Time,
    bytes_sent: u64,
    /// The turn in which it last sent.
    turn: u64,
}

impl Default for Wrr {
    fn default() -> Self {
        Wrr::with_parameters(WrrParameters::default())
    }
}

impl Wrr {
    /// Its name in the registry.
    pub const NAME: &'static str = "wrr";

    /// With other bounds of a turn.
    pub fn with_parameters(parameters: WrrParameters) -> Self {
        let longest = parameters.longest.max(parameters.shortest);
        Wrr { parameters: WrrParameters { longest, ..parameters }, buckets: Vec::new(), turns: 0 }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        Wrr::with_parameters(WrrParameters {
            shortest: parameters.integer("shortest"),
            longest: parameters.integer("longest"),
        })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = WrrParameters::default();
        PolicyInfo::new(Self::NAME, "in turns whose length is set by pacing")
            .source("picoquic; Li 2024, section 2.2.5")
            .parameter(
                ParameterInfo::integer("shortest", 1..=1_000, default.shortest)
                    .unit("datagrams")
                    .meaning("shortest turn")
                    .source("picoquic"),
            )
            .parameter(
                ParameterInfo::integer("longest", 1..=1_000, default.longest)
                    .unit("datagrams")
                    .meaning("longest turn; a quarter of the window lies between")
                    .source("picoquic"),
            )
    }

    /// Fills the bucket of a path up to now, less what was sent since; gives its position.
    fn refill(&mut self, path: &PathView, now: Time) -> usize {
        let at = self.buckets.iter().position(|bucket| bucket.path == path.id).unwrap_or_else(|| {
            let level = i128::from(u64::MAX);
            let fresh = Bucket { path: path.id, level, filled_at: now, bytes_sent: path.bytes_sent, turn: 0 };
            self.buckets.push(fresh);
            self.buckets.len() - 1
        });
        let (cost, most) = (nanos(cost(path)), self.largest(path));
        let bucket = &mut self.buckets[at];
        let sent = path.bytes_sent.saturating_sub(bucket.bytes_sent);
        bucket.bytes_sent = path.bytes_sent;
        // Rounded up to the nanosecond, as there.
        bucket.level -=
            (cost * i128::from(sent)).div_euclid(i128::from(datagram(path))) + i128::from(sent > 0);
        bucket.level = most.min(bucket.level.max(-cost) + nanos(now.since(bucket.filled_at)));
        bucket.filled_at = now;
        at
    }

    fn largest(&self, path: &PathView) -> i128 {
        let size = datagram(path);
        let WrrParameters { shortest, longest } = self.parameters;
        let quantum =
            (path.congestion_window / 4).clamp(shortest.saturating_mul(size), longest.saturating_mul(size));
        nanos(time_for(path.pacing_rate, quantum))
    }
}

/// What a datagram costs.
fn cost(path: &PathView) -> Duration {
    time_for(path.pacing_rate, datagram(path)).min(path.smoothed_rtt)
}

/// At an unlimited rate nothing takes time.
fn time_for(rate: Rate, bytes: u64) -> Duration {
    rate.time_for(bytes).min(Duration::from_secs(60))
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX / 4)
}

impl Scheduler for Wrr {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let mut best: Option<(u64, PathId, usize, u64)> = None;
        let mut release: Option<Time> = None;
        for path in view.preferred().filter(|path| path.sendable() > 0) {
            let at = self.refill(path, view.now);
            let (level, cost) = (self.buckets[at].level, nanos(cost(path)));
            if level < cost {
                let missing = u64::try_from(cost - level).unwrap_or(u64::MAX);
                let at = view.now + Duration::from_nanos(missing);
                release = Some(release.map_or(at, |other| other.min(at)));
                continue;
            }
            let turn = self.buckets[at].turn;
            if best.is_none_or(|(least, id, ..)| (turn, path.id) < (least, id)) {
                best = Some((turn, path.id, at, datagram(path)));
            }
        }
        let Some((_, path, at, max_bytes)) = best else { return Decision::Wait(release) };
        self.turns += 1;
        self.buckets[at].turn = self.turns;
        Decision::Send(Assignment::next(path).with(|assignment| assignment.max_bytes = max_bytes))
    }

    fn interests(&self) -> Interests {
        Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        if let Event::Path { path, change: PathChange::Abandoned, .. } = *event {
            self.buckets.retain(|bucket| bucket.path != path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, view_at};
    use hawser_policy::QueueView;

    fn waiting() -> QueueView {
        QueueView::default().with(|queue| {
            queue.unsent = 1 << 30;
            queue.connection_window_left = u64::MAX;
        })
    }

    /// Datagrams sent on each path within a second that is paced at these rates in Mbit/s.
    fn sent(rates: [u64; 2]) -> [u64; 2] {
        let mut wrr = Wrr::default();
        let mut paths = [path(1, 20, 100_000), path(2, 100, 100_000)];
        for (path, rate) in paths.iter_mut().zip(rates) {
            path.pacing_rate = Rate::from_megabits_per_second(rate);
        }
        let (mut now, end) = (Time::ZERO, Time::from_secs(1));
        while now < end {
            match wrr.schedule(&view_at(now, &paths, waiting()), &mut Vec::new()) {
                Decision::Send(sent) => {
                    let path = paths.iter_mut().find(|path| path.id == sent.path).unwrap();
                    path.bytes_sent += sent.max_bytes;
                }
                Decision::Wait(until) => now = until.unwrap().max(now + Duration::from_micros(10)),
            }
        }
        paths.map(|path| path.bytes_sent / u64::from(path.max_datagram_size))
    }

    /// 8 Mbit/s are 1000 datagrams of 1000 B in a second; the first bucket holds 16 of them.
    #[test]
    fn shares_are_those_of_the_pacing_rates() {
        for (rates, expected) in [([8, 8], [1_016, 1_016]), ([24, 8], [3_016, 1_016])] {
            let sent = sent(rates);
            assert!(sent.iter().zip(expected).all(|(sent, about)| sent.abs_diff(about) <= 2), "{sent:?}");
        }
    }

    /// A quarter of the window, between 2 and 16 datagrams: 1 ms each at 8 Mbit/s.
    #[test]
    fn a_turn_is_a_quarter_of_the_window_within_bounds() {
        for (window, expected) in [(4_000, 2), (40_000, 10), (400_000, 16)] {
            let mut path = path(1, 20, 0);
            (path.congestion_window, path.pacing_rate) = (window, Rate::from_megabits_per_second(8));
            assert_eq!(Wrr::default().largest(&path), expected * 1_000_000, "{window}");
        }
    }

    #[test]
    fn the_path_that_sent_longest_ago_goes_first() {
        let mut wrr = Wrr::default();
        let paths = [path(1, 20, 100_000), path(2, 100, 100_000), path(3, 5, 100_000)];
        let order =
            [0; 6].map(|_| match wrr.schedule(&view_at(Time::ZERO, &paths, waiting()), &mut Vec::new()) {
                Decision::Send(sent) => sent.path.0,
                Decision::Wait(_) => 0,
            });
        assert_eq!(order, [1, 2, 3, 1, 2, 3]);
    }
}
