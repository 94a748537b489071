//! The page: a summary, then six tables for each link, shaded by value.

use std::fmt::Write as _;

use super::markdown::{buffer_and_loss, number, share, summary_cells, summary_columns};
use super::rows::{Row, Rows};
use crate::data::page::html::{self, TableCell, marked, plain, table};
use crate::data::page::svg::escape;

/// A number of a cell: how it is called, how it is written, and how dark its shade is, 0 to 1.
struct Metric {
    title: &'static str,
    of: fn(&Row) -> Option<f64>,
    write: fn(f64) -> String,
    shade: fn(f64) -> f64,
}

/// Darker is more of it, which is good for the first, fourth and sixth.
const METRICS: [Metric; 6] = [
    Metric { title: "Utilisation, alone", of: |row| row.utilisation, write: share, shade: |value| value },
    Metric {
        title: "95th percentile of the queueing delay, alone, ms",
        of: |row| row.queue_p95_ms,
        write: number,
        shade: |value| value / 500.0,
    },
    Metric {
        title: "Packets that found the queue full, alone, %",
        of: |row| row.dropped.map(|share| 100.0 * share),
        write: number,
        shade: |value| value / 5.0,
    },
    Metric {
        title: "Jain's index against a second flow of its own, from 5 s on",
        of: |row| row.jain_itself,
        write: share,
        shade: |value| 2.0 * value - 1.0,
    },
    Metric {
        title: "Seconds until these share (none: never)",
        of: |row| row.converged_seconds,
        write: number,
        shade: |value| value / 20.0,
    },
    Metric {
        title: "Own share against CUBIC (half is fair)",
        of: |row| row.share_cubic,
        write: share,
        shade: |value| 1.0 - 2.0 * (value - 0.5).abs(),
    },
];

/// The whole page.
pub(super) fn page(rows: &Rows) -> String {
    let mut sections = vec![heading(rows), summary(rows)];
    sections.extend(rows.links.iter().map(|link| of_link(rows, link)));
    sections.push(two_paths(rows));
    sections.push(outliers(rows));
    html::page("Matrix of controllers", &sections)
}

fn heading(rows: &Rows) -> String {
    let mut html = format!(
        "<h1>Matrix of controllers</h1>\n<p>{} controllers over {} bottlenecks, each with {} buffers and {} rates of \
         random loss; {} of everything random. In virtual time, over the whole stack.</p>\n",
        rows.controllers.len(),
        rows.links.len(),
        rows.buffers.len(),
        rows.losses.len(),
        if rows.seeds == 1 { "one seed".to_owned() } else { format!("means of {} seeds", rows.seeds) },
    );
    for failed in &rows.failed {
        let _ = writeln!(html, "<p class=\"warn\">Failed: {}</p>", escape(failed));
    }
    html
}

fn summary(rows: &Rows) -> String {
    let body = rows.controllers.iter().map(|controller| {
        let name = marked(escape(controller), "strong");
        let numbers = summary_cells(rows, controller).into_iter().map(|text| plain(&text));
        std::iter::once(name).chain(numbers).collect()
    });
    let body: Vec<Vec<TableCell>> = body.collect();
    let names = summary_columns(rows);
    let columns: Vec<&str> = std::iter::once("Controller").chain(names.iter().map(String::as_str)).collect();
    format!(
        "<h2>All links</h2>\n<p class=\"soft\">Means over all cells.</p>\n{}",
        table(&columns, &body, 1, "controllers")
    )
}

fn of_link(rows: &Rows, link: &str) -> String {
    let mut html = format!(
        "<h2>{}</h2>\n<p class=\"soft\">Columns: buffer in bandwidth-delay products of the mean rate, random loss.</p>\n",
        escape(link)
    );
    for metric in &METRICS {
        let _ = write!(html, "<h3>{}</h3>\n{}", escape(metric.title), of_metric(rows, link, metric));
    }
    html
}

fn of_metric(rows: &Rows, link: &str, metric: &Metric) -> String {
    let places = rows.places();
    let names: Vec<String> = places.iter().map(|(buffer, loss)| buffer_and_loss(*buffer, *loss)).collect();
    let columns: Vec<&str> = std::iter::once("Controller").chain(names.iter().map(String::as_str)).collect();
    let line = |controller: &String| {
        let cells = places.iter().map(|(buffer, loss)| {
            let value = rows.cell(controller, link, *buffer, *loss).and_then(metric.of);
            value.map_or_else(|| marked("–", "none"), |value| shaded(metric, value))
        });
        std::iter::once(marked(escape(controller), "strong")).chain(cells).collect()
    };
    let body: Vec<Vec<TableCell>> = rows.controllers.iter().map(line).collect();
    table(&columns, &body, 1, "controllers")
}

fn shaded(metric: &Metric, value: f64) -> TableCell {
    let shade = 60.0 * (metric.shade)(value).clamp(0.0, 1.0);
    let text = (metric.write)(value);
    marked(format!("<span class=\"shaded\" style=\"--shade:{shade:.0}%\">{}</span>", escape(&text)), "")
}

fn two_paths(rows: &Rows) -> String {
    if rows.shared.is_empty() {
        return String::new();
    }
    let columns = ["Controller", "Buffer, loss", "Beside NewReno", "Beside CUBIC"];
    let line = |row: &super::Shared| {
        let text = |value: Option<f64>| value.map_or("–".to_owned(), share);
        vec![
            marked(escape(&row.controller), "strong"),
            plain(&buffer_and_loss(row.buffer, row.loss)),
            plain(&text(row.beside_newreno)),
            plain(&text(row.beside_cubic)),
        ]
    };
    let body: Vec<Vec<TableCell>> = rows.shared.iter().map(line).collect();
    format!(
        "<h2>Two paths through one bottleneck</h2>\n<p class=\"soft\">Share of both paths of a connection together against a \
         single-path flow; half is fair, two thirds what two flows would take.</p>\n{}",
        table(&columns, &body, 2, "cells")
    )
}

fn outliers(rows: &Rows) -> String {
    let columns = ["Controller", "Link", "Buffer, loss", "Utilisation", "Neighbours"];
    let line = |row: super::Outlier| {
        vec![
            marked(escape(&row.controller), "strong"),
            plain(&row.link),
            plain(&buffer_and_loss(row.buffer, row.loss)),
            plain(&share(row.value)),
            plain(&share(row.neighbours)),
        ]
    };
    let body: Vec<Vec<TableCell>> = rows.outliers().into_iter().map(line).collect();
    format!(
        "<h2>What stands out</h2>\n<p class=\"soft\">Cells whose utilisation is more than 25 % away from the mean of the cells with \
         the next buffers and losses; docs/controller-matrix.md says why.</p>\n{}",
        table(&columns, &body, 2, "cells")
    )
}
