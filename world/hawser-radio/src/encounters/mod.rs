//! WiFi from a moving car: access points come and go (F. Yang 2022, chapter 3).

mod association;
mod city;
mod link;
mod quality;
mod renewal;
mod spatial;

pub use association::{Association, Band, Outcome};
pub use city::{City, CityStatistics, Lognormal, Provider};
pub use quality::Quality;
pub use renewal::WifiEncounters;
pub use spatial::SpatialEncounters;

#[cfg(test)]
mod tests;
