//! The page: a summary, then six tables for each link, shaded by value.

use std::fmt::Write as _;

use super::markdown::{buffer_and_loss, place_columns};
use super::rows::{Controllers, Outlier, Row, Shared};
use crate::data::page::html::{self, TableCell, plain, table};
use crate::data::page::svg::escape;
use crate::experiments::matrix::text::{
    Summary, by_policy, heading, none, number, seeds, shaded, share, strong,
};

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
pub(super) fn page(rows: &Controllers, summary: &Summary) -> String {
    let mut sections = vec![head(rows), all(rows, summary)];
    sections.extend(rows.links.iter().map(|link| of_link(rows, link)));
    sections.push(two_paths(rows));
    sections.push(outliers(rows));
    html::page("Matrix of controllers", &sections)
}

fn head(rows: &Controllers) -> String {
    let words = format!(
        "{} controllers over {} bottlenecks, each with {} buffers and {} rates of random loss; {} of everything random. In virtual time, \
         over the whole stack.",
        rows.controllers.len(),
        rows.links.len(),
        rows.buffers.len(),
        rows.losses.len(),
        seeds(rows.seeds),
    );
    heading("Matrix of controllers", &words, &rows.failed)
}

fn all(rows: &Controllers, summary: &Summary) -> String {
    let cells = |controller: &str| summary.cells(controller);
    let table = by_policy(summary.of, &summary.columns, &rows.controllers, cells);
    format!("<h2>All links</h2>\n<p class=\"soft\">Means over all cells.</p>\n{table}")
}

fn of_link(rows: &Controllers, link: &str) -> String {
    let mut html = format!(
        "<h2>{}</h2>\n<p class=\"soft\">Columns: buffer in bandwidth-delay products of the mean rate, random loss.</p>\n",
        escape(link)
    );
    for metric in &METRICS {
        let _ = write!(html, "<h3>{}</h3>\n{}", escape(metric.title), of_metric(rows, link, metric));
    }
    html
}

fn of_metric(rows: &Controllers, link: &str, metric: &Metric) -> String {
    let cells = |controller: &str| {
        let cell = |(buffer, loss)| {
            let value = rows.cell(controller, link, buffer, loss).and_then(metric.of);
            value.map_or_else(none, |value| shaded(&(metric.write)(value), (metric.shade)(value)))
        };
        rows.places().into_iter().map(cell).collect()
    };
    by_policy("controller", &place_columns(rows), &rows.controllers, cells)
}

fn two_paths(rows: &Controllers) -> String {
    if rows.shared.is_empty() {
        return String::new();
    }
    let columns = ["Controller", "Buffer, loss", "Beside NewReno", "Beside CUBIC"];
    let line = |row: &Shared| {
        let text = |value: Option<f64>| value.map_or("–".to_owned(), share);
        vec![
            strong(&row.controller),
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

fn outliers(rows: &Controllers) -> String {
    let columns = ["Controller", "Link", "Buffer, loss", "Utilisation", "Neighbours"];
    let line = |row: Outlier| {
        vec![
            strong(&row.controller),
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
