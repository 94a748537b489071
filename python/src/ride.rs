//! RIDE's environment and agent for Python. Arrays are NumPy's; what they mean is in `package/hawser/ride.py`.

use hawser_ride::{
    Agent, Arrival, Batch, Config, DeadlineRule, Hidden, Kind, Metrics, Order, PATHS, Policy, Purpose,
    Viewing, play,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::wrong;

/// One of these by name.
fn named<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> PyResult<T> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        wrong(format!("no {what} {name:?}: there are {}", known.join(", ")))
    })
}

const PURPOSES: &[(&str, Purpose)] =
    &[("training", Purpose::Training), ("selection", Purpose::Selection), ("judging", Purpose::Judging)];

/// A configuration from options; each that is not given is as `environment` has it.
fn config(options: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let mut config = Config::episodic(Purpose::Training);
    let Some(options) = options else { return Ok(config) };
    let text = |name: &str| -> PyResult<Option<String>> {
        options.get_item(name)?.map(|value| value.extract::<String>()).transpose()
    };
    if let Some(name) = text("environment")? {
        let of = [("episodic", Kind::Episodic), ("continuous", Kind::Continuous)];
        config = match named("environment", &name, &of)? {
            Kind::Episodic => Config::episodic(Purpose::Training),
            Kind::Continuous => Config::continuous(Purpose::Training),
        };
    }
    for (key, value) in options.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "environment" => {}
            "purpose" => config.purpose = named("purpose", &value.extract::<String>()?, PURPOSES)?,
            "viewing" => {
                let all =
                    [("head", Viewing::Head), ("switching", Viewing::Switching), ("fixed", Viewing::Fixed)];
                config.viewing = named("viewing", &value.extract::<String>()?, &all)?;
            }
            "deadline_rule" => {
                let all = [("paper", DeadlineRule::Paper), ("transitive", DeadlineRule::Transitive)];
                config.deadline_rule = named("rule", &value.extract::<String>()?, &all)?;
            }
            "order" => {
                let all = [("display", Order::Display), ("decode", Order::Decode)];
                config.order = named("order", &value.extract::<String>()?, &all)?;
            }
            "arrival" => {
                let all = [("sampled", Arrival::Sampled), ("rounds", Arrival::Rounds)];
                config.arrival = named("model of arrival", &value.extract::<String>()?, &all)?;
            }
            "hidden" => {
                let all =
                    [("nothing", Hidden::Nothing), ("deadline", Hidden::Deadline), ("size", Hidden::Size)];
                config.hidden = named("value to hide", &value.extract::<String>()?, &all)?;
            }
            "early" => config.reward.early = value.extract()?,
            "helper" => config.reward.helper = value.extract()?,
            "playout_delay" => config.playout_delay = value.extract()?,
            "max_loss" => config.max_loss = value.extract()?,
            "extended" => config.extended = value.extract()?,
            "saliency" => config.sizes.saliency = value.extract()?,
            "frames" => config.frames = value.extract()?,
            other => return Err(wrong(format!("no option {other:?}"))),
        }
    }
    Ok(config)
}

/// Observations, rewards and whether a frame ended.
type Stepped<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<bool>>);
/// Environment, number of its decision, change of the reward.
type Corrections<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f32>>);

/// Environments that take a step together.
#[pyclass(module = "hawser._native")]
struct RideBatch {
    batch: Batch,
    observations: Vec<f32>,
    rewards: Vec<f32>,
    ends: Vec<bool>,
}

impl RideBatch {
    fn shaped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let count = self.rewards.len();
        let flat = PyArray1::from_slice(py, &self.observations);
        flat.reshape([count, self.observations.len() / count])
    }
}

#[pymethods]
impl RideBatch {
    #[new]
    #[pyo3(signature = (seed, count, options=None))]
    fn new(seed: u64, count: usize, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        if !(1..=65_536).contains(&count) {
            return Err(wrong(format!("1 to 65536 environments, not {count}")));
        }
        let batch = Batch::new(config(options)?, seed, count).map_err(wrong)?;
        let mut observations = vec![0.0; batch.observations_length()];
        batch.observe(&mut observations);
        Ok(RideBatch { batch, observations, rewards: vec![0.0; count], ends: vec![false; count] })
    }

    /// Starts all again with seeds from `seed` on.
    fn reset(&mut self, seed: u64) {
        self.batch.reset(seed);
        self.batch.observe(&mut self.observations);
    }

    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.shaped(py)
    }

    fn step<'py>(&mut self, py: Python<'py>, actions: PyReadonlyArray1<'_, u8>) -> PyResult<Stepped<'py>> {
        let actions = actions.as_slice()?;
        if actions.len() != self.rewards.len() || !Batch::are_actions(actions) {
            return Err(wrong(format!("{} actions of 0 to {PATHS} are needed", self.rewards.len())));
        }
        self.batch.step_batch(actions, &mut self.observations, &mut self.rewards, &mut self.ends);
        let rewards = PyArray1::from_slice(py, &self.rewards);
        Ok((self.shaped(py)?, rewards, PyArray1::from_slice(py, &self.ends)))
    }

    /// Changes of earlier rewards that the last step brought.
    fn corrections<'py>(&self, py: Python<'py>) -> Corrections<'py> {
        let (mut numbers, mut decisions, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, environment) in self.batch.environments().iter().enumerate() {
            for correction in environment.corrections() {
                numbers.push(number as u32);
                decisions.push(correction.decision);
                changes.push(correction.change as f32);
            }
        }
        (numbers.into_pyarray(py), decisions.into_pyarray(py), changes.into_pyarray(py))
    }

    fn trace_hash(&self, number: usize) -> PyResult<u64> {
        let environment = self.batch.environments().get(number);
        environment.map(|it| it.trace_hash()).ok_or_else(|| wrong(format!("no environment {number}")))
    }
}

/// The actor in plain Rust.
#[pyclass(module = "hawser._native")]
struct RideAgent {
    agent: Agent,
    width: usize,
}

#[pymethods]
impl RideAgent {
    #[new]
    fn new(manifest: &str, weights: &[u8]) -> PyResult<Self> {
        let shapes: serde_json::Value = serde_json::from_str(manifest).map_err(wrong)?;
        let width = shapes["shapes"][0].as_u64().unwrap_or_default() as usize;
        Ok(RideAgent { agent: Agent::read(manifest, weights).map_err(wrong)?, width })
    }

    /// The logits of observations, a row each.
    fn logits<'py>(
        &mut self,
        py: Python<'py>,
        observations: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let values = observations.as_slice()?;
        if !values.len().is_multiple_of(self.width) {
            return Err(wrong(format!("observations have {} values each", self.width)));
        }
        let logits = values.chunks_exact(self.width).flat_map(|row| self.agent.logits(row));
        let logits: Vec<f32> = logits.collect();
        PyArray1::from_vec(py, logits).reshape([values.len() / self.width, PATHS + 1])
    }

    /// What is measured of a session that the agent plays, as JSON, and the trace hash.
    #[pyo3(signature = (seed, options=None))]
    fn play(&self, seed: u64, options: Option<&Bound<'_, PyDict>>) -> PyResult<(String, u64)> {
        session(config(options)?, seed, Policy::Ride(Box::new(self.agent.clone())))
    }
}

/// What is measured of a session that a policy plays, as JSON, and the trace hash.
#[pyfunction]
#[pyo3(signature = (policy, seed, options=None))]
fn play_policy(policy: &str, seed: u64, options: Option<&Bound<'_, PyDict>>) -> PyResult<(String, u64)> {
    let config = config(options)?;
    let policy = Policy::named(policy, seed, config.kind == Kind::Continuous).map_err(wrong)?;
    session(config, seed, policy)
}

fn session(config: Config, seed: u64, mut policy: Policy) -> PyResult<(String, u64)> {
    let (outcomes, hash) = play(config, seed, &mut policy).map_err(wrong)?;
    Ok((serde_json::to_string(&Metrics::of(&outcomes)).map_err(wrong)?, hash))
}

/// Adds these to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RideBatch>()?;
    module.add_class::<RideAgent>()?;
    module.add_function(wrap_pyfunction!(play_policy, module)?)
}
