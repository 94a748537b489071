//! Link and mobility models: what a radio link gives while its host, its cell or its satellite moves.
//!
//! A model is a plain structure of parameters, all in SI units (metres, seconds, m/s, Hz, bit/s, watts unless a name
//! says dB or dBm), whose defaults are the values of the paper it comes from. As a [`Scene`] it yields one [`Profile`]
//! per link: two step functions (rate, delay, loss, up or down for each direction), what happened (handovers,
//! attachments, reconfigurations, new addresses), and an [`ForecastSamples`]: what could have been foreseen.
//!
//! ```text
//!  mobility --> geometry --> signal --> capacity --> rate   }
//!  (road, city, (sites,      (path loss, (Shannon)          }  Profile --> a link of the simulator or the emulator
//!  walk, track, orbits)      shadowing)   --> fading, loss  }     |
//!  satellites)                    |           of a packet         +--> ForecastSamples --> ProfileObserver (a LinkObserver)
//!                                 +--> handover --> up/down
//! ```
//!
//! The channel draws its fading; a forecaster sees the mean only. A policy that looked at the draw would be judged
//! on luck it cannot have in the field.
//!
//! Nothing here knows QUIC, reads a clock or draws from a global source: seed and duration are arguments, real
//! functions come from a portable library, and so a profile is the same, bit by bit, on every machine.
//!
//! ```
//! use hawser_radio::{EventKind, Highway, Scene};
//!
//! // A car at 20 m/s, sites every 4 km: one handover every 200 s on each network.
//! let links = Highway::default().profiles(400_000_000_000, 1)?;
//! assert_eq!(links.len(), 2);
//! assert_eq!(links[0].name, "wifi");
//! assert_eq!(links[0].count(EventKind::HandOverStart), 2);
//! # Ok::<(), hawser_radio::RadioError>(())
//! ```
//!
//! Measured facts that generators are fitted to, and the errors of the fit, are in [`fit`].

mod access;
mod encounters;
mod error;
pub mod fit;
mod forecast;
mod math;
mod mobility;
mod model;
pub mod orbit;
mod profile;
pub mod propagation;
mod random;
mod satellite;
mod scene;
mod synthetic;

pub use access::{Access, ApLattice, HandOver, Highway, Layout, Motion, Reach, Roaming, Sites, Urban};
pub use encounters::{
    Association, Band, City, CityStatistics, Lognormal, Outcome, Provider, Quality, SpatialEncounters,
    WifiEncounters,
};
pub use error::RadioError;
pub use forecast::{ForecastQuality, ProfileObserver, attachment_point};
pub use math::{
    LIGHT_SPEED, bivariate_normal, dbm_to_watts, from_db, gamma_lower, normal_cdf, normal_quantile,
    normal_tail, to_db, watts_to_dbm,
};
pub use mobility::{Area, CityDrive, RandomWalk, RecordedTrack, StraightRoad, TrackFormat, Trajectory};
pub use model::Model;
pub use orbit::{Place, Walker};
pub use profile::{
    Event, EventKind, ForecastSamples, Position, Profile, Sample, foreseeable, sample_at, time_mean,
};
pub use propagation::{Fading, LossModel, PathLoss, Shadowing};
pub use satellite::{Constellation, Itsn, MacoSatellites, OrbitSource, RouteKind, SpaceBudget, association};
pub use scene::Scene;
pub use synthetic::{Carrier, Quantiles, Redraw, StarlinkSlots, Substitute, TwoCarriers};

/// The page of the documentation is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/radio.md")]
struct Page;
