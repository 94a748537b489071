//! Verdicts: what the kept runs say about the items of a list.

use serde::Serialize;

use super::kept::Kept;
use super::list::{Data, Deviation, Item};
use super::metric::{Metric, Policy};
use super::value::Claim;

/// What came of a list.
#[derive(Debug, Clone, Serialize)]
pub struct Verdicts {
    /// The list.
    pub name: String,
    /// What was verified: the system, or what stood in for it.
    pub policy: String,
    /// One row per item.
    pub items: Vec<Row>,
}

/// What came of an item.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// As in the sheet.
    pub id: String,
    /// What is claimed.
    pub statement: String,
    /// Of the claim that decides: the first that does not hold, else the first. None: nothing to judge.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The sheet's threshold, verbatim.
    pub threshold: String,
    /// The paper's figure; empty: none.
    pub paper: String,
    /// Whether it must hold.
    pub must: bool,
    /// What the links are made from.
    pub data: Data,
    /// The verdict.
    pub verdict: Verdict,
    /// What the row counts for.
    pub weight: Weight,
    /// What the same claims say of the negative control; none: the item has none.
    pub control: Option<ControlRow>,
    /// All its claims.
    pub claims: Vec<ClaimRow>,
    /// Tests that compute the same without the laboratory, as `cargo test -p` takes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Why it deviates, if it does.
    pub deviation: Option<Deviation>,
}

/// What came of the negative control of an item.
#[derive(Debug, Clone, Serialize)]
pub struct ControlRow {
    /// What stood in the system's place.
    pub policy: String,
    /// Whether all claims hold for it as well.
    pub holds: bool,
    /// Of the first claim that does not hold for it, else of the first.
    pub value: Option<f64>,
}

/// What a row counts for. Only effects are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// It says something about the system that its negative control, where it has one, does not fulfil.
    Effect,
    /// It holds, and holds for the negative control as well.
    Trivial,
    /// Its claims are about other policies only.
    Baselines,
    /// A computation: formulas and vectors.
    Computation,
}

impl Weight {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Effect => "effect",
            Self::Trivial => "trivial",
            Self::Baselines => "baselines",
            Self::Computation => "computation",
        }
    }
}

/// What came of a claim.
#[derive(Debug, Clone, Serialize)]
pub struct ClaimRow {
    /// How the value is made of the runs.
    pub estimator: String,
    /// The metric.
    pub of: Option<MetricRow>,
    /// What it is compared with.
    pub to: Option<MetricRow>,
    /// The value; none: nothing to judge.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Where it has to lie.
    pub bound: String,
    /// Whether it lies there.
    pub met: bool,
    /// What is missing, if there is no value.
    pub reason: Option<String>,
}

/// A metric, named as in the table of runs.
#[derive(Debug, Clone, Serialize)]
pub struct MetricRow {
    /// Column `scenario`.
    pub scenario: String,
    /// Column `policy`.
    pub policy: String,
    /// Column `metric`.
    pub metric: String,
}

/// Whether an item holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All its claims hold.
    Holds,
    /// They do not, and nobody has said why.
    FallsShort,
    /// They do not; a page says why.
    Deviates,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::FallsShort => "falls-short",
            Self::Deviates => "deviates",
        }
    }
}

/// Judges every item. Documented deviations are those of the system: they excuse no substitute.
pub(super) fn judge<'a>(
    kept: &Kept,
    name: &str,
    items: impl Iterator<Item = &'a Item>,
    policy: &str,
    is_substitute: bool,
) -> Verdicts {
    let items = items.map(|item| row(kept, item, is_substitute)).collect();
    Verdicts { name: name.to_owned(), policy: policy.to_owned(), items }
}

fn row(kept: &Kept, item: &Item, is_substitute: bool) -> Row {
    let claims: Vec<ClaimRow> = item.claims.iter().map(|claim| claim_row(kept, claim)).collect();
    let decides = claims.iter().find(|claim| !claim.met).or(claims.first());
    let holds = !claims.is_empty() && claims.iter().all(|claim| claim.met);
    // Must items cannot deviate (shared rules of all lists).
    let control = match is_substitute {
        true => None,
        false => item.control.as_deref().and_then(|policy| control_row(kept, item, policy)),
    };
    let deviation = item.deviation.clone().filter(|_| !holds && !item.must && !is_substitute);
    let verdict = match (holds, &deviation) {
        (true, _) => Verdict::Holds,
        (false, Some(_)) => Verdict::Deviates,
        (false, None) => Verdict::FallsShort,
    };
    Row {
        id: item.id.clone(),
        statement: item.statement.clone(),
        value: decides.and_then(|claim| claim.value),
        low: decides.and_then(|claim| claim.low),
        high: decides.and_then(|claim| claim.high),
        threshold: item.threshold.clone(),
        paper: item.paper.clone(),
        must: item.must,
        data: item.data,
        verdict,
        weight: weight(item, holds, control.as_ref()),
        control,
        claims,
        tests: item.tests.iter().map(ToString::to_string).collect(),
        deviation,
    }
}

/// The claims of an item with its negative control in the system's place.
fn control_row(kept: &Kept, item: &Item, policy: &str) -> Option<ControlRow> {
    if !looks_at_system(item) {
        return None;
    }
    let kept = kept.with_control(policy);
    let claims: Vec<ClaimRow> = item.claims.iter().map(|claim| claim_row(&kept, claim)).collect();
    let decides = claims.iter().find(|claim| !claim.met).or(claims.first());
    Some(ControlRow {
        policy: policy.to_owned(),
        holds: claims.iter().all(|claim| claim.met),
        value: decides.and_then(|claim| claim.value),
    })
}

fn looks_at_system(item: &Item) -> bool {
    let mut metrics = item.claims.iter().flat_map(|claim| claim.value.metrics());
    metrics.any(|metric| metric.policy == Policy::System)
}

fn weight(item: &Item, holds: bool, control: Option<&ControlRow>) -> Weight {
    match control {
        _ if item.data == Data::None => Weight::Computation,
        _ if !looks_at_system(item) => Weight::Baselines,
        Some(control) if holds && control.holds => Weight::Trivial,
        _ => Weight::Effect,
    }
}

fn claim_row(kept: &Kept, claim: &Claim) -> ClaimRow {
    let estimate = kept.estimate(&claim.value);
    // What an expression is made of, its text says.
    let metrics = if claim.value.is_estimator() { claim.value.metrics() } else { Vec::new() };
    let named = |metric: &&Metric| MetricRow {
        scenario: metric.runs.clone(),
        policy: kept.policy(metric).to_owned(),
        metric: metric.name.clone(),
    };
    let found = estimate.as_ref().ok();
    ClaimRow {
        estimator: claim.value.name().to_owned(),
        of: metrics.first().map(named),
        to: metrics.get(1).map(named),
        value: found.map(|estimate| estimate.value),
        low: found.and_then(|estimate| estimate.low),
        high: found.and_then(|estimate| estimate.high),
        bound: claim.bound.to_string(),
        met: found.is_some_and(|estimate| claim.bound.admits(estimate)),
        reason: estimate.err(),
    }
}

impl Verdicts {
    /// Items with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.items.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Items of this weight.
    pub fn weighing(&self, weight: Weight) -> impl Iterator<Item = &Row> {
        self.items.iter().filter(move |row| row.weight == weight)
    }

    /// How many effects there are, and how many of them hold.
    pub fn effects(&self) -> (usize, usize) {
        let all = self.weighing(Weight::Effect);
        all.fold((0, 0), |(all, hold), row| (all + 1, hold + usize::from(row.verdict == Verdict::Holds)))
    }

    /// Whether no item falls short.
    pub fn is_good(&self) -> bool {
        self.count(Verdict::FallsShort) == 0
    }
}
