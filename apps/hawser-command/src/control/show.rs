//! The status and events in words.

use std::fmt::Write as _;
use std::time::Duration;

use hawser_status::model::{
    Connection, ConnectionState, Event, LimitedBy, Link, LinkUsage, Path, PathState, Status, User,
};

use crate::units;

/// Connections that are shown with their paths; of more, the busiest.
const MAX_SHOWN: usize = 16;

/// The status for a person.
pub(super) fn status(status: &Status) -> String {
    let mut text = String::new();
    let program = &status.program;
    let draining = if status.draining { ", stopping" } else { "" };
    let _ = writeln!(
        text,
        "hawser {} (process {}, version {}), up {}{draining}",
        program.command,
        program.pid,
        program.version,
        units::clock(Duration::from_millis(status.uptime_ms))
    );
    let totals = &status.totals;
    let _ = writeln!(
        text,
        "{} ({} ever), sending {}, receiving {}",
        units::count(totals.connections, "connection"),
        totals.connections_ever,
        units::bit_rate(totals.rate_sent_bps),
        units::bit_rate(totals.rate_received_bps)
    );
    if let Some(page) = &status.page {
        let _ = writeln!(text, "page {page}");
    }
    if !status.links.is_empty() {
        text.push_str("\nLinks\n");
        status.links.iter().for_each(|link| text.push_str(&link_line(link)));
    }
    for stream in &status.streams {
        let delay = stream.delay_ms.map(|delay| format!(", delay {delay:.0} ms")).unwrap_or_default();
        let _ = writeln!(
            text,
            "\n{}: {} frames, {} padded, {} missing, {} skipped, {} players{delay}",
            stream.role, stream.frames, stream.padded_frames, stream.missing, stream.skipped, stream.players
        );
    }
    if !status.users.is_empty() {
        text.push_str("\nUsers\n");
        for user in &status.users {
            text.push_str(&user_lines(user));
        }
    }
    if !status.classes.is_empty() {
        text.push_str("\nClasses\n");
        for class in &status.classes {
            let _ = writeln!(
                text,
                "  {:<20} {:>5} flows  {:>10} sent  {:>10} received  {} waiting  {} dropped",
                class.name,
                class.flows,
                units::bytes(class.bytes_sent),
                units::bytes(class.bytes_received),
                class.queued,
                class.dropped
            );
        }
    }
    status.connections.iter().take(MAX_SHOWN).for_each(|shown| text.push_str(&connection(shown)));
    let hidden = status.connections.len().saturating_sub(MAX_SHOWN) as u64 + status.connections_left_out;
    if hidden > 0 {
        let _ = writeln!(text, "\nand {hidden} more connections (--json lists up to 256)");
    }
    text
}

/// A user of a gateway, and each link.
fn user_lines(user: &User) -> String {
    let mut text = format!(
        "  {:<20} {:>5} tunnels  {:>12} out {:>12} in  {}\n",
        user.name,
        user.tunnels,
        units::bit_rate(user.rate_sent_bps),
        units::bit_rate(user.rate_received_bps),
        user.connections.join(", ")
    );
    for link in &user.links {
        let silent = if link.silent { "  SILENT" } else { "" };
        let _ = writeln!(
            text,
            "    {:<18} {:>12} out {:>12} in {:>5.0} ms {:>6.2} % lost{silent}",
            link.name,
            units::bit_rate(link.rate_sent_bps),
            units::bit_rate(link.rate_received_bps),
            link.smoothed_rtt_ms,
            link.loss * 100.0
        );
    }
    text
}

fn link_line(link: &Link) -> String {
    let usage = match (link.usage, link.up) {
        (LinkUsage::Paused, _) => "paused",
        (_, false) => "down",
        (LinkUsage::Backup, true) => "backup",
        (LinkUsage::Available, true) => "up",
    };
    let mut text = format!(
        "  {:<15} {:<7} {:>12} out {:>12} in  {:>10} out {:>10} in",
        link.name,
        usage,
        units::bit_rate(link.rate_sent_bps),
        units::bit_rate(link.rate_received_bps),
        units::bytes(link.bytes_sent),
        units::bytes(link.bytes_received)
    );
    if let Some(radio) = &link.radio {
        let signal = radio.strength_dbm.map(|dbm| format!("  {dbm:.0} dBm")).unwrap_or_default();
        let served = radio.attached_to.as_ref().map(|point| format!("  {point}")).unwrap_or_default();
        let _ = write!(text, "{signal}{served}");
        if let Some(next) = &radio.handover {
            let _ = write!(text, "  handover in {:.1} s", next.in_ms / 1e3);
        }
    }
    if let Some(budget) = &link.budget {
        let rest = if budget.resting { ", rests" } else { "" };
        let _ = write!(
            text,
            "  {} of {} used{rest}",
            units::bytes(budget.used_bytes),
            units::bytes(budget.cap_bytes)
        );
    }
    text.push('\n');
    text
}

fn connection(connection: &Connection) -> String {
    let state = match connection.state {
        ConnectionState::Handshaking => ", connecting",
        ConnectionState::Open => "",
        ConnectionState::Closing => ", closing",
    };
    let user = connection.user.as_ref().map(|user| format!(", user {user}")).unwrap_or_default();
    let mut text = format!(
        "\nConnection {} with {}{user}{state}: scheduler {}, sending {}, receiving {}",
        connection.id,
        connection.remote,
        connection.scheduler,
        units::bit_rate(connection.rate_sent_bps),
        units::bit_rate(connection.rate_received_bps)
    );
    let share = |part: u64| 100.0 * part as f64 / connection.data.sent.max(1) as f64;
    for (part, what) in [
        (connection.data.retransmitted, "sent again"),
        (connection.data.copied, "copied"),
        (connection.data.discarded, "discarded"),
    ] {
        if part > 0 {
            let _ = write!(text, ", {:.1} % {what}", share(part));
        }
    }
    text.push('\n');
    if !connection.paths.is_empty() {
        text.push_str(
            "  path            state           out           in      RTT  least  loss %   window  in flight  waits for\n",
        );
    }
    connection.paths.iter().for_each(|path| text.push_str(&path_line(path)));
    text
}

fn path_line(path: &Path) -> String {
    let state = match (path.state, path.backup) {
        _ if path.is_silent() => "SILENT",
        (PathState::Validating | PathState::Suspect, _) => "opening",
        (PathState::Active, true) => "backup",
        (PathState::Active, false) => "active",
    };
    format!(
        "  {:<15} {:<7} {:>12} {:>12} {:>5.0} ms {:>3.0} ms {:>6.2} {:>8} {:>9}  {}\n",
        path.name,
        state,
        units::bit_rate(path.rate_sent_bps),
        units::bit_rate(path.rate_received_bps),
        path.smoothed_rtt_ms,
        path.min_rtt_ms,
        path.loss * 100.0,
        units::bytes(path.window_bytes),
        units::bytes(path.in_flight_bytes),
        waits_for(path.limited_by)
    )
}

/// Why the sender stopped, in words.
/// Says in words what holds a connection back.
pub(crate) fn waits_for(limited: LimitedBy) -> &'static str {
    match limited {
        LimitedBy::Nothing => "nothing",
        LimitedBy::Application => "data",
        LimitedBy::Scheduler => "its turn",
        LimitedBy::FlowControl => "the reader",
        LimitedBy::CongestionWindow => "window",
        LimitedBy::Pacing => "pacing",
        LimitedBy::Amplification => "validation",
    }
}

/// An event in a line: the time of day (UTC), and what happened.
pub(super) fn event(event: &Event) -> String {
    let seconds = event.at_unix_ms / 1_000 % 86_400;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let connection = event.connection.as_ref().map(|id| format!("  [{id}]")).unwrap_or_default();
    format!("{hours:02}:{minutes:02}:{rest:02}.{:03}Z  {}{connection}", event.at_unix_ms % 1_000, event.text)
}

#[cfg(test)]
mod tests {
    use hawser_status::model::EventKind;

    use super::*;

    #[test]
    fn a_silent_path_is_seen_in_the_status() {
        let path = |name: &str, state| Path { name: name.to_owned(), state, ..Path::default() };
        let connection = Connection {
            id: "1.1".to_owned(),
            remote: "192.0.2.1:4433".to_owned(),
            paths: vec![path("wlan0", PathState::Active), path("wwan0", PathState::Suspect)],
            ..Connection::default()
        };
        let link = Link { name: "usb0".to_owned(), usage: LinkUsage::Paused, ..Link::default() };
        let status = Status { connections: vec![connection], links: vec![link], ..Status::default() };
        let text = super::status(&status);
        assert!(text.contains("  wwan0           SILENT"), "{text}");
        assert!(text.contains("  usb0            paused"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    }

    #[test]
    fn events_begin_with_the_time_of_day() {
        let event = Event {
            seq: 1,
            at_unix_ms: 3_723_004,
            kind: EventKind::PathSuspect,
            connection: Some("1.1".to_owned()),
            path: Some(1),
            name: None,
            text: "wlan0 fell silent".to_owned(),
        };
        assert_eq!(super::event(&event), "01:02:03.004Z  wlan0 fell silent  [1.1]");
    }
}
