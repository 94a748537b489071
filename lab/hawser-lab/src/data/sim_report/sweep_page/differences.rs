//! What every value of a factor changes against the first one.

use std::fmt::Write as _;

use super::flow_name;
use crate::data::page::html::{TableCell, marked, places, plain, table};
use crate::data::page::svg::escape;
use crate::data::sim_report::sweep_data::{Comparison, Metric, SweepReport};
use crate::data::statistics::{Difference, Pairing};

/// All comparisons in one table.
pub(super) fn overview(report: &SweepReport) -> String {
    let mut rows = Vec::new();
    for group in &report.groups {
        for (index, comparison) in group.comparisons.iter().enumerate() {
            let span = if index == 0 { group.comparisons.len() } else { 0 };
            let mut row = vec![
                TableCell { span, ..plain(&group.scenario) },
                TableCell { span, ..plain(&flow_name(group)) },
                marked(what_is_compared(comparison), ""),
            ];
            row.extend(Metric::ALL.map(|metric| {
                let difference = comparison.differences.get(&metric).copied().flatten();
                difference
                    .map_or_else(|| marked("–", "none"), |difference| difference_cell(&difference, metric))
            }));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut columns = vec!["Scenario", "Flow", "What changes"];
    columns.extend(Metric::ALL.map(Metric::title));
    format!(
        "<h2>What difference it makes</h2>\n<p class=\"soft\">Change of the mean against the first value of the factor, with its \
         95 % confidence interval. <span style=\"color:var(--good)\">Better</span> or \
         <span style=\"color:var(--bad)\">worse</span> where the interval leaves out zero; of twenty true ties one is coloured by \
         chance. {}</p>\n{}",
        pairing(report),
        table(&columns, &rows, 3, "comparisons")
    )
}

/// How the differences were found.
fn pairing(report: &SweepReport) -> &'static str {
    let comparisons = report.groups.iter().flat_map(|group| &group.comparisons);
    let mut kinds =
        comparisons.flat_map(|comparison| comparison.differences.values().flatten()).map(|one| one.pairing);
    match kinds.next() {
        Some(Pairing::Paired) => "From pairs of runs with the same seed, so both met the same random events.",
        _ => {
            "From independent samples (Welch): the runs that are compared had different seeds; `paired = true` in the plan \
             gives both the same and shows smaller differences."
        }
    }
}

fn what_is_compared(comparison: &Comparison) -> String {
    let mut text = format!(
        "<small>{}:</small> {} → {}",
        escape(&comparison.factor),
        escape(&comparison.baseline),
        escape(&comparison.value)
    );
    if !comparison.others.is_empty() {
        let others = comparison.others.iter().map(|(key, value)| format!("{key} = {value}"));
        let _ = write!(text, "<br><small>{}</small>", escape(&others.collect::<Vec<_>>().join(", ")));
    }
    text
}

fn difference_cell(difference: &Difference, metric: Metric) -> TableCell {
    let is_better = (difference.mean > 0.0) == metric.is_more_better();
    let class = match (difference.is_clear(), is_better) {
        (false, _) => "even",
        (true, true) => "good",
        (true, false) => "bad",
    };
    if difference.mean == 0.0 && difference.ci95.is_none_or(|[low, high]| low == high) {
        return marked("the same", "even");
    }
    let (unit, one) = metric.unit();
    let relative = difference.baseline.abs() > 1e-12;
    let (scale, unit) = if relative { (difference.baseline / 100.0, "%") } else { (one, unit) };
    let digits = places((difference.mean / scale).abs().max(1.0));
    // Tenths of a % are as much as anybody wants to read, unless there are none.
    let digits = match (relative, (difference.mean / scale).abs() < 0.1) {
        (true, true) => 2,
        (true, false) => digits.min(1),
        (false, _) => digits,
    };
    let number = |value: f64| format!("{:+.digits$}", value / scale).replace('-', "−");
    let mut html = format!("{} {unit}", number(difference.mean));
    if let Some([low, high]) = difference.ci95 {
        let _ = write!(html, "<br><small>{} … {}</small>", number(low), number(high));
    }
    marked(html, class)
}
