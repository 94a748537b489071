use std::sync::Arc;

use super::engine::{Cell, Engine};
use super::scenes::link_seed;
use super::{Access, HandOver, Layout, Sites};
use crate::error::Check;
use crate::math::{log10, nanos, seconds, watts_to_dbm};
use crate::mobility::{Area, RandomWalk};
use crate::propagation::{Fading, LossModel, PathLoss, Shadowing};
use crate::random::{Draws as _, Random};
use crate::{Profile, RadioError, Scene};

/// A user among densely placed access points of two kinds (QC-MAB, W. Yang 2024, section 4.5.2). Two links: `wifi` and `5g`,
/// each with the access points of one colour of a chessboard.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ApLattice {
    /// Metres between neighbours of any kind. Default 20.
    pub distance: f64,
    /// Access points per row. Default 10.
    pub columns: u32,
    /// Rows. Default 10.
    pub rows: u32,
    /// m/s. Default 10.
    pub speed: f64,
    /// Seconds between draws of the direction. Default 1.
    pub slot: f64,
    /// Power of an access point, W, uniform. Default 0.1 to 0.2.
    pub power: (f64, f64),
    /// Bandwidth of an access point, Hz, uniform. Default 1 to 2 MHz.
    pub bandwidth: (f64, f64),
    /// Path loss. Default: exponent 4, 46.68 dB at 1 m.
    pub path_loss: PathLoss,
    /// Noise density, dBm/Hz. Default -180.
    pub noise_density: f64,
    /// Share of the Shannon capacity that is reached. Default 0.5.
    pub efficiency: f64,
    /// Default 6 dB, 10 m.
    pub shadowing: Shadowing,
    /// Default: logistic, 27 dB, 1.2 dB, floor 1e-4.
    pub loss: LossModel,
    /// Default: below -90 dBm, 200 ms.
    pub hand_over: HandOver,
    /// Delay of one wired link between the access points and the server, seconds, uniform, drawn once. Default 5 to
    /// 20 ms.
    pub wired_delay: (f64, f64),
    /// Wired links on the way. Default 2.
    pub wired_hops: u32,
    /// Loss probability of one wired link. Default 1e-4.
    pub wired_loss: f64,
}

impl Default for ApLattice {
    fn default() -> Self {
        ApLattice {
            distance: 20.0,
            columns: 10,
            rows: 10,
            speed: 10.0,
            slot: 1.0,
            power: (0.1, 0.2),
            bandwidth: (1e6, 2e6),
            path_loss: PathLoss { exponent: 4.0, reference_db: 46.68, reference_distance: 1.0 },
            noise_density: -180.0,
            efficiency: 0.5,
            shadowing: Shadowing { deviation_db: 6.0, decorrelation: 10.0 },
            loss: LossModel::Logistic { middle_db: 27.0, slope_db: 1.2, floor: 1e-4 },
            hand_over: HandOver { outage: 0.2, ..HandOver::default() },
            wired_delay: (0.005, 0.020),
            wired_hops: 2,
            wired_loss: 1e-4,
        }
    }
}

impl ApLattice {
    fn check(&self, duration_ns: u64) -> Result<Check, RadioError> {
        let check = Check("ap-lattice");
        check.duration(duration_ns)?;
        check.positive("distance", self.distance)?;
        check.that(self.columns >= 2, "columns", self.columns, "2 or more")?;
        check.that(self.rows >= 2, "rows", self.rows, "2 or more")?;
        check.not_negative("speed", self.speed)?;
        check.positive("slot", self.slot)?;
        check.range("power", self.power)?;
        check.positive("power.0", self.power.0)?;
        check.range("bandwidth", self.bandwidth)?;
        check.positive("bandwidth.0", self.bandwidth.0)?;
        check.finite("noise_density", self.noise_density)?;
        check.positive("efficiency", self.efficiency)?;
        check.range("wired_delay", self.wired_delay)?;
        check.that(self.wired_hops <= 64, "wired_hops", self.wired_hops, "0 to 64")?;
        check.share("wired_loss", self.wired_loss)?;
        self.path_loss.check(check)?;
        self.shadowing.check(check)?;
        self.loss.check(check)?;
        self.hand_over.check(check)?;
        Ok(check)
    }

    /// Power and bandwidth of an access point: drawn from its number, so that they do not depend on the way.
    fn cell(&self, id: u64, seed: u64) -> Cell {
        let mut random = Random::new(seed ^ crate::random::mix(id), "access point");
        let power = random.between(self.power.0, self.power.1);
        let bandwidth = random.between(self.bandwidth.0, self.bandwidth.1);
        Cell {
            power_dbm: watts_to_dbm(power),
            noise_dbm: self.noise_density + 10.0 * log10(bandwidth),
            bits_per_log: self.efficiency * bandwidth,
        }
    }

    fn link(
        &self,
        name: &str,
        colour: u32,
        walk: &crate::Trajectory,
        duration_ns: u64,
        seed: u64,
    ) -> Profile {
        let layout =
            Layout::Chessboard { distance: self.distance, columns: self.columns, rows: self.rows, colour };
        let access = Access {
            name: name.to_owned(),
            shadowing: self.shadowing,
            fading: Fading::None,
            loss: self.loss,
            hand_over: self.hand_over,
            minimum_distance: 1.0,
            ..Access::default()
        };
        let seed = link_seed(seed, colour as usize);
        let mut random = Random::new(seed, "wired");
        let delay: f64 =
            (0..self.wired_hops).map(|_| random.between(self.wired_delay.0, self.wired_delay.1)).sum();
        let engine = Engine {
            name,
            layout: &layout,
            path_loss: self.path_loss,
            cell: &|id| self.cell(id, seed),
            access: &access,
            one_way_delay: delay,
        };
        let mut profile = engine.drive(walk, duration_ns, seed);
        let kept = (0..self.wired_hops).fold(1.0, |kept, _| kept * (1.0 - self.wired_loss));
        let Profile { up, down, forecast, .. } = &mut profile;
        let lossier = |loss: &mut f64| *loss = 1.0 - (1.0 - *loss) * kept;
        for sample in [up, down, &mut forecast.up, &mut forecast.down].into_iter().flatten() {
            lossier(&mut sample.loss);
        }
        let mut looks = engine.survey(walk, duration_ns, seed);
        looks.iter_mut().flatten().for_each(|reach| lossier(&mut reach.loss));
        profile.sites = Some(Arc::new(Sites {
            step: nanos(access.update_interval),
            rule: self.hand_over,
            delay: nanos(delay),
            looks,
        }));
        profile
    }
}

impl Scene for ApLattice {
    fn links(&self) -> usize {
        2
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let size = |count: u32| self.distance * f64::from(count - 1);
        let walk = RandomWalk {
            speed: self.speed,
            slot: self.slot,
            start: Some([0.0, 0.0]),
            area: Area { width: size(self.columns), height: size(self.rows) },
        };
        let walk = walk.trajectory(seconds(duration_ns), seed)?;
        Ok(vec![self.link("wifi", 0, &walk, duration_ns, seed), self.link("5g", 1, &walk, duration_ns, seed)])
    }
}
