use hawser_numbers::statistics::quantile_of;

use crate::profile::{EventKind, Profile, Sample, time_mean};

/// Statistics of a Starlink terminal. What was not measured is not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StarlinkFacts {
    /// Seconds between reconfigurations.
    pub interval: f64,
    /// Loss in the second before a reconfiguration.
    pub loss_before: f64,
    /// Loss at all other times.
    pub loss_rest: f64,
    /// Rate over 100 ms, bit/s: 5th percentile, median, 95th percentile.
    pub rate: [f64; 3],
    /// One-way delay sampled every 10 ms, seconds: median, 95th, 99.9th percentile.
    pub delay: [f64; 3],
}

impl StarlinkFacts {
    /// Loss of a trace of 90 minutes; rate and delay of the recorded terminal of 120 s (traces/README.md).
    pub fn published() -> Self {
        StarlinkFacts {
            interval: 15.0,
            loss_before: 0.041,
            loss_rest: 0.004,
            rate: [33.6e6, 48.7e6, 66.5e6],
            delay: [0.011, 0.013, 0.037],
        }
    }

    /// The same statistics of the direction from the network of a generated link.
    pub fn of_profile(link: &Profile, duration_ns: u64) -> Self {
        let edges: Vec<u64> = link
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Reconfiguration)
            .map(|event| event.at)
            .collect();
        let second = 1_000_000_000;
        let loss = |samples: &[Sample], from, until| time_mean(samples, from, until, |sample| sample.loss);
        let mut walk = Walk::new(&link.down);
        let before: Vec<f64> = edges
            .iter()
            .map(|&edge| {
                let from = edge.saturating_sub(second);
                loss(walk.window(from, edge), from, edge)
            })
            .collect();
        let inside: f64 = before.iter().sum();
        let seconds = crate::math::seconds(duration_ns);
        let all = loss(&link.down, 0, duration_ns) * seconds;
        let rest = (all - inside) / (seconds - before.len() as f64);
        let intervals: Vec<f64> =
            edges.windows(2).map(|pair| crate::math::seconds(pair[1] - pair[0])).collect();
        let carried = |sample: &Sample| if sample.up { sample.rate as f64 } else { 0.0 };
        let step = 100_000_000;
        let mut walk = Walk::new(&link.down);
        let rates: Vec<f64> = (0..duration_ns / step)
            .map(|index| {
                let (from, until) = (index * step, (index + 1) * step);
                time_mean(walk.window(from, until), from, until, carried)
            })
            .collect();
        let mut walk = Walk::new(&link.down);
        let delays: Vec<f64> = (0..duration_ns / 10_000_000)
            .filter_map(|index| {
                let at = index * 10_000_000;
                Some(crate::math::seconds(walk.window(at, at + 1).first()?.delay))
            })
            .collect();
        StarlinkFacts {
            interval: quantile_of(&intervals, 0.5),
            loss_before: inside / before.len() as f64,
            loss_rest: rest,
            rate: [0.05, 0.50, 0.95].map(|p| quantile_of(&rates, p)),
            delay: [0.50, 0.95, 0.999].map(|p| quantile_of(&delays, p)),
        }
    }

    /// Of a recorded terminal: rates over 100 ms in bit/s, one-way delays every 10 ms in seconds. Loss and slots are
    /// not in the recording.
    pub fn of_recording(rates: &[f64], delays: &[f64]) -> Self {
        StarlinkFacts {
            interval: f64::NAN,
            loss_before: f64::NAN,
            loss_rest: f64::NAN,
            rate: [0.05, 0.50, 0.95].map(|p| quantile_of(rates, p)),
            delay: [0.50, 0.95, 0.999].map(|p| quantile_of(delays, p)),
        }
    }

    /// Names and values, for [`table`](super::table()).
    pub fn statistics(&self) -> Vec<(String, f64)> {
        let mut list: Vec<(String, f64)> = Vec::new();
        let mut add = |name: &str, value: f64| list.push((name.to_owned(), value));
        add("seconds between reconfigurations", self.interval);
        add("loss in the second before", self.loss_before);
        add("loss at other times", self.loss_rest);
        add("loss before over loss at other times", self.loss_before / self.loss_rest);
        add("rate p5, Mbit/s", self.rate[0] / 1e6);
        add("rate median, Mbit/s", self.rate[1] / 1e6);
        add("rate p95, Mbit/s", self.rate[2] / 1e6);
        add("one-way delay median, ms", self.delay[0] * 1e3);
        add("one-way delay p95, ms", self.delay[1] * 1e3);
        add("one-way delay p99.9, ms", self.delay[2] * 1e3);
        list
    }
}

/// Windows of a step function, asked for in order of time.
struct Walk<'a> {
    samples: &'a [Sample],
    first: usize,
}

impl<'a> Walk<'a> {
    fn new(samples: &'a [Sample]) -> Self {
        Walk { samples, first: 0 }
    }

    fn window(&mut self, from: u64, until: u64) -> &'a [Sample] {
        while self.samples.get(self.first + 1).is_some_and(|next| next.at <= from) {
            self.first += 1;
        }
        let rest = &self.samples[self.first..];
        let end = rest.iter().position(|sample| sample.at >= until).map_or(rest.len(), |index| index + 1);
        &rest[..end]
    }
}
