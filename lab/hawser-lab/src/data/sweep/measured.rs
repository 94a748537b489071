//! What a run gives: numbers with names.

use hawser_sim::run::Outcome;
use serde_json::Value as Json;

use super::CellOutput;

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Stands for everything that happened; empty for computations.
    pub trace_hash: String,
    /// Packets that arrived.
    pub packets: u64,
    /// Instants at which something happened.
    pub events: u64,
    /// Name, with the unit at its end, and value.
    pub metrics: Vec<(String, f64)>,
}

/// Lists of an outcome, and the fields that tell their entries apart.
const LISTS: [(&str, &[&str]); 3] =
    [("flows", &["flow"]), ("paths", &["flow", "path"]), ("links", &["link", "direction"])];

impl Measured {
    /// Without metrics so far.
    pub fn new(trace_hash: impl Into<String>) -> Self {
        Measured { trace_hash: trace_hash.into(), ..Measured::default() }
    }

    /// What stands for a run, without metrics so far.
    pub fn of_run(outcome: &Outcome) -> Self {
        let (packets, events) = (outcome.packets, outcome.events);
        Measured { packets, events, ..Measured::new(outcome.trace_hash.clone()) }
    }

    /// The same with one more metric. What is not a number was not measured, and is left out: a claim that needs it says so.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: f64) -> Self {
        if !value.is_nan() {
            self.metrics.push((name.into(), value));
        }
        self
    }

    /// The same with one more metric, if it was measured.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<f64>) -> Self {
        self.with(name, value.unwrap_or(f64::NAN))
    }

    /// The value of a metric; none: it was not measured.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Every number of an outcome, named as `hawser sim run --json` names it: `goodput_bps`,
    /// `flow.main.delay.p99_ms`, `path.main.0.packets_lost`, `link.wifi0.down.dropped_queue`. Truth values are 0 and 1.
    /// `flow.main.broken` says whether the connection broke, `path.main.0.lost_share` which share of a path's packets was lost.
    pub fn of(outcome: &Outcome) -> Self {
        let mut measured = Measured::of_run(outcome);
        let Ok(Json::Object(whole)) = serde_json::to_value(outcome) else { return measured };
        for (name, value) in &whole {
            let Some((list, keys)) = LISTS.iter().find(|(list, _)| list == name) else {
                measured.add(name, value);
                continue;
            };
            for entry in value.as_array().into_iter().flatten() {
                let parts = keys.iter().map(|key| text(&entry[*key]));
                let prefix: Vec<String> =
                    std::iter::once(list.trim_end_matches('s').to_owned()).chain(parts).collect();
                let prefix = prefix.join(".");
                for (name, value) in entry.as_object().into_iter().flatten() {
                    measured.add(&format!("{prefix}.{name}"), value);
                }
            }
        }
        for flow in &outcome.flows {
            let broken = f64::from(u8::from(flow.error.is_some()));
            measured.metrics.push((format!("flow.{}.broken", flow.flow), broken));
        }
        for path in outcome.paths.iter().filter(|path| path.packets_sent > 0) {
            let share = path.packets_lost as f64 / path.packets_sent as f64;
            measured.metrics.push((format!("path.{}.{}.lost_share", path.flow, path.path), share));
        }
        measured
    }

    fn add(&mut self, name: &str, value: &Json) {
        match value {
            Json::Number(number) => {
                self.metrics.extend(number.as_f64().map(|value| (name.to_owned(), value)))
            }
            Json::Bool(truth) => self.metrics.push((name.to_owned(), f64::from(u8::from(*truth)))),
            Json::Object(parts) => {
                parts.iter().for_each(|(part, value)| self.add(&format!("{name}.{part}"), value));
            }
            _ => {}
        }
    }
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl CellOutput for Measured {
    fn trace_hash(&self) -> &str {
        &self.trace_hash
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn rows(&self) -> usize {
        self.metrics.len()
    }
}
