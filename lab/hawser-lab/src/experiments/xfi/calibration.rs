//! What sessions over the links of a city come to with given parameters of the generator: what its qualities are chosen by, with seeds
//! that the list does not judge by.

use std::sync::Arc;

use hawser_policy::Registry;
use hawser_radio::{City, WifiEncounters};
use serde_json::Value;

use super::transport;
use crate::experiments::verify::{Load, Measured, Request};

/// The scenario around an association, as in the list.
const SCENARIO: &str = "xfi-association.toml";

/// A city with some of its statistics set otherwise.
#[derive(Debug, Clone)]
pub struct Calibration {
    scene: WifiEncounters,
    /// Hours of the drive.
    pub hours: f64,
    /// Which sessions.
    pub sessions: Sessions,
}

/// Which sessions are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sessions {
    /// One in each association of a drive, as the tool draws it.
    #[default]
    Drive,
    /// As many of each band and direction.
    Bands,
    /// Over the same associations with one controller and another, and with eight flows.
    Controllers,
}

impl Calibration {
    /// A city by its name in scenarios, such as `macao-rate17`, with fields of its statistics set as `FIELD=NUMBER`, such as
    /// `quality.bad_share=0.1`.
    ///
    /// # Errors
    /// In words: there is no such city or field, or the value is impossible.
    pub fn new(city: &str, set: &[String]) -> Result<Self, String> {
        let failed = |error: serde_json::Error| error.to_string();
        let known: City = serde_json::from_value(city.into()).map_err(failed)?;
        let mut statistics = serde_json::to_value(known.statistics()).map_err(failed)?;
        for text in set {
            let (field, number) = text.split_once('=').ok_or_else(|| format!("{text}: not FIELD=NUMBER"))?;
            let place = statistics.pointer_mut(&format!("/{}", field.replace('.', "/")));
            let place = place.ok_or_else(|| format!("there is no field {field}"))?;
            *place = number.parse::<serde_json::Number>().map(Value::Number).map_err(failed)?;
        }
        let scene = WifiEncounters {
            city: serde_json::from_value(statistics).map_err(failed)?,
            ..WifiEncounters::in_city(known)
        };
        scene.associations(0.0, 0).map_err(|error| error.to_string())?;
        Ok(Calibration { scene, hours: 1.0, sessions: Sessions::Drive })
    }

    /// Runs the sessions of a drive. `load` reads a scenario of the folder.
    ///
    /// # Errors
    /// In words: a scenario that cannot be read, or a session that cannot run.
    pub fn run(&self, seed: u64, registry: &Arc<Registry>, load: &Load<'_>) -> Result<Measured, String> {
        let scenarios = [SCENARIO.to_owned()];
        let request =
            Request { runs: "", scenarios: &scenarios, set: &[], key: "", policy: "", seed, registry, load };
        match self.sessions {
            Sessions::Drive => transport::sessions(&request, &self.scene, self.hours),
            Sessions::Bands => transport::bands_in(&request, &self.scene),
            Sessions::Controllers => transport::controllers_in(&request, &self.scene),
        }
    }
}
