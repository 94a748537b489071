//! WiFi from a moving car: access points come and go (specs/xfi-xperf, section 3.5).

mod association;
mod city;
mod link;
mod renewal;
mod spatial;

pub use association::{Association, Band, Outcome};
pub use city::{City, CityStatistics, Lognormal, Provider, Quality};
pub use renewal::WifiEncounters;
pub use spatial::SpatialEncounters;

#[cfg(test)]
mod tests;
