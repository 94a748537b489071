//! Congestion controllers, one file each.
//!
//! A controller owns one number that matters, the congestion window of one path, and moves it on
//! acknowledgements and congestion signals. Everything around it (what is in flight, which loss opens a new
//! recovery epoch, pacing, probe timeouts) belongs to the core, so a controller reads like its publication.
//!
//! | name | file | for |
//! |---|---|---|
//! | `newreno` | [`NewReno`] | the reference of RFC 9002; fairness competitor |
//! | `cubic` | [`Cubic`] | RFC 9438 with HyStart++ (RFC 9406); what most of the Internet runs |
//! | `westwood`, `illinois`, `elastic` | by these names | loss says when, something else how much: a bandwidth, a delay, both |
//! | `vegas`, `copa`, `c2tcp` | by these names | little delay |
//! | `lia`, `olia`, `balia`, `wvegas` | by these names, [`Olia`] | coupled: paths through one bottleneck take the share of one flow |
//! | `dwc` | `dwc` | coupled where losses and delays of paths coincide |
//! | `mpcc` | `mpcc` | coupled: each path learns its rate from what small changes of it bring |
//! | `maco` | `maco` | coupled, below satellites: bandwidth-delay product from link forecasts, losses told apart by delay |
//! | `bbr`, `coupled-bbr` | `bbr/v1` | model of bandwidth and round-trip time; the latter shares a common bottleneck |
//! | `bbr2`, `bbr2-alpha-beta`, `bbr3` | `bbr/bounded` | the same with bounds that loss sets |
//! | `bbr2plus` | `bbr/plus` | BBRv2 that asks the delay before and after each probe |
//! | `tide` | `tide` | default: links whose capacity moves or not: rate times delay with a bounded queue, CUBIC where others fill it |
//!
//! All but the coupled ones run on each path by itself; that is what aggregates links. Coupled ones look at the sibling
//! paths and are fair where paths meet. `docs/congestion-control.md` has a row for each, with parameters and sources.
//!
//! [`sscc`] is a policy set that chooses among them for each path, and couples paths that share a bottleneck; [`mptcp_sbd`] is one
//! that only couples them, and runs Reno elsewhere.
//!
//! What controllers with a window and a threshold share (slow start, recovery, undoing, moves) is in [`WindowBased`]; what those
//! with a model share, in `bbr`.
//!
//! Windows are bytes. Internally they are floating point, since all formulas of the field move them by fractions of
//! a datagram per acknowledgement.

mod balia;
mod bbr;
mod c2tcp;
mod copa;
mod coupled;
mod cubic;
mod dwc;
mod elastic;
mod illinois;
mod lia;
mod maco;
mod mpcc;
pub mod mptcp_sbd;
mod new_reno;
mod olia;
mod queue_delay;
mod return_path;
mod slow_start;
pub mod sscc;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tide;
mod two_buckets;
mod vegas;
mod westwood;
mod window;
mod window_based;
mod wvegas;

use std::sync::Arc;

use hawser_policy::{
    CongestionController, ControllerFactory, ControllerInit, Parameters, PolicyInfo, Registry,
};

pub use cubic::{Cubic, CubicParameters};
pub use new_reno::NewReno;
pub use olia::{Olia, OliaIncrement, OliaParameters, OliaQuality};
pub use window_based::WindowBased;

/// Makes a controller for a path.
type Build = fn(&ControllerInit, &Parameters) -> Box<dyn CongestionController>;

/// Every controller of this crate: what a registry tells of it, and how it is made.
const ALL: [(fn() -> PolicyInfo, Build); 12] = [
    (NewReno::info, NewReno::build),
    (Cubic::info, Cubic::build),
    (vegas::VegasRule::info, vegas::VegasRule::build),
    (westwood::WestwoodRule::info, westwood::WestwoodRule::build),
    (illinois::IllinoisRule::info, illinois::IllinoisRule::build),
    (c2tcp::C2tcpRule::info, c2tcp::C2tcpRule::build),
    (copa::CopaRule::info, copa::CopaRule::build),
    (elastic::ElasticRule::info, elastic::ElasticRule::build),
    (lia::LiaRule::info, lia::LiaRule::build),
    (Olia::info, Olia::build),
    (balia::BaliaRule::info, balia::BaliaRule::build),
    (wvegas::WVegasRule::info, wvegas::WVegasRule::build),
];

/// Those of the BBR family, which ask the peer when packets arrive.
const FAMILY: [(fn() -> PolicyInfo, Build); 6] = [
    (bbr::info_v1, bbr::build_v1),
    (bbr::info_coupled, bbr::build_coupled),
    (bbr::info_v2, bbr::build_v2),
    (bbr::info_v2_alpha_beta, bbr::build_v2_alpha_beta),
    (bbr::info_v2_plus, bbr::build_v2_plus),
    (bbr::info_v3, bbr::build_v3),
];

/// Adds every controller of this crate under its name, and `tide` also as `default`.
pub fn register(registry: &mut Registry) {
    for (info, build) in ALL {
        registry.add_controller_with(info(), build);
    }
    for (info, build) in FAMILY {
        registry.add_controllers(info(), move |parameters| bbr::backward::factory(build, parameters));
    }
    registry.add_controllers(maco::info(), maco::factory);
    registry.add_controllers(mpcc::info(), mpcc::factory);
    registry.add_controllers(dwc::info(), dwc::factory);
    registry.add_controllers(tide::info(), tide::factory);
}

/// Makes controllers of what [`register`] calls `default`, with its default parameters.
pub fn default_controllers() -> Arc<dyn ControllerFactory> {
    tide::factory(&Parameters::defaults(&tide::info().parameters))
}

/// Adds the policy sets of this crate. They take scheduler and acknowledgements from the registry, so those come first; a set that
/// does not find its parts is left out.
pub fn register_sets(registry: &mut Registry) {
    // The only error is a part that is missing.
    let _ = sscc::register(registry, sscc::SsccParts::shipped());
    let _ = mptcp_sbd::register(registry);
}
