//! What the pages and tables of matrices have in common.

use std::fmt::Write as _;

use crate::data::page::html::{TableCell, marked, plain, table};
use crate::data::page::svg::escape;

/// One line per policy.
pub(super) struct Summary {
    /// What the policies are.
    pub(super) of: &'static str,
    /// Width of the names for a terminal, and of every other column.
    pub(super) widths: [usize; 2],
    pub(super) columns: Vec<String>,
    pub(super) lines: Vec<(String, Vec<String>)>,
}

impl Summary {
    pub(super) fn for_a_terminal(&self) -> String {
        let [name, other] = self.widths;
        let mut text = String::new();
        let columns = (self.of.to_owned(), self.columns.clone());
        for (policy, cells) in std::iter::once(&columns).chain(&self.lines) {
            let _ = write!(text, "{policy:<name$}");
            cells.iter().for_each(|cell| {
                let _ = write!(text, " {cell:>other$}");
            });
            text.push('\n');
        }
        text
    }

    /// What it says of a policy, in a page.
    pub(super) fn cells(&self, policy: &str) -> Vec<TableCell> {
        let line = self.lines.iter().find(|(name, _)| name == policy);
        line.map_or_else(Vec::new, |(_, cells)| cells.iter().map(|text| plain(text)).collect())
    }

    pub(super) fn as_markdown(&self) -> String {
        markdown(&self.columns, &self.lines)
    }
}

/// A table of Markdown with the names of policies on the left.
pub(super) fn markdown(columns: &[impl AsRef<str>], lines: &[(String, Vec<String>)]) -> String {
    let columns: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
    let mut text = format!("| | {} |\n|---|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for (name, cells) in lines {
        let _ = writeln!(text, "| `{name}` | {} |", cells.join(" | "));
    }
    text
}

/// A table of a page with the names of policies on the left.
pub(super) fn by_policy(
    of: &str,
    columns: &[String],
    policies: &[String],
    cells: impl Fn(&str) -> Vec<TableCell>,
) -> String {
    let head = format!("{}{}", of[..1].to_uppercase(), &of[1..]);
    let columns: Vec<&str> = std::iter::once(&head).chain(columns).map(String::as_str).collect();
    let line = |policy: &String| std::iter::once(strong(policy)).chain(cells(policy)).collect();
    let body: Vec<Vec<TableCell>> = policies.iter().map(line).collect();
    table(&columns, &body, 1, &format!("{of}s"))
}

/// The head of a page: its title, what it shows, and what failed.
pub(super) fn heading(title: &str, words: &str, failed: &[String]) -> String {
    let mut html = format!("<h1>{title}</h1>\n<p>{words}</p>\n");
    for failed in failed {
        let _ = writeln!(html, "<p class=\"warn\">Failed: {}</p>", escape(failed));
    }
    html
}

/// Of how many seeds the numbers of a page are.
pub(super) fn seeds(seeds: u64) -> String {
    if seeds == 1 { "one seed".to_owned() } else { format!("means of {seeds} seeds") }
}

/// The name of a policy in a page.
pub(super) fn strong(name: &str) -> TableCell {
    marked(escape(name), "strong")
}

/// A cell of a page without a value.
pub(super) fn none() -> TableCell {
    marked("–", "none")
}

/// A cell of a page on a ground that is the darker, the closer its shade is to one.
pub(super) fn shaded(text: &str, shade: f64) -> TableCell {
    let shade = 60.0 * shade.clamp(0.0, 1.0);
    marked(format!("<span class=\"shaded\" style=\"--shade:{shade:.0}%\">{}</span>", escape(text)), "")
}

/// A number with two or three figures.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 10.0 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        size if size < 0.005 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// A share of one, with two decimals.
pub(super) fn share(value: f64) -> String {
    format!("{value:.2}")
}

/// A value as it is written, or a dash.
pub(super) fn or_dash(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), write)
}
