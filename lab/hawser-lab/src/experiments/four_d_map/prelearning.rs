//! Pre-learning (4D-MAP, section 4.3): a model to start with.
//!
//! Ten traces of 60 s, whose links lie in the ranges of table 2 and change every 30 s, as those of E9 do. The learner decides in
//! them, and begins each with what all before it gave: a reward is that of a frame and the next three, so it tells what
//! an arm is worth among the decisions that were made around it. Where chance makes them, as the sheet has it, discarding looks
//! worse than it is ([`Decides::Chance`]). Seeds and links are none that lists judge by.

use std::path::Path;
use std::sync::Arc;

use hawser_learn::{LinUcb, Random};
use hawser_policy::{Note, Registry};
use hawser_sched::{FourDMap, FourDMapMechanism, FourDMapModel};
use hawser_sim::run::{Options, Probes, Simulation};
use serde_json::{Value, json};

use crate::data::sweep::{Inputs, digest};

/// Seeds from here on are for learning; lists count theirs from 1.
pub const FIRST_SEED: u64 = 1_000_000;
/// Between two changes of the links, seconds (section 7.2.2).
const CHANGE: u64 = 30;
pub(super) const FILE: &str = "4dmap-adaptability.toml";
/// The videos of E9, by turns.
pub(super) const VIDEOS: [&str; 2] = ["sintel-10min", "ss-10min"];
/// Links, and their ranges in table 2: Mbit/s, one-way ms, loss in percent.
pub(super) const LINKS: [(&str, [(f64, f64); 3]); 2] =
    [("a0", [(2.0, 25.0), (20.0, 100.0), (0.01, 0.70)]), ("b0", [(2.0, 30.0), (30.0, 100.0), (0.05, 1.00)])];
/// The fields that these are, and their units.
const FIELDS: [(&str, &str); 3] = [("rate", "Mbit/s"), ("delay", "ms"), ("loss", "%")];

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
        if self.seed < FIRST_SEED {
            return Err(format!("seeds below {FIRST_SEED} are for judging: choose a larger one"));
        }
        let inputs = Inputs::default();
        let mut notes = Vec::new();
        let mut identity = String::new();
        for trace in 0..self.traces {
            let set = self.trace(trace);
            identity += &format!("{FILE} {}\n", set.join(" "));
            let model = learn(&notes).map_or_else(FourDMapModel::shipped, Arc::new);
            notes.extend(watched(&inputs, scenarios, &set, registry, model)?);
        }
        for input in inputs.digests(&scenarios.join("list")) {
            identity += &format!("{} {}\n", input.file, input.sha256);
        }
        let model = learn(&notes).ok_or("no decision was rewarded")?;
        let manifest = json!({
            "traces": self.traces,
            "seconds": self.seconds,
            "first_seed": self.seed,
            "decides": self.decides.name(),
            "videos": VIDEOS,
            "scenarios_sha256": digest(identity.as_bytes()),
            "decisions": notes.len(),
            "arms": arms(&notes),
            "model_sha256": digest(model.write().as_bytes()),
        });
        Ok(Prelearned { model, manifest })
    }

    fn trace(&self, number: u64) -> Vec<String> {
        trace(self.seed, number, self.seconds, self.decides.policy(number))
    }
}

/// The fields of a trace's scenario that are set otherwise; `first` is the seed of the first trace.
pub(super) fn trace(first: u64, number: u64, seconds: u64, policy: &str) -> Vec<String> {
    let seed = first + number;
    let video = VIDEOS[number as usize % VIDEOS.len()];
    let mut random = Random::new(seed);
    let mut set = vec![
        format!("seed={seed}"),
        format!("duration={seconds} s"),
        format!("transport.policy={policy}"),
        format!("flow.video.application=live,video={video},length={seconds}s"),
    ];
    for (link, ranges) in LINKS {
        for ((field, unit), (low, high)) in FIELDS.into_iter().zip(ranges) {
            let step = |at| {
                let value = low + (high - low) * random.fraction();
                format!("[\"{at} s\", \"{value:.3} {unit}\"]")
            };
            let steps: Vec<_> = (0..seconds.max(1)).step_by(CHANGE as usize).map(step).collect();
            set.push(format!("link.{link}.{field}={{ steps = [{}] }}", steps.join(", ")));
        }
    }
    set
}

/// What decisions of a run brought that begins with a model.
fn watched(
    inputs: &Inputs,
    scenarios: &Path,
    set: &[String],
    registry: &Registry,
    model: Arc<FourDMapModel>,
) -> Result<Vec<Note>, String> {
    let mut registry = registry.clone();
    FourDMap::register_with(&mut registry, model);
    let scenario = inputs.load(&scenarios.join("list"), &scenarios.join(FILE), set);
    let scenario = scenario.map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&scenario, &registry, Options::default());
    let mut probes = Probes::default().with_notes(&["4d-map.reward"]);
    simulation.map_err(|error| error.to_string())?.run(&mut probes);
    Ok(probes.notes().map(|(_, note)| note.clone()).collect())
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
        let all = Prelearning { decides: Decides::Learner, traces: 10, seconds: 60, seed: FIRST_SEED };
        let sets: Vec<_> = (0..10).map(|trace| all.trace(trace)).collect();
        assert!(sets.iter().enumerate().all(|(at, set)| !sets[..at].contains(set)));
        assert_eq!(sets[3], all.trace(3));
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
