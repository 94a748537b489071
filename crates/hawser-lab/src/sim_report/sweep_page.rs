//! The page of a sweep.

use std::fmt::Write as _;

use super::chart::{Chart, Line, Scale, cumulative, honest_extent};
use super::html::{self, TableCell, colour, facts, key, legend, marked, places, plain, table};
use super::sweep_data::{Comparison, Group, Metric, SweepReport, Variant};
use crate::report::svg::escape;
use crate::statistics::{Difference, Pairing, Summary};

/// Lines in one chart: more cannot be told apart.
const MOST_LINES: usize = 8;
/// Flows of a scenario that are shown open.
const OPEN_FLOWS: usize = 2;

/// The whole page.
pub(super) fn page(report: &SweepReport) -> String {
    let mut sections = vec![headline(report), failures(report), overview(report)];
    let mut groups = report.groups.as_slice();
    while let Some(first) = groups.first() {
        let count = groups.iter().take_while(|group| group.scenario == first.scenario).count();
        let (of_scenario, rest) = groups.split_at(count);
        sections.push(scenario(of_scenario, report));
        groups = rest;
    }
    sections.push(notes(report));
    html::page(&format!("Sweep {}", report.plan), &sections)
}

fn headline(report: &SweepReport) -> String {
    let mut html = format!("<h1>Sweep {}</h1>\n", escape(&report.plan));
    if report.is_partial() {
        let _ = writeln!(
            html,
            "<p class=\"warn\">Not complete: {} of {} cells have a result.</p>",
            report.finished, report.cells
        );
    }
    let mut scenarios: Vec<&str> = report.groups.iter().map(|group| group.scenario.as_str()).collect();
    scenarios.dedup();
    let varied = report.factors.iter().map(|(key, values)| format!("{key}: {}", values.join(", ")));
    html + &facts(&[
        ("Cells", format!("{} of {}, {} failed", report.finished, report.cells, report.failed)),
        ("Scenarios", scenarios.join(", ")),
        ("Varied", varied.collect::<Vec<_>>().join("; ")),
        ("Hawser", report.hawser.clone()),
        ("Fingerprint", report.fingerprint.clone()),
    ])
}

fn failures(report: &SweepReport) -> String {
    if report.failures.is_empty() {
        return String::new();
    }
    let row = |failure: &super::FailureCount| {
        vec![
            marked(escape(&failure.message), "long"),
            plain(&failure.cells.to_string()),
            plain(&failure.first_cell.to_string()),
            plain(&failure.scenario),
        ]
    };
    let rows: Vec<_> = report.failures.iter().map(row).collect();
    let columns = ["Reason", "Cells", "First cell", "Its scenario"];
    format!(
        "<h2 class=\"warn\">{} cells failed</h2>\n{}",
        report.failed,
        table(&columns, &rows, 1, "reasons")
    )
}

/// All comparisons in one table.
fn overview(report: &SweepReport) -> String {
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
    // Tenths of a per cent are as much as anybody wants to read, unless there are none.
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

fn flow_name(group: &Group) -> String {
    if group.copies > 1 { format!("{} (mean of {})", group.flow, group.copies) } else { group.flow.clone() }
}

fn scenario(groups: &[Group], report: &SweepReport) -> String {
    let mut html = format!("<h2>{}</h2>\n", escape(&groups[0].scenario));
    for (index, group) in groups.iter().enumerate() {
        let body = values(group) + &distributions(group, report);
        let name = escape(&flow_name(group));
        let _ = match (groups.len(), index < OPEN_FLOWS) {
            (1, _) => writeln!(html, "{body}"),
            (_, true) => writeln!(html, "<h3>Flow {name}</h3>\n{body}"),
            (_, false) => writeln!(html, "<details><summary>Flow {name}</summary>\n{body}</details>"),
        };
    }
    html
}

fn label(values: &[String]) -> String {
    if values.is_empty() { "all runs".to_owned() } else { values.join(" · ") }
}

fn values(group: &Group) -> String {
    let mut rows = Vec::new();
    let mut remarks = String::new();
    for metric in Metric::ALL {
        let measured: Vec<_> =
            group.variants.iter().map(|variant| (variant, summary_of(variant, metric))).collect();
        let all: Vec<Summary> = measured.iter().filter_map(|(_, summary)| *summary).collect();
        if all.is_empty() {
            let why = match metric {
                Metric::CompletionSeconds => "no run of this flow came to an end by itself",
                _ => "nothing was measured",
            };
            let _ = writeln!(remarks, "<p class=\"soft\">{}: {why}.</p>", metric.title());
            continue;
        }
        let (unit, one) = metric.unit();
        let extent = honest_extent(
            all.iter().map(lower).fold(f64::INFINITY, f64::min),
            all.iter().map(upper).fold(f64::NEG_INFINITY, f64::max),
        );
        let digits = digits(&all, one);
        for (index, (variant, summary)) in measured.iter().enumerate() {
            let span = if index == 0 { measured.len() } else { 0 };
            let title = format!("{} <small>{unit}</small>", metric.title());
            let mut row = vec![
                TableCell { html: title, class: "strong", span },
                marked(format!("{}{}", key(index), escape(&label(&variant.values))), ""),
            ];
            row.extend(figures(variant, summary.as_ref(), one, digits));
            row.push(marked(summary.map_or(String::new(), |summary| strip(&summary, extent, index)), "plot"));
            rows.push(row);
        }
    }
    for variant in group.variants.iter().filter(|variant| variant.corrupt > 0) {
        let name = escape(&label(&variant.values));
        let _ = writeln!(remarks, "<p class=\"warn\">{name}: wrong bytes in {} runs.</p>", variant.corrupt);
    }
    for variant in group.variants.iter().filter(|variant| variant.broken > 0) {
        let name = escape(&label(&variant.values));
        let _ = writeln!(
            remarks,
            "<p class=\"warn\">{name}: the connection broke in {} runs.</p>",
            variant.broken
        );
    }
    let columns =
        ["", "", "Runs", "Mean", "95 % CI", "Median", "95 % CI", "p5", "p95", "p5 … p95, mean and its CI"];
    table(&columns, &rows, 2, "values") + &remarks
}

/// Digits behind the point that show the values, and how wide their intervals are.
fn digits(all: &[Summary], one: f64) -> usize {
    let size = places(all.iter().map(|summary| summary.mean / one).fold(0.0, f64::max));
    let width = |summary: &Summary| {
        summary.mean_ci95.map(|[low, high]| (high - low) / one).filter(|width| *width > 0.0)
    };
    let widest = all.iter().filter_map(width).fold(0.0, f64::max);
    if widest == 0.0 {
        return size;
    }
    let needed = (1.0 - widest.log10()).ceil().max(0.0) as usize;
    needed.clamp(size, size + 1)
}

fn summary_of(variant: &Variant, metric: Metric) -> Option<Summary> {
    variant.metrics.get(&metric).copied().flatten()
}

fn figures(variant: &Variant, summary: Option<&Summary>, one: f64, digits: usize) -> Vec<TableCell> {
    let Some(summary) = summary else {
        let mut row = vec![marked(format!("0 of {}", variant.cells), "none")];
        row.resize(7, marked("–", "none"));
        return row;
    };
    let number = |value: f64| format!("{:.digits$}", value / one);
    let interval = |interval: Option<[f64; 2]>| match interval {
        Some([low, high]) => marked(format!("{} … {}", number(low), number(high)), "even"),
        None => marked("–", "none"),
    };
    let runs = match summary.count == variant.cells {
        true => plain(&summary.count.to_string()),
        false => marked(format!("{} of {}", summary.count, variant.cells), "bad"),
    };
    vec![
        runs,
        marked(number(summary.mean), "strong"),
        interval(summary.mean_ci95),
        plain(&number(summary.median)),
        interval(summary.median_ci95),
        plain(&number(summary.p5)),
        plain(&number(summary.p95)),
    ]
}

fn lower(summary: &Summary) -> f64 {
    summary.p5.min(summary.mean_ci95.map_or(summary.mean, |[low, _]| low))
}

fn upper(summary: &Summary) -> f64 {
    summary.p95.max(summary.mean_ci95.map_or(summary.mean, |[_, high]| high))
}

/// A small drawing on the scale of its neighbours.
fn strip(summary: &Summary, [from, to]: [f64; 2], index: usize) -> String {
    let x = |value: f64| 6.0 + 178.0 * if to > from { (value - from) / (to - from) } else { 0.5 };
    let colour = colour(index);
    let mut svg = format!(
        r#"<svg class="strip" viewBox="0 0 190 18" aria-hidden="true"><line x1="{:.1}" x2="{:.1}" y1="9" y2="9" style="stroke:var({colour})" stroke-width="1.5" opacity=".55"/>"#,
        x(summary.p5),
        x(summary.p95)
    );
    if let Some([low, high]) = summary.mean_ci95 {
        let _ = write!(
            svg,
            r#"<line x1="{:.1}" x2="{:.1}" y1="9" y2="9" style="stroke:var({colour})" stroke-width="7" opacity=".5"/>"#,
            x(low),
            x(high)
        );
    }
    let _ = write!(
        svg,
        r#"<circle cx="{:.1}" cy="9" r="3.2" style="fill:var({colour})"/></svg>"#,
        x(summary.mean)
    );
    svg
}

/// Values behind one line of the charts.
struct Pool<'a> {
    name: String,
    variants: Vec<&'a Variant>,
}

/// One line per variant; with many of them one per value of a factor.
fn pools<'a>(group: &'a Group, report: &SweepReport) -> (Vec<Pool<'a>>, String) {
    if group.variants.len() <= MOST_LINES {
        let pool = |variant: &'a Variant| Pool { name: label(&variant.values), variants: vec![variant] };
        return (group.variants.iter().map(pool).collect(), String::new());
    }
    let fits = |(_, values): &(String, Vec<String>)| (2..=MOST_LINES).contains(&values.len());
    let Some(factor) = report.factors.iter().position(fits) else {
        let pool = |variant: &'a Variant| Pool { name: label(&variant.values), variants: vec![variant] };
        let pools = group.variants.iter().take(MOST_LINES).map(pool).collect();
        return (pools, format!("Only the first {MOST_LINES} of {} combinations.", group.variants.len()));
    };
    let (key, values) = &report.factors[factor];
    let pool = |value: &String| {
        let has = |variant: &&Variant| variant.values.get(factor) == Some(value);
        Pool { name: value.clone(), variants: group.variants.iter().filter(has).collect() }
    };
    (values.iter().map(pool).collect(), format!("By {key}; all values of the other factors together."))
}

fn distributions(group: &Group, report: &SweepReport) -> String {
    let (pools, remark) = pools(group, report);
    let charts: String = Metric::ALL.iter().map(|metric| distribution(&pools, *metric)).collect();
    if charts.is_empty() {
        return String::new();
    }
    let names = legend(pools.iter().enumerate().map(|(index, pool)| (index, pool.name.as_str())));
    format!("<h3>Distribution over the runs</h3>\n<p class=\"soft\">{}</p>\n{names}<div class=\"charts\">{charts}</div>\n", escape(&remark))
        .replace("<p class=\"soft\"></p>\n", "")
}

fn distribution(pools: &[Pool<'_>], metric: Metric) -> String {
    let (unit, one) = metric.unit();
    let values = |pool: &Pool<'_>| {
        let mut values: Vec<f64> =
            pool.variants.iter().flat_map(|variant| variant.values_of(metric)).collect();
        values.iter_mut().for_each(|value| *value /= one);
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let sorted: Vec<Vec<f64>> = pools.iter().map(values).collect();
    let mut all: Vec<f64> = sorted.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    if all.len() < 3 || all.first() == all.last() {
        return String::new();
    }
    let x = Scale::around(&all);
    let lines = pools.iter().zip(&sorted).enumerate().map(|(colour, (pool, values))| {
        let cells = pool.variants.iter().map(|variant| variant.cells).sum();
        let points = cumulative(values, cells);
        Line { name: pool.name.clone(), colour, points, dashed: false, steps: true }
    });
    let axis = format!(
        "{} ({unit}{})",
        metric.title(),
        if matches!(x, Scale::Log(..)) { ", logarithmic" } else { "" }
    );
    let chart = Chart {
        title: &format!("Distribution of {}", metric.title()),
        x_label: &axis,
        y_label: "share of runs",
        x,
        y: Scale::Linear(0.0, 1.0),
        width: 560.0,
        height: 250.0,
        lines: lines.collect(),
        shades: Vec::new(),
    };
    format!("<div>{}</div>", chart.svg())
}

fn notes(report: &SweepReport) -> String {
    let mut html = "<h2>What the figures mean</h2>\n<ul class=\"soft\">\n".to_owned();
    let mut notes = vec![
        "A run is one cell: a scenario with its overrides and one seed. Each gives one value per flow and metric; where a \
         flow has several copies, their mean.",
        "Goodput: bytes of the application that arrived in order, over the time from the flow's beginning to its end or that \
         of the simulation. Completion time: from a flow's beginning to its end, only of runs where it came to an end; means \
         of it leave out the others (\"97 of 100\"), and in its distribution the line then ends below one.",
        "p99 delay: 99th percentile within one run, for bulk flows of bytes from their first sending to their delivery in \
         order, for requests to the end of the answer, for datagrams from end to end. Longest gap: longest time between two \
         arrivals.",
        "Intervals of means are Student's t, those of medians order statistics (no assumption on the distribution). p5 and \
         p95 are percentiles of the runs.",
    ];
    if report.factors.is_empty() {
        notes.push("The plan varies nothing, so nothing is compared.");
    }
    for note in notes {
        let _ = writeln!(html, "<li>{}</li>", escape(note));
    }
    html + "</ul>\n"
}
