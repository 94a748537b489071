//! Pre-learning (4D-MAP, section 4.3): a model to start with.
//!
//! Ten traces of 60 s, whose links lie in the ranges of table 2 and change every 30 s, as those of E9 do. The learner decides in
//! them, and begins each with what all before it gave: a reward is that of a frame and the next three, so it tells what
//! an arm is worth among the decisions that were made around it. Where chance makes them, as the sheet has it, discarding looks
//! worse than it is ([`Decides::Chance`]). Seeds and links are none that lists judge by.

use std::path::Path;
use std::sync::Arc;

use hawser_learn::LinUcb;
use hawser_policy::{Note, Registry};
use hawser_sched::{FourDMap, FourDMapMechanism, FourDMapModel};
use hawser_sim::run::Probes;
use serde_json::{Value, json};

pub use super::traces::FIRST_SEED;
use super::traces::{LINKS, Traces, VIDEOS};
use crate::data::sweep::digest;

/// Who decides about frames in the traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decides {
    /// The learner, with what was learnt of the traces before.
    #[default]
    Learner,
    /// Chance.
    Chance,
}

impl Decides {
    /// The policy of a trace; the learner has nothing to begin the first with.
    fn policy(self, trace: u64) -> &'static str {
        match (self, trace) {
            (Decides::Chance, _) => "4d-map,mechanism=random,prelearned=off",
            (Decides::Learner, 0) => "4d-map,prelearned=off,late=0ms",
            (Decides::Learner, _) => "4d-map,late=0ms",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Decides::Learner => "the learner, with what was learnt of the traces before",
            Decides::Chance => "chance",
        }
    }
}

/// What is learnt from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prelearning {
    /// Who decides in the traces.
    pub decides: Decides,
    /// Traces, each a run.
    pub traces: u64,
    /// Seconds of each.
    pub seconds: u64,
    /// Of the first trace; those that follow count on from it.
    pub seed: u64,
}

/// A model, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Prelearned {
    /// What was learnt.
    pub model: FourDMapModel,
    /// Traces, seeds, hashes, and what each arm brought.
    pub manifest: Value,
}

impl Prelearning {
    /// Runs the traces with the scenarios of a folder.
    ///
    /// # Errors
    /// A seed that lists judge by, or a scenario that cannot be run.
    pub fn run(&self, scenarios: &Path, registry: &Registry) -> Result<Prelearned, String> {
        let mut traces = Traces::of(self.seed, self.seconds)?;
        let mut notes = Vec::new();
        for number in 0..self.traces {
            let model = learn(&notes).map_or_else(FourDMapModel::shipped, Arc::new);
            let mut registry = registry.clone();
            FourDMap::register_with(&mut registry, model);
            let mut probes = Probes::default().with_notes(&["4d-map.reward"]);
            traces.note(number, self.decides.policy(number));
            traces.run(number, self.decides.policy(number), scenarios, &registry, &mut probes)?;
            notes.extend(probes.notes().map(|(_, note)| note.clone()));
        }
        let model = learn(&notes).ok_or("no decision was rewarded")?;
        let manifest = json!({
            "traces": self.traces,
            "seconds": self.seconds,
            "first_seed": self.seed,
            "decides": self.decides.name(),
            "videos": VIDEOS,
            "scenarios_sha256": traces.digest(scenarios),
            "decisions": notes.len(),
            "arms": arms(&notes),
            "model_sha256": digest(model.write().as_bytes()),
        });
        Ok(Prelearned { model, manifest })
    }
}

/// Takes in all of it, in order.
fn learn(notes: &[Note]) -> Option<FourDMapModel> {
    let features = notes.first()?.numbers("context").count();
    let mut bandit = LinUcb::new(FourDMapMechanism::ALL.len(), features, 0.0);
    for note in notes {
        let context: Vec<f64> = note.numbers("context").collect();
        let of = |mechanism: &FourDMapMechanism| Some(mechanism.name()) == note.word("mechanism");
        let mechanism = FourDMapMechanism::ALL.into_iter().find(of)?;
        bandit.update(mechanism.arm(), &context, note.number("scaled")?);
    }
    let [one, two, three, four] = FourDMapMechanism::ALL.map(|mechanism| bandit.arm(mechanism.arm()));
    let arms = [one?, two?, three?, four?];
    Some(FourDMapModel { features: Default::default(), paths: LINKS.len(), arms })
}

/// How often each arm was chosen, and its mean reward as the learner takes it.
fn arms(notes: &[Note]) -> Value {
    let of = |mechanism: FourDMapMechanism, is_key: bool| {
        let is_of = |note: &&Note| {
            let key = Some(f64::from(u8::from(is_key)));
            note.word("mechanism") == Some(mechanism.name()) && note.number("is_key") == key
        };
        let rewards: Vec<f64> = notes.iter().filter(is_of).filter_map(|note| note.number("scaled")).collect();
        let mean = rewards.iter().fold(0.0, |sum, reward| sum + reward) / rewards.len().max(1) as f64;
        json!({ "frames": rewards.len(), "mean_reward": (mean * 1e4).round() / 1e4 })
    };
    let kinds = |mechanism| json!({ "key": of(mechanism, true), "delta": of(mechanism, false) });
    let [normal, duplicate, discard, decompensate] = FourDMapMechanism::ALL.map(kinds);
    json!({ "normal": normal, "duplicate": duplicate, "discard": discard, "decompensate": decompensate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_their_own_and_within_the_ranges() {
        let all = Traces::of(FIRST_SEED, 60).unwrap();
        let sets: Vec<_> = (0..10).map(|number| all.fields(number, "4d-map")).collect();
        assert!(sets.iter().enumerate().all(|(at, set)| !sets[..at].contains(set)));
        assert_eq!(sets[3], all.fields(3, "4d-map"));
        assert!(sets[0].iter().any(|field| field.starts_with("link.a0.rate={ steps = [[\"0 s\", \"")));
        assert_eq!(sets[0].iter().filter(|field| field.contains("\"30 s\"")).count(), 6);
    }

    #[test]
    fn seeds_of_lists_are_refused() {
        let judged = Prelearning { decides: Decides::Learner, traces: 1, seconds: 1, seed: 20 };
        let error = judged.run(Path::new("nowhere"), &Registry::new()).expect_err("it is refused");
        assert!(error.starts_with("seeds below 1000000"), "{error}");
    }

    #[test]
    fn the_same_traces_give_the_same_model() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let registry = hawser_net::policies();
        for decides in [Decides::Learner, Decides::Chance] {
            let short = Prelearning { decides, traces: 2, seconds: 6, seed: FIRST_SEED };
            let run = || short.run(&scenarios, &registry).expect("it runs");
            let first = run();
            assert_eq!(first, run());
            assert_eq!(FourDMapModel::read(&first.model.write()).as_ref(), Ok(&first.model));
            assert!(first.manifest["decisions"].as_u64().is_some_and(|decisions| decisions > 100));
        }
    }

    /// Where the learner decides, what it learns is worth more by the end than what chance finds: .97 and .75.
    #[test]
    fn the_learner_earns_more_than_chance_in_its_own_traces() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let registry = hawser_net::policies();
        let mean = |decides| {
            let short = Prelearning { decides, traces: 4, seconds: 60, seed: FIRST_SEED };
            let manifest = short.run(&scenarios, &registry).expect("it runs").manifest;
            let of = |mechanism: &str, what: &str| {
                manifest["arms"][mechanism]["delta"][what].as_f64().expect("it is a number")
            };
            let all = ["normal", "discard", "decompensate"];
            let frames: f64 = all.iter().map(|mechanism| of(mechanism, "frames")).sum();
            all.iter().map(|it| of(it, "frames") * of(it, "mean_reward")).sum::<f64>() / frames
        };
        let (learner, chance) = (mean(Decides::Learner), mean(Decides::Chance));
        println!("{learner:.3} with the learner, {chance:.3} with chance");
        assert!(learner > chance + 0.1, "{learner} {chance}");
    }
}
