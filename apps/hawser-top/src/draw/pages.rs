//! Lines that only some programs have, the keys, and what policies say of themselves.

use std::collections::BTreeMap;

use hawser_status::model::{Figure, Path, UserLink};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use crate::keys::KEYS;
use crate::text::{bytes, rate};
use crate::view::View;

/// Paths whose controllers are shown.
const MAX_PATHS: usize = 16;

/// Live streams, classes of flows and users.
pub(super) fn extra_lines(view: &View) -> Vec<Line<'static>> {
    let Some(status) = &view.status else { return Vec::new() };
    let mut lines = Vec::new();
    for stream in &status.streams {
        let delay = stream.delay_ms.map(|delay| format!(", delay {delay:.0} ms")).unwrap_or_default();
        lines.push(format!(
            "{}: {} frames, {} with gaps, {} missing, {} skipped, {} players{delay}",
            stream.role, stream.frames, stream.padded_frames, stream.missing, stream.skipped, stream.players
        ));
    }
    for class in &status.classes {
        let (out, back) = (bytes(class.bytes_sent), bytes(class.bytes_received));
        lines.push(format!(
            "class {:<12} {:>5} flows  {out:>6}B out {back:>6}B in  {} queued  {} dropped",
            class.name, class.flows, class.queued, class.dropped
        ));
    }
    for user in &status.users {
        let (out, back) = (rate(user.rate_sent_bps), rate(user.rate_received_bps));
        let links: Vec<String> = user.links.iter().map(user_link).collect();
        lines.push(format!(
            "user {:<12} {:>4} of {} tunnels  {out:>6} out {back:>6} in  {}",
            user.name,
            user.tunnels,
            user.most_tunnels,
            links.join("  ")
        ));
    }
    lines.into_iter().map(Line::from).collect()
}

/// A link of a user: a silent one is seen.
fn user_link(link: &UserLink) -> String {
    let state =
        if link.silent { "SILENT".to_owned() } else { rate(link.rate_sent_bps + link.rate_received_bps) };
    format!("{} {state}", link.name)
}

pub(super) fn help() -> Vec<Line<'static>> {
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled("keys", bold)];
    lines.extend(KEYS.iter().map(|(key, what)| Line::from(format!("  {key:<9} {what}"))));
    lines.push(Line::from(""));
    lines.push(Line::from("  SILENT: data is outstanding and nothing is acknowledged; others carry it"));
    lines.push(Line::from("  waits for: why its sender stopped; `data` is a program with nothing to send"));
    lines
}

/// What the busiest connection's policies say.
pub(super) fn policies(view: &View) -> Vec<Line<'static>> {
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let busiest = view.status.as_ref().and_then(|status| status.connections.first());
    let Some(connection) = busiest else { return vec![Line::from("no connection")] };
    let title = format!("connection {} with {}", connection.id, connection.remote);
    let mut lines = vec![Line::styled(title, bold)];
    lines.push(Line::from(format!(
        "  scheduler {}  {}",
        connection.scheduler,
        figures(&connection.scheduler_figures)
    )));
    let data = &connection.data;
    lines.push(Line::from(format!(
        "  stream data {}B, sent again {}B, copied {}B (needless {}B), discarded {}B",
        bytes(data.sent),
        bytes(data.retransmitted),
        bytes(data.copied),
        bytes(data.copied_needlessly),
        bytes(data.discarded)
    )));
    for path in connection.paths.iter().take(MAX_PATHS) {
        lines.push(Line::styled(format!("path {} over {}", path.id, path.name), bold));
        lines.push(Line::from(path_line(path)));
        lines.push(Line::from(format!("  controller {}  {}", path.controller, figures(&path.figures))));
    }
    lines
}

fn path_line(path: &Path) -> String {
    let reorders = if path.reordering_packets.is_none() { ", reorders" } else { "" };
    let one_way = path.one_way_ms.map(|delay| format!(", one way {delay:.1} ms")).unwrap_or_default();
    format!(
        "  window {}B, in flight {}B, queue {:.0} ms, lost {} (spurious {}){reorders}, MTU {}{one_way}",
        bytes(path.window_bytes),
        bytes(path.in_flight_bytes),
        path.queue_ms,
        path.packets_lost,
        path.packets_spuriously_lost,
        path.mtu
    )
}

fn figures(figures: &BTreeMap<String, Figure>) -> String {
    let show = |(name, figure): (&String, &Figure)| match figure {
        Figure::Number(number) if number.abs() >= 100.0 => format!("{name} {number:.0}"),
        Figure::Number(number) => format!("{name} {number:.2}"),
        Figure::Word(word) => format!("{name} {word}"),
    };
    figures.iter().map(show).collect::<Vec<_>>().join(", ")
}
