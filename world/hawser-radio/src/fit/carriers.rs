use hawser_numbers::statistics::quantile_of;

use super::run::CarrierRun;
use crate::math::seconds;
use crate::profile::{EventKind, Profile, sample_at, time_mean};

/// Statistics of two carriers in one car. Lists have one value per carrier; what was not measured is not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarrierFacts {
    /// Share of half seconds below 1 Mbit/s from the network.
    pub down_below: [f64; 2],
    /// Both at once.
    pub down_joint: f64,
    /// Share of half seconds below 1 Mbit/s towards the network.
    pub up_below: [f64; 2],
    /// Both at once.
    pub up_joint: f64,
    /// Handovers per minute and carrier.
    pub handovers_per_minute: f64,
    /// Duration of handovers, seconds: median, 95th and 99th percentile.
    pub handover_duration: [f64; 3],
    /// 99th percentile of the round-trip time, seconds.
    pub ping_p99: f64,
    /// The longest round-trip time, seconds.
    pub ping_worst: f64,
}

/// Half a second, the interval of the measurement.
const WINDOW: u64 = 500_000_000;
/// Between two pings.
const PING_INTERVAL: u64 = 200_000_000;
/// bit/s.
const OUTAGE: f64 = 1e6;

impl CarrierFacts {
    /// What the whole data set of PAM 2025 gives (20 h; traces/README.md). Of ranges, the middle.
    pub fn published() -> Self {
        CarrierFacts {
            down_below: [0.059, 0.075],
            down_joint: 0.010,
            up_below: [0.088, 0.104],
            up_joint: 0.023,
            handovers_per_minute: 2.7,
            handover_duration: [0.059, 0.250, 0.562],
            ping_p99: 0.418,
            ping_worst: 10.6,
        }
    }

    /// The same statistics of two generated links over their first `duration_ns`.
    pub fn of_profiles(links: [&Profile; 2], duration_ns: u64) -> Self {
        let below = |pick: fn(&Profile) -> &[crate::Sample]| {
            let mut counts = [0.0; 3];
            let windows = duration_ns / WINDOW;
            for window in 0..windows {
                let (from, until) = (window * WINDOW, (window + 1) * WINDOW);
                let low = links.map(|link| {
                    let carried = |sample: &crate::Sample| if sample.up { sample.rate as f64 } else { 0.0 };
                    time_mean(window_of(pick(link), from, until), from, until, carried) < OUTAGE
                });
                counts[0] += f64::from(u8::from(low[0]));
                counts[1] += f64::from(u8::from(low[1]));
                counts[2] += f64::from(u8::from(low[0] && low[1]));
            }
            counts.map(|count| count / windows.max(1) as f64)
        };
        let [down_one, down_two, down_joint] = below(|link| &link.down);
        let [up_one, up_two, up_joint] = below(|link| &link.up);
        let durations: Vec<f64> = links.iter().flat_map(|link| handover_durations(link)).collect();
        let pings: Vec<f64> = links.iter().flat_map(|link| pings(link, duration_ns)).collect();
        CarrierFacts {
            down_below: [down_one, down_two],
            down_joint,
            up_below: [up_one, up_two],
            up_joint,
            handovers_per_minute: durations.len() as f64 / (2.0 * seconds(duration_ns) / 60.0),
            handover_duration: [0.50, 0.95, 0.99].map(|p| quantile_of(&durations, p)),
            ping_p99: quantile_of(&pings, 0.99),
            ping_worst: quantile_of(&pings, 1.0),
        }
    }

    /// The same statistics of measurements in the two directions, and of round-trip times in seconds.
    pub fn of_runs(down: &[CarrierRun], up: &[CarrierRun], round_trips: &[f64]) -> Self {
        let runs = || down.iter().chain(up);
        let durations: Vec<f64> = runs().flat_map(|run| run.handovers.iter().copied()).collect();
        let time: f64 = runs().map(|run| run.time).sum();
        let (down, up) = (shares(down), shares(up));
        CarrierFacts {
            down_below: [down[0], down[1]],
            down_joint: down[2],
            up_below: [up[0], up[1]],
            up_joint: up[2],
            handovers_per_minute: durations.len() as f64 / (time / 60.0),
            handover_duration: [0.50, 0.95, 0.99].map(|p| quantile_of(&durations, p)),
            ping_p99: quantile_of(round_trips, 0.99),
            ping_worst: quantile_of(round_trips, 1.0),
        }
    }

    /// Names and values, for [`table`](super::table()).
    pub fn statistics(&self) -> Vec<(String, f64)> {
        let mut list: Vec<(String, f64)> = Vec::new();
        let mut add = |name: &str, value: f64| list.push((name.to_owned(), value));
        add("down below 1 Mbit/s, first carrier", self.down_below[0]);
        add("down below 1 Mbit/s, second carrier", self.down_below[1]);
        add("down below 1 Mbit/s, both", self.down_joint);
        add("up below 1 Mbit/s, first carrier", self.up_below[0]);
        add("up below 1 Mbit/s, second carrier", self.up_below[1]);
        add("up below 1 Mbit/s, both", self.up_joint);
        add("handovers per minute", self.handovers_per_minute);
        add("handover duration median, s", self.handover_duration[0]);
        add("handover duration p95, s", self.handover_duration[1]);
        add("handover duration p99, s", self.handover_duration[2]);
        add("ping p99, s", self.ping_p99);
        add("ping worst, s", self.ping_worst);
        list
    }
}

/// Shares below the limit: first carrier, second, both at once.
fn shares(runs: &[CarrierRun]) -> [f64; 3] {
    let share = |hits: usize, of: usize| if of == 0 { f64::NAN } else { hits as f64 / of as f64 };
    let alone = |carrier: usize| {
        let rates = || runs.iter().flat_map(|run| &run.rates[carrier]);
        share(rates().filter(|rate| rate.1 < OUTAGE).count(), rates().count())
    };
    let pairs: Vec<(f64, f64)> = runs.iter().flat_map(CarrierRun::pairs).collect();
    let both = pairs.iter().filter(|pair| pair.0 < OUTAGE && pair.1 < OUTAGE).count();
    [alone(0), alone(1), share(both, pairs.len())]
}

/// The part of a step function that covers a window.
fn window_of(samples: &[crate::Sample], from: u64, until: u64) -> &[crate::Sample] {
    let first = samples.partition_point(|sample| sample.at <= from).saturating_sub(1);
    let last = samples.partition_point(|sample| sample.at < until);
    // One more, so that the last sample of the window ends where it ends.
    &samples[first..(last + 1).min(samples.len())]
}

fn handover_durations(link: &Profile) -> Vec<f64> {
    let mut start = None;
    let mut list = Vec::new();
    for event in &link.events {
        match event.kind {
            EventKind::HandOverStart => start = Some(event.at),
            EventKind::HandOverEnd => list.extend(start.take().map(|from| seconds(event.at - from))),
            _ => {}
        }
    }
    list
}

/// Round-trip times of probes without a queue: a probe that meets a gap waits for its end.
fn pings(link: &Profile, duration_ns: u64) -> impl Iterator<Item = f64> {
    let count = duration_ns / PING_INTERVAL;
    (0..count).filter_map(move |index| {
        let sent = index * PING_INTERVAL;
        let reached = through(&link.up, sent)?;
        let back = through(&link.down, reached)?;
        Some(seconds(back - sent))
    })
}

/// When a packet that enters at a time comes out.
fn through(samples: &[crate::Sample], mut at: u64) -> Option<u64> {
    let sample = sample_at(samples, at)?;
    if sample.up {
        return Some(at + sample.delay);
    }
    let next = samples[samples.partition_point(|known| known.at <= at)..].iter().find(|known| known.up)?;
    at = next.at;
    Some(at + next.delay)
}
