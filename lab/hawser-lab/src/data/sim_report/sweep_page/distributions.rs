//! How the values are distributed over the runs.

use super::label;
use crate::data::page::chart::{Chart, Line, Scale, cumulative};
use crate::data::page::html::legend;
use crate::data::page::svg::escape;
use crate::data::sim_report::sweep_data::{Group, Metric, SweepReport, Variant};

/// Lines in one chart: more cannot be told apart.
const MOST_LINES: usize = 8;

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

pub(super) fn distributions(group: &Group, report: &SweepReport) -> String {
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
