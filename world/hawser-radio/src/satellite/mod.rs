//! Scenes with a host on the ground and satellites above.

mod budget;
mod constellation;
mod itsn;
mod maco;

pub use budget::SpaceBudget;
pub use constellation::{Constellation, OrbitSource, RouteKind};
pub use itsn::Itsn;
pub use maco::{MacoSatellites, association};

#[cfg(test)]
mod tests;
