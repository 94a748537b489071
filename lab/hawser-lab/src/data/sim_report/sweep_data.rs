//! The figures of a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::SimReportError;
use super::compare::compare;
use super::rows::{each, number, text};
use crate::data::statistics::{Difference, Summary, summary};
use crate::data::sweep::{Folder, TableName, merge, merged_table};
use crate::data::table::{Cell, TableReader};

/// What is measured of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Bytes that arrived in order over time, bit/s.
    GoodputBps,
    /// From the beginning of a flow to its end.
    CompletionSeconds,
    /// 99th percentile of the delay within one run.
    DelayP99Ms,
    /// Longest time between two arrivals.
    LongestGapMs,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::GoodputBps, Self::CompletionSeconds, Self::DelayP99Ms, Self::LongestGapMs];

    /// Its column in the table of flows.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::GoodputBps => "goodput_bps",
            Self::CompletionSeconds => "completion_seconds",
            Self::DelayP99Ms => "delay_p99_ms",
            Self::LongestGapMs => "longest_gap_ms",
        }
    }

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::GoodputBps => "Goodput",
            Self::CompletionSeconds => "Completion time",
            Self::DelayP99Ms => "p99 delay",
            Self::LongestGapMs => "Longest gap",
        }
    }

    /// For people, and what one of it is in the unit of the column.
    pub(super) fn unit(self) -> (&'static str, f64) {
        match self {
            Self::GoodputBps => ("Mbit/s", 1e6),
            Self::CompletionSeconds => ("s", 1.0),
            Self::DelayP99Ms | Self::LongestGapMs => ("ms", 1.0),
        }
    }

    /// Whether more of it is better.
    pub(super) fn is_more_better(self) -> bool {
        self == Self::GoodputBps
    }
}

/// The figures of a sweep.
#[derive(Debug, Serialize)]
pub struct SweepReport {
    /// Name of the plan.
    pub plan: String,
    /// Version of the program.
    pub hawser: String,
    /// Stands for plan and files.
    pub fingerprint: String,
    /// Cells of the plan.
    pub cells: usize,
    /// Of these, with a result.
    pub finished: usize,
    /// Of those, failed.
    pub failed: usize,
    /// What varies: key and values.
    pub factors: Vec<(String, Vec<String>)>,
    /// Per scenario and flow.
    pub groups: Vec<Group>,
    /// Why cells failed.
    pub failures: Vec<FailureCount>,
}

/// A flow of a scenario.
#[derive(Debug, Serialize)]
pub struct Group {
    /// The scenario.
    pub scenario: String,
    /// The flow; flows that are copies of one are taken together.
    pub flow: String,
    /// How many copies; their values are averaged within each cell.
    pub copies: usize,
    /// What was run, in the order of the plan.
    pub variants: Vec<Variant>,
    /// Each value of a factor against its first one.
    pub comparisons: Vec<Comparison>,
}

/// A combination of values of the factors.
#[derive(Debug, Serialize)]
pub struct Variant {
    /// The values, in the order of the factors.
    pub values: Vec<String>,
    /// Cells with a result.
    pub cells: usize,
    /// Of these, where a byte was not the one that had been sent.
    pub corrupt: usize,
    /// Of these, where the flow's connection broke.
    pub broken: usize,
    /// What was measured; none: no cell has it.
    pub metrics: BTreeMap<Metric, Option<Summary>>,
    /// The values behind that.
    #[serde(skip)]
    pub(super) samples: Vec<Sample>,
}

/// What one cell says of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    pub(super) cell: u64,
    pub(super) replicate: u64,
    pub(super) seed: u64,
    pub(super) copies: usize,
    /// In the order of [`Metric::ALL`]: mean over the copies.
    pub(super) values: [Option<f64>; 4],
    /// Copies with a value.
    counts: [usize; 4],
    corrupt: bool,
    broken: bool,
}

/// One value of a factor against its first one, everything else being the same.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The factor.
    pub factor: String,
    /// Its first value.
    pub baseline: String,
    /// The other value.
    pub value: String,
    /// The values of the other factors.
    pub others: Vec<(String, String)>,
    /// Second minus first, per metric; none: no values.
    pub differences: BTreeMap<Metric, Option<Difference>>,
}

/// A reason why cells failed.
#[derive(Debug, Serialize)]
pub struct FailureCount {
    /// The message.
    pub message: String,
    /// Cells.
    pub cells: usize,
    /// The first of them.
    pub first_cell: u64,
    /// Its scenario.
    pub scenario: String,
}

/// Reasons listed.
const MOST_FAILURES: usize = 20;

impl SweepReport {
    pub(super) fn read(path: &Path) -> Result<Self, SimReportError> {
        let folder = Folder::open(path)?;
        let merged = merge(&folder)?;
        let manifest = folder.manifest().clone();
        let mut groups = read_groups(path, &manifest.factors)?;
        for group in &mut groups {
            group.variants.iter_mut().for_each(Variant::summarise);
            group.comparisons = compare(&group.variants, &manifest.factors);
        }
        Ok(SweepReport {
            plan: manifest.plan,
            hawser: manifest.hawser,
            fingerprint: merged.fingerprint,
            cells: merged.cells,
            finished: merged.finished,
            failed: merged.failed,
            factors: manifest.factors,
            groups,
            failures: read_failures(path)?,
        })
    }

    /// Whether cells have no result yet.
    pub fn is_partial(&self) -> bool {
        self.finished < self.cells
    }
}

impl Variant {
    /// The values of a metric that there are.
    pub(super) fn values_of(&self, metric: Metric) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.values[metric as usize]).collect()
    }

    fn summarise(&mut self) {
        self.cells = self.samples.len();
        self.corrupt = self.samples.iter().filter(|sample| sample.corrupt).count();
        self.broken = self.samples.iter().filter(|sample| sample.broken).count();
        self.metrics = Metric::ALL.map(|metric| (metric, summary(&mut self.values_of(metric)))).into();
    }
}

impl Sample {
    fn add(&mut self, values: [Option<f64>; 4]) {
        self.copies += 1;
        for (index, value) in values.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let (mean, count) = (&mut self.values[index], &mut self.counts[index]);
            *count += 1;
            let before = mean.unwrap_or(0.0);
            *mean = Some(before + (value - before) / *count as f64);
        }
    }
}

/// A flow without the number of its copy.
fn base_name(flow: &str) -> &str {
    match flow.rsplit_once('.') {
        Some((base, copy)) if !copy.is_empty() && copy.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => flow,
    }
}

fn read_groups(folder: &Path, factors: &[(String, Vec<String>)]) -> Result<Vec<Group>, SimReportError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut positions: BTreeMap<(String, String), usize> = BTreeMap::new();
    let path = merged_table(folder, TableName::Flows);
    let reader = TableReader::open(&path)?;
    let column = |name: &str| reader.schema().position(name).unwrap_or(usize::MAX);
    let keys: Vec<usize> = factors.iter().map(|(key, _)| column(key)).collect();
    let [cell, scenario, flow, replicate, seed, intact, error] =
        ["cell", "scenario", "flow", "replicate", "seed", "intact", "error"].map(column);
    let metrics = Metric::ALL.map(|metric| column(metric.column()));
    for group in 0..reader.groups() {
        let table = reader.read_group(group)?;
        for row in 0..table.rows() {
            let whole = |column| match table.cell(row, column) {
                Cell::U64(value) => value,
                _ => 0,
            };
            let name = (
                text(table.cell(row, scenario)).to_owned(),
                base_name(text(table.cell(row, flow))).to_owned(),
            );
            let position = *positions.entry(name).or_insert_with_key(|(scenario, flow)| {
                groups.push(Group::new(scenario, flow));
                groups.len() - 1
            });
            let values: Vec<&str> = keys.iter().map(|key| text(table.cell(row, *key))).collect();
            let sample = groups[position].variant(&values).sample(whole(cell), whole(replicate), whole(seed));
            sample.corrupt |= table.cell(row, intact) == Cell::Bool(false);
            sample.broken |= table.cell(row, error) != Cell::Null;
            sample.add(metrics.map(|column| number(table.cell(row, column))));
            let copies = sample.copies;
            groups[position].copies = groups[position].copies.max(copies);
        }
    }
    Ok(groups)
}

impl Group {
    fn new(scenario: &str, flow: &str) -> Self {
        let (scenario, flow) = (scenario.to_owned(), flow.to_owned());
        Group { scenario, flow, copies: 0, variants: Vec::new(), comparisons: Vec::new() }
    }

    /// The variant with these values; rows come sorted by it.
    fn variant(&mut self, values: &[&str]) -> &mut Variant {
        let position = self.variants.iter().rposition(|variant| variant.values == values);
        let position = position.unwrap_or_else(|| {
            self.variants.push(Variant {
                values: values.iter().map(|value| (*value).to_owned()).collect(),
                cells: 0,
                corrupt: 0,
                broken: 0,
                metrics: BTreeMap::new(),
                samples: Vec::new(),
            });
            self.variants.len() - 1
        });
        &mut self.variants[position]
    }
}

impl Variant {
    /// The sample of a cell; rows come sorted by it.
    fn sample(&mut self, cell: u64, replicate: u64, seed: u64) -> &mut Sample {
        if self.samples.last().is_none_or(|sample| sample.cell != cell) {
            self.samples.push(Sample { cell, replicate, seed, ..Sample::default() });
        }
        let last = self.samples.len() - 1;
        &mut self.samples[last]
    }
}

fn read_failures(folder: &Path) -> Result<Vec<FailureCount>, SimReportError> {
    let mut failures: Vec<FailureCount> = Vec::new();
    let path = merged_table(folder, TableName::Cells);
    each(&path, ["cell", "scenario", "message"], |[cell, scenario, message]| {
        let Cell::Text(message) = message else { return };
        if let Some(failure) = failures.iter_mut().find(|failure| failure.message == message) {
            failure.cells += 1;
        } else if failures.len() < MOST_FAILURES {
            failures.push(FailureCount {
                message: message.to_owned(),
                cells: 1,
                first_cell: number(cell).unwrap_or(0.0) as u64,
                scenario: text(scenario).to_owned(),
            });
        }
    })?;
    Ok(failures)
}
