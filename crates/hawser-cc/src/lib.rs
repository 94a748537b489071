//! Congestion controllers, one file each.
//!
//! A controller owns one number that matters, the congestion window of one path, and moves it on
//! acknowledgements and congestion signals. Everything around it (what is in flight, which loss opens a new
//! recovery epoch, pacing, probe timeouts) belongs to the core, so a controller reads like its publication.
//!
//! | name | file | for |
//! |---|---|---|
//! | `newreno` | [`NewReno`] | the reference of RFC 9002; fairness competitor |
//! | `cubic` | [`Cubic`] | default: RFC 9438 with HyStart++ (RFC 9406) |
//! | `olia` | [`Olia`] | coupled: several paths through one bottleneck take the share of one flow |
//! | `bbr`, `coupled-bbr` | `bbr/v1` | model of bandwidth and round-trip time; the latter shares a common bottleneck |
//! | `bbr2`, `bbr2-alpha-beta`, `bbr3` | `bbr/bounded` | the same with bounds that loss sets |
//! | `bbr2plus` | `bbr/plus` | BBRv2 that asks the delay before and after each probe |
//!
//! All but the coupled ones run on each path by itself; that is what aggregates links. Coupled ones look at the sibling
//! paths and are fair where paths meet. `docs/congestion-control.md` has a row for each, with parameters and sources.
//!
//! Windows are bytes. Internally they are floating point, since all formulas of the field move them by fractions of
//! a datagram per acknowledgement.

mod bbr;
mod cubic;
mod new_reno;
mod olia;
mod random;
mod return_path;
mod slow_start;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod window;

use hawser_policy::Registry;

pub use cubic::{Cubic, CubicParameters};
pub use new_reno::NewReno;
pub use olia::{Olia, OliaParameters};

/// Adds every controller of this crate under its name, and [`Cubic`] also as `default`.
pub fn register(registry: &mut Registry) {
    registry.add_controller_with(NewReno::info(), |init, parameters| {
        Box::new(NewReno::with_beta(init, parameters.number("beta")))
    });
    registry.add_controller_with(Cubic::info(), |init, parameters| {
        Box::new(Cubic::with_parameters(init, CubicParameters::read(parameters)))
    });
    registry.add_controller_with(Olia::info(), |init, parameters| {
        Box::new(Olia::with_parameters(init, OliaParameters::read(parameters)))
    });
    registry.add_controller_with(bbr::info_v1(), bbr::build_v1);
    registry.add_controller_with(bbr::info_coupled(), bbr::build_coupled);
    registry.add_controller_with(bbr::info_v2(), bbr::build_v2);
    registry.add_controller_with(bbr::info_v2_alpha_beta(), bbr::build_v2_alpha_beta);
    registry.add_controller_with(bbr::info_v2_plus(), bbr::build_v2_plus);
    registry.add_controller_with(bbr::info_v3(), bbr::build_v3);
}
