use super::starlink::scaled;
use crate::error::Check;
use crate::math::nanos;
use crate::orbit::slot_edges;
use crate::profile::{Event, EventKind, ForecastSamples, Profile, Sample, Steps};
use crate::random::{Draws as _, Gaussian, Random};
use crate::{RadioError, Scene};

/// When a new level is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Redraw {
    /// At 12, 27, 42, 57 s of each minute.
    Slots,
    /// After exponentially distributed times.
    Exponential {
        /// Their mean, seconds.
        mean: f64,
    },
    /// At each sample.
    Always,
}

/// A synthetic substitute for a recorded trace (FTRL-WRR: D. Li 2024): levels drawn uniformly, jitter around
/// them, a dip at each handover. Results on it are to be labelled "synthetic trace". One link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Substitute {
    /// Name of the link.
    pub name: String,
    /// Level of the round-trip time, seconds, uniform.
    pub rtt: (f64, f64),
    /// When it is drawn.
    pub rtt_redraw: Redraw,
    /// Level of the rate from the network, bit/s, uniform.
    pub rate: (f64, f64),
    /// When it is drawn.
    pub rate_redraw: Redraw,
    /// Rate towards the network over rate from it.
    pub uplink_share: f64,
    /// Correlation of the jitter from sample to sample.
    pub jitter_correlation: f64,
    /// Standard deviation of the round-trip time around its level, as a share of it.
    pub rtt_jitter: f64,
    /// The same of the rate.
    pub rate_jitter: f64,
    /// Seconds after each slot edge during which the rate is a share of its level, uniform; (0, 0) for none.
    pub dip: (f64, f64),
    /// That share.
    pub dip_share: f64,
    /// Loss probability per packet.
    pub loss: f64,
    /// Seconds after a full minute at the start of the scene.
    pub start_second: f64,
    /// Seconds between samples.
    pub update_interval: f64,
}

impl Default for Substitute {
    fn default() -> Self {
        Substitute::bent_pipe()
    }
}

impl Substitute {
    /// Starlink, bent pipe: 30 to 60 ms, 100 to 200 Mbit/s.
    pub fn bent_pipe() -> Self {
        Substitute {
            name: "bent-pipe".to_owned(),
            rtt: (0.030, 0.060),
            rtt_redraw: Redraw::Slots,
            rate: (100e6, 200e6),
            rate_redraw: Redraw::Slots,
            uplink_share: 0.1,
            jitter_correlation: 0.9,
            rtt_jitter: 0.05,
            rate_jitter: 0.10,
            dip: (0.1, 0.3),
            dip_share: 0.3,
            loss: 0.0,
            start_second: 0.0,
            update_interval: 0.1,
        }
    }

    /// Starlink over laser links: 80 to 160 ms, 120 to 280 Mbit/s.
    pub fn inter_satellite() -> Self {
        Substitute {
            name: "inter-satellite".to_owned(),
            rtt: (0.080, 0.160),
            rate: (120e6, 280e6),
            ..Substitute::bent_pipe()
        }
    }

    /// A 5G download: 30 to 80 ms, 20 to 150 Mbit/s, levels of 4 s on average.
    pub fn five_g() -> Self {
        Substitute {
            name: "five-g".to_owned(),
            rtt: (0.030, 0.080),
            rtt_redraw: Redraw::Exponential { mean: 4.0 },
            rate: (20e6, 150e6),
            rate_redraw: Redraw::Exponential { mean: 4.0 },
            dip: (0.0, 0.0),
            ..Substitute::bent_pipe()
        }
    }

    /// OneWeb: 70 to 110 ms; 80 to 120 Mbit/s, drawn for each sample.
    pub fn oneweb() -> Self {
        Substitute {
            name: "oneweb".to_owned(),
            rtt: (0.070, 0.110),
            rate: (80e6, 120e6),
            rate_redraw: Redraw::Always,
            rate_jitter: 0.0,
            dip: (0.0, 0.0),
            ..Substitute::bent_pipe()
        }
    }

    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("substitute");
        check.duration(duration_ns)?;
        check.range("rtt", self.rtt)?;
        check.range("rate", self.rate)?;
        check.positive("rate.0", self.rate.0)?;
        for redraw in [self.rtt_redraw, self.rate_redraw] {
            if let Redraw::Exponential { mean } = redraw {
                check.positive("redraw.exponential.mean", mean)?;
            }
        }
        check.positive("uplink_share", self.uplink_share)?;
        check.share("jitter_correlation", self.jitter_correlation)?;
        check.not_negative("rtt_jitter", self.rtt_jitter)?;
        check.not_negative("rate_jitter", self.rate_jitter)?;
        check.range("dip", self.dip)?;
        check.that(self.dip.1 < 15.0, "dip.1", self.dip.1, "less than a slot of 15 s")?;
        check.share("dip_share", self.dip_share)?;
        check.share("loss", self.loss)?;
        check.finite("start_second", self.start_second)?;
        let step = self.update_interval;
        check.that(step >= 1e-3 && step.is_finite(), "update_interval", step, "0.001 s or more")
    }
}

/// A level that is drawn again from time to time.
struct Level {
    range: (f64, f64),
    redraw: Redraw,
    value: f64,
    until: u64,
    random: Random,
}

impl Level {
    fn new(range: (f64, f64), redraw: Redraw, random: Random) -> Self {
        Level { range, redraw, value: 0.0, until: 0, random }
    }

    fn at(&mut self, at: u64, next_edge: u64) -> f64 {
        if at >= self.until {
            self.value = self.random.between(self.range.0, self.range.1);
            self.until = match self.redraw {
                Redraw::Slots => next_edge,
                Redraw::Exponential { mean } => at + nanos(self.random.exponential(mean)).max(1),
                Redraw::Always => at + 1,
            };
        }
        self.value
    }
}

impl Scene for Substitute {
    fn links(&self) -> usize {
        1
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let edges = slot_edges(self.start_second, duration_ns);
        let step = nanos(self.update_interval);
        // The scale of an AR(1) with this correlation from sample to sample.
        let scale = -self.update_interval / crate::math::ln(self.jitter_correlation.clamp(1e-9, 1.0 - 1e-9));
        let mut random = Random::new(seed, &format!("{} jitter", self.name));
        let mut jitter = [Gaussian::new(scale, &mut random), Gaussian::new(scale, &mut random)];
        let mut rtt = Level::new(self.rtt, self.rtt_redraw, Random::new(seed, &format!("{} rtt", self.name)));
        let mut rate =
            Level::new(self.rate, self.rate_redraw, Random::new(seed, &format!("{} rate", self.name)));
        let mut dips = Random::new(seed, &format!("{} dip", self.name));
        let mut times: Vec<u64> = (0..).map(|i| i * step).take_while(|at| *at < duration_ns).collect();
        let mut ends = Vec::new();
        for edge in &edges {
            let end = edge + nanos(dips.between(self.dip.0, self.dip.1));
            times.extend([*edge, end.min(duration_ns - 1)]);
            ends.push(end);
        }
        times.sort_unstable();
        times.dedup();
        let (mut real, mut mean, mut before) = (Steps::new(), Steps::new(), 0);
        for at in times {
            let passed = edges.partition_point(|edge| *edge <= at);
            let next_edge = edges.get(passed).copied().unwrap_or(u64::MAX);
            let dipping = passed > 0 && at < ends[passed - 1];
            let elapsed = crate::math::seconds(at - before);
            before = at;
            let level = (rtt.at(at, next_edge), rate.at(at, next_edge));
            let sway = jitter[0].advance(elapsed, &mut random) * self.rtt_jitter;
            let wobble = jitter[1].advance(elapsed, &mut random) * self.rate_jitter;
            let share = if dipping { self.dip_share } else { 1.0 };
            let sample = |rtt: f64, rate: f64| Sample::carrying(at, rate * share, 0.5 * rtt, self.loss);
            real.push(sample(level.0 * (1.0 + sway).max(0.5), level.1 * (1.0 + wobble).max(0.05)));
            mean.push(sample(level.0, level.1));
        }
        let (down, mean) = (real.finish(), mean.finish());
        let mut events = vec![Event { at: 0, kind: EventKind::Attach, cell: Some(0) }];
        if self.rtt_redraw == Redraw::Slots {
            events.extend(edges.iter().enumerate().map(|(index, &at)| Event {
                at,
                kind: EventKind::Reconfiguration,
                cell: Some(index as u64 + 1),
            }));
        }
        Ok(vec![Profile {
            name: self.name.clone(),
            up: scaled(&down, self.uplink_share),
            down,
            events,
            forecast: ForecastSamples { up: scaled(&mean, self.uplink_share), down: mean },
            positions: Vec::new(),
            sites: None,
        }])
    }
}
