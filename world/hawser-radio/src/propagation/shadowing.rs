use std::collections::BTreeMap;

use crate::RadioError;
use crate::error::Check;
use crate::random::{Gaussian, Random};

/// Log-normal shadowing: buildings and hills that stay where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Shadowing {
    /// Standard deviation, dB; 0 switches it off.
    pub deviation_db: f64,
    /// Metres over which the correlation falls to 1/e (Gudmundson 1991).
    pub decorrelation: f64,
}

impl Shadowing {
    /// No shadowing.
    pub const NONE: Shadowing = Shadowing { deviation_db: 0.0, decorrelation: 1.0 };

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.not_negative("shadowing.deviation_db", self.deviation_db)?;
        check.positive("shadowing.decorrelation", self.decorrelation)
    }
}

/// The shadowing towards each site along one way. Each site has draws of its own, so what a site gives does not
/// depend on which other sites were looked at.
pub(crate) struct ShadowField {
    parameters: Shadowing,
    seed: u64,
    sites: BTreeMap<u64, Site>,
}

struct Site {
    random: Random,
    process: Gaussian,
    travelled: f64,
}

impl ShadowField {
    pub(crate) fn new(parameters: Shadowing, seed: u64) -> Self {
        ShadowField { parameters, seed, sites: BTreeMap::new() }
    }

    /// Shadowing in dB towards `site` after `travelled` metres.
    pub(crate) fn towards(&mut self, site: u64, travelled: f64) -> f64 {
        if self.parameters.deviation_db == 0.0 {
            return 0.0;
        }
        let (seed, scale) = (self.seed, self.parameters.decorrelation);
        let state = self.sites.entry(site).or_insert_with(|| {
            let mut random = Random::new(seed ^ crate::random::mix(site), "shadowing");
            let process = Gaussian::new(scale, &mut random);
            Site { random, process, travelled }
        });
        let step = (travelled - state.travelled).max(0.0);
        state.travelled = travelled;
        if step > 0.0 {
            state.process.advance(step, &mut state.random);
        }
        self.parameters.deviation_db * state.process.value()
    }
}
