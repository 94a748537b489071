//! The trained actor.

mod shipped;

use hawser_learn::{Mlp, MlpError};

use crate::policy::earliest;
use crate::{Environment, Hidden, MAX_OBSERVATION, PATHS};
use shipped::SHIPPED;

/// What a weight file is, and what training saw; the fields that inference needs, others are kept for readers.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct Manifest {
    /// Widths of the layers, the observation first and the actions last.
    pub shapes: Vec<usize>,
    /// SHA-256 of the weights, hexadecimal.
    pub weights_sha256: String,
    /// The environment in which it was trained.
    #[serde(default)]
    pub options: TrainingOptions,
}

/// In which environment an agent was trained, as far as the agent has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct TrainingOptions {
    /// What it did not see, and does not see now.
    #[serde(default)]
    pub hidden: Hidden,
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
    hidden: Hidden,
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
        let hidden = manifest.options.hidden;
        Ok(Agent { network, observation, logits: [0.0; PATHS + 1], hidden, may_skip: true, fallbacks: 0 })
    }

    /// The trained agents: [`Self::shipped`] first, which seed 1 gave in E1. `ride-2` to `ride-5` are those of other seeds,
    /// `ride-e2-1` to `-5` were trained in E2. The others are ablations: trained without the time until the deadline
    /// (`ride-no-deadline-1` to `-5`), without the size (`ride-no-size`), and without a reward for help to other frames
    /// (`ride-no-helper`).
    pub const NAMES: [&'static str; SHIPPED.len()] = shipped::names();

    /// A trained agent by its name.
    pub fn named(name: &str) -> Option<Self> {
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == name)?;
        Some(Self::read(shipped.manifest, shipped.weights).expect("tests read the shipped weights"))
    }

    /// How the training of an agent went: lines of episodes, reward in training, and greedy reward in sessions that are reserved
    /// for choosing weights.
    pub fn training_curve(name: &str) -> Option<&'static str> {
        Some(SHIPPED.iter().find(|shipped| shipped.name == name)?.curve)
    }

    /// PyTorch's logits of the shipped agent for 10,000 observations, which `python -m hawser.compare_ride --keep` wrote: 32-bit
    /// floats, little endian.
    pub const REFERENCE_LOGITS: &'static [u8] = include_bytes!("../weights/episodic-logits.f32");

    /// The agent that is shipped, trained in E1 (`weights/episodic.json` says how).
    pub fn shipped() -> Self {
        Self::named(Self::NAMES[0]).expect("it has the first name")
    }

    /// The agent of seed 1 that was trained in E2, where queues last from frame to frame: for connections.
    pub fn continuous() -> Self {
        Self::named("ride-e2-1").expect("it has this name")
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
        self.hidden.hide(&mut observation);
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

    const MANIFEST: &str = SHIPPED[0].manifest;
    const WEIGHTS: &[u8] = SHIPPED[0].weights;

    #[test]
    fn shipped_weights_are_those_of_their_manifests() {
        for shipped in SHIPPED {
            let manifest: serde_json::Value = serde_json::from_str(shipped.manifest).unwrap();
            let digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
            assert_eq!(digest(shipped.weights), manifest["weights_sha256"], "{}", shipped.name);
            assert_eq!(digest(shipped.curve.as_bytes()), manifest["curve_sha256"], "{}", shipped.name);
            assert_eq!(manifest["shapes"], serde_json::json!([10, 64, 64, 3]));
            let agent = Agent::named(shipped.name).unwrap();
            let hidden = if shipped.name.contains("no-deadline") {
                Hidden::Deadline
            } else if shipped.name.contains("no-size") {
                Hidden::Size
            } else {
                Hidden::Nothing
            };
            assert_eq!(agent.hidden, hidden, "{}", shipped.name);
            // Each of another seed, and in E2 where its name says so.
            let seed = shipped.name.rsplit('-').next().and_then(|it| it.parse().ok()).unwrap_or(1);
            assert_eq!(manifest["seed"], serde_json::json!(seed), "{}", shipped.name);
            let is_e2 = manifest["options"]["environment"] == "continuous";
            assert_eq!(is_e2, shipped.name.contains("e2"), "{}", shipped.name);
            assert_eq!(manifest["options"]["helper"] == false, shipped.name.contains("no-helper"));
        }
    }

    /// What an agent was trained without makes no difference to it.
    #[test]
    fn an_agent_does_not_see_what_its_training_hid() {
        let environment = Environment::new(Config::episodic(Purpose::Judging), 1).unwrap();
        for (name, at) in [("ride-no-deadline-1", 8), ("ride-no-size-1", 9)] {
            let agent = Agent::named(name).unwrap();
            let mut observation = vec![0.0; environment.observation_length()];
            environment.observe(&mut observation);
            assert!(observation[at] > 0.0);
            agent.hidden.hide(&mut observation);
            assert_eq!(observation[at], 0.0);
        }
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
