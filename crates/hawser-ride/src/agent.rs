//! The trained actor.

use hawser_learn::{Mlp, MlpError};

use crate::policy::earliest;
use crate::{Environment, MAX_OBSERVATION, PATHS};

/// What a weight file is, and what training saw; the fields that inference needs, others are kept for readers.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct Manifest {
    /// Widths of the layers, the observation first and the actions last.
    pub shapes: Vec<usize>,
    /// SHA-256 of the weights, hexadecimal.
    pub weights_sha256: String,
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The manifest is none.
    #[error("the manifest of the weights: {0}")]
    Manifest(#[from] serde_json::Error),
    /// The weights are for another network, or incomplete.
    #[error("the weights: {0}")]
    Weights(#[from] MlpError),
    /// A network for something else.
    #[error("a network of {inputs} inputs and {outputs} outputs; RIDE has 10 or {MAX_OBSERVATION}, and {}", PATHS + 1)]
    Shape {
        /// Width of its observation.
        inputs: usize,
        /// Number of its actions.
        outputs: usize,
    },
}

/// Takes the action with the largest logit. If the network gives no numbers, it falls back to the path on which
/// the unit arrives first.
#[derive(Clone, Debug)]
pub struct Agent {
    network: Mlp,
    observation: Vec<f32>,
    logits: [f32; PATHS + 1],
    may_skip: bool,
    fallbacks: u64,
}

impl Agent {
    /// From a manifest (JSON) and weights (little-endian `f32`, layer by layer: matrix row by row, then bias).
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn read(manifest: &str, weights: &[u8]) -> Result<Self, AgentError> {
        let manifest: Manifest = serde_json::from_str(manifest)?;
        let network = Mlp::read(&manifest.shapes, weights)?;
        let (inputs, outputs) = (network.inputs(), network.outputs());
        if ![10, MAX_OBSERVATION].contains(&inputs) || outputs != PATHS + 1 {
            return Err(AgentError::Shape { inputs, outputs });
        }
        let observation = vec![0.0; inputs];
        Ok(Agent { network, observation, logits: [0.0; PATHS + 1], may_skip: true, fallbacks: 0 })
    }

    /// PyTorch's logits of the shipped agent for 10,000 observations, which `python -m hawser.compare_ride --keep` wrote: 32-bit
    /// floats, little endian.
    pub const REFERENCE_LOGITS: &'static [u8] = include_bytes!("../weights/episodic-logits.f32");

    /// How its training went: episodes, reward in training, greedy reward in sessions that are reserved for choosing weights.
    pub const TRAINING_CURVE: &'static str = include_str!("../weights/episodic-curve.csv");

    /// The agent that is shipped, trained in E1 (`weights/episodic.json` says how).
    pub fn shipped() -> Self {
        let manifest = include_str!("../weights/episodic.json");
        let weights = include_bytes!("../weights/episodic.f32");
        Self::read(manifest, weights).expect("tests read the shipped weights")
    }

    /// The same, but it takes the better path where it would skip: for a comparison.
    #[must_use]
    pub fn never_skipping(mut self) -> Self {
        self.may_skip = false;
        self
    }

    /// The logits of an observation.
    pub fn logits(&mut self, observation: &[f32]) -> [f32; PATHS + 1] {
        self.network.forward(observation, &mut self.logits);
        self.logits
    }

    /// How often the network gave no numbers.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    /// What to do with the environment's next unit.
    ///
    /// # Panics
    /// If the environment's observations have another length than the network's.
    pub fn choose(&mut self, environment: &Environment) -> usize {
        let mut observation = std::mem::take(&mut self.observation);
        environment.observe(&mut observation);
        let chosen = self.choose_from(&observation);
        self.observation = observation;
        chosen.unwrap_or_else(|| earliest(environment, &environment.paths()).0)
    }

    /// The action for an observation: [`SKIP`](crate::SKIP), or the path from 1. `None` if the network gives no numbers.
    ///
    /// # Panics
    /// If the observation has another length than the network's.
    pub fn choose_from(&mut self, observation: &[f32]) -> Option<usize> {
        self.network.forward(observation, &mut self.logits);
        let first = usize::from(!self.may_skip);
        let action = argmax(&self.logits[first..]).map(|action| action + first);
        self.fallbacks += u64::from(action.is_none());
        action
    }
}

/// The largest, the first of equals; none if one is no number.
fn argmax(logits: &[f32]) -> Option<usize> {
    if logits.iter().any(|logit| !logit.is_finite()) {
        return None;
    }
    let mut best = 0;
    for at in 1..logits.len() {
        if logits[at] > logits[best] {
            best = at;
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Purpose};
    use sha2::{Digest, Sha256};

    const MANIFEST: &str = include_str!("../weights/episodic.json");
    const WEIGHTS: &[u8] = include_bytes!("../weights/episodic.f32");

    #[test]
    fn the_shipped_weights_are_those_of_their_manifest() {
        let manifest: Manifest = serde_json::from_str(MANIFEST).unwrap();
        assert_eq!(hex::encode(Sha256::digest(WEIGHTS)), manifest.weights_sha256);
        assert_eq!(manifest.shapes, [10, 64, 64, 3]);
    }

    #[test]
    fn weights_that_are_truncated_or_for_something_else_are_refused() {
        let error = Agent::read(MANIFEST, &WEIGHTS[..WEIGHTS.len() - 4]).unwrap_err().to_string();
        assert!(error.contains("truncated, or for another shape"), "{error}");
        let narrow = r#"{"shapes": [2, 3], "weights_sha256": ""}"#;
        let error = Agent::read(narrow, &[0; 4 * 9]).unwrap_err();
        assert!(matches!(error, AgentError::Shape { inputs: 2, outputs: 3 }), "{error}");
        assert!(matches!(Agent::read("{", WEIGHTS), Err(AgentError::Manifest(_))));
    }

    /// Weights that are finite may still overflow: then the unit goes where it arrives first.
    #[test]
    fn what_is_no_number_falls_back() {
        let numbers = (10 + 1) * 64 + (64 + 1) * 64 + (64 + 1) * 3;
        let huge: Vec<u8> = (0..numbers).flat_map(|_| 1e38f32.to_le_bytes()).collect();
        let mut agent = Agent::read(MANIFEST, &huge).unwrap();
        let environment = Environment::new(Config::episodic(Purpose::Judging), 1).unwrap();
        assert_eq!(agent.choose(&environment), earliest(&environment, &environment.paths()).0);
        assert_eq!(agent.fallbacks(), 1);
    }
}
