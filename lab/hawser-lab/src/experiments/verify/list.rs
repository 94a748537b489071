//! What an acceptance list is made of. [`super::read`] makes it of a file.

use std::sync::Arc;

use hawser_policy::Registry;
use hawser_scenario::Scenario;

use super::{Estimate, Expression, Figure, Measured};

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

    /// The override that chooses the policy.
    pub fn chosen(&self) -> String {
        format!("{}={}", self.key, self.policy)
    }
}

/// Whose runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// The system's, or what stands in for it.
    System,
    /// That of a policy in its place.
    Named(String),
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

/// A documented deviation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Deviation {
    /// The page that has the intervals, what was tried, and the cause.
    pub page: String,
    /// The cause in one sentence.
    pub cause: String,
}

/// A value of the runs, and where it has to lie.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The value.
    pub value: Value,
    /// Where it has to lie.
    pub bound: Bound,
    /// Where the file states it, counted from 1.
    pub line: usize,
}

/// A metric of some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Name of the runs.
    pub runs: String,
    /// Whose.
    pub policy: Policy,
    /// Name of the metric, with the unit at its end.
    pub name: String,
}

/// A value made of the metrics of runs.
#[derive(Debug, Clone)]
pub enum Value {
    /// Mean over the seeds; Student's t gives the interval.
    Mean(Metric),
    /// The first mean over the second; the interval comes from the differences seed by seed.
    Ratio(Metric, Metric),
    /// The first mean less the second; the interval likewise.
    Difference(Metric, Metric),
    /// The largest of all seeds: for what no run may exceed.
    Largest(Metric),
    /// The smallest of all seeds.
    Smallest(Metric),
    /// The sum over all seeds: for counts.
    Sum(Metric),
    /// Anything else that can be computed from metrics.
    Computed {
        /// As the file has it.
        text: String,
        /// What is computed.
        expression: Expression,
    },
}

/// Where a value has to lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Its whole interval is larger: an ordering that chance does not explain.
    Above(f64),
    /// Its whole interval is smaller.
    Below(f64),
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Between the two, ends included.
    Within(f64, f64),
}

impl Value {
    /// Returns true if it compares policies, so that putting another one in the system's place must make it fall short.
    pub fn is_ordering(&self) -> bool {
        match self {
            Self::Ratio(first, second) | Self::Difference(first, second) => first.policy != second.policy,
            _ => false,
        }
    }

    /// All metrics that it is made of.
    pub fn metrics(&self) -> Vec<&Metric> {
        match self {
            Self::Mean(metric) | Self::Largest(metric) | Self::Smallest(metric) | Self::Sum(metric) => {
                vec![metric]
            }
            Self::Ratio(first, second) | Self::Difference(first, second) => vec![first, second],
            Self::Computed { expression, .. } => expression.metrics(),
        }
    }

    /// Returns true if it is made of one or two metrics by an estimator whose interval is known.
    pub fn is_estimator(&self) -> bool {
        !matches!(self, Self::Computed { .. })
    }

    /// The names of the runs that it is made of.
    pub fn runs(&self) -> Vec<&str> {
        self.metrics().into_iter().map(|metric| metric.runs.as_str()).collect()
    }

    /// What it is called in results: an estimator, or the text of an expression.
    pub fn name(&self) -> &str {
        match self {
            Self::Mean(_) => "mean",
            Self::Ratio(..) => "ratio",
            Self::Difference(..) => "difference",
            Self::Largest(_) => "largest",
            Self::Smallest(_) => "smallest",
            Self::Sum(_) => "sum",
            Self::Computed { text, .. } => text,
        }
    }
}

impl Bound {
    /// Returns true if a value lies there.
    pub fn admits(self, estimate: &Estimate) -> bool {
        let value = estimate.value;
        match self {
            Self::Above(bound) => estimate.low.unwrap_or(value) > bound,
            Self::Below(bound) => estimate.high.unwrap_or(value) < bound,
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::Within(low, high) => (low..=high).contains(&value),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Above(bound) => write!(f, "> {bound}"),
            Self::Below(bound) => write!(f, "< {bound}"),
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
            Self::Within(low, high) => write!(f, "{low} to {high}"),
        }
    }
}

impl List {
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
