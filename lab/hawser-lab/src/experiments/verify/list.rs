//! What an acceptance list is made of. [`super::read`] makes it of a file.

use std::sync::Arc;

use hawser_policy::{PolicyKind, Registry};
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Outcome, Probes, Recorder, Simulation};

use super::figure::Figure;
use super::metric::Policy;
use super::value::Claim;
use crate::data::sweep::Measured;

/// The acceptance list of one system.
#[derive(Debug, Clone)]
pub struct List {
    /// What it is called on the command line.
    pub name: String,
    /// The file that it was read from, for messages.
    pub file: String,
    /// One line for people.
    pub title: String,
    /// The document that it comes from.
    pub source: String,
    /// What is verified.
    pub system: System,
    /// What its runs use where nobody chooses, in place of today's defaults: what a published system was compared with.
    pub defaults: Vec<(PolicyKind, String)>,
    /// Policies that the file names, with what they need besides.
    pub policies: Vec<NamedPolicy>,
    /// What has to be run.
    pub runs: Vec<Runs>,
    /// What is asked of these runs.
    pub items: Vec<Item>,
    /// What can be drawn of them.
    pub figures: Vec<Figure>,
}

/// What is verified: the value of a field of every scenario. `--as` puts another value in its place; in that of a scheduler
/// it may be a policy set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// The field, such as `transport.scheduler`.
    pub key: String,
    /// The system's own policy.
    pub policy: String,
}

/// A policy that the list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPolicy {
    /// What claims call it.
    pub alias: String,
    /// The policy with its parameters.
    pub text: String,
    /// Fields of the scenario set otherwise wherever it runs, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// Where the file names it, counted from 1.
    pub line: usize,
}

/// Runs of one kind: every policy with every seed.
#[derive(Debug, Clone)]
pub struct Runs {
    /// What claims and tables call them.
    pub name: String,
    /// Files in the folder of scenarios, the one to run first.
    pub scenarios: Vec<String>,
    /// Fields set otherwise, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// What measures them; none: the scenario runs in the simulator, and its metrics are the numbers of its outcome
    /// ([`Measured::of`]).
    pub program: Option<&'static Program>,
    /// The system, and what it is compared with.
    pub policies: Vec<Policy>,
    /// How often.
    pub seeds: Seeds,
    /// Where the file defines them, counted from 1.
    pub line: usize,
}

/// Measures something: a computation, or a simulation that is watched more closely than an outcome shows.
#[derive(Debug)]
pub struct Program {
    /// What lists call it.
    pub name: &'static str,
    /// What it does. An error says why it cannot.
    pub run: fn(&Request<'_>) -> Result<Measured, String>,
    /// The metrics that it may give; `{a|b}` stands for either.
    pub metrics: &'static [&'static str],
    /// Returns true if it also gives every number of the scenario's outcome.
    pub outcome: bool,
}

impl Program {
    /// A program that gives these metrics and nothing else.
    pub const fn new(
        name: &'static str,
        run: fn(&Request<'_>) -> Result<Measured, String>,
        metrics: &'static [&'static str],
    ) -> Self {
        Program { name, run, metrics, outcome: false }
    }

    /// The same if it also gives every number of the scenario's outcome.
    pub const fn with_outcome(self) -> Self {
        Program { outcome: true, ..self }
    }
}

/// What a [`Program`] is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the runs.
    pub runs: &'a str,
    /// Files in the folder of scenarios, the one to run first.
    pub scenarios: &'a [String],
    /// Fields of the scenario set otherwise, as `KEY=VALUE`: those of the policy, then those of the runs.
    pub set: &'a [String],
    /// The field that chooses the policy: that of the list, or `transport.policy` where a set stands in.
    pub key: &'a str,
    /// Policy of the system's kind, or the set that stands in for it.
    pub policy: &'a str,
    /// Seed of everything random.
    pub seed: u64,
    /// All policies.
    pub registry: &'a Arc<Registry>,
    /// Reads a scenario of the folder, with fields set otherwise.
    pub load: &'a Load<'a>,
}

/// Reads a scenario: name of the file, fields set otherwise as `KEY=VALUE`.
pub type Load<'a> = dyn Fn(&str, &[String]) -> Result<Scenario, String> + 'a;

impl Request<'_> {
    /// The scenario to run with these policies, and fields set otherwise as the list says.
    ///
    /// # Errors
    /// Says what is wrong with the scenario or its fields.
    pub fn scenario(&self, policies: &[String]) -> Result<Scenario, String> {
        let file =
            self.scenarios.first().ok_or_else(|| format!("the runs {} have no scenario", self.runs))?;
        self.scenario_of(file, policies)
    }

    /// The same of another file.
    ///
    /// # Errors
    /// Says what is wrong with the scenario or its fields.
    pub fn scenario_of(&self, file: &str, policies: &[String]) -> Result<Scenario, String> {
        let seed = format!("seed={}", self.seed);
        let set: Vec<String> = self.set.iter().chain(policies).cloned().chain([seed]).collect();
        (self.load)(file, &set)
    }

    /// A run of a scenario, before its first packet.
    ///
    /// # Errors
    /// Says why it cannot be simulated.
    pub fn simulation(&self, scenario: &Scenario) -> Result<Simulation, String> {
        Simulation::new(scenario, self.registry, Options::default()).map_err(|error| error.to_string())
    }

    /// Runs a scenario, and has it recorded.
    ///
    /// # Errors
    /// Says why it cannot be simulated.
    pub fn run<R: Recorder>(&self, scenario: &Scenario, recorder: &mut R) -> Result<Outcome, String> {
        Ok(self.simulation(scenario)?.run(recorder))
    }

    /// Runs the scenario with these policies, and samples it.
    ///
    /// # Errors
    /// Says what is wrong with the scenario.
    pub fn sampled(&self, policies: &[String], mut probes: Probes) -> Result<(Outcome, Probes), String> {
        let outcome = self.run(&self.scenario(policies)?, &mut probes)?;
        Ok((outcome, probes))
    }

    /// Runs the scenario with the chosen policy twice: the first outcome as it is measured, and whether anything differed.
    ///
    /// # Errors
    /// Says what is wrong with the scenario.
    pub fn run_twice(&self) -> Result<Measured, String> {
        let run = || self.run(&self.scenario(&[self.chosen()])?, &mut NoRecorder);
        let (first, second) = (run()?, run()?);
        let differs = f64::from(u8::from(first.trace_hash != second.trace_hash));
        Ok(Measured::of_run(&first).with("different_traces", differs))
    }

    /// The value of a field that is set otherwise; the last one counts.
    pub fn setting(&self, key: &str) -> Option<&str> {
        let value = self.set.iter().rev().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"'))
    }

    /// The override that chooses the policy.
    pub fn chosen(&self) -> String {
        format!("{}={}", self.key, self.policy)
    }
}

/// How many seeds: 1 to this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// Unless told otherwise.
    pub default: u64,
    /// With `--full`: the repetitions of the sheet.
    pub full: u64,
}

impl Seeds {
    /// Nothing in it is random.
    pub const ONCE: Self = Seeds { default: 1, full: 1 };
}

/// A line of the list. It holds when all its claims do.
#[derive(Debug, Clone)]
pub struct Item {
    /// As in the sheet.
    pub id: String,
    /// What is claimed, in words.
    pub statement: String,
    /// The sheet's threshold, verbatim.
    pub threshold: String,
    /// The figure that the paper gives; empty: none.
    pub paper: String,
    /// Returns true if it must hold: such an item cannot deviate.
    pub must: bool,
    /// What its links are made from.
    pub data: Data,
    /// What is checked.
    pub claims: Vec<Claim>,
    /// The policy that is put in the system's place as a negative control; none: there is nothing that could stand there.
    pub control: Option<String>,
    /// Why it does not hold, if that is known and documented.
    pub deviation: Option<Deviation>,
}

/// What the links of an experiment are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// From recordings.
    Measured,
    /// From models, or from generators that stand in for recordings that cannot be had.
    Synthetic,
    /// There are none: a computation.
    None,
}

impl Data {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Synthetic => "synthetic",
            Self::None => "none",
        }
    }
}

/// A documented deviation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Deviation {
    /// The page that has the intervals, what was tried, and the cause.
    pub page: String,
    /// The cause in one sentence.
    pub cause: String,
}

impl List {
    /// The negative controls that runs are made with besides their own policies: those of the items that look at the
    /// system there.
    pub fn controls<'a>(&self, runs: &str, items: impl Iterator<Item = &'a Item>) -> Vec<&'a str> {
        let looks_at_system = |item: &Item| {
            let mut metrics = item.claims.iter().flat_map(|claim| claim.value.metrics());
            metrics.any(|metric| metric.policy == Policy::System && metric.runs == runs)
        };
        let mut controls: Vec<&str> =
            items.filter(|item| looks_at_system(item)).filter_map(|item| item.control.as_deref()).collect();
        controls.sort_unstable();
        controls.dedup();
        controls
    }

    /// The runs of this name.
    pub fn runs(&self, name: &str) -> Option<&Runs> {
        self.runs.iter().find(|runs| runs.name == name)
    }

    /// The figure of this name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// Fields of the scenario that are set otherwise wherever a policy runs, as `KEY=VALUE`.
    pub fn set_for(&self, policy: &str) -> &[String] {
        self.policies.iter().find(|known| known.text == policy).map_or(&[], |known| &known.set)
    }
}
