//! Traces to learn from: live video over random links, which change every 30 s, as those of E9 do.

use std::path::Path;

use hawser_learn::Random;
use hawser_policy::Registry;
use hawser_sim::run::{Options, Recorder, Simulation};

use crate::data::sweep::{Inputs, digest};

/// Seeds from here on are for learning; lists count theirs from 1.
pub const FIRST_SEED: u64 = 1_000_000;
/// Between two changes of the links, seconds (section 7.2.2).
const CHANGE: u64 = 30;
const FILE: &str = "4dmap-adaptability.toml";
/// The videos of E9, by turns.
pub(super) const VIDEOS: [&str; 2] = ["sintel-10min", "ss-10min"];
/// Links, and their ranges in table 2: Mbit/s, one-way ms, loss in percent.
pub(super) const LINKS: [(&str, [(f64, f64); 3]); 2] =
    [("a0", [(2.0, 25.0), (20.0, 100.0), (0.01, 0.70)]), ("b0", [(2.0, 30.0), (30.0, 100.0), (0.05, 1.00)])];
/// The fields that these are, and their units.
const FIELDS: [(&str, &str); 3] = [("rate", "Mbit/s"), ("delay", "ms"), ("loss", "%")];

/// Traces whose seeds follow each other.
pub(super) struct Traces {
    /// Of the first.
    seed: u64,
    seconds: u64,
    inputs: Inputs,
    /// What is learnt from, for its digest.
    identity: String,
}

impl Traces {
    /// Of so many seconds each. Seeds that lists judge by are refused.
    pub(super) fn of(seed: u64, seconds: u64) -> Result<Traces, String> {
        match seed < FIRST_SEED {
            true => Err(format!("seeds below {FIRST_SEED} are for judging: choose a larger one")),
            false => Ok(Traces { seed, seconds, inputs: Inputs::default(), identity: String::new() }),
        }
    }

    /// The fields of a trace's scenario that are set otherwise.
    pub(super) fn fields(&self, number: u64, policy: &str) -> Vec<String> {
        let (seed, seconds) = (self.seed + number, self.seconds);
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

    /// Runs a trace.
    pub(super) fn run(
        &self,
        number: u64,
        policy: &str,
        scenarios: &Path,
        registry: &Registry,
        recorder: &mut impl Recorder,
    ) -> Result<(), String> {
        let set = self.fields(number, policy);
        let scenario = self.inputs.load(&scenarios.join("list"), &scenarios.join(FILE), &set);
        let scenario = scenario.map_err(|error| error.to_string())?;
        let simulation = Simulation::new(&scenario, registry, Options::default());
        simulation.map_err(|error| error.to_string())?.run(recorder);
        Ok(())
    }

    /// Notes that a trace is learnt from.
    pub(super) fn note(&mut self, number: u64, policy: &str) {
        self.identity += &format!("{FILE} {}\n", self.fields(number, policy).join(" "));
    }

    /// Stands for all that is learnt from.
    pub(super) fn digest(&self, scenarios: &Path) -> String {
        let inputs = self.inputs.digests(&scenarios.join("list"));
        let inputs = inputs.iter().map(|input| format!("{} {}\n", input.file, input.sha256));
        digest((self.identity.clone() + &inputs.collect::<String>()).as_bytes())
    }
}
