//! Tables of how a run ended: flows, paths, links.

use serde_json::Value;

use crate::data::page::html::{TableCell, figure, marked, plain, table};
use crate::data::page::svg::escape;

pub(super) fn flow_table(outcome: &Value) -> String {
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

pub(super) fn path_table(outcome: &Value) -> String {
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

pub(super) fn link_table(outcome: &Value) -> String {
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

fn rows<'a>(outcome: &'a Value, name: &str) -> &'a [Value] {
    outcome[name].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn rate(value: &Value) -> String {
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
