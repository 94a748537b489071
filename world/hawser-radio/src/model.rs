//! The list of all models, by name: it knows them all, and none knows it.

use crate::access::{ApLattice, Highway, Roaming, Urban};
use crate::encounters::{SpatialEncounters, WifiEncounters};
use crate::satellite::{Constellation, Itsn, MacoSatellites};
use crate::synthetic::{StarlinkSlots, Substitute, TwoCarriers};
use crate::{Profile, RadioError, Scene};

/// Every model by name.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // One per link of a scenario; never in bulk.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "model", rename_all = "kebab-case")
)]
pub enum Model {
    /// A straight road with sparse sites; one link per network.
    Highway(Highway),
    /// A city of hexagonal cells; one link per network.
    Urban(Urban),
    /// Dense access points of two kinds; two links.
    ApLattice(ApLattice),
    /// Any motion among any sites; one link per network.
    Roaming(Roaming),
    /// Two subflows over a chain of passing satellites; two links.
    MacoSatellites(MacoSatellites),
    /// Two chains of satellites; two links.
    Itsn(Itsn),
    /// Terminals under a Walker constellation or two-line elements; one link per terminal.
    Constellation(Constellation),
    /// In-vehicle WiFi by statistics; one link.
    WifiEncounters(WifiEncounters),
    /// In-vehicle WiFi from access points along a road; one link.
    SpatialEncounters(SpatialEncounters),
    /// Two cellular carriers in one car, fitted to measurements; two links.
    TwoCarriers(TwoCarriers),
    /// A Starlink terminal with slots of 15 s, fitted to measurements; one link.
    StarlinkSlots(StarlinkSlots),
    /// A synthetic substitute for a recorded trace; one link.
    Substitute(Substitute),
}

impl Model {
    /// Names of all models, and of presets of [`Model::Substitute`].
    pub const NAMES: [&'static str; 16] = [
        "highway",
        "urban",
        "ap-lattice",
        "roaming",
        "maco-satellites",
        "itsn",
        "constellation",
        "wifi-encounters",
        "spatial-encounters",
        "two-carriers",
        "starlink-slots",
        "substitute",
        "bent-pipe",
        "inter-satellite",
        "five-g",
        "oneweb",
    ];

    /// The model of that name with the values of its source.
    pub fn named(name: &str) -> Option<Model> {
        Some(match name {
            "highway" => Model::Highway(Highway::default()),
            "urban" => Model::Urban(Urban::default()),
            "ap-lattice" => Model::ApLattice(ApLattice::default()),
            "roaming" => Model::Roaming(Roaming::default()),
            "maco-satellites" => Model::MacoSatellites(MacoSatellites::default()),
            "itsn" => Model::Itsn(Itsn::default()),
            "constellation" => Model::Constellation(Constellation::default()),
            "wifi-encounters" => Model::WifiEncounters(WifiEncounters::default()),
            "spatial-encounters" => Model::SpatialEncounters(SpatialEncounters::default()),
            "two-carriers" => Model::TwoCarriers(TwoCarriers::default()),
            "starlink-slots" => Model::StarlinkSlots(StarlinkSlots::default()),
            "substitute" | "bent-pipe" => Model::Substitute(Substitute::bent_pipe()),
            "inter-satellite" => Model::Substitute(Substitute::inter_satellite()),
            "five-g" => Model::Substitute(Substitute::five_g()),
            "oneweb" => Model::Substitute(Substitute::oneweb()),
            _ => return None,
        })
    }

    /// The name of the model.
    pub fn name(&self) -> &'static str {
        match self {
            Model::Highway(_) => "highway",
            Model::Urban(_) => "urban",
            Model::ApLattice(_) => "ap-lattice",
            Model::Roaming(_) => "roaming",
            Model::MacoSatellites(_) => "maco-satellites",
            Model::Itsn(_) => "itsn",
            Model::Constellation(_) => "constellation",
            Model::WifiEncounters(_) => "wifi-encounters",
            Model::SpatialEncounters(_) => "spatial-encounters",
            Model::TwoCarriers(_) => "two-carriers",
            Model::StarlinkSlots(_) => "starlink-slots",
            Model::Substitute(_) => "substitute",
        }
    }

    fn scene(&self) -> &dyn Scene {
        match self {
            Model::Highway(scene) => scene,
            Model::Urban(scene) => scene,
            Model::ApLattice(scene) => scene,
            Model::Roaming(scene) => scene,
            Model::MacoSatellites(scene) => scene,
            Model::Itsn(scene) => scene,
            Model::Constellation(scene) => scene,
            Model::WifiEncounters(scene) => scene,
            Model::SpatialEncounters(scene) => scene,
            Model::TwoCarriers(scene) => scene,
            Model::StarlinkSlots(scene) => scene,
            Model::Substitute(scene) => scene,
        }
    }
}

impl Scene for Model {
    fn links(&self) -> usize {
        self.scene().links()
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.scene().profiles(duration_ns, seed)
    }
}

#[cfg(test)]
mod tests;
