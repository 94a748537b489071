//! What each value of a factor of a sweep gives, on the average.

use std::fmt::Write as _;
use std::path::Path;

use hawser_lab::data::sim_report::{Group, Metric, SimReport, SweepReport, Variant};
use serde::Serialize;

use hawser_command::units;

/// The runs of a flow with one value of a factor.
#[derive(Debug, Serialize)]
pub(super) struct Mean {
    scenario: String,
    flow: String,
    key: String,
    value: String,
    /// Runs with a result.
    runs: usize,
    goodput_bps: Option<f64>,
    completion_seconds: Option<f64>,
    delay_p99_ms: Option<f64>,
}

/// The means of a folder whose tables are merged; none if they cannot be read, which the report then tells.
pub(super) fn of_folder(folder: &Path) -> Vec<Mean> {
    match SimReport::read(folder) {
        Ok(SimReport::Sweep(report)) => means(&report),
        _ => Vec::new(),
    }
}

/// For every flow, every factor and every value of it: the means over all runs, whatever else varied.
fn means(report: &SweepReport) -> Vec<Mean> {
    let mut means = Vec::new();
    for group in &report.groups {
        for (factor, (key, values)) in report.factors.iter().enumerate() {
            for value in values {
                let is_meant = |variant: &&Variant| variant.values.get(factor) == Some(value);
                let variants: Vec<&Variant> = group.variants.iter().filter(is_meant).collect();
                means.push(mean(group, key, value, &variants));
            }
        }
    }
    means
}

fn mean(group: &Group, key: &str, value: &str, variants: &[&Variant]) -> Mean {
    let over = |metric: Metric| {
        let summaries = variants.iter().filter_map(|variant| variant.metrics.get(&metric)?.as_ref());
        let (sum, count) = summaries.fold((0.0, 0), |(sum, count), summary| {
            (sum + summary.mean * summary.count as f64, count + summary.count)
        });
        (count > 0).then(|| sum / count as f64)
    };
    Mean {
        scenario: group.scenario.clone(),
        flow: group.flow.clone(),
        key: key.to_owned(),
        value: value.to_owned(),
        runs: variants.iter().map(|variant| variant.cells).sum(),
        goodput_bps: over(Metric::GoodputBps),
        completion_seconds: over(Metric::CompletionSeconds),
        delay_p99_ms: over(Metric::DelayP99Ms),
    }
}

/// A table per flow and factor.
pub(super) fn table(means: &[Mean]) -> String {
    let mut text = String::new();
    let same_table = |a: &Mean, b: &Mean| (&a.scenario, &a.flow, &a.key) == (&b.scenario, &b.flow, &b.key);
    for rows in means.chunk_by(same_table) {
        let Some(first) = rows.first() else { continue };
        let widest = rows.iter().map(|row| row.value.chars().count()).max().unwrap_or_default();
        let width = widest.max(first.key.chars().count()).min(34);
        let _ = writeln!(text, "\n{}, {}", first.scenario, first.flow);
        let _ = writeln!(
            text,
            "{:<width$} {:>5} {:>13} {:>11} {:>11}",
            first.key, "runs", "goodput", "completion", "p99 delay"
        );
        for row in rows {
            let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            let _ = writeln!(
                text,
                "{:<width$} {:>5} {:>13} {:>11} {:>11}",
                row.value,
                row.runs,
                or_none(row.goodput_bps.map(units::bit_rate)),
                or_none(row.completion_seconds.map(|seconds| format!("{seconds:.3} s"))),
                or_none(row.delay_p99_ms.map(|delay| format!("{delay:.1} ms")))
            );
        }
    }
    text
}
