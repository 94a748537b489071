use super::interruptions::{handovers, stalled, stalls};
use super::quantiles::{QuantileTable, Quantiles};
use crate::error::Check;
use crate::math::{bivariate_normal, nanos, sqrt};
use crate::profile::{
    Event, EventKind, ForecastSamples, Profile, Sample, Steps, foreseeable, gaps, layered, sample_at,
};
use crate::random::{Gaussian, Random};
use crate::{RadioError, Scene};

/// One cellular carrier, by its measured distributions.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Carrier {
    /// Name of the link.
    pub name: String,
    /// Rate from the network over half a second, bit/s.
    pub down: Quantiles,
    /// Rate towards the network over half a second, bit/s.
    pub up: Quantiles,
    /// Round-trip time without stalls, seconds.
    pub rtt: Quantiles,
    /// Handovers per minute.
    pub handovers_per_minute: f64,
    /// How long a handover interrupts, seconds.
    pub handover_duration: Quantiles,
    /// Stalls per second: the radio link is lost, packets wait.
    pub stalls_per_second: f64,
    /// The shortest stall, seconds; longer ones follow a Pareto law.
    pub shortest_stall: f64,
    /// Exponent of that law, above 1.
    pub stall_exponent: f64,
}

/// Two cellular carriers measured from one car (data: PAM 2025, 20 h): their rates fall together more often than
/// chance would have it, each hands over every 20 to 25 s, and packets stall for seconds now and then. Two links.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct TwoCarriers {
    /// The carriers. Default: `atnt` and `verizon`, fitted to the data.
    pub carriers: [Carrier; 2],
    /// Share of the time in which both give less than [`outage_rate`](TwoCarriers::outage_rate) from the network.
    /// Default 0.010.
    pub joint_outage_down: f64,
    /// The same towards the network. Default 0.023.
    pub joint_outage_up: f64,
    /// bit/s below which a carrier counts as out. Default 1 Mbit/s.
    pub outage_rate: f64,
    /// Correlation between the two directions of a carrier, on the normal scale. Default 0.6 (not in the data, which
    /// were measured one direction at a time).
    pub direction_correlation: f64,
    /// Correlation between rate and round-trip time of a carrier, on the normal scale. Default -0.4 (ditto).
    pub rtt_correlation: f64,
    /// Share of the variance that changes fast, and its time constant in seconds. Default 0.35 and 1.
    pub fast: (f64, f64),
    /// Time constant of the rest, seconds. Default 9.
    pub slow: f64,
    /// Share of handovers of the second carrier that fall within a second after one of the first (shared sites and
    /// terrain). Default 0.1.
    pub joint_handovers: f64,
    /// Loss probability per packet. Default 0.0005.
    pub loss: f64,
    /// Seconds between samples; the data have half a second. Default 0.5.
    pub update_interval: f64,
}

/// What was measured of one carrier, as (probability, value).
struct Measured {
    name: &'static str,
    /// Mbit/s.
    down: &'static [(f64, f64)],
    /// Mbit/s.
    up: &'static [(f64, f64)],
    /// Seconds.
    rtt: &'static [(f64, f64)],
    handovers_per_minute: f64,
}

// The quantiles at 1 Mbit/s are those of the whole data set, the others of its published part.
#[rustfmt::skip]
const ATNT: Measured = Measured {
    name: "atnt",
    down: &[
        (0.02, 0.10), (0.059, 1.0), (0.10, 2.0), (0.25, 6.0), (0.50, 27.4), (0.75, 84.5), (0.90, 147.0), (0.99, 327.0),
    ],
    up: &[(0.02, 0.15), (0.088, 1.0), (0.25, 3.72), (0.50, 9.74), (0.75, 22.7), (0.90, 43.0), (0.99, 80.7)],
    rtt: &[(0.01, 0.026), (0.10, 0.036), (0.50, 0.054), (0.75, 0.065), (0.90, 0.075), (0.98, 0.100)],
    handovers_per_minute: 2.9,
};

#[rustfmt::skip]
const VERIZON: Measured = Measured {
    name: "verizon",
    down: &[
        (0.02, 0.12), (0.075, 1.0), (0.10, 2.0), (0.25, 18.8), (0.50, 53.0), (0.75, 121.0), (0.90, 220.0), (0.99, 590.0),
    ],
    up: &[(0.02, 0.10), (0.104, 1.0), (0.25, 2.97), (0.50, 8.7), (0.75, 21.0), (0.90, 31.1), (0.99, 72.7)],
    rtt: &[(0.01, 0.023), (0.10, 0.030), (0.50, 0.043), (0.75, 0.051), (0.90, 0.063), (0.98, 0.090)],
    handovers_per_minute: 2.5,
};

/// Seconds, of both carriers.
const HANDOVER: [(f64, f64); 4] = [(0.05, 0.025), (0.50, 0.059), (0.95, 0.250), (0.99, 0.562)];

impl Measured {
    fn carrier(&self) -> Carrier {
        let mbit = |knots: &[(f64, f64)]| Quantiles(knots.iter().map(|&(p, rate)| (p, rate * 1e6)).collect());
        Carrier {
            name: self.name.to_owned(),
            down: mbit(self.down),
            up: mbit(self.up),
            rtt: Quantiles(self.rtt.to_vec()),
            handovers_per_minute: self.handovers_per_minute,
            handover_duration: Quantiles(HANDOVER.to_vec()),
            stalls_per_second: 0.050,
            shortest_stall: 0.35,
            stall_exponent: 2.8,
        }
    }
}

impl Default for TwoCarriers {
    fn default() -> Self {
        TwoCarriers {
            carriers: [ATNT.carrier(), VERIZON.carrier()],
            joint_outage_down: 0.010,
            joint_outage_up: 0.023,
            outage_rate: 1e6,
            direction_correlation: 0.6,
            rtt_correlation: -0.4,
            fast: (0.35, 1.0),
            slow: 9.0,
            joint_handovers: 0.1,
            loss: 0.0005,
            update_interval: 0.5,
        }
    }
}

impl TwoCarriers {
    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("two-carriers");
        check.duration(duration_ns)?;
        for carrier in &self.carriers {
            carrier.down.check(check, "carriers.down")?;
            carrier.up.check(check, "carriers.up")?;
            carrier.rtt.check(check, "carriers.rtt")?;
            carrier.handover_duration.check(check, "carriers.handover_duration")?;
            let often = carrier.handovers_per_minute;
            check.that((0.0..=30.0).contains(&often), "carriers.handovers_per_minute", often, "0 to 30")?;
            let stalls = carrier.stalls_per_second;
            check.that((0.0..=1.0).contains(&stalls), "carriers.stalls_per_second", stalls, "0 to 1")?;
            check.positive("carriers.shortest_stall", carrier.shortest_stall)?;
            let exponent = carrier.stall_exponent;
            check.that(
                exponent > 1.0 && exponent.is_finite(),
                "carriers.stall_exponent",
                exponent,
                "above 1",
            )?;
        }
        check.share("joint_outage_down", self.joint_outage_down)?;
        check.share("joint_outage_up", self.joint_outage_up)?;
        check.positive("outage_rate", self.outage_rate)?;
        let direction = self.direction_correlation;
        check.that((0.0..=1.0).contains(&direction), "direction_correlation", direction, "0 to 1")?;
        let rtt = self.rtt_correlation;
        check.that((-1.0..=1.0).contains(&rtt), "rtt_correlation", rtt, "-1 to 1")?;
        check.share("fast.0", self.fast.0)?;
        check.positive("fast.1", self.fast.1)?;
        check.positive("slow", self.slow)?;
        check.share("joint_handovers", self.joint_handovers)?;
        check.share("loss", self.loss)?;
        let step = self.update_interval;
        check.that(step >= 0.01 && step.is_finite(), "update_interval", step, "0.01 s or more")
    }

    /// The correlation that makes both carriers be out together as often as asked.
    fn correlation(
        &self,
        tables: [&QuantileTable; 2],
        joint: f64,
        what: &'static str,
    ) -> Result<f64, RadioError> {
        let [a, b] = tables.map(|table| table.score(self.outage_rate));
        let (mut low, mut high) = (0.0, 0.999);
        let possible = bivariate_normal(a, b, low)..=bivariate_normal(a, b, high);
        // Rounding at independence must not refuse a joint share that is exactly the product.
        if joint < possible.start() * (1.0 - 1e-9) || joint > *possible.end() {
            let expected = "between the product of the carriers' shares and the smaller of them";
            return Check("two-carriers").fail(what, joint, expected);
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if bivariate_normal(a, b, middle) < joint { low = middle } else { high = middle }
        }
        Ok(0.5 * (low + high))
    }
}

/// A normal score with two time scales, shared in part between the carriers and between the directions.
struct Score {
    fast: Gaussian,
    slow: Gaussian,
    random: Random,
    share: f64,
}

impl Score {
    fn new(scene: &TwoCarriers, seed: u64, name: &str) -> Self {
        let mut random = Random::new(seed, name);
        let fast = Gaussian::new(scene.fast.1, &mut random);
        let slow = Gaussian::new(scene.slow, &mut random);
        Score { fast, slow, random, share: scene.fast.0 }
    }

    fn advance(&mut self, step: f64) -> f64 {
        let fast = self.fast.advance(step, &mut self.random);
        let slow = self.slow.advance(step, &mut self.random);
        sqrt(self.share) * fast + sqrt(1.0 - self.share) * slow
    }
}

/// Mixes two standard normal scores into one that has the given correlation with the first.
fn blend(first: f64, second: f64, correlation: f64) -> f64 {
    correlation * first + sqrt(1.0 - correlation * correlation) * second
}

/// Rate and delay of one carrier over time.
struct Series {
    up: Steps,
    down: Steps,
}

impl Scene for TwoCarriers {
    fn links(&self) -> usize {
        2
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let duration = crate::math::seconds(duration_ns);
        let down: Vec<QuantileTable> = self.carriers.iter().map(|carrier| carrier.down.table()).collect();
        let up: Vec<QuantileTable> = self.carriers.iter().map(|carrier| carrier.up.table()).collect();
        let shared_down =
            self.correlation([&down[0], &down[1]], self.joint_outage_down, "joint_outage_down")?;
        let shared_up = self.correlation([&up[0], &up[1]], self.joint_outage_up, "joint_outage_up")?;

        let mut common = [Score::new(self, seed, "common down"), Score::new(self, seed, "common up")];
        let mut own: Vec<[Score; 3]> = self
            .carriers
            .iter()
            .enumerate()
            .map(|(index, _)| {
                ["down", "up", "rtt"].map(|part| Score::new(self, seed, &format!("carrier {index} {part}")))
            })
            .collect();
        let rtt: Vec<QuantileTable> = self.carriers.iter().map(|carrier| carrier.rtt.table()).collect();
        let mut series: Vec<Series> =
            (0..2).map(|_| Series { up: Steps::new(), down: Steps::new() }).collect();
        let step = nanos(self.update_interval);
        let mut at = 0;
        while at < duration_ns {
            let elapsed = if at == 0 { 0.0 } else { self.update_interval };
            let common_down = common[0].advance(elapsed);
            let common_up = blend(common_down, common[1].advance(elapsed), self.direction_correlation);
            for (index, [own_down, own_up, own_rtt]) in own.iter_mut().enumerate() {
                let alone_down = own_down.advance(elapsed);
                let alone_up = blend(alone_down, own_up.advance(elapsed), self.direction_correlation);
                let score_down = blend(common_down, alone_down, sqrt(shared_down));
                let score_up = blend(common_up, alone_up, sqrt(shared_up));
                let score_rtt = blend(score_down, own_rtt.advance(elapsed), self.rtt_correlation);
                let delay = nanos(0.5 * rtt[index].value(score_rtt));
                let sample =
                    |rate: f64| Sample { at, rate: rate.max(1e3) as u64, delay, loss: self.loss, up: true };
                series[index].down.push(sample(down[index].value(score_down)));
                series[index].up.push(sample(up[index].value(score_up)));
            }
            at += step;
        }
        let gaps = handovers(&self.carriers, self.joint_handovers, duration, seed);
        Ok(series
            .into_iter()
            .zip(gaps)
            .zip(&self.carriers)
            .map(|((series, gaps), carrier)| finish(carrier, series, &gaps, duration, seed))
            .collect())
    }
}

/// Lays handovers and stalls over the series.
fn finish(carrier: &Carrier, series: Series, handovers: &[(u64, u64)], duration: f64, seed: u64) -> Profile {
    let stalls = stalls(carrier, duration, seed);
    let carries = gaps(handovers);
    let end = nanos(duration);
    let mut events = vec![Event { at: 0, kind: EventKind::Attach, cell: Some(0) }];
    for (index, &(from, until)) in handovers.iter().enumerate().filter(|(_, gap)| gap.0 < end) {
        let cell = Some(index as u64 + 1);
        events.push(Event { at: from, kind: EventKind::HandOverStart, cell });
        events.push(Event { at: until, kind: EventKind::HandOverEnd, cell });
    }
    let up = series.up.finish();
    let down = series.down.finish();
    let real = |samples: &[Sample]| layered(&stalled(samples, &stalls), &[], &carries);
    Profile {
        name: carrier.name.clone(),
        up: real(&up),
        down: real(&down),
        events,
        forecast: ForecastSamples { up: smoothed(&up), down: smoothed(&down) },
        positions: Vec::new(),
        sites: None,
    }
}

/// What could be foreseen of measured-like samples.
fn smoothed(samples: &[Sample]) -> Vec<Sample> {
    let quantity =
        |of: fn(&Sample) -> u64| foreseeable(samples.iter().map(|sample| (sample.at, of(sample) as f64)));
    let mut steps = Steps::new();
    for ((at, rate), (_, delay)) in
        quantity(|sample| sample.rate).into_iter().zip(quantity(|sample| sample.delay))
    {
        if let Some(sample) = sample_at(samples, at) {
            steps.push(Sample { at, rate: rate as u64, delay: delay as u64, ..*sample });
        }
    }
    steps.finish()
}
