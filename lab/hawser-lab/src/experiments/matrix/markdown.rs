//! The tables of the documentation and of the terminal.

use std::fmt::Write as _;

use super::MatrixError;
use super::rows::{Row, Rows};

/// Between these lines a document has the tables.
const BEGIN: &str = "<!-- begin: hawser lab matrix controllers -->";
const END: &str = "<!-- end -->";

/// The columns of the summary: means over all cells of a controller.
pub(super) fn summary_columns(rows: &Rows) -> Vec<String> {
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

/// A number with two or three figures.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 10.0 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        size if size < 0.005 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// A share of one, with two decimals.
pub(crate) fn share(value: f64) -> String {
    format!("{value:.2}")
}

fn or_dash(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), write)
}

/// What the summary says of a controller.
pub(super) fn summary_cells(rows: &Rows, controller: &str) -> Vec<String> {
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

/// One line per controller for a terminal.
pub(super) fn summary(rows: &Rows) -> String {
    let mut text = format!("{:<20}", "controller");
    summary_columns(rows).iter().for_each(|column| {
        let _ = write!(text, " {column:>18}");
    });
    text.push('\n');
    for controller in &rows.controllers {
        let _ = write!(text, "{controller:<20}");
        for cell in summary_cells(rows, controller) {
            let _ = write!(text, " {cell:>18}");
        }
        text.push('\n');
    }
    for failed in &rows.failed {
        let _ = writeln!(text, "failed: {failed}");
    }
    text
}

/// The tables in the place that a document has for them.
pub(super) fn into_document(document: &str, rows: &Rows) -> Result<String, MatrixError> {
    let marks = || MatrixError::NoMarks { begin: BEGIN, end: END };
    let (before, rest) = document.split_once(BEGIN).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{BEGIN}\n\n{}{END}{after}", tables(rows)))
}

fn tables(rows: &Rows) -> String {
    let mut text = "### All links\n\nMeans over all cells.\n\n".to_owned();
    head(&mut text, &summary_columns(rows));
    for controller in &rows.controllers {
        line(&mut text, controller, summary_cells(rows, controller));
    }
    two_paths(&mut text, rows);
    text.push('\n');
    text
}

fn head(text: &mut String, columns: &[String]) {
    let _ = writeln!(text, "| | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

fn line(text: &mut String, name: &str, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    let _ = writeln!(text, "| `{name}` | {} |", cells.join(" | "));
}

/// Buffers and losses, as the heads of columns.
fn place_columns(rows: &Rows) -> Vec<String> {
    rows.places().into_iter().map(|(buffer, loss)| buffer_and_loss(buffer, loss)).collect()
}

fn two_paths(text: &mut String, rows: &Rows) {
    if rows.shared.is_empty() {
        return;
    }
    text.push_str(
        "\n### Two paths through one bottleneck\n\nShare of both together against one flow of NewReno, and against one of CUBIC; half is \
         fair.\n\n",
    );
    head(text, &place_columns(rows));
    for controller in &rows.controllers {
        let own: Vec<String> = rows
            .shared
            .iter()
            .filter(|row| row.controller == *controller)
            .map(|row| {
                format!("{}, {}", or_dash(row.beside_newreno, share), or_dash(row.beside_cubic, share))
            })
            .collect();
        if !own.is_empty() {
            line(text, controller, own);
        }
    }
}
