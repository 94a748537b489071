//! How packets were delayed: one way, and until their data was delivered.

use std::fmt::Write as _;

use super::{DIRECTIONS, line, link_colours};
use crate::data::page::chart::{Chart, Line, Scale};
use crate::data::page::html::{TableCell, figure, legend, plain, table};
use crate::data::sim_report::delays::{DelayRow, Delays};
use crate::data::sim_report::run_data::RunReport;

pub(super) fn delays(report: &RunReport) -> String {
    if report.delays.is_empty() {
        return String::new();
    }
    let names = link_colours(report);
    let mut html = "<h2>Delay of packets</h2>\n".to_owned();
    html.push_str(
        "<p class=\"soft\">One way: from end to end, of packets that arrived. To delivery: until the data that a packet was the \
         first to carry had been read in order, whatever became of the packet itself. Packets that carried nothing for the \
         first time have no such delay. Charts of one direction have the same scale.</p>\n",
    );
    html.push_str(&legend(names.iter().copied().enumerate()));
    for (direction, title) in DIRECTIONS {
        let rows: Vec<&DelayRow> = report.delays.iter().filter(|row| row.direction == direction).collect();
        let _ =
            writeln!(html, "<h3>{title}</h3>\n<div class=\"charts\">{}</div>", delay_charts(&rows, &names));
    }
    let rows: Vec<_> = report.delays.iter().flat_map(delay_rows).collect();
    let columns = ["Link", "Delay", "Packets", "Dropped", "p50", "p95", "p99", "Largest"];
    html + "<h3>By link</h3>\n" + &table(&columns, &rows, 2, "delays")
}

/// Both delays of packets in one direction, side by side.
fn delay_charts(rows: &[&DelayRow], names: &[&str]) -> String {
    let lines = |delays: &dyn Fn(&DelayRow) -> Option<&Delays>| {
        let line_of = |row: &&DelayRow| {
            let colour = names.iter().position(|name| *name == row.link).unwrap_or(0);
            Some(line(&row.link, colour, delays(row)?.cumulative.clone(), true))
        };
        rows.iter().filter_map(line_of).collect::<Vec<Line>>()
    };
    let one_way = lines(&|row| (row.arrived > 0).then_some(&row.one_way));
    let to_delivery = lines(&|row| row.to_delivery.as_ref());
    let both = one_way.iter().chain(&to_delivery);
    let mut all: Vec<f64> = both.flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    all.sort_unstable_by(f64::total_cmp);
    let x = Scale::around(&all);
    let kinds = [
        ("One way", "from end to end (ms", "no packet arrived", one_way),
        ("To delivery", "from sending to delivery in order (ms", "no data was delivered", to_delivery),
    ];
    let chart = |(title, label, nothing, lines): (&str, &str, &str, Vec<Line>)| {
        if lines.is_empty() {
            return format!("<div><h4>{title}</h4><p class=\"soft\">{nothing}</p></div>");
        }
        let logarithmic = if matches!(x, Scale::Log(..)) { ", logarithmic" } else { "" };
        let chart = Chart {
            title,
            x_label: &format!("{label}{logarithmic})"),
            y_label: "share of packets",
            x,
            y: Scale::Linear(0.0, 1.0),
            width: 560.0,
            height: 250.0,
            lines,
            shades: Vec::new(),
        };
        format!("<div><h4>{title}</h4>{}</div>", chart.svg())
    };
    kinds.map(chart).concat()
}

/// The rows of a direction of a link: one way, and to delivery if there was any.
fn delay_rows(row: &DelayRow) -> Vec<Vec<TableCell>> {
    let ms = |value: f64| plain(&format!("{} ms", figure(value)));
    let times = |delays: &Delays| [delays.p50_ms, delays.p95_ms, delays.p99_ms, delays.max_ms].map(ms);
    let span = if row.to_delivery.is_some() { 2 } else { 1 };
    let link = plain(&format!("{} {}", row.link, row.direction));
    let mut one_way = vec![
        TableCell { span, ..link.clone() },
        plain("One way"),
        plain(&row.arrived.to_string()),
        plain(&row.dropped.to_string()),
    ];
    one_way.extend(times(&row.one_way));
    let to_delivery = row.to_delivery.as_ref().map(|delays| {
        let mut cells = vec![
            TableCell { span: 0, ..link },
            plain("To delivery"),
            plain(&row.delivered.to_string()),
            plain(""),
        ];
        cells.extend(times(delays));
        cells
    });
    std::iter::once(one_way).chain(to_delivery).collect()
}
