//! The page of a single run.

use std::fmt::Write as _;

use serde_json::Value;

use super::chart::{Chart, Line, Scale, Shade};
use super::delays::{DelayRow, Delays};
use super::html::{self, TableCell, facts, figure, legend, marked, plain, table};
use super::run_data::{LinkCourse, PathCourse, RunReport};
use crate::report::svg::{escape, nice_step};

/// Points of a line: about as many as a screen has columns.
const MOST_POINTS: f64 = 450.0;
/// Flows whose paths are shown open.
const OPEN_FLOWS: usize = 2;

/// The whole page.
pub(super) fn page(report: &RunReport) -> String {
    let name = report.outcome["scenario"].as_str().unwrap_or("run");
    let sections = [headline(report, name), goodput(report), paths(report), links(report), delays(report)];
    html::page(&format!("Run of {name}"), &sections)
}

fn headline(report: &RunReport, name: &str) -> String {
    let outcome = &report.outcome;
    let end = match outcome["end"].as_str() {
        Some("finished") => "all flows had done their work",
        Some("duration") => "the duration was over",
        Some("quiet") => "nothing was left to happen",
        Some("events") => "given up: the bound on events was reached",
        _ => "",
    };
    let mut html = format!("<h1>{}</h1>\n", escape(name));
    html.push_str(&facts(&[
        ("Simulated", format!("{:.3} s; {end}", report.end)),
        ("Goodput of all flows", rate(&outcome["goodput_bps"])),
        ("Seed", outcome["seed"].to_string()),
        ("Packets, events", format!("{}, {}", outcome["packets"], outcome["events"])),
        ("Trace hash", text(&outcome["trace_hash"])),
    ]));
    html.push_str(&flow_table(outcome));
    html.push_str(&path_table(outcome));
    html.push_str(&link_table(outcome));
    if report.is_cut {
        html.push_str(
            "<p class=\"soft\">Only the first 16 flows, paths and directions of links are drawn.</p>\n",
        );
    }
    html
}

fn rows<'a>(outcome: &'a Value, name: &str) -> &'a [Value] {
    outcome[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

fn rate(value: &Value) -> String {
    let slow = value.as_f64().is_some_and(|rate| rate > 0.0 && rate < 1e6);
    if slow { amount(value, 1e3, "kbit/s") } else { amount(value, 1e6, "Mbit/s") }
}

/// A number in a unit.
fn amount(value: &Value, one: f64, unit: &str) -> String {
    value.as_f64().map_or("–".to_owned(), |value| format!("{} {unit}", figure(value / one)))
}

fn delay(of: &Value, which: &str) -> String {
    if of["count"].as_u64().unwrap_or(0) == 0 { "–".to_owned() } else { amount(&of[which], 1.0, "ms") }
}

fn flow_table(outcome: &Value) -> String {
    let row = |flow: &Value| -> Vec<TableCell> {
        let end = match (&flow["error"], flow["intact"].as_bool()) {
            (_, Some(false)) => marked("wrong bytes", "bad"),
            (Value::String(error), _) => marked(escape(error), "bad"),
            _ => plain("intact"),
        };
        let policy = format!("{} {}", text(&flow["scheduler"]), text(&flow["controller"]));
        vec![
            plain(&text(&flow["flow"])),
            plain(&format!("{} {}", text(&flow["kind"]), text(&flow["direction"]))),
            plain(policy.trim()),
            marked(rate(&flow["goodput_bps"]), "strong"),
            plain(&amount(&flow["bytes"], 1e6, "MB")),
            plain(&amount(&flow["connect_seconds"], 1e-3, "ms")),
            plain(&amount(&flow["completion_seconds"], 1.0, "s")),
            plain(&delay(&flow["delay"], "p50_ms")),
            plain(&delay(&flow["delay"], "p99_ms")),
            plain(&amount(&flow["longest_gap_ms"], 1.0, "ms")),
            end,
        ]
    };
    let rows: Vec<_> = rows(outcome, "flows").iter().map(row).collect();
    let columns = [
        "Flow",
        "Kind",
        "Scheduler, controller",
        "Goodput",
        "Received",
        "Connected after",
        "Completed after",
        "p50 delay",
        "p99 delay",
        "Longest gap",
        "Data",
    ];
    format!("<h3>Flows</h3>\n{}", table(&columns, &rows, 3, "flows"))
}

fn path_table(outcome: &Value) -> String {
    let row = |path: &Value| -> Vec<TableCell> {
        let share = path["share"].as_f64().unwrap_or(0.0) * 100.0;
        vec![
            plain(&text(&path["flow"])),
            plain(&format!("{} (path {})", text(&path["link"]), path["path"])),
            marked(format!("{share:.1} %"), "strong"),
            plain(&amount(&path["bytes_sent"], 1e6, "MB")),
            plain(&text(&path["packets_sent"])),
            plain(&text(&path["packets_lost"])),
            plain(&text(&path["packets_spuriously_lost"])),
            plain(&amount(&path["smoothed_rtt_ms"], 1.0, "ms")),
            plain(&amount(&path["min_rtt_ms"], 1.0, "ms")),
            plain(&amount(&path["congestion_window"], 1e3, "kB")),
            plain(&text(&path["probe_timeouts"])),
            plain(&text(&path["times_suspect"])),
        ]
    };
    let rows: Vec<_> = rows(outcome, "paths").iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        "Flow",
        "Path",
        "Share",
        "Sent",
        "Packets",
        "Lost",
        "Spuriously",
        "RTT at the end",
        "Least RTT",
        "Window at the end",
        "Probe timeouts",
        "Fell silent",
    ];
    format!("<h3>Paths, at their sending end</h3>\n{}", table(&columns, &rows, 2, "paths"))
}

fn link_table(outcome: &Value) -> String {
    let row = |link: &Value| -> Vec<TableCell> {
        let used =
            link["utilisation"].as_f64().map_or("–".to_owned(), |used| format!("{:.1} %", used * 100.0));
        let mut row = vec![
            plain(&format!("{} {}", text(&link["link"]), text(&link["direction"]))),
            plain(&rate(&link["capacity_bps"])),
            marked(used, "strong"),
            plain(&amount(&link["mean_queue_ms"], 1.0, "ms")),
            plain(&delay(&link["one_way_delay"], "p50_ms")),
            plain(&delay(&link["one_way_delay"], "p99_ms")),
        ];
        let counters = [
            "delivered_packets",
            "dropped_queue",
            "dropped_aqm",
            "dropped_loss",
            "dropped_down",
            "dropped_mtu",
        ];
        row.extend(counters.map(|name| plain(&text(&link[name]))));
        row
    };
    let rows: Vec<_> = rows(outcome, "links").iter().map(row).collect();
    let columns = [
        "Link",
        "Mean rate",
        "Used",
        "Mean queue",
        "p50 delay",
        "p99 delay",
        "Packets",
        "Queue full",
        "AQM",
        "Lost",
        "Down",
        "Too large",
    ];
    format!("<h3>Links</h3>\n{}", table(&columns, &rows, 1, "directions of links"))
}

/// What a chart over time shows.
struct TimeChart<'a> {
    title: &'a str,
    unit: &'a str,
    lines: Vec<Line>,
    shades: Vec<Shade>,
}

fn over_time(report: &RunReport, chart: TimeChart<'_>, width: f64, height: f64) -> String {
    let y = Scale::from_zero(chart.lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)));
    let drawing = Chart {
        title: chart.title,
        x_label: "seconds",
        y_label: chart.unit,
        x: Scale::Linear(0.0, report.end.max(1e-3)),
        y,
        width,
        height,
        lines: chart.lines,
        shades: chart.shades,
    };
    format!("<div><h4>{}</h4>{}</div>", escape(chart.title), drawing.svg())
}

/// How much a counter grew per second, in steps as fine as can be seen.
fn growth(samples: impl Iterator<Item = (f64, f64)>, end: f64, scale: f64) -> Vec<(f64, f64)> {
    per_step(samples, end, |grown, seconds| grown * scale / seconds)
}

/// The least length of a step.
fn step_of(end: f64) -> f64 {
    nice_step(end / MOST_POINTS)
}

/// A step in words: what can be seen, or the time between samples.
fn step_name(report: &RunReport) -> String {
    let first = report.links.first().map_or(&[][..], |link| &link.course.samples);
    let interval = first.windows(2).next().map_or(0.0, |pair| pair[1].0 - pair[0].0);
    let step = step_of(report.end).max((interval * 1e6).round() / 1e6);
    format!("in {step} s")
}

/// How much a counter grew in each step.
fn per_step(
    samples: impl Iterator<Item = (f64, f64)>,
    end: f64,
    value: impl Fn(f64, f64) -> f64,
) -> Vec<(f64, f64)> {
    let step = step_of(end);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (time, count) in samples {
        let Some((since, at_first)) = before else {
            before = Some((time, count));
            continue;
        };
        // A step too short would make a large rate of a small difference.
        if time - since >= step * 0.999 {
            points.push((since, value(count - at_first, time - since)));
            before = Some((time, count));
        }
    }
    if let (Some((_, last)), Some((until, _))) = (points.last().copied(), before) {
        points.push((until, last));
    }
    points
}

/// A quantity at each moment, thinned to what can be seen with its extremes kept.
fn state(samples: impl Iterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let samples: Vec<(f64, f64)> = samples.collect();
    if samples.len() as f64 <= 2.0 * MOST_POINTS {
        return samples;
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    let bucket = |time: f64| (time / end.max(1e-9) * MOST_POINTS) as u64;
    for group in samples.chunk_by(|a, b| bucket(a.0) == bucket(b.0)) {
        let least = group.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = group.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(least), Some(most)) = (least, most) else { continue };
        points.extend(if least.0 <= most.0 { [least, most] } else { [most, least] });
    }
    points
}

fn line(name: &str, colour: usize, points: Vec<(f64, f64)>, steps: bool) -> Line {
    Line { name: name.to_owned(), colour, points, dashed: false, steps }
}

/// A flow with less than this share of the largest rate has a chart of its own kind: it could not be seen.
const SMALL: f64 = 0.05;

fn goodput(report: &RunReport) -> String {
    if report.flows.is_empty() {
        return String::new();
    }
    let lines = report.flows.iter().enumerate().map(|(index, flow)| {
        let samples = flow.samples.iter().map(|(time, [bytes])| (*time, *bytes));
        line(&flow.name, index, growth(samples, report.end, 8e-6), true)
    });
    let highest = |line: &Line| line.points.iter().map(|point| point.1).fold(0.0, f64::max);
    let lines: Vec<Line> = lines.collect();
    let most = lines.iter().map(highest).fold(0.0, f64::max);
    let (small, large): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| highest(line) < SMALL * most);
    let mut html = "<h2>Flows over time</h2>\n".to_owned();
    html.push_str(&legend(report.flows.iter().enumerate().map(|(index, flow)| (index, flow.name.as_str()))));
    for (title, lines) in [("Goodput", large), ("Goodput of the small flows", small)] {
        if !lines.is_empty() {
            let chart = TimeChart { title, unit: "Mbit/s", lines, shades: Vec::new() };
            html.push_str(&over_time(
                report,
                chart,
                1120.0,
                if html.contains("<svg") { 180.0 } else { 260.0 },
            ));
        }
    }
    html
}

/// A colour for each link, the same in all charts.
fn link_colours(report: &RunReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let of_links = report.links.iter().map(|link| link.link.as_str());
    for name in of_links.chain(report.paths.iter().map(|path| path.link.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn paths(report: &RunReport) -> String {
    let names = link_colours(report);
    let colour = |link: &str| names.iter().position(|name| *name == link).unwrap_or(0);
    let mut flows: Vec<&str> = Vec::new();
    for path in &report.paths {
        if !flows.contains(&path.flow.as_str()) {
            flows.push(&path.flow);
        }
    }
    let mut html = String::new();
    for (index, flow) in flows.iter().enumerate() {
        let paths: Vec<&PathCourse> = report.paths.iter().filter(|path| path.flow == *flow).collect();
        let body = path_charts(report, &paths, &colour);
        let name = escape(flow);
        let _ = match index < OPEN_FLOWS {
            true => writeln!(html, "<h3>Flow {name}</h3>\n{body}"),
            false => writeln!(html, "<details><summary>Flow {name}</summary>\n{body}</details>"),
        };
    }
    if html.is_empty() {
        return html;
    }
    let used =
        names.iter().enumerate().filter(|(_, name)| report.paths.iter().any(|path| path.link == **name));
    let names = legend(used.map(|(index, name)| (index, *name)));
    format!("<h2>Paths over time, at their sending end</h2>\n{names}{html}")
}

fn path_charts(report: &RunReport, paths: &[&PathCourse], colour: &dyn Fn(&str) -> usize) -> String {
    let series = |which: usize, scale: f64| {
        let state_of = move |path: &&PathCourse| {
            let samples = path.course.samples.iter().map(|(time, values)| (*time, values[which] * scale));
            line(&path.course.name, colour(&path.link), state(samples, report.end), false)
        };
        paths.iter().map(state_of).collect::<Vec<Line>>()
    };
    let acked = |path: &&PathCourse| {
        let samples = path.course.samples.iter().map(|(time, values)| (*time, values[4]));
        line(&path.course.name, colour(&path.link), growth(samples, report.end, 8e-6), true)
    };
    let lost = |path: &&PathCourse| {
        let samples = path.course.samples.iter().map(|(time, values)| (*time, values[5]));
        line(&path.course.name, colour(&path.link), per_step(samples, report.end, |lost, _| lost), true)
    };
    let dashed = |mut lines: Vec<Line>, what: &str| {
        for line in &mut lines {
            line.dashed = true;
            let _ = write!(line.name, ": {what}");
        }
        lines
    };
    let with = |mut lines: Vec<Line>, more: Vec<Line>| {
        lines.extend(more);
        lines
    };
    let losses = format!("packets {}", step_name(report));
    let charts = [
        ("Bytes acknowledged", "Mbit/s", paths.iter().map(acked).collect()),
        (
            "Congestion window; dashed: bytes in flight",
            "kB",
            with(series(0, 1e-3), dashed(series(1, 1e-3), "in flight")),
        ),
        ("Smoothed RTT; dashed: least RTT", "ms", with(series(2, 1.0), dashed(series(3, 1.0), "least"))),
        ("Packets declared lost", losses.as_str(), paths.iter().map(lost).collect()),
    ];
    let charts = charts.map(|(title, unit, lines)| {
        over_time(report, TimeChart { title, unit, lines, shades: Vec::new() }, 560.0, 230.0)
    });
    format!("<div class=\"charts\">{}</div>\n", charts.concat())
}

fn links(report: &RunReport) -> String {
    if report.links.is_empty() {
        return String::new();
    }
    let names = link_colours(report);
    let mut html = "<h2>Links over time</h2>\n".to_owned();
    html.push_str(&legend(names.iter().copied().enumerate()));
    for (direction, title) in DIRECTIONS {
        let links: Vec<&LinkCourse> =
            report.links.iter().filter(|link| link.direction == direction).collect();
        let _ = writeln!(
            html,
            "<h3>{title}</h3>\n<div class=\"charts\">{}</div>",
            link_charts(report, &links, &names)
        );
    }
    if report.links.iter().any(|link| !link.down.is_empty()) {
        html.push_str("<p class=\"soft\">Shaded in the colour of a link: it is down.</p>\n");
    }
    html
}

fn link_charts(report: &RunReport, links: &[&LinkCourse], names: &[&str]) -> String {
    let colour = |link: &LinkCourse| names.iter().position(|name| *name == link.link).unwrap_or(0);
    let lines = |points: &dyn Fn(&LinkCourse) -> Vec<(f64, f64)>, steps: bool| {
        links
            .iter()
            .map(|link| line(&link.course.name, colour(link), points(link), steps))
            .collect::<Vec<Line>>()
    };
    let shades: Vec<Shade> = links
        .iter()
        .flat_map(|link| {
            let (colour, what) = (colour(link), format!("{} is down", link.link));
            link.down.iter().map(move |(from, to)| Shade { from: *from, to: *to, colour, what: what.clone() })
        })
        .collect();
    let delivered = |link: &LinkCourse| {
        growth(link.course.samples.iter().map(|(time, values)| (*time, values[1])), report.end, 8e-6)
    };
    let queued = |link: &LinkCourse| {
        state(link.course.samples.iter().map(|(time, values)| (*time, values[0] / 1e3)), report.end)
    };
    let dropped = |link: &LinkCourse| {
        per_step(
            link.course.samples.iter().map(|(time, values)| (*time, values[2])),
            report.end,
            |count, _| count,
        )
    };
    let losses = format!("packets {}", step_name(report));
    let charts = [
        ("Delivered", "Mbit/s", lines(&delivered, true)),
        ("Waiting in the queue", "kB", lines(&queued, false)),
        ("Dropped for any reason", losses.as_str(), lines(&dropped, true)),
    ];
    let chart = |(title, unit, lines)| {
        over_time(report, TimeChart { title, unit, lines, shades: shades.clone() }, 560.0, 230.0)
    };
    charts.map(chart).concat()
}

/// Directions as they are shown.
const DIRECTIONS: [(&str, &str); 2] = [("down", "Down: to the client"), ("up", "Up: from the client")];

fn delays(report: &RunReport) -> String {
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
