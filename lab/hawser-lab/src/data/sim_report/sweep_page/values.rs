//! The values of every combination, as figures and on a common scale.

use std::fmt::Write as _;

use super::label;
use crate::data::page::chart::honest_extent;
use crate::data::page::html::{TableCell, colour, key, marked, places, plain, table};
use crate::data::page::svg::escape;
use crate::data::sim_report::sweep_data::{Group, Metric, Variant};
use crate::data::statistics::Summary;

pub(super) fn values(group: &Group) -> String {
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
