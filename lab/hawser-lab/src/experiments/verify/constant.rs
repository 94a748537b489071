//! Lists as constants: what is not a file yet.

#![allow(missing_docs)]

pub(crate) use super::line_chart;
use super::list;
pub use super::list::{Bound, Data, Load, Request, Seeds};
pub use super::{Drawn, Estimate, Kept, Measured};

/// See [`list::List`].
#[derive(Debug)]
pub struct List {
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub system: System,
    pub runs: &'static [Runs],
    pub items: &'static [&'static [Item]],
    pub figures: &'static [Figure],
}

/// See [`list::System`].
#[derive(Debug, Clone, Copy)]
pub struct System {
    pub key: &'static str,
    pub policy: &'static str,
}

/// See [`list::Runs`].
#[derive(Debug)]
pub struct Runs {
    pub name: &'static str,
    pub source: Source,
    pub policies: &'static [Policy],
    pub seeds: Seeds,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A scenario.
    Scenario { file: &'static str, set: &'static [&'static str] },
    /// A program, and the files that it reads.
    Program { run: Program, reads: &'static [&'static str] },
}

/// Measures something.
pub type Program = fn(&Request<'_>) -> Result<Measured, String>;

/// See [`list::Policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    System,
    Named(&'static str),
}

/// See [`list::Item`].
#[derive(Debug)]
pub struct Item {
    pub id: &'static str,
    pub statement: &'static str,
    pub threshold: &'static str,
    pub paper: &'static str,
    pub must: bool,
    pub data: Data,
    pub claims: &'static [Claim],
    pub deviation: Option<Deviation>,
}

/// See [`list::Deviation`].
#[derive(Debug, Clone, Copy)]
pub struct Deviation {
    pub page: &'static str,
    pub cause: &'static str,
}

/// See [`list::Claim`].
#[derive(Debug)]
pub struct Claim {
    pub value: Value,
    pub bound: Bound,
}

/// See [`list::Metric`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    pub runs: &'static str,
    pub policy: Policy,
    pub name: &'static str,
}

/// See [`list::Value`].
#[derive(Debug)]
pub enum Value {
    Mean(Metric),
    Ratio(Metric, Metric),
    Difference(Metric, Metric),
    Largest(Metric),
    Smallest(Metric),
    Sum(Metric),
    Computed { name: &'static str, runs: &'static [&'static str], compute: fn(&Kept) -> Option<Estimate> },
}

/// See [`super::Figure`].
#[derive(Debug)]
pub struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub drawing: Drawing,
}

/// See [`super::Drawing`].
#[derive(Debug)]
pub enum Drawing {
    Bars { metric: &'static str, runs: &'static [&'static str], policies: &'static [Policy] },
    Custom(fn(&Kept) -> Result<Drawn, String>),
}

/// A metric of the system.
pub const fn ours(runs: &'static str, name: &'static str) -> Metric {
    Metric { runs, policy: Policy::System, name }
}

/// A metric of a policy that the system is compared with.
pub const fn of(policy: &'static str, runs: &'static str, name: &'static str) -> Metric {
    Metric { runs, policy: Policy::Named(policy), name }
}

/// What most items have in common, to be filled in.
pub const ITEM: Item = Item {
    id: "",
    statement: "",
    threshold: "",
    paper: "",
    must: false,
    data: Data::Synthetic,
    claims: &[],
    deviation: None,
};

/// What computations have in common: there are no links, and they must hold.
pub const MUST: Item = Item { must: true, data: Data::None, ..ITEM };

/// A value has to lie there.
pub const fn claim(value: Value, bound: Bound) -> Claim {
    Claim { value, bound }
}

/// Runs of a scenario file, with fields set otherwise as `KEY=VALUE`.
pub const fn scenario(
    name: &'static str,
    file: &'static str,
    set: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Scenario { file, set }, policies, seeds }
}

/// Runs of a program that reads these scenario files.
pub const fn program(
    name: &'static str,
    run: Program,
    reads: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Program { run, reads }, policies, seeds }
}

/// A figure of bars: a metric of these runs, a bar for each policy.
pub const fn bars(
    name: &'static str,
    title: &'static str,
    metric: &'static str,
    runs: &'static [&'static str],
    policies: &'static [Policy],
) -> Figure {
    Figure { name, title, drawing: Drawing::Bars { metric, runs, policies } }
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

fn policies(all: &[Policy]) -> Vec<list::Policy> {
    all.iter().map(|policy| (*policy).into()).collect()
}

impl From<Policy> for list::Policy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::System => Self::System,
            Policy::Named(name) => Self::Named(name.to_owned()),
        }
    }
}

impl From<&Metric> for list::Metric {
    fn from(metric: &Metric) -> Self {
        let Metric { runs, policy, name } = *metric;
        Self { runs: runs.to_owned(), policy: policy.into(), name: name.to_owned() }
    }
}

impl From<&Value> for list::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Mean(metric) => Self::Mean(metric.into()),
            Value::Ratio(first, second) => Self::Ratio(first.into(), second.into()),
            Value::Difference(first, second) => Self::Difference(first.into(), second.into()),
            Value::Largest(metric) => Self::Largest(metric.into()),
            Value::Smallest(metric) => Self::Smallest(metric.into()),
            Value::Sum(metric) => Self::Sum(metric.into()),
            Value::Computed { name, runs, compute } => {
                Self::Function { name: (*name).to_owned(), runs: texts(runs), compute: *compute }
            }
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

    /// The same as if it had been read.
    pub fn list(&self) -> list::List {
        let system = list::System { key: self.system.key.to_owned(), policy: self.system.policy.to_owned() };
        list::List {
            name: self.name.to_owned(),
            file: self.name.to_owned(),
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            system,
            policies: Vec::new(),
            runs: self.runs.iter().map(runs).collect(),
            items: self.items.iter().copied().flatten().map(item).collect(),
            figures: self.figures.iter().map(figure).collect(),
        }
    }
}

fn runs(runs: &Runs) -> list::Runs {
    let (scenarios, set, program) = match runs.source {
        Source::Scenario { file, set } => (texts(&[file]), texts(set), None),
        Source::Program { run, reads } => {
            let program = list::Program { name: "", run, metrics: &["*"], outcome: false };
            (texts(reads), Vec::new(), Some(&*Box::leak(Box::new(program))))
        }
    };
    let policies = policies(runs.policies);
    list::Runs { name: runs.name.to_owned(), scenarios, set, program, policies, seeds: runs.seeds, line: 0 }
}

fn item(item: &Item) -> list::Item {
    let claim = |claim: &Claim| list::Claim { value: (&claim.value).into(), bound: claim.bound, line: 0 };
    let deviation = |it: Deviation| list::Deviation { page: it.page.to_owned(), cause: it.cause.to_owned() };
    list::Item {
        id: item.id.to_owned(),
        statement: item.statement.to_owned(),
        threshold: item.threshold.to_owned(),
        paper: item.paper.to_owned(),
        must: item.must,
        data: item.data,
        claims: item.claims.iter().map(claim).collect(),
        deviation: item.deviation.map(deviation),
    }
}

fn figure(figure: &Figure) -> super::Figure {
    let drawing = match figure.drawing {
        Drawing::Bars { metric, runs, policies: of } => {
            super::Drawing::Bars { metric: metric.to_owned(), runs: texts(runs), policies: policies(of) }
        }
        Drawing::Custom(draw) => super::Drawing::Plot(super::Plot { name: "", draw }),
    };
    super::Figure { name: figure.name.to_owned(), title: figure.title.to_owned(), drawing }
}
