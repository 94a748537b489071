//! Training of DQN\* (4D-MAP's baseline, `hawser_sched::DqnScheduler`): live video over random links, on which it explores.
//!
//! Links are drawn as for pre-learning, from the ranges of table 2, and none of them is one that a list judges by. What was learnt is
//! compared with chance and with the path of the lower round-trip time on further links, for the manifest alone: nothing is
//! chosen by that.

use std::path::Path;

use hawser_learn::TrainedMlp;
use hawser_policy::Registry;
use hawser_sched::{DqnChooser, DqnModel, DqnScheduler, DqnTraining};
use hawser_sim::run::NoRecorder;
use serde_json::{Value, json};

use super::traces::{LINKS, Traces, VIDEOS};
use crate::data::statistics::mean;
use crate::data::sweep::digest;

/// Further traces, on which what was learnt is compared.
const COMPARED: u64 = 8;
/// Traces from one point of the learning curve to the next.
const POINT: u64 = 4;

/// What is learnt from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QTraining {
    /// Traces, each a run.
    pub traces: u64,
    /// Seconds of each.
    pub seconds: u64,
    /// Of the first trace, and of the network; traces that follow count on from it.
    pub seed: u64,
}

/// A network, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct QTrained {
    /// What was learnt.
    pub network: TrainedMlp,
    /// Traces, seeds, hashes, the learning curve, and a comparison.
    pub manifest: Value,
}

impl QTraining {
    /// Runs the traces with the scenarios of a folder.
    ///
    /// # Errors
    /// A seed that lists judge by, or a scenario that cannot be run.
    pub fn run(&self, scenarios: &Path, registry: &Registry) -> Result<QTrained, String> {
        let traces = Traces::of(self.seed, self.seconds)?;
        let training = DqnTraining::new(self.seed);
        let mut registry = registry.clone();
        DqnScheduler::register_with(&mut registry, DqnModel::shipped(), Some(training.clone()));
        let mut course = Course { traces, scenarios, registry, training };
        let (mut decisions, mut curve) = (0, vec![self.point(&course, 0)?]);
        for number in 0..self.traces {
            course.traces.note(number, DqnScheduler::NAME);
            course.drive(number)?;
            decisions += course.training.take_rewards().len();
            if (number + 1) % POINT == 0 {
                curve.push(self.point(&course, decisions)?);
            }
        }
        if decisions == 0 {
            return Err("no decision was rewarded".to_owned());
        }
        let network = course.training.network();
        let manifest = json!({
            "traces": self.traces,
            "seconds": self.seconds,
            "first_seed": self.seed,
            "scheduler": DqnScheduler::NAME,
            "layers": network.shapes(),
            "links": LINKS.map(|(link, _)| link),
            "videos": VIDEOS,
            "scenarios_sha256": course.traces.digest(scenarios),
            "decisions": decisions,
            "compared": {
                "traces": COMPARED,
                "first_seed": self.seed + self.traces,
                "mean_reward": {
                    "network": self.reward(&course, DqnChooser::Network)?,
                    "random": self.reward(&course, DqnChooser::Random)?,
                    "lower_round_trip_time": self.reward(&course, DqnChooser::Fastest)?,
                },
                "curve": curve,
            },
            "model_sha256": digest(&DqnModel::write(&network)),
        });
        Ok(QTrained { network, manifest })
    }

    /// A point of the learning curve: what the network is worth after so many decisions.
    fn point(&self, course: &Course<'_>, decisions: usize) -> Result<Value, String> {
        let reward = self.reward(course, DqnChooser::Network)?;
        course.training.choose_by(DqnChooser::Learner);
        Ok(json!({ "decisions": decisions, "mean_reward": reward }))
    }

    /// The mean reward of a decision on traces that are not learnt from, to a ten-thousandth.
    fn reward(&self, course: &Course<'_>, chooser: DqnChooser) -> Result<f64, String> {
        course.training.choose_by(chooser);
        for number in self.traces..self.traces + COMPARED {
            course.drive(number)?;
        }
        let rewards: Vec<f64> = course.training.take_rewards().into_iter().map(f64::from).collect();
        Ok((mean(&rewards) * 1e4).round() / 1e4)
    }
}

/// What all traces have in common.
struct Course<'a> {
    traces: Traces,
    scenarios: &'a Path,
    registry: Registry,
    training: DqnTraining,
}

impl Course<'_> {
    fn drive(&self, number: u64) -> Result<(), String> {
        self.traces.run(number, DqnScheduler::NAME, self.scenarios, &self.registry, &mut NoRecorder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::four_d_map::traces::FIRST_SEED;

    #[test]
    fn seeds_of_lists_are_refused() {
        let judged = QTraining { traces: 1, seconds: 1, seed: 20 };
        let error = judged.run(Path::new("nowhere"), &Registry::new()).expect_err("it is refused");
        assert!(error.starts_with("seeds below 1000000"), "{error}");
    }

    #[test]
    fn the_same_traces_give_the_same_network() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let registry = hawser_net::policies();
        let short = QTraining { traces: 3, seconds: 6, seed: FIRST_SEED };
        let run = || short.run(&scenarios, &registry).expect("it runs");
        let first = run();
        assert_eq!(first, run());
        assert!(DqnModel::read(&DqnModel::write(&first.network)).is_ok());
        assert!(first.manifest["decisions"].as_u64().is_some_and(|decisions| decisions > 1_000));
    }

    /// What came of the shipped network, as its manifest tells: it earned more than it did at first, than chance, and than the path
    /// of the lower round-trip time.
    #[test]
    fn the_shipped_network_learnt_something() {
        let manifest: Value = serde_json::from_str(DqnModel::SHIPPED_MANIFEST).expect("it is JSON");
        assert_eq!(
            manifest["model_sha256"],
            json!(digest(DqnModel::SHIPPED)),
            "the manifest of another model"
        );
        let compared = &manifest["compared"];
        let rewards = &compared["mean_reward"];
        let network = rewards["network"].as_f64().expect("a number");
        let others =
            [&rewards["random"], &rewards["lower_round_trip_time"], &compared["curve"][0]["mean_reward"]];
        assert!(others.iter().all(|other| other.as_f64().is_some_and(|other| other < network)), "{compared}");
    }
}
