//! The tables of the documentation and of the terminal.

use super::rows::{Controllers, Row};
use crate::experiments::matrix::text::{self, Summary, number, or_dash, share};

/// The columns of the summary: means over all cells of a controller.
fn summary_columns(rows: &Controllers) -> Vec<String> {
    let uses = rows.losses.iter().enumerate().map(|(at, loss)| match (at, *loss == 0.0) {
        (0, true) => "use, no loss".to_owned(),
        (0, false) => format!("use, {} %", percent(*loss)),
        _ => format!("{} %", percent(*loss)),
    });
    let others = ["p95 queue, ms", "dropped, %", "Jain, itself", "share against CUBIC", "Jain, CUBIC"];
    uses.chain(others.map(str::to_owned)).collect()
}

/// A share in percent as people write it: without what binary fractions add.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// A buffer and a loss, as the head of a column.
pub(super) fn buffer_and_loss(buffer: f64, loss: f64) -> String {
    format!("{buffer} BDP, {} %", percent(loss))
}

/// What the summary says of a controller.
fn summary_cells(rows: &Controllers, controller: &str) -> Vec<String> {
    let all = |of: fn(&Row) -> Option<f64>| rows.mean(controller, |_| true, of);
    let with = |loss: f64| rows.mean(controller, |row| row.loss == loss, |row| row.utilisation);
    let uses = rows.losses.iter().map(|loss| or_dash(with(*loss), share));
    let others = [
        or_dash(all(|row| row.queue_p95_ms), number),
        or_dash(all(|row| row.dropped).map(|dropped| 100.0 * dropped), number),
        or_dash(all(|row| row.jain_itself), share),
        or_dash(all(|row| row.share_cubic), share),
        or_dash(all(|row| row.jain_cubic), share),
    ];
    uses.chain(others).collect()
}

/// One line per controller.
pub(super) fn summary(rows: &Controllers) -> Summary {
    let line = |controller: &String| (controller.clone(), summary_cells(rows, controller));
    let lines = rows.controllers.iter().map(line).collect();
    Summary { of: "controller", widths: [20, 18], columns: summary_columns(rows), lines }
}

/// The tables of a document.
pub(super) fn tables(rows: &Controllers, summary: &Summary) -> String {
    let mut text = "### All links\n\nMeans over all cells.\n\n".to_owned();
    text.push_str(&summary.as_markdown());
    if !rows.shared.is_empty() {
        text.push_str(
            "\n### Two paths through one bottleneck\n\nShare of both together against one flow of NewReno, and against one of CUBIC; half \
             is fair.\n\n",
        );
        text.push_str(&text::markdown(&place_columns(rows), &two_paths(rows)));
    }
    text.push('\n');
    text
}

/// Buffers and losses, as the heads of columns.
pub(super) fn place_columns(rows: &Controllers) -> Vec<String> {
    rows.places().into_iter().map(|(buffer, loss)| buffer_and_loss(buffer, loss)).collect()
}

fn two_paths(rows: &Controllers) -> Vec<(String, Vec<String>)> {
    let line = |controller: &String| {
        let own = rows.shared.iter().filter(|row| row.controller == *controller);
        let pair = |row: &super::Shared| {
            format!("{}, {}", or_dash(row.beside_newreno, share), or_dash(row.beside_cubic, share))
        };
        (controller.clone(), own.map(pair).collect())
    };
    let lines = rows.controllers.iter().map(line);
    lines.filter(|(_, cells): &(String, Vec<String>)| !cells.is_empty()).collect()
}
