use super::quantiles::Quantiles;
use crate::error::Check;
use crate::math::{exp, nanos};
use crate::orbit::slot_edges;
use crate::profile::{Event, EventKind, ForecastSamples, Profile, Sample, Steps, layered};
use crate::random::{Draws as _, Gaussian, Random};
use crate::{RadioError, Scene};

/// A Starlink terminal at rest: rate and delay keep a level for a slot of 15 s; at 12, 27, 42 and 57 s of each minute
/// they get another one, after a second with ten times the loss and a moment in which nearly nothing is carried.
/// Fitted to the recorded terminal (LeoCC, 120 s) and to the loss of a trace of 90 minutes. One link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct StarlinkSlots {
    /// Seconds after a full minute at the start of the scene. Default 0.
    pub start_second: f64,
    /// Level of the rate from the network in a slot, bit/s.
    pub down: Quantiles,
    /// Rate towards the network over rate from it. Default 0.2.
    pub uplink_share: f64,
    /// Relative standard deviation of the rate within a slot. Default 0.06.
    pub rate_jitter: f64,
    /// Level of the one-way delay in a slot, seconds.
    pub delay: Quantiles,
    /// Standard deviation of the delay within a slot, seconds. Default 1 ms.
    pub delay_jitter: f64,
    /// Time constant of both, seconds. Default 0.3.
    pub jitter_time: f64,
    /// Seconds at a reconfiguration in which the rate is a share of its level, uniform. Default 0.1 to 0.3.
    pub dip: (f64, f64),
    /// That share. Default 0.03.
    pub dip_share: f64,
    /// What the delay rises by at a reconfiguration, seconds; it falls back within half of the dip.
    pub delay_spike: Quantiles,
    /// Loss probability per packet. Default 0.004.
    pub loss: f64,
    /// The same in the last second before a reconfiguration. Default 0.041.
    pub loss_before: f64,
    /// Seconds between samples. Default 0.1.
    pub update_interval: f64,
}

impl Default for StarlinkSlots {
    fn default() -> Self {
        StarlinkSlots {
            start_second: 0.0,
            down: Quantiles(vec![(0.10, 38e6), (0.50, 49e6), (0.90, 62e6)]),
            uplink_share: 0.2,
            rate_jitter: 0.06,
            delay: Quantiles(vec![(0.10, 0.0096), (0.50, 0.0109), (0.90, 0.0120)]),
            delay_jitter: 0.001,
            jitter_time: 0.3,
            dip: (0.1, 0.3),
            dip_share: 0.03,
            delay_spike: Quantiles(vec![(0.10, 0.014), (0.50, 0.026), (0.90, 0.044)]),
            loss: 0.004,
            loss_before: 0.041,
            update_interval: 0.1,
        }
    }
}

/// One slot.
struct Slot {
    from: u64,
    rate: f64,
    delay: f64,
    dip_until: u64,
    spike: f64,
}

impl StarlinkSlots {
    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("starlink-slots");
        check.duration(duration_ns)?;
        check.finite("start_second", self.start_second)?;
        self.down.check(check, "down")?;
        check.positive("uplink_share", self.uplink_share)?;
        check.not_negative("rate_jitter", self.rate_jitter)?;
        self.delay.check(check, "delay")?;
        check.not_negative("delay_jitter", self.delay_jitter)?;
        check.not_negative("jitter_time", self.jitter_time)?;
        check.range("dip", self.dip)?;
        check.that(self.dip.1 < 10.0, "dip.1", self.dip.1, "less than 10 s")?;
        check.share("dip_share", self.dip_share)?;
        self.delay_spike.check(check, "delay_spike")?;
        check.share("loss", self.loss)?;
        check.share("loss_before", self.loss_before)?;
        let step = self.update_interval;
        check.that(step >= 1e-3 && step.is_finite(), "update_interval", step, "0.001 s or more")
    }

    fn slots(&self, edges: &[u64], seed: u64) -> Vec<Slot> {
        let mut random = Random::new(seed, "starlink slots");
        let (rates, delays, spikes) = (self.down.table(), self.delay.table(), self.delay_spike.table());
        let first = std::iter::once((0, false));
        first
            .chain(edges.iter().map(|edge| (*edge, true)))
            .map(|(from, dips)| {
                let rate = rates.value(random.normal());
                let delay = delays.value(random.normal());
                let dip = nanos(random.between(self.dip.0, self.dip.1));
                let spike = spikes.value(random.normal());
                let (dip, spike) = if dips { (dip, spike) } else { (0, 0.0) };
                Slot { from, rate, delay, dip_until: from + dip, spike }
            })
            .collect()
    }

    /// Times of samples: the grid, the slots, and 20 ms steps while the delay falls back.
    fn moments(&self, slots: &[Slot], duration_ns: u64) -> Vec<u64> {
        let step = nanos(self.update_interval);
        let mut times: Vec<u64> = (0..).map(|i| i * step).take_while(|at| *at < duration_ns).collect();
        for slot in slots.iter().filter(|slot| slot.from > 0) {
            times.extend((slot.from..slot.dip_until).step_by(20_000_000));
            times.push(slot.dip_until);
        }
        times.retain(|at| *at < duration_ns);
        times.sort_unstable();
        times.dedup();
        times
    }
}

impl Scene for StarlinkSlots {
    fn links(&self) -> usize {
        1
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let edges = slot_edges(self.start_second, duration_ns);
        let slots = self.slots(&edges, seed);
        let mut random = Random::new(seed, "starlink jitter");
        let mut rate_jitter = Gaussian::new(self.jitter_time, &mut random);
        let mut delay_jitter = Gaussian::new(self.jitter_time, &mut random);
        let (mut real, mut mean, mut before) = (Steps::new(), Steps::new(), 0);
        for at in self.moments(&slots, duration_ns) {
            let slot = &slots[slots.partition_point(|slot| slot.from <= at) - 1];
            let elapsed = crate::math::seconds(at - before);
            before = at;
            let share = if at < slot.dip_until { self.dip_share } else { 1.0 };
            let sigma = self.rate_jitter;
            let wobble = exp(sigma * rate_jitter.advance(elapsed, &mut random) - 0.5 * sigma * sigma);
            let dip = (slot.dip_until - slot.from).max(1) as f64;
            let left = (1.0 - 2.0 * (at - slot.from) as f64 / dip).max(0.0);
            let sway = self.delay_jitter * delay_jitter.advance(elapsed, &mut random);
            let sample = |rate: f64, delay: f64| Sample::carrying(at, rate, delay, self.loss);
            real.push(sample(
                slot.rate * share * wobble,
                (slot.delay + sway).max(0.3 * slot.delay) + slot.spike * left,
            ));
            mean.push(sample(slot.rate * share, slot.delay));
        }
        let extra = (1.0 - (1.0 - self.loss_before) / (1.0 - self.loss.min(0.999_999))).max(0.0);
        let bursts: Vec<(u64, f64)> = edges
            .iter()
            .flat_map(|edge| [(edge.saturating_sub(1_000_000_000), extra), (*edge, 0.0)])
            .collect();
        let down = layered(&real.finish(), &bursts, &[]);
        let mean = layered(&mean.finish(), &bursts, &[]);
        let mut events = vec![Event { at: 0, kind: EventKind::Attach, cell: Some(0) }];
        events.extend(edges.iter().enumerate().map(|(index, &at)| Event {
            at,
            kind: EventKind::Reconfiguration,
            cell: Some(index as u64 + 1),
        }));
        Ok(vec![Profile {
            name: "starlink".to_owned(),
            up: scaled(&down, self.uplink_share),
            down,
            events,
            forecast: ForecastSamples { up: scaled(&mean, self.uplink_share), down: mean },
            positions: Vec::new(),
            sites: None,
        }])
    }
}

pub(super) fn scaled(samples: &[Sample], share: f64) -> Vec<Sample> {
    samples.iter().map(|sample| Sample { rate: (sample.rate as f64 * share) as u64, ..*sample }).collect()
}
