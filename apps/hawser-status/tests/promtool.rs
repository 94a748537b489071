//! What Prometheus' own checker says of the metrics.

#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hawser_status::metrics;
use hawser_status::model::{
    Budget, Connection, FlowClass, Handover, Link, LiveStream, Path, Radio, Status, Totals, User,
};

/// A status in which nothing is missing.
fn full() -> Status {
    let handover = Some(Handover { in_ms: 5_000.0, ..Handover::default() });
    let radio = Radio { strength_dbm: Some(-70.0), snr_db: Some(12.0), handover, ..Radio::default() };
    let link = |name: &str| Link {
        name: name.to_owned(),
        radio: Some(radio.clone()),
        budget: Some(Budget {
            cap_bytes: 1_000,
            used_bytes: 10,
            left_bytes: 990,
            period_s: 60,
            resting: false,
        }),
        ..Link::default()
    };
    let path = |name: &str| Path { name: name.to_owned(), smoothed_rtt_ms: 20.0, ..Path::default() };
    Status {
        totals: Totals { bytes_sent: 7, packets_lost: 1, ..Totals::default() },
        links: vec![link("wlan0"), link("wwan \"0\"\\")],
        connections: vec![Connection { paths: vec![path("wlan0"), path("x")], ..Connection::default() }],
        classes: vec![FlowClass { name: "interactive".to_owned(), flows: 3, ..FlowClass::default() }],
        users: vec![User { name: "alice\n".to_owned(), tunnels: 1, ..User::default() }],
        streams: vec![LiveStream { delay_ms: Some(12.0), ..LiveStream::default() }],
        ..Status::default()
    }
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    let command = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = match command {
        Ok(promtool) => promtool,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: promtool is not installed (Debian: apt install prometheus)");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let text = metrics::classic_text(Arc::new(full())).unwrap();
    assert!(text.contains("hawser_class_sent_bytes_total{class=\"interactive\"}"), "{text}");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = promtool.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success() && said.is_empty(), "{}\n{text}", String::from_utf8_lossy(&said));
}
