use super::SpaceBudget;
use crate::error::Check;
use crate::math::{nanos, seconds, sqrt};
use crate::orbit::flight_time;
use crate::profile::{Event, EventKind, ForecastSamples, Position, Profile, Sample, Steps, gaps, layered};
use crate::random::{Draws as _, Random};
use crate::{RadioError, Scene};

/// Nanoseconds before a handover in which links lose more than usual: a second, as recorded Starlink terminals do.
const BEFORE_HAND_OVER: u64 = 1_000_000_000;

/// Two subflows over a chain of satellites that pass over the host (MACO, W. Yang 2024, chapter 3). Two links,
/// `subflow-0` and `subflow-1`; at each tick the subflow on the older satellite moves to the newest, so that the two
/// are on different satellites and on one satellite by turns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct MacoSatellites {
    /// Metres. Default 550 km.
    pub altitude: f64,
    /// m/s over ground. Default 7000.
    pub speed: f64,
    /// Metres between satellites of the orbit. Default 150 km.
    pub spacing: f64,
    /// Seconds between ticks; `None`: `spacing / speed`. Default 15.
    pub handover_period: Option<f64>,
    /// Link budget.
    pub budget: SpaceBudget,
    /// What a satellite gives at the zenith, bit/s: the budget's rates are scaled to it (profile P40: 40 Mbit/s).
    /// `None`: as the budget says (profile P200). Default `None`.
    pub scale_to: Option<f64>,
    /// What other users leave of a satellite: uniform, drawn per satellite and tick. Default 0.2 to 1.
    pub load: (f64, f64),
    /// Whether the forecast knows that draw. Default `false` (`hidden`).
    pub load_known: bool,
    /// Whether two subflows on one satellite get half each. Switch it off when both links feed one queue.
    /// Default `true`.
    pub share_beam: bool,
    /// Seconds without a link at a handover. Default 0.15.
    pub outage: f64,
    /// Change of the round-trip time on a new satellite against the geometry, seconds, uniform. Default -10 to 30 ms.
    pub rtt_step: (f64, f64),
    /// Loss probability per packet, at any time. Default 0.005.
    pub loss: f64,
    /// Seconds between fades, in which packets are lost in bursts: exponential, by satellite link. Default 2.
    pub fade_every: f64,
    /// Seconds that a fade lasts. Default 0.02.
    pub fade_length: f64,
    /// Loss probability per packet in a fade. Default 0.
    pub fade_loss: f64,
    /// Loss probability per packet in the last second before a handover. Default 0.
    pub handover_loss: f64,
    /// Delay of the terrestrial part, seconds, one way. Default 0.0463, so that the shortest way is 50 ms.
    pub terrestrial_delay: f64,
    /// Seconds between samples of the geometry. Default 0.1.
    pub update_interval: f64,
}

impl Default for MacoSatellites {
    fn default() -> Self {
        MacoSatellites {
            altitude: 550e3,
            speed: 7000.0,
            spacing: 150e3,
            handover_period: Some(15.0),
            budget: SpaceBudget::default(),
            scale_to: None,
            load: (0.2, 1.0),
            load_known: false,
            share_beam: true,
            outage: 0.15,
            rtt_step: (-0.010, 0.030),
            loss: 0.005,
            fade_every: 2.0,
            fade_length: 0.02,
            fade_loss: 0.0,
            handover_loss: 0.0,
            terrestrial_delay: 0.0463,
            update_interval: 0.1,
        }
    }
}

/// The satellites (numbered from 1) of the two subflows during a tick. Even ticks are disjoint, odd ones shared; a
/// satellite serves for three ticks.
pub fn association(tick: u64) -> [u64; 2] {
    [tick.div_ceil(2) + 1, tick / 2 + 2]
}

impl MacoSatellites {
    fn period(&self) -> f64 {
        self.handover_period.unwrap_or(self.spacing / self.speed)
    }

    /// Metres along the orbit from the host to a satellite: it is overhead in the middle of its three ticks.
    fn offset(&self, satellite: u64, time: f64) -> f64 {
        (time - (2.0 * satellite as f64 - 2.5) * self.period()) * self.speed
    }

    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("maco-satellites");
        check.duration(duration_ns)?;
        check.positive("altitude", self.altitude)?;
        check.positive("speed", self.speed)?;
        check.positive("spacing", self.spacing)?;
        check.positive("handover_period", self.period())?;
        self.budget.check(check)?;
        if let Some(rate) = self.scale_to {
            check.positive("scale_to", rate)?;
        }
        check.range("load", self.load)?;
        check.positive("load.0", self.load.0)?;
        check.not_negative("outage", self.outage)?;
        check.that(self.outage < self.period(), "outage", self.outage, "less than the handover period")?;
        let (low, high) = self.rtt_step;
        let ordered = low.is_finite() && high.is_finite() && low <= high;
        check.that(ordered, "rtt_step", format!("{low}..{high}"), "two finite numbers, first <= second")?;
        check.share("loss", self.loss)?;
        check.share("fade_loss", self.fade_loss)?;
        check.share("handover_loss", self.handover_loss)?;
        // A fade at a time, and not so many that a scene is made of nothing else.
        check.that(self.fade_every >= 1e-3, "fade_every", self.fade_every, "0.001 s or more")?;
        check.not_negative("fade_length", self.fade_length)?;
        check.not_negative("terrestrial_delay", self.terrestrial_delay)?;
        let reach = self.terrestrial_delay + 2.0 * flight_time(self.altitude) + 0.5 * low;
        check.that(reach >= 0.0, "rtt_step.0", low, "not below minus the round-trip time")?;
        check.that(
            self.update_interval >= 1e-3 && self.update_interval.is_finite(),
            "update_interval",
            self.update_interval,
            "0.001 s or more",
        )
    }

    /// What other users leave of a satellite during a tick.
    fn load_of(&self, seed: u64, satellite: u64, tick: u64) -> f64 {
        let mut random = Random::new(seed ^ crate::random::mix(satellite << 32 | tick), "load");
        random.between(self.load.0, self.load.1)
    }

    /// Losses by time, which no forecast has: in fades, and before handovers.
    fn losses(
        &self,
        index: usize,
        outages: &[(u64, u64)],
        duration_ns: u64,
        seed: u64,
    ) -> [Vec<(u64, f64)>; 2] {
        let mut random = Random::new(seed, &format!("fades {index}"));
        let mut fades = Vec::new();
        let mut at = random.exponential(self.fade_every);
        while self.fade_loss > 0.0 && nanos(at) < duration_ns {
            fades.push((nanos(at), self.fade_loss));
            at += self.fade_length;
            fades.push((nanos(at), 0.0));
            at += random.exponential(self.fade_every);
        }
        let before = outages.iter().filter(|_| self.handover_loss > 0.0);
        let before = before.flat_map(|(start, _)| {
            [(start.saturating_sub(BEFORE_HAND_OVER), self.handover_loss), (*start, 0.0)]
        });
        [fades, before.collect()]
    }

    fn subflow(&self, index: usize, duration_ns: u64, seed: u64) -> Profile {
        let period = nanos(self.period());
        let scale = self.scale_to.map_or(1.0, |rate| rate / self.budget.capacity(self.altitude));
        let (mut real, mut mean) = (Steps::new(), Steps::new());
        let (mut events, mut outages, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let mut steps = Random::new(seed, &format!("rtt step {index}"));
        let (mut serving, mut step) = (0, 0.0);
        for at in moments(period, nanos(self.update_interval), duration_ns) {
            let tick = at / period;
            let pair = association(tick);
            let satellite = pair[index];
            if satellite != serving {
                if serving == 0 {
                    events.push(Event { at, kind: EventKind::Attach, cell: Some(satellite) });
                } else {
                    let end = at + nanos(self.outage);
                    events.push(Event { at, kind: EventKind::HandOverStart, cell: Some(satellite) });
                    events.push(Event { at: end, kind: EventKind::HandOverEnd, cell: Some(satellite) });
                    outages.push((at, end));
                    step = steps.between(self.rtt_step.0, self.rtt_step.1);
                }
                serving = satellite;
            }
            let along = self.offset(satellite, seconds(at));
            let distance = sqrt(self.altitude * self.altitude + along * along);
            let share = if self.share_beam && pair[0] == pair[1] { 0.5 } else { 1.0 };
            let clear = scale * share * self.budget.capacity(distance);
            let loaded = clear * self.load_of(seed, satellite, tick);
            let delay = 2.0 * flight_time(distance) + self.terrestrial_delay;
            let sample = |rate: f64, delay: f64| Sample::carrying(at, rate, delay, self.loss);
            real.push(sample(loaded, delay + 0.5 * step));
            mean.push(sample(if self.load_known { loaded } else { clear }, delay));
            positions.push(Position { at, metres: [0.0, along, self.altitude] });
        }
        let carries = gaps(&outages);
        let [fades, before] = self.losses(index, &outages, duration_ns, seed);
        let real = layered(&layered(&real.finish(), &fades, &[]), &before, &carries);
        let mean = layered(&mean.finish(), &[], &carries);
        Profile {
            name: format!("subflow-{index}"),
            up: real.clone(),
            down: real,
            events,
            forecast: ForecastSamples { up: mean.clone(), down: mean },
            positions,
            sites: None,
        }
    }
}

/// All multiples of two intervals, in order.
fn moments(tick: u64, step: u64, duration_ns: u64) -> Vec<u64> {
    let multiples = |interval: u64| (0..).map(move |i| i * interval).take_while(move |at| *at < duration_ns);
    let mut list: Vec<u64> = multiples(tick).chain(multiples(step)).collect();
    list.sort_unstable();
    list.dedup();
    list
}

impl Scene for MacoSatellites {
    fn links(&self) -> usize {
        2
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        Ok((0..2).map(|index| self.subflow(index, duration_ns, seed)).collect())
    }
}
