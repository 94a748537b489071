//! The runs that were kept, and values made of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::bootstrap;
use super::estimate::Estimate;
use super::expression::Values;
use super::metric::Metric;
use super::value::Value;
use crate::data::statistics::{paired_difference, summary};
use crate::data::sweep::{CELLS, merged_file};
use crate::data::table::{Table, read_table};
use crate::experiments::ExperimentError;

/// The table of the metrics: one row per metric of a cell.
pub(super) const RUNS: &str = "runs";

/// Returns true if a metric is a time, which a run that ends early has none of.
fn is_time(metric: &str) -> bool {
    ["_seconds", "_s", "_ms"].into_iter().any(|ending| metric.ends_with(ending))
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq)]
struct Failed {
    runs: String,
    policy: String,
    seed: u64,
    message: String,
}

/// All runs behind a list.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The system's own policy, and what stood in for it.
    system: String,
    substitute: Option<String>,
    tables: Arc<Tables>,
}

/// What the merged tables say.
#[derive(Debug, Default)]
struct Tables {
    /// By runs and policy: how many were made.
    made: BTreeMap<(String, String), usize>,
    /// By runs, policy and metric: values by seed.
    values: BTreeMap<(String, String, String), BTreeMap<u64, f64>>,
    failed: Vec<Failed>,
}

impl Kept {
    /// Reads the merged tables of a folder: the runs behind the list of this name, whose system is this policy.
    ///
    /// # Errors
    /// [`ExperimentError::NotRead`] when there are none.
    pub fn read(
        folder: &Path,
        name: &str,
        system: &str,
        substitute: Option<&str>,
    ) -> Result<Self, ExperimentError> {
        let file = merged_file(folder, RUNS);
        if !file.is_file() {
            return Err(ExperimentError::no_runs(folder, name));
        }
        let mut tables = Tables::default();
        tables.add_cells(&read_table(&merged_file(folder, CELLS))?)?;
        tables.add_values(&read_table(&file)?)?;
        Ok(Kept {
            system: system.to_owned(),
            substitute: substitute.map(str::to_owned),
            tables: Arc::new(tables),
        })
    }

    /// The same runs, seen with another policy in the system's place.
    pub(super) fn with_control(&self, policy: &str) -> Self {
        Kept { substitute: Some(policy.to_owned()), ..self.clone() }
    }

    /// The policy that a metric is of.
    pub fn policy<'a>(&'a self, metric: &'a Metric) -> &'a str {
        metric.policy.resolved(&self.system, self.substitute.as_deref())
    }

    /// Values of a metric, with their seeds.
    pub fn values(&self, metric: &Metric) -> Vec<(u64, f64)> {
        let key = (metric.runs.clone(), self.policy(metric).to_owned(), metric.name.clone());
        self.tables.values.get(&key).into_iter().flatten().map(|(seed, value)| (*seed, *value)).collect()
    }

    /// Values of the first seed of the metrics whose names begin with that of `metric` and end so, in the order of the names:
    /// a course over time.
    pub fn course(&self, metric: &Metric, ending: &str) -> Vec<f64> {
        let first = (metric.runs.clone(), self.policy(metric).to_owned(), metric.name.clone());
        let of_course = self.tables.values.range(first.clone()..).take_while(|((runs, policy, name), _)| {
            (runs, policy) == (&first.0, &first.1) && name.starts_with(&metric.name)
        });
        let ends = of_course.filter(|((.., name), _)| name.ends_with(ending));
        ends.filter_map(|(_, seeds)| seeds.values().next().copied()).collect()
    }

    /// What a value is; an error says what is missing. A run without the metric leaves nothing to judge: a transfer
    /// that did not finish must not count as none.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn estimate(&self, value: &Value) -> Result<Estimate, String> {
        if let Value::Median(metric) = value {
            return self.median(metric);
        }
        value.metrics().into_iter().try_for_each(|metric| self.complete(metric))?;
        let nothing = || "nothing was measured".to_owned();
        let numbers = |metric: &Metric| self.values(metric).into_iter().map(|(_, value)| value);
        match value {
            Value::Median(metric) => self.median(metric),
            Value::Mean(metric) => {
                let summary = summary(&mut numbers(metric).collect::<Vec<_>>()).ok_or_else(nothing)?;
                Ok(Estimate::with(summary.mean, summary.mean_ci95))
            }
            Value::Largest(metric) => {
                numbers(metric).reduce(f64::max).map(Estimate::exact).ok_or_else(nothing)
            }
            Value::Smallest(metric) => {
                numbers(metric).reduce(f64::min).map(Estimate::exact).ok_or_else(nothing)
            }
            Value::Sum(metric) => Ok(Estimate::exact(numbers(metric).sum())),
            Value::Ratio(first, second) => self.compare(first, second, true),
            Value::Difference(first, second) => self.compare(first, second, false),
            Value::Computed { expression, .. } => {
                let value = expression.evaluate(self).ok_or_else(nothing)?;
                if value.is_finite() {
                    Ok(Estimate::with(value, bootstrap::interval(expression, self)))
                } else {
                    Err(format!("it comes to {value}"))
                }
            }
        }
    }

    /// The median. Runs that did not end within their scenario have no time: they took longer than all that did.
    fn median(&self, metric: &Metric) -> Result<Estimate, String> {
        if !is_time(&metric.name) {
            self.complete(metric)?;
        }
        let policy = self.policy(metric);
        if self.tables.failed.iter().any(|run| run.runs == metric.runs && run.policy == policy) {
            self.complete(metric)?;
        }
        let made = self.tables.made.get(&(metric.runs.clone(), policy.to_owned())).copied().unwrap_or(0);
        let mut values: Vec<f64> = self.values(metric).into_iter().map(|(_, value)| value).collect();
        let ended = values.len();
        values.resize(made.max(ended), f64::INFINITY);
        let summary = summary(&mut values).ok_or_else(|| "nothing was measured".to_owned())?;
        if !summary.median.is_finite() {
            return Err(format!(
                "{} of {policy} in {}: {ended} of {made} runs ended",
                metric.name, metric.runs
            ));
        }
        Ok(Estimate::with(summary.median, summary.median_ci95))
    }

    /// The first mean over the second or less it, from pairs with the same seed.
    fn compare(&self, first: &Metric, second: &Metric, ratio: bool) -> Result<Estimate, String> {
        let seconds: BTreeMap<u64, f64> = self.values(second).into_iter().collect();
        let pair = |(seed, value): (u64, f64)| Some([*seconds.get(&seed)?, value]);
        let pairs: Vec<[f64; 2]> = self.values(first).into_iter().filter_map(pair).collect();
        let difference = paired_difference(&pairs).ok_or_else(|| "no seed has both".to_owned())?;
        if !ratio {
            return Ok(Estimate::with(difference.mean, difference.ci95));
        }
        let baseline = difference.baseline;
        if baseline <= 0.0 {
            return Err(format!("{} of {} is {baseline}: no ratio", second.name, self.policy(second)));
        }
        let over = |difference: f64| 1.0 + difference / baseline;
        let interval = difference.ci95.map(|[low, high]| [over(low), over(high)]);
        Ok(Estimate::with(over(difference.mean), interval))
    }

    /// Whether every run has a metric.
    fn complete(&self, metric: &Metric) -> Result<(), String> {
        let policy = self.policy(metric);
        let made = self.tables.made.get(&(metric.runs.clone(), policy.to_owned())).copied().unwrap_or(0);
        let found = self.values(metric).len();
        if made > 0 && found == made {
            return Ok(());
        }
        let failed = self.tables.failed.iter().find(|run| run.runs == metric.runs && run.policy == policy);
        let why = failed.map(|run| format!(": seed {}: {}", run.seed, run.message)).unwrap_or_default();
        Err(format!("{} of {policy} in {}: {found} of {made} runs have it{why}", metric.name, metric.runs))
    }
}

impl Tables {
    fn add_cells(&mut self, table: &Table) -> Result<(), ExperimentError> {
        let (runs, policies) = (table.texts("scenario")?, table.texts("policy")?);
        let (seeds, messages) = (table.numbers("seed")?, table.texts("message")?);
        for row in 0..table.rows() {
            let (Some(runs), Some(policy), Some(seed)) = (runs[row], policies[row], seeds[row]) else {
                continue;
            };
            let (runs, policy, seed) = (runs.to_owned(), policy.to_owned(), seed as u64);
            *self.made.entry((runs.clone(), policy.clone())).or_default() += 1;
            if let Some(message) = messages[row] {
                self.failed.push(Failed { runs, policy, seed, message: message.to_owned() });
            }
        }
        Ok(())
    }

    fn add_values(&mut self, table: &Table) -> Result<(), ExperimentError> {
        let (runs, policies) = (table.texts("scenario")?, table.texts("policy")?);
        let (seeds, metrics) = (table.numbers("seed")?, table.texts("metric")?);
        let values = table.numbers("value")?;
        for row in 0..table.rows() {
            if let (Some(runs), Some(policy), Some(metric)) = (runs[row], policies[row], metrics[row])
                && let (Some(seed), Some(value)) = (seeds[row], values[row])
            {
                let key = (runs.to_owned(), policy.to_owned(), metric.to_owned());
                self.values.entry(key).or_default().insert(seed as u64, value);
            }
        }
        Ok(())
    }
}

impl Values for Kept {
    fn seeds(&self, metric: &Metric) -> Vec<u64> {
        self.values(metric).into_iter().map(|(seed, _)| seed).collect()
    }

    fn value(&self, metric: &Metric, seed: u64) -> Option<f64> {
        let key = (metric.runs.clone(), self.policy(metric).to_owned(), metric.name.clone());
        self.tables.values.get(&key)?.get(&seed).copied()
    }
}
