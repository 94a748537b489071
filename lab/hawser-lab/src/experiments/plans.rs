//! What plans of experiments have in common: how they are read, and traffic that takes the place of a scenario's connection.

use std::path::Path;
use std::time::Duration;

use hawser_scenario::{Flow, FlowKind, Scenario};
use serde::de::DeserializeOwned;

/// What a flow of a plan does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Traffic {
    /// Whether its end ends the run.
    pub(crate) awaited: bool,
    /// What it does, to the client.
    pub(crate) kind: FlowKind,
}

impl Traffic {
    /// Returns the traffic of a flow as a scenario has it, without its name, and how long `longest` is.
    ///
    /// # Errors
    /// What is wrong with it, with `name` as its place: scenarios say what their flows are, so that a scenario with this one is read.
    pub(crate) fn read(
        name: &str,
        longest: &str,
        mut flow: toml::Table,
    ) -> Result<(Traffic, Duration), String> {
        let wrong = |reason: &dyn std::fmt::Display| format!("{name}: {reason}");
        flow.insert("name".to_owned(), "main".into());
        let link = [("name", "a"), ("rate", "1 Mbit/s"), ("delay", "1 ms")];
        let link: toml::Table = link.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        let mut scenario = toml::Table::new();
        scenario.insert("version".to_owned(), 1.into());
        scenario.insert("name".to_owned(), "plan".into());
        scenario.insert("duration".to_owned(), longest.into());
        scenario.insert("link".to_owned(), toml::Value::Array(vec![link.into()]));
        scenario.insert("flow".to_owned(), toml::Value::Array(vec![flow.into()]));
        let text = toml::to_string(&scenario).map_err(|error| wrong(&error))?;
        let mut no_file = |_: &str| Err("traffic of a plan reads no files".to_owned());
        let scenario = Scenario::parse(&text, name, &mut no_file).map_err(|error| wrong(&error))?;
        let longest = scenario.duration.ok_or_else(|| wrong(&"no duration"))?;
        let Some(Flow { kind, awaited, .. }) = scenario.flows.into_iter().next() else {
            return Err(wrong(&"no flow"));
        };
        Ok((Traffic { awaited, kind }, longest))
    }

    /// Returns the flow that takes the place of another, in its direction where it has one.
    pub(crate) fn in_place_of(&self, other: &Flow) -> Flow {
        let mut kind = self.kind.clone();
        match &mut kind {
            FlowKind::Bulk { direction, .. }
            | FlowKind::Datagrams { direction, .. }
            | FlowKind::Application { direction, .. }
            | FlowKind::Udp { direction, .. } => *direction = other.kind.direction(),
            FlowKind::TunnelMix(mix) => {
                mix.bulk = mix.bulk.map(|_| other.kind.direction());
            }
            FlowKind::Requests { .. } => {}
        }
        Flow { kind, stop: None, count: 1, pattern: None, awaited: self.awaited, ..other.clone() }
    }
}

/// Reads a plan: the one that comes with the program, given by name and text, or that of a file; `complete` checks it. The reason why it cannot
/// be used says the file and, where that is known, the line.
pub(crate) fn read_plan<F: DeserializeOwned, P>(
    shipped: (&str, &str),
    file: Option<&Path>,
    complete: impl FnOnce(F) -> Result<P, String>,
) -> Result<P, String> {
    let Some(file) = file else { return parse_plan(shipped, complete) };
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    parse_plan((&name, &text), complete)
}

/// The same from a text, with the name of its file.
pub(crate) fn parse_plan<F: DeserializeOwned, P>(
    (file, text): (&str, &str),
    complete: impl FnOnce(F) -> Result<P, String>,
) -> Result<P, String> {
    let wrong = |reason: String| format!("{file}: {reason}");
    let read: F = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    complete(read).map_err(wrong)
}

/// Returns the first name that stands twice in a list.
pub(crate) fn doubled<'a>(names: &[&'a str]) -> Option<&'a str> {
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    twice.map(|(_, name)| *name)
}
