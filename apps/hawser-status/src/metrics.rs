//! OpenMetrics text of a status.
//!
//! Series are bounded by what the program's owner decides: links of this machine, users of the file, classes, roles. What a peer
//! says or is called is no label, so that strangers cannot create series.

mod applications;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::classic;
use crate::model::{LimitedBy, Link, LinkUsage, Path, PathState, Status};

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The most series of one name.
const MAX_SERIES: usize = 1_024;

/// The labels of a series.
type Labels = Vec<(&'static str, String)>;

/// The status as metrics.
///
/// # Errors
/// None in practice: a string takes everything.
pub fn text(status: Arc<Status>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("hawser");
    registry.register_collector(Box::new(Snapshot(status)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// The same in the older text format, for node_exporter's textfile collector and for servers that do not ask for OpenMetrics.
///
/// # Errors
/// None in practice: a string takes everything.
pub fn classic_text(status: Arc<Status>) -> Result<String, fmt::Error> {
    Ok(classic::of(&text(status)?))
}

#[derive(Debug)]
struct Snapshot(Arc<Status>);

/// One metric: its name, what it is, its unit, its series.
struct Family<'a, V> {
    name: &'a str,
    help: &'a str,
    unit: Option<Unit>,
    series: Vec<(Labels, V)>,
}

fn counter(encoder: &mut DescriptorEncoder<'_>, family: Family<'_, u64>) -> fmt::Result {
    let Family { name, help, unit, series } = family;
    if series.is_empty() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
    for (labels, value) in series.into_iter().take(MAX_SERIES) {
        ConstCounter::new(value).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, family: Family<'_, f64>) -> fmt::Result {
    let Family { name, help, unit, series } = family;
    if series.is_empty() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
    for (labels, value) in series.into_iter().take(MAX_SERIES) {
        ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

/// One series without labels.
fn single<V>(value: V) -> Vec<(Labels, V)> {
    vec![(Labels::new(), value)]
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = &*self.0;
        program(&mut encoder, status)?;
        totals(&mut encoder, status)?;
        link_counters(&mut encoder, status)?;
        link_gauges(&mut encoder, status)?;
        radio(&mut encoder, status)?;
        applications::encode(&mut encoder, status)
    }
}

fn program(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let labels: Labels =
        vec![("version", status.program.version.clone()), ("command", status.program.command.clone())];
    let help = "The program that runs";
    gauge(encoder, Family { name: "program", help, unit: None, series: vec![(labels, 1.0)] })?;
    let series = single(status.uptime_ms as f64 / 1e3);
    gauge(
        encoder,
        Family { name: "uptime", help: "How long it has been running", unit: Some(Unit::Seconds), series },
    )?;
    let series = single(f64::from(u8::from(status.draining)));
    gauge(encoder, Family { name: "draining", help: "Whether it stops", unit: None, series })
}

fn totals(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let totals = &status.totals;
    let series = single(totals.connections as f64);
    gauge(encoder, Family { name: "connections", help: "Connections that exist", unit: None, series })?;
    let counters = [
        ("connections_opened", "Connections that it ever had", None, totals.connections_ever),
        ("sent", "Sent by all connections, UDP payload", Some(Unit::Bytes), totals.bytes_sent),
        ("received", "Received by all connections, UDP payload", Some(Unit::Bytes), totals.bytes_received),
        ("packets_sent", "Packets sent", None, totals.packets_sent),
        ("packets_lost", "Packets declared lost", None, totals.packets_lost),
        (
            "packets_spuriously_lost",
            "Packets declared lost and acknowledged later",
            None,
            totals.packets_spuriously_lost,
        ),
        ("path_silences", "Times that paths fell silent with data outstanding", None, totals.times_suspect),
        ("stream_sent", "Of streams, sent for the first time", Some(Unit::Bytes), totals.stream_bytes_sent),
        (
            "stream_retransmitted",
            "Of streams, sent again",
            Some(Unit::Bytes),
            totals.stream_bytes_retransmitted,
        ),
        (
            "stream_copied",
            "Of streams, sent as copies on another path",
            Some(Unit::Bytes),
            totals.stream_bytes_copied,
        ),
        ("repair_symbols_sent", "Repair symbols sent", None, totals.repair_symbols_sent),
    ];
    for (name, help, unit, value) in counters {
        counter(encoder, Family { name, help, unit, series: single(value) })?;
    }
    let paths = || status.connections.iter().flat_map(|connection| &connection.paths);
    let states = [
        ("validating", PathState::Validating),
        ("active", PathState::Active),
        ("suspect", PathState::Suspect),
    ];
    let series = states
        .map(|(word, state)| {
            let count = paths().filter(|path| path.state == state).count();
            (vec![("state", word.to_owned())], count as f64)
        })
        .into();
    let help = "Paths of the connections that are listed, by state";
    gauge(encoder, Family { name: "paths", help, unit: None, series })?;
    let queued: u64 = status.connections.iter().map(|connection| connection.queued_bytes).sum();
    let help = "Waits to be sent, of the connections that are listed";
    gauge(encoder, Family { name: "queued", help, unit: Some(Unit::Bytes), series: single(queued as f64) })
}

fn of_link(link: &Link) -> Labels {
    vec![("link", link.name.clone())]
}

fn link_counters(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let all =
        |value: fn(&Link) -> u64| status.links.iter().map(|link| (of_link(link), value(link))).collect();
    let unit = Some(Unit::Bytes);
    let series = all(|link| link.bytes_sent);
    counter(
        encoder,
        Family { name: "link_sent", help: "Sent over the link, UDP payload", unit: unit.clone(), series },
    )?;
    let series = all(|link| link.bytes_received);
    counter(
        encoder,
        Family { name: "link_received", help: "Received over the link, UDP payload", unit, series },
    )
}

/// The busiest path over a link.
fn path_of<'a>(status: &'a Status, link: &Link) -> Option<&'a Path> {
    let paths = status.connections.iter().flat_map(|connection| &connection.paths);
    let rate = |path: &Path| path.rate_sent_bps + path.rate_received_bps;
    paths.filter(|path| path.name == link.name).max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

fn link_gauges(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let all = |value: &dyn Fn(&Link) -> f64| -> Vec<(Labels, f64)> {
        status.links.iter().map(|link| (of_link(link), value(link))).collect()
    };
    let one = |yes: bool| f64::from(u8::from(yes));
    let series = all(&|link| one(link.up));
    gauge(
        encoder,
        Family { name: "link_up", help: "Whether the link is there and used", unit: None, series },
    )?;
    let series = all(&|link| one(link.usage == LinkUsage::Paused));
    gauge(
        encoder,
        Family { name: "link_paused", help: "Whether the link is paused by order", unit: None, series },
    )?;
    let busiest = |value: fn(&Path) -> f64| -> Vec<(Labels, f64)> {
        let of = |link: &Link| Some((of_link(link), value(path_of(status, link)?)));
        status.links.iter().filter_map(of).collect()
    };
    let seconds = || Some(Unit::Seconds);
    let families = [
        (
            "link_smoothed_rtt",
            "Smoothed round-trip time of the link's busiest path",
            seconds(),
            busiest(|path| path.smoothed_rtt_ms / 1e3),
        ),
        (
            "link_min_rtt",
            "Smallest round-trip time of the link's busiest path",
            seconds(),
            busiest(|path| path.min_rtt_ms / 1e3),
        ),
        (
            "link_queue",
            "Round-trip time beyond the smallest, of the link's busiest path",
            seconds(),
            busiest(|path| path.queue_ms / 1e3),
        ),
        (
            "link_loss",
            "Lost share of recent packets, of the link's busiest path",
            Some(Unit::Other("ratio".to_owned())),
            busiest(|path| path.loss),
        ),
        (
            "link_congestion_window",
            "Congestion window of the link's busiest path",
            Some(Unit::Bytes),
            busiest(|path| path.window_bytes as f64),
        ),
        (
            "link_in_flight",
            "In flight on the link's busiest path",
            Some(Unit::Bytes),
            busiest(|path| path.in_flight_bytes as f64),
        ),
        (
            "link_silent",
            "Whether nothing comes over the link's busiest path although something should",
            None,
            busiest(|path| f64::from(u8::from(path.is_silent()))),
        ),
    ];
    families
        .into_iter()
        .try_for_each(|(name, help, unit, series)| gauge(encoder, Family { name, help, unit, series }))?;
    let series =
        status.links.iter().filter_map(|link| Some((link, path_of(status, link)?))).flat_map(reasons);
    let help = "Why the sender of the link's busiest path last stopped";
    gauge(encoder, Family { name: "link_limited", help, unit: None, series: series.collect() })
}

/// A series for each reason: 1 for the one that holds.
fn reasons((link, path): (&Link, &Path)) -> Vec<(Labels, f64)> {
    let series = |(by, word): (LimitedBy, &str)| {
        let labels = vec![("link", link.name.clone()), ("by", word.to_owned())];
        (labels, f64::from(u8::from(path.limited_by == by)))
    };
    LimitedBy::ALL.into_iter().map(|by| series((by, by.word()))).collect()
}

fn radio(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let known = |value: &dyn Fn(&Link) -> Option<f64>| -> Vec<(Labels, f64)> {
        status.links.iter().filter_map(|link| Some((of_link(link), value(link)?))).collect()
    };
    let series = known(&|link| link.radio.as_ref()?.strength_dbm);
    gauge(encoder, Family { name: "link_signal_dbm", help: "Received power in dBm", unit: None, series })?;
    let series = known(&|link| link.radio.as_ref()?.snr_db);
    gauge(encoder, Family { name: "link_snr_db", help: "Signal-to-noise ratio in dB", unit: None, series })?;
    let series = known(&|link| Some(link.radio.as_ref()?.handover.as_ref()?.in_ms / 1e3));
    let help = "In how long a handover is forecast";
    gauge(encoder, Family { name: "link_handover_in", help, unit: Some(Unit::Seconds), series })?;
    let series = known(&|link| Some(link.budget?.used_bytes as f64));
    let help = "Used of the budget in the period that runs, IP packets";
    gauge(encoder, Family { name: "link_budget_used", help, unit: Some(Unit::Bytes), series })?;
    let series = known(&|link| Some(link.budget?.cap_bytes as f64));
    gauge(
        encoder,
        Family {
            name: "link_budget",
            help: "The budget of a period, IP packets",
            unit: Some(Unit::Bytes),
            series,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Connection, FlowClass, Totals, User};

    #[test]
    fn metrics_have_conventional_names_and_end_as_openmetrics_does() {
        let path = Path { name: "wlan0".to_owned(), smoothed_rtt_ms: 25.0, loss: 0.5, ..Path::default() };
        let stranger = Path { name: "203.0.113.9".to_owned(), ..Path::default() };
        let connection = Connection { paths: vec![path, stranger], ..Connection::default() };
        let status = Status {
            totals: Totals { bytes_sent: 7, ..Totals::default() },
            links: vec![Link { name: "wlan0".to_owned(), up: true, bytes_sent: 5, ..Link::default() }],
            connections: vec![connection],
            users: vec![User { name: "al\"ice\\".to_owned(), tunnels: 2, ..User::default() }],
            ..Status::default()
        };
        let text = text(Arc::new(status)).unwrap();
        for line in [
            "hawser_sent_bytes_total 7",
            "hawser_link_sent_bytes_total{link=\"wlan0\"} 5",
            "hawser_link_smoothed_rtt_seconds{link=\"wlan0\"} 0.025",
            "hawser_link_loss_ratio{link=\"wlan0\"} 0.5",
            "hawser_link_limited{link=\"wlan0\",by=\"nothing\"} 1.0",
            "hawser_link_limited{link=\"wlan0\",by=\"pacing\"} 0.0",
            "hawser_paths{state=\"active\"} 2.0",
            "hawser_user_tunnels{user=\"al\\\"ice\\\\\"} 2.0",
            "# UNIT hawser_sent_bytes bytes",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        assert!(!text.contains("203.0.113.9"), "a stranger's address is no label:\n{text}");
    }

    /// Each panel of the board for Grafana has data.
    #[test]
    fn the_board_asks_for_metrics_that_exist() {
        let board = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/grafana/hawser.json");
        let board = std::fs::read_to_string(board).unwrap();
        let path = Path { name: "wlan0".to_owned(), ..Path::default() };
        let budget = Some(crate::model::Budget::default());
        let status = Status {
            links: vec![Link { name: "wlan0".to_owned(), budget, ..Link::default() }],
            connections: vec![Connection { paths: vec![path], ..Connection::default() }],
            users: vec![User { name: "alice".to_owned(), ..User::default() }],
            classes: vec![FlowClass { name: "tcp".to_owned(), ..FlowClass::default() }],
            ..Status::default()
        };
        let text = text(Arc::new(status)).unwrap();
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let names = board.split(|c: char| !is_name(c)).filter(|word| word.starts_with("hawser_"));
        let asked: std::collections::BTreeSet<&str> = names.collect();
        assert!(asked.len() > 10, "{asked:?}");
        for name in asked {
            let given = text.lines().any(|line| line.split([' ', '{']).next() == Some(name));
            assert!(given, "{name} in\n{text}");
        }
    }

    #[test]
    fn series_of_one_name_are_bounded() {
        let user = |number: usize| User { name: format!("user{number}"), ..User::default() };
        let status = Status { users: (0..5_000).map(user).collect(), ..Status::default() };
        let text = text(Arc::new(status)).unwrap();
        assert_eq!(text.matches("hawser_user_tunnels{").count(), MAX_SERIES);
    }
}
