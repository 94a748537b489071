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
//!
//! `newreno` and `cubic` run on each path by itself; that is what aggregates links. `olia` looks at the sibling
//! paths and is fair where paths meet.
//!
//! Windows are bytes. Internally they are floating point, since all formulas of the field move them by fractions of
//! a datagram per acknowledgement.

mod cubic;
mod new_reno;
mod olia;
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
}
