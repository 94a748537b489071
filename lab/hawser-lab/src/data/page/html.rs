//! The frame of a page, its tables and its numbers.

use std::fmt::Write as _;

use crate::data::page::svg::escape;

const STYLE: &str = include_str!("style.css");
/// Rows of a table that is shown open.
const LONGEST_OPEN_TABLE: usize = 24;

/// A whole page.
pub(crate) fn page(title: &str, sections: &[String]) -> String {
    frame(title, STYLE, &in_sections(sections))
}

/// What stands in the body of a page; sections without anything are left out.
pub(crate) fn in_sections(sections: &[String]) -> String {
    let mut html = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let _ = writeln!(html, "<section>\n{section}</section>");
    }
    html
}

/// A page with a style sheet of its own around the HTML of its body.
pub(crate) fn frame(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// A cell of a table: HTML, and the class of its cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableCell {
    pub(crate) html: String,
    pub(crate) class: &'static str,
    /// Rows that it reaches over; 0: that of the row above does.
    pub(crate) span: usize,
}

/// A cell with plain text.
pub(crate) fn plain(text: &str) -> TableCell {
    TableCell { html: escape(text), class: "", span: 1 }
}

/// A cell with HTML and a class.
pub(crate) fn marked(html: impl Into<String>, class: &'static str) -> TableCell {
    TableCell { html: html.into(), class, span: 1 }
}

/// A table; a long one can be opened.
pub(crate) fn table(columns: &[&str], rows: &[Vec<TableCell>], left: usize, what: &str) -> String {
    let mut html = String::new();
    let is_long = rows.len() > LONGEST_OPEN_TABLE;
    if is_long {
        let _ = writeln!(html, "<details><summary>{} ({} rows)</summary>", escape(what), rows.len());
    }
    html.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for (index, column) in columns.iter().enumerate() {
        let class = if index < left { " class=\"left\"" } else { "" };
        let _ = write!(html, "<th{class}>{}</th>", escape(column));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let starts = row.first().is_some_and(|cell| cell.span != 0);
        html.push_str(if starts { "<tr class=\"first\">" } else { "<tr>" });
        for (index, cell) in row.iter().enumerate().filter(|(_, cell)| cell.span > 0) {
            let left = if index < left { "left" } else { "" };
            let class = format!("{left} {}", cell.class);
            let class = match class.trim() {
                "" => String::new(),
                class => format!(" class=\"{class}\""),
            };
            let span = if cell.span > 1 { format!(" rowspan=\"{}\"", cell.span) } else { String::new() };
            let _ = write!(html, "<td{class}{span}>{}</td>", cell.html);
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    if is_long {
        html.push_str("</details>\n");
    }
    html
}

/// `1 cell`, `2 cells`: `of` is the word for one.
pub(crate) fn counted(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

/// Names and values.
pub(crate) fn facts(rows: &[(&str, String)]) -> String {
    let mut html = "<table class=\"facts\">\n".to_owned();
    for (name, value) in rows.iter().filter(|row| !row.1.is_empty()) {
        let _ = writeln!(html, "<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(value));
    }
    html + "</table>\n"
}

/// The colour of the n-th line, as a CSS variable.
pub(crate) fn colour(index: usize) -> String {
    format!("--c{}", index % 8)
}

/// A square in the colour of the n-th line.
pub(crate) fn key(index: usize) -> String {
    format!("<span class=\"key\" style=\"background:var({})\"></span>", colour(index))
}

/// What the lines mean.
pub(crate) fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> String {
    let mut html = "<div class=\"legend\">".to_owned();
    for (index, name) in names {
        let _ = write!(html, "<span>{}{}</span>", key(index), escape(name));
    }
    html + "</div>\n"
}

/// Digits behind the point with which a number of this size has three or four figures.
pub(crate) fn places(size: f64) -> usize {
    match size.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

/// A number with as many digits as its size needs.
pub(crate) fn figure(value: f64) -> String {
    format!("{value:.*}", places(value))
}
