//! A host among the cells of terrestrial networks: where the sites are, which one serves, what the link then gives.

mod engine;
mod lattice;
mod layout;
mod scenes;
mod sites;

pub use lattice::ApLattice;
pub use layout::Layout;
pub use scenes::{Highway, Motion, Roaming, Urban};
pub use sites::{HandOver, Reach, Sites};

use crate::error::Check;
use crate::math::{from_db, log2};
use crate::propagation::{Fading, LossModel, PathLoss, Shadowing};
use crate::{Profile, RadioError};
use engine::{Cell, Engine};

/// One radio access network, described by what it gives on average and at the edge of its cells.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Access {
    /// Name of the link, for example `lte`.
    pub name: String,
    /// Rate averaged over a cell, bit/s. At distance R it is `nominal_rate * log2(1 + snr(R)) / cell mean of that`.
    pub nominal_rate: f64,
    /// Propagation and fixed delays one way, seconds: half of the smallest round-trip time.
    pub one_way_delay: f64,
    /// Mean received signal at the edge of a cell, dBm.
    pub edge_rss_dbm: f64,
    /// Mean SNR at the edge of a cell, dB.
    pub edge_snr_db: f64,
    /// Where that edge is, metres from the site; `None`: from the layout of the sites.
    pub edge_distance: Option<f64>,
    /// Path-loss exponent.
    pub exponent: f64,
    /// Shadowing.
    pub shadowing: Shadowing,
    /// Small-scale fading, drawn per block and direction.
    pub fading: Fading,
    /// What is lost at which SNR.
    pub loss: LossModel,
    /// Handover rule.
    pub hand_over: HandOver,
    /// Distance from the road or the plane of the host that is never undercut, metres.
    pub minimum_distance: f64,
    /// Carrier wavelength, metres; with the speed it gives the length of a fading block.
    pub wavelength: f64,
    /// Speed of what moves around a host at rest, m/s: its channel fades, too.
    pub environment_speed: f64,
    /// Seconds between two looks at geometry, signal and handover.
    pub update_interval: f64,
    /// On a road: where this network's sites lie relative to the others', as a share of their spacing.
    pub offset: f64,
}

impl Default for Access {
    /// The LTE network of the highway (MAMS, ToN 2024, section V).
    fn default() -> Self {
        Access {
            name: "lte".to_owned(),
            nominal_rate: 5e6,
            one_way_delay: 0.025,
            edge_rss_dbm: -90.0,
            edge_snr_db: 7.0,
            edge_distance: None,
            exponent: 2.0,
            shadowing: Shadowing::NONE,
            fading: Fading::Nakagami { m: 1.0 },
            loss: LossModel::Outage { threshold_db: 0.0 },
            hand_over: HandOver::default(),
            minimum_distance: 20.0,
            wavelength: 0.12,
            environment_speed: 0.5,
            update_interval: 0.1,
            offset: 0.0,
        }
    }
}

impl Access {
    /// The LTE network of MAMS (ToN 2024, section V): 50 ms of round-trip time, edge SNR 7 dB.
    pub fn lte(nominal_rate: f64) -> Self {
        Access { nominal_rate, ..Access::default() }
    }

    /// The WiFi network of MAMS (ToN 2024, section V): the *slow* one (150 ms) with the higher rate, edge SNR 4 dB.
    pub fn wifi(nominal_rate: f64) -> Self {
        Access {
            name: "wifi".to_owned(),
            nominal_rate,
            one_way_delay: 0.075,
            edge_snr_db: 4.0,
            hand_over: HandOver { outage: 0.2, ..HandOver::default() },
            offset: 0.5,
            ..Access::default()
        }
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.positive("nominal_rate", self.nominal_rate)?;
        check.not_negative("one_way_delay", self.one_way_delay)?;
        check.finite("edge_rss_dbm", self.edge_rss_dbm)?;
        check.finite("edge_snr_db", self.edge_snr_db)?;
        check.positive("exponent", self.exponent)?;
        check.positive("minimum_distance", self.minimum_distance)?;
        check.positive("wavelength", self.wavelength)?;
        check.not_negative("environment_speed", self.environment_speed)?;
        check.that(
            self.update_interval >= 1e-3 && self.update_interval.is_finite(),
            "update_interval",
            self.update_interval,
            "0.001 s or more",
        )?;
        check.finite("offset", self.offset)?;
        self.shadowing.check(check)?;
        self.fading.check(check)?;
        self.loss.check(check)?;
        self.hand_over.check(check)
    }

    /// The profile of a host on a way through this network.
    fn drive(
        &self,
        check: Check,
        layout: &Layout,
        trajectory: &crate::Trajectory,
        duration_ns: u64,
        seed: u64,
    ) -> Result<Profile, RadioError> {
        self.check(check)?;
        layout.check(check)?;
        let Some(edge) = self.edge_distance.or(layout.edge_distance()) else {
            return check.fail("edge_distance", "none", "metres: a list of sites has no edge of its own");
        };
        check.positive("edge_distance", edge)?;
        let path_loss = PathLoss::power_law(self.exponent);
        let budget = Cell {
            power_dbm: self.edge_rss_dbm + path_loss.db(edge),
            noise_dbm: self.edge_rss_dbm - self.edge_snr_db,
            bits_per_log: self.nominal_rate / self.mean_log(layout, edge),
        };
        let engine = Engine {
            name: &self.name,
            layout,
            path_loss,
            cell: &|_| budget,
            access: self,
            one_way_delay: self.one_way_delay,
        };
        Ok(engine.drive(trajectory, duration_ns, seed))
    }

    /// The mean SNR, linear, at a distance from a site whose cell ends at `edge`.
    pub fn mean_snr(&self, distance: f64, edge: f64) -> f64 {
        let path_loss = PathLoss::power_law(self.exponent);
        from_db(self.edge_snr_db + path_loss.db(edge) - path_loss.db(distance.max(self.minimum_distance)))
    }

    /// The mean of log2(1 + snr) over a cell: along the road for a line of sites, over the area otherwise.
    fn mean_log(&self, layout: &Layout, edge: f64) -> f64 {
        let steps = 400;
        let (mut sum, mut weights) = (0.0, 0.0);
        for step in 0..steps {
            let share = (f64::from(step) + 0.5) / f64::from(steps);
            let weight = if layout.is_line() { 1.0 } else { share };
            sum += weight * log2(1.0 + self.mean_snr(share * edge, edge));
            weights += weight;
        }
        sum / weights
    }

    /// The loss averaged over a cell on a road, for calibration (0.118 and 0.063 on the highway).
    pub fn mean_cell_loss(&self, edge: f64) -> f64 {
        let steps = 2000;
        let loss = |step: i32| {
            let distance = (f64::from(step) + 0.5) / f64::from(steps) * edge;
            self.loss.mean(self.mean_snr(distance, edge), &self.fading)
        };
        (0..steps).map(loss).sum::<f64>() / f64::from(steps)
    }
}

#[cfg(test)]
mod tests;
