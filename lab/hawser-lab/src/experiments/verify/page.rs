//! The page of a list: its table, its figures, and how to recompute it.

use std::fmt::Write as _;

use super::figure::svg;
use super::judge::{Row, Verdict, Verdicts};
use super::kept::Kept;
use super::list::{Data, List};
use super::text::{deciding, tally, unit, words};
use super::units::{Unit, figure, interval};
use crate::data::page::html::{self, TableCell, marked, plain, table};
use crate::data::page::svg::escape;

/// The whole page.
pub(super) fn page(verdicts: &Verdicts, list: &List, kept: &Kept) -> String {
    let mut sections = vec![heading(verdicts, list), rows(verdicts), details(verdicts)];
    sections.extend(list.figures.iter().map(|it| match svg(it, kept) {
        Ok(svg) => format!("<h2>{}</h2>\n{svg}", escape(&it.title)),
        Err(reason) => format!("<h2>{}</h2>\n<p class=\"warn\">{}</p>", escape(&it.title), escape(&reason)),
    }));
    html::page(&format!("{}: acceptance list", list.name), &sections)
}

fn heading(verdicts: &Verdicts, list: &List) -> String {
    let count = |verdict| verdicts.count(verdict);
    let mut html = format!("<h1>{}</h1>\n<p>{}</p>\n", escape(&list.title), escape(&list.source));
    let _ = writeln!(
        html,
        "<p><b>{}</b> of {} items hold, {} fall short, {} deviate. Verified: <code>{}={}</code>.</p>",
        count(Verdict::Holds),
        verdicts.items.len(),
        count(Verdict::FallsShort),
        count(Verdict::Deviates),
        escape(&list.system.key),
        escape(&verdicts.policy)
    );
    let _ = writeln!(html, "<p>{}.</p>", escape(&tally(verdicts)));
    if verdicts.policy != list.system.policy {
        let _ = writeln!(
            html,
            "<p class=\"warn\">A negative control: this is not the system, which is <code>{}</code>.</p>",
            escape(&list.system.policy)
        );
    }
    html + "<p class=\"soft\">Every run behind this page is in <code>merged/runs.parquet</code> and \
            <code>runs.jsonl</code>; <code>scripts/recompute-verify</code> computes the values anew.</p>\n"
}

fn rows(verdicts: &Verdicts) -> String {
    let columns = [
        "Item",
        "Statement",
        "Value",
        "95 %",
        "Control",
        "Threshold",
        "Paper",
        "Data",
        "Verdict",
        "Counts as",
    ];
    let rows: Vec<Vec<TableCell>> = verdicts.items.iter().map(cells).collect();
    // Lists are read as a whole: never folded.
    table(&columns, &rows, 2, "items").replace("<details>", "<details open>")
}

fn cells(row: &Row) -> Vec<TableCell> {
    let unit = deciding(row).map(unit).unwrap_or_default();
    let id = if row.must { format!("{} <small>must</small>", escape(&row.id)) } else { escape(&row.id) };
    let class = match row.verdict {
        Verdict::Holds => "good",
        Verdict::FallsShort => "bad",
        Verdict::Deviates => "strong",
    };
    let data = match row.data {
        Data::Measured => "measured",
        Data::Synthetic => "synthetic",
        Data::None => "",
    };
    vec![
        marked(id, "strong long"),
        marked(escape(&row.statement), "long"),
        plain(&row.value.map_or_else(|| "–".to_owned(), |value| figure(value, unit))),
        marked(interval(row.low, row.high, unit).replace("..", "…"), "even"),
        plain(&control(row, unit)),
        marked(escape(&row.threshold), "long left"),
        marked(escape(&row.paper), "long left"),
        marked(data, "even"),
        marked(row.verdict.name(), class),
        marked(row.weight.name(), "even"),
    ]
}

/// What the negative control comes to: `minrtt: 1.02, fails`.
fn control(row: &Row, unit: Unit) -> String {
    let Some(control) = &row.control else { return String::new() };
    let value = control.value.map_or_else(|| "–".to_owned(), |value| figure(value, unit));
    format!("{}: {value}, {}", control.policy, if control.holds { "holds" } else { "fails" })
}

/// All claims of all items.
fn details(verdicts: &Verdicts) -> String {
    let mut html = "<h2>Claims</h2>\n<p class=\"soft\">What each item is made of: the value, its interval, where it has \
                    to lie.</p>\n<table class=\"facts\">\n"
        .to_owned();
    for row in &verdicts.items {
        for claim in &row.claims {
            let class = if claim.met { "soft" } else { "warn" };
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td class=\"{class}\">{}</td></tr>",
                escape(&row.id),
                escape(&words(claim))
            );
        }
        if let Some(deviation) = &row.deviation {
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td>deviates: {} (<code>{}</code>)</td></tr>",
                escape(&row.id),
                escape(&deviation.cause),
                escape(&deviation.page)
            );
        }
    }
    html + "</table>\n"
}
