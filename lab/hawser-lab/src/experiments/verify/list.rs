//! What an acceptance list is made of: plain data, to be read at a glance.

use std::sync::Arc;

use hawser_policy::Registry;
use hawser_scenario::Scenario;

use super::{Estimate, Figure, Kept, Measured};

/// The acceptance list of one system.
#[derive(Debug)]
pub struct List {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The document that it comes from.
    pub source: &'static str,
    /// What is verified.
    pub system: System,
    /// What has to be run.
    pub runs: &'static [Runs],
    /// What is asked of these runs, in groups: a file each.
    pub items: &'static [&'static [Item]],
    /// What can be drawn of them.
    pub figures: &'static [Figure],
}

/// What is verified: the value of a field of every scenario. `--as` puts another value in its place; in that of a scheduler
/// it may be a policy set.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// The field, such as `transport.scheduler`.
    pub key: &'static str,
    /// The system's own policy.
    pub policy: &'static str,
}

/// Runs of one kind: every policy with every seed.
#[derive(Debug)]
pub struct Runs {
    /// What claims and tables call them.
    pub name: &'static str,
    /// What is run.
    pub source: Source,
    /// The system, and what it is compared with.
    pub policies: &'static [Policy],
    /// How often.
    pub seeds: Seeds,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A scenario in the simulator. Its metrics are the numbers of its outcome ([`Measured::of`]).
    Scenario {
        /// The file in the folder of scenarios.
        file: &'static str,
        /// Fields set otherwise, as `KEY=VALUE`.
        set: &'static [&'static str],
    },
    /// A program: a computation, or a simulation that is watched more closely.
    Program {
        /// What it does.
        run: Program,
        /// The scenario files that it reads; they belong to what must be the same for all runs in a folder.
        reads: &'static [&'static str],
    },
}

/// Measures something. An error says why it cannot.
pub type Program = fn(&Request<'_>) -> Result<Measured, String>;

/// What a [`Program`] is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the runs.
    pub runs: &'a str,
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

/// Whose runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The system's, or what stands in for it.
    System,
    /// That of a policy in its place.
    Named(&'static str),
}

/// How many seeds: 1 to this.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug)]
pub struct Item {
    /// As in the sheet.
    pub id: &'static str,
    /// What is claimed, in words.
    pub statement: &'static str,
    /// The sheet's threshold, verbatim.
    pub threshold: &'static str,
    /// The figure that the paper gives; empty: none.
    pub paper: &'static str,
    /// Whether it must hold: such an item cannot deviate.
    pub must: bool,
    /// What its links are made from.
    pub data: Data,
    /// What is checked.
    pub claims: &'static [Claim],
    /// Why it does not hold, if that is known and documented.
    pub deviation: Option<Deviation>,
}

/// What the links of an experiment are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
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
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Deviation {
    /// The page that has the intervals, what was tried, and the cause.
    pub page: &'static str,
    /// The cause in one sentence.
    pub cause: &'static str,
}

/// A value of the runs, and where it has to lie.
#[derive(Debug)]
pub struct Claim {
    /// The value.
    pub value: Value,
    /// Where it has to lie.
    pub bound: Bound,
}

/// A metric of some runs.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name of the runs.
    pub runs: &'static str,
    /// Whose.
    pub policy: Policy,
    /// Name of the metric, with the unit at its end.
    pub name: &'static str,
}

/// A value made of the metrics of runs.
#[derive(Debug)]
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
    /// Anything else.
    Computed {
        /// What it is, in words.
        name: &'static str,
        /// The runs that it is made of.
        runs: &'static [&'static str],
        /// Makes it; none: something is missing.
        compute: fn(&Kept) -> Option<Estimate>,
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

/// A metric of the system.
pub const fn ours(runs: &'static str, name: &'static str) -> Metric {
    Metric { runs, policy: Policy::System, name }
}

/// A metric of a policy that the system is compared with.
pub const fn of(policy: &'static str, runs: &'static str, name: &'static str) -> Metric {
    Metric { runs, policy: Policy::Named(policy), name }
}

impl Value {
    /// Whether it compares policies, so that putting another one in the system's place must make it fall short.
    pub fn is_ordering(&self) -> bool {
        match self {
            Self::Ratio(first, second) | Self::Difference(first, second) => first.policy != second.policy,
            _ => false,
        }
    }

    /// The metrics that it is made of.
    pub fn metrics(&self) -> Vec<Metric> {
        match self {
            Self::Mean(metric) | Self::Largest(metric) | Self::Smallest(metric) | Self::Sum(metric) => {
                vec![*metric]
            }
            Self::Ratio(first, second) | Self::Difference(first, second) => vec![*first, *second],
            Self::Computed { .. } => Vec::new(),
        }
    }

    /// The names of the runs that it is made of.
    pub fn runs(&self) -> Vec<&'static str> {
        match self {
            Self::Computed { runs, .. } => runs.to_vec(),
            _ => self.metrics().iter().map(|metric| metric.runs).collect(),
        }
    }

    /// What it is called in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mean(_) => "mean",
            Self::Ratio(..) => "ratio",
            Self::Difference(..) => "difference",
            Self::Largest(_) => "largest",
            Self::Smallest(_) => "smallest",
            Self::Sum(_) => "sum",
            Self::Computed { name, .. } => name,
        }
    }
}

impl Bound {
    /// Whether a value lies there.
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
    /// What is asked of these runs.
    pub fn items(&self) -> impl Iterator<Item = &'static Item> + use<> {
        self.items.iter().copied().flatten()
    }

    /// The runs of this name.
    pub fn runs(&self, name: &str) -> Option<&'static Runs> {
        self.runs.iter().find(|runs| runs.name == name)
    }

    /// The figure of this name.
    pub fn figure(&self, name: &str) -> Option<&'static Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}
