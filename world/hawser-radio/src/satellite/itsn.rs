use crate::error::Check;
use crate::math::{dbm_to_watts, from_db, log10, nanos, seconds, sqrt};
use crate::orbit::flight_time;
use crate::profile::{Event, EventKind, ForecastSamples, Position, Profile, Sample, Steps, gaps, layered};
use crate::propagation::{Fading, LossModel, PathLoss, shannon};
use crate::random::{Draws as _, Random};
use crate::{RadioError, Scene};

/// A host at rest below two chains of satellites (MAMS, ToN 2024, section V: ITSN, Table III). Two links, `satellite-0`
/// with the shorter and `satellite-1` with the longer delay. The blocks of the fading are shorter than a packet at
/// these speeds, so its mean is the loss probability of a packet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Itsn {
    /// Metres between host and satellite overhead. Default 500 km.
    pub altitude: f64,
    /// m/s. Default 7000; the paper also has 7500.
    pub speed: f64,
    /// Metres between satellites of a chain; the paper has none. Default 150 km, as MACO.
    pub spacing: f64,
    /// Bandwidth, Hz. Default 5 MHz.
    pub bandwidth: f64,
    /// Share of the Shannon capacity that is reached. Default 0.98, as MACO.
    pub efficiency: f64,
    /// Power of the user, dBW (per Hz, as Table III only makes sense). Default 30.
    pub user_power_dbw: f64,
    /// Power of a satellite, dBW. Default 20.
    pub satellite_power_dbw: f64,
    /// Antenna gain of the terminal when it receives, dB: without it Table III gives -15.5 dB. Default 30.
    pub terminal_gain_db: f64,
    /// Noise density at the satellite, dBm/Hz. Default -164.
    pub satellite_noise: f64,
    /// Noise density at the end devices, dBm/Hz. Default -144.
    pub user_noise: f64,
    /// Path-loss exponent. Default 2.5.
    pub exponent: f64,
    /// Default Rician, 10 dB.
    pub fading: Fading,
    /// Default: lost below 0 dB.
    pub loss: LossModel,
    /// What the links between satellites carry, bit/s. Default 50 Mbit/s.
    pub inter_satellite_rate: f64,
    /// Smallest one-way delay of the two links, seconds. Default 25 and 75 ms.
    pub one_way_delay: [f64; 2],
    /// Seconds without a link at a handover. Default 0.15.
    pub outage: f64,
    /// Seconds between samples of the geometry. Default 0.1.
    pub update_interval: f64,
}

impl Default for Itsn {
    fn default() -> Self {
        Itsn {
            altitude: 500e3,
            speed: 7000.0,
            spacing: 150e3,
            bandwidth: 5e6,
            efficiency: 0.98,
            user_power_dbw: 30.0,
            satellite_power_dbw: 20.0,
            terminal_gain_db: 30.0,
            satellite_noise: -164.0,
            user_noise: -144.0,
            exponent: 2.5,
            fading: Fading::Rician { k_db: 10.0 },
            loss: LossModel::Outage { threshold_db: 0.0 },
            inter_satellite_rate: 50e6,
            one_way_delay: [0.025, 0.075],
            outage: 0.15,
            update_interval: 0.1,
        }
    }
}

impl Itsn {
    /// Mean SNR towards the satellite and from it at a distance in metres, linear.
    pub fn snr(&self, distance: f64) -> (f64, f64) {
        let path = PathLoss::power_law(self.exponent).db(distance);
        let band = 10.0 * log10(self.bandwidth);
        let up = self.user_power_dbw + 30.0 - path - self.satellite_noise - band;
        let down = self.satellite_power_dbw + 30.0 + self.terminal_gain_db - path - self.user_noise - band;
        (from_db(up), from_db(down))
    }

    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("itsn");
        check.duration(duration_ns)?;
        check.positive("altitude", self.altitude)?;
        check.positive("speed", self.speed)?;
        check.positive("spacing", self.spacing)?;
        check.positive("bandwidth", self.bandwidth)?;
        check.positive("efficiency", self.efficiency)?;
        check.that(
            dbm_to_watts(self.user_power_dbw).is_finite()
                && dbm_to_watts(self.satellite_power_dbw).is_finite(),
            "user_power_dbw, satellite_power_dbw",
            format!("{}, {}", self.user_power_dbw, self.satellite_power_dbw),
            "finite numbers",
        )?;
        check.finite("terminal_gain_db", self.terminal_gain_db)?;
        check.finite("satellite_noise", self.satellite_noise)?;
        check.finite("user_noise", self.user_noise)?;
        check.positive("exponent", self.exponent)?;
        self.fading.check(check)?;
        self.loss.check(check)?;
        check.positive("inter_satellite_rate", self.inter_satellite_rate)?;
        check.not_negative("one_way_delay.0", self.one_way_delay[0])?;
        check.not_negative("one_way_delay.1", self.one_way_delay[1])?;
        check.not_negative("outage", self.outage)?;
        let fits = self.outage < self.spacing / self.speed;
        check.that(fits, "outage", self.outage, "less than the time between handovers")?;
        check.that(
            self.update_interval >= 1e-3 && self.update_interval.is_finite(),
            "update_interval",
            self.update_interval,
            "0.001 s or more",
        )
    }

    /// One chain: satellite n is overhead at (n - phase) * spacing / speed.
    fn chain(&self, index: usize, phase: f64, duration_ns: u64) -> Profile {
        let (mut up, mut down) = (Steps::new(), Steps::new());
        let (mut events, mut outages, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let mut serving: Option<f64> = None;
        let mut at = 0;
        while at < duration_ns {
            let travelled = phase + self.speed * seconds(at) / self.spacing;
            // The nearest is the strongest.
            let nearest = libm::floor(travelled + 0.5);
            if serving != Some(nearest) {
                let cell = Some(nearest as u64);
                if serving.is_none() {
                    events.push(Event { at, kind: EventKind::Attach, cell });
                } else {
                    let end = at + nanos(self.outage);
                    events.push(Event { at, kind: EventKind::HandOverStart, cell });
                    events.push(Event { at: end, kind: EventKind::HandOverEnd, cell });
                    outages.push((at, end));
                }
                serving = Some(nearest);
            }
            let along = (travelled - nearest) * self.spacing;
            let distance = sqrt(self.altitude * self.altitude + along * along);
            let snr = self.snr(distance);
            let delay = nanos(self.one_way_delay[index] + flight_time(distance - self.altitude));
            let sample = |snr: f64| Sample {
                at,
                rate: shannon(self.bandwidth, self.efficiency, snr).min(self.inter_satellite_rate) as u64,
                delay,
                loss: self.loss.mean(snr, &self.fading),
                up: true,
            };
            up.push(sample(snr.0));
            down.push(sample(snr.1));
            positions.push(Position { at, metres: [0.0, along, self.altitude] });
            at += nanos(self.update_interval);
        }
        let carries = gaps(&outages);
        let up = layered(&up.finish(), &[], &carries);
        let down = layered(&down.finish(), &[], &carries);
        Profile {
            name: format!("satellite-{index}"),
            up: up.clone(),
            down: down.clone(),
            events,
            forecast: ForecastSamples { up, down },
            positions,
            sites: None,
        }
    }
}

impl Scene for Itsn {
    fn links(&self) -> usize {
        2
    }

    /// The seed places the chains; the second is half a spacing behind the first.
    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let phase = Random::new(seed, "phase").unit();
        Ok(vec![self.chain(0, phase, duration_ns), self.chain(1, phase + 0.5, duration_ns)])
    }
}
