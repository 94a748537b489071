//! SEDPF: paths by the expected time of delivery in order, and a sliding code over all of them.
//!
//! | file | subject |
//! |---|---|
//! | `gaussian` | the larger of two random delays |
//! | `scheduler` | the path of the next packet |
//! | `protection` | how often a coded packet is sent, and of what |

mod gaussian;
mod protection;
mod scheduler;

use std::sync::Arc;

use hawser_policy::{
    Composed, ParameterInfo, Parameters, PolicyInfo, PolicySet, PolicySetFactory, ProtectionFactory,
    ProtectionInit, Registry, SetInit,
};

pub use protection::{SedpfProtection, sedpf_source_symbols};
pub use scheduler::SedpfScheduler;

const SOURCE: &str = "Garcia-Saavedra, Karzand and Leith, IEEE TMC 2017";

/// What can be set of [`Sedpf`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SedpfParameters {
    /// Share of coded packets beyond what is lost.
    pub margin: f64,
    /// Whether there are coded packets at all.
    pub code: bool,
}

impl Default for SedpfParameters {
    fn default() -> Self {
        SedpfParameters { margin: 0.02, code: true }
    }
}

impl SedpfParameters {
    fn read(parameters: &Parameters) -> Self {
        SedpfParameters { margin: parameters.number("margin"), code: parameters.flag("code") }
    }
}

fn margin_parameter() -> ParameterInfo {
    // 1 / 0.016 is 62.5: a repair symbol combines 64 source symbols at most.
    ParameterInfo::number("margin", 0.016..=0.5, SedpfParameters::default().margin)
        .meaning("share of coded packets beyond the share that is lost: R = 1 - (p + margin)")
        .source("Garcia-Saavedra and others 2017, as completed from the literature")
}

/// SEDPF as a policy set: the scheduler [`SedpfScheduler`] and the streaming code [`SedpfProtection`] (Garcia-Saavedra, Karzand,
/// Leith: IEEE Transactions on Mobile Computing, 2017), with New Reno on each path.
///
/// Both parts have entries of their own under the same name, so that they can be combined with other controllers and
/// acknowledgements.
#[derive(Clone)]
pub struct Sedpf {
    parts: Composed,
}

impl Sedpf {
    /// Its name in the registry, and that of its parts.
    pub const NAME: &'static str = "sedpf";

    /// What a registry tells of the set.
    pub fn info() -> PolicyInfo {
        let default = SedpfParameters::default();
        PolicyInfo::new(Self::NAME, "least expected delivery in order, and a sliding code over all paths")
            .source(SOURCE)
            .parameter(margin_parameter())
            .parameter(
                ParameterInfo::flag("code", default.code)
                    .meaning("send coded packets")
                    .source("off: the scheduler alone, Hawser"),
            )
    }

    /// Adds the set and its code. The set takes controllers and acknowledgements from the registry as it is now, if that has them.
    pub fn register(registry: &mut Registry) {
        registry.add_protection_with(SedpfProtection::info(), |_, parameters| {
            Some(Box::new(SedpfProtection::new(parameters.number("margin"))))
        });
        let Ok(congestion) = registry.congestion("newreno") else { return };
        let Ok(acks) = registry.acks("default") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let SedpfParameters { margin, code } = SedpfParameters::read(parameters);
            let protection: Arc<dyn ProtectionFactory> =
                Arc::new(move |_: &ProtectionInit| Some(Box::new(SedpfProtection::new(margin)) as Box<_>));
            Arc::new(Sedpf {
                parts: Composed::new(
                    Arc::new(|_: &_| Box::new(SedpfScheduler::default()) as Box<_>),
                    congestion.clone(),
                    acks.clone(),
                )
                .with(|set| set.protection = code.then_some(protection)),
            })
        });
    }
}

impl PolicySetFactory for Sedpf {
    fn build(&self, init: &SetInit) -> PolicySet {
        self.parts.build(init)
    }

    fn repairs(&self) -> bool {
        self.parts.repairs()
    }
}

#[cfg(test)]
mod tests;
