//! What users and peers' policies write: messages of policies, names of policies, lines of link states, scenarios, traces.
//!
//! The first byte says what the rest is. What must hold: no panic, an end; an error says something; what was understood means
//! the same when written and read again.

use std::sync::LazyLock;
use std::time::Duration;

use hawser_paths::MobilityReport;
use hawser_policy::{PolicyKind, PolicySpec, Registry};
use hawser_scenario::{ReadOptions, Scenario};
use hawser_trace::Format;

/// Names that say of a trace what it is, as far as names can.
const TRACES: [&str; 5] = ["trace.csv", "trace.up", "trace.json", "trace.txt", "trace.log"];

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new();
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_sched::register(&mut registry);
    registry
});

/// A file or a message.
pub fn files(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 5 {
        0 => mobility_report(rest),
        1 => link_state(rest),
        number => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            match number {
                2 => policy(text),
                3 => scenario(text),
                _ => trace(text, TRACES[usize::from(kind / 5) % TRACES.len()]),
            }
        }
    }
}

fn mobility_report(payload: &[u8]) {
    if let Some(report) = MobilityReport::decode(payload) {
        assert_eq!(MobilityReport::decode(&report.encode()), Some(report));
    }
}

fn link_state(line: &[u8]) {
    match hawser_net::read_line(line, Duration::from_secs(1_700_000_000)) {
        Ok(said) => {
            let forecasts = said.map_or(0, |(_, forecasts)| forecasts.len());
            assert!(forecasts <= line.len(), "more forecasts than text");
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

fn policy(text: &str) {
    match text.parse::<PolicySpec>() {
        Ok(spec) => {
            assert_eq!(spec.to_string().parse::<PolicySpec>().as_ref(), Ok(&spec));
            for kind in PolicyKind::ALL {
                if let Err(error) = REGISTRY.check(kind, &spec) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A scenario that includes nothing but itself.
fn scenario(text: &str) {
    let mut files = |name: &str| Err::<String, _>(format!("no file {name}"));
    let options =
        ReadOptions { text, file: "fuzz.toml", overrides: &[], files: &mut files, registry: Some(&REGISTRY) };
    if let Err(error) = Scenario::read(options) {
        assert!(error.to_string().starts_with("fuzz.toml"), "{error}");
    }
}

fn trace(text: &str, name: &str) {
    let options = hawser_trace::ReadOptions::default();
    match hawser_trace::parse(name, text, &options) {
        Ok(trace) => assert!(!trace.links.is_empty(), "a trace of nothing"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = Format::recognise(name, text);
}
