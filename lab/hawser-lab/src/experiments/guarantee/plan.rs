//! What is asked, as it stands in a file: scenarios, what is transferred over their links, and the marks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::Case;
use crate::experiments::ExperimentError;
use crate::experiments::plans::{Traffic, doubled, read_plan};

/// The plan that comes with the program, and where it stands.
const SHIPPED: (&str, &str) =
    ("lab/matrices/guarantee.toml", include_str!("../../../matrices/guarantee.toml"));

/// A plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Seeds 1 to this, unless something else is said; 1 to 10 000.
    pub seeds: u64,
    /// The longest simulated time of a run, unless something else is said.
    pub longest: Duration,
    /// What is judged by its goodput.
    pub(super) goodput: Traffic,
    /// What is judged by its delay.
    pub(super) delay: Traffic,
    /// What is worth counting below the table.
    pub marks: Marks,
    /// How recorded drives become scenarios.
    pub(super) recorded: Entry,
    /// The scenarios: one or more, each once.
    scenarios: Vec<Entry>,
}

/// Marks of which the table says how many scenarios reach them; all above 0.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// Goodput as a share of the best single link's, at least.
    pub goodput_of_best: f64,
    /// Goodput as a share of the sum of all, at least.
    pub goodput_of_sum: f64,
    /// The 99th percentile of the delay over that of the best link, at most.
    pub delay_of_best: f64,
}

/// A scenario's file, and fields set otherwise in it, as `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Its name in the folder of scenarios.
    pub(super) file: String,
    #[serde(default)]
    pub(super) set: Vec<String>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    seeds: u64,
    longest: String,
    traffic: BTreeMap<String, toml::Table>,
    marks: Marks,
    recorded: Entry,
    scenario: Vec<Entry>,
}

impl Plan {
    /// The plan in a file; none: that which comes with the program.
    ///
    /// # Errors
    /// [`ExperimentError::NotRead`]: it cannot be read, or is wrong; with the line where that is known.
    pub fn read(file: Option<&Path>) -> Result<Plan, ExperimentError> {
        read_plan(SHIPPED, file, PlanFile::complete).map_err(ExperimentError::NotRead)
    }

    /// Returns its scenarios, whose files are in a folder.
    pub fn cases(&self, scenarios: &Path) -> Vec<Case> {
        let case = |entry: &Entry| Case { file: scenarios.join(&entry.file), set: entry.set.clone() };
        self.scenarios.iter().map(case).collect()
    }

    /// Returns the name of the file of its first scenario.
    pub fn first_file(&self) -> &str {
        self.scenarios.first().map_or("", |entry| entry.file.as_str())
    }
}

impl PlanFile {
    fn check(&self) -> Result<(), String> {
        if !(1..=10_000).contains(&self.seeds) {
            return Err("`seeds`: expected 1 to 10000".to_owned());
        }
        if self.scenario.is_empty() {
            return Err("no [[scenario]]: expected one or more".to_owned());
        }
        let text = |entry: &Entry| format!("{} {}", entry.file, entry.set.join(" "));
        let texts: Vec<String> = self.scenario.iter().map(text).collect();
        if let Some(twice) = doubled(&texts.iter().map(String::as_str).collect::<Vec<_>>()) {
            return Err(format!("the scenario {} stands here twice", twice.trim()));
        }
        let Marks { goodput_of_best, goodput_of_sum, delay_of_best } = self.marks;
        let marks = [
            ("goodput_of_best", goodput_of_best),
            ("goodput_of_sum", goodput_of_sum),
            ("delay_of_best", delay_of_best),
        ];
        match marks.iter().find(|(_, mark)| !(mark.is_finite() && *mark > 0.0)) {
            Some((name, _)) => Err(format!("`marks.{name}`: expected a number above 0")),
            None => Ok(()),
        }
    }

    fn complete(mut self) -> Result<Plan, String> {
        self.check()?;
        let mut read = |name: &str| {
            let table = self.traffic.remove(name).ok_or_else(|| format!("no `traffic.{name}`"))?;
            let (traffic, longest) = Traffic::read(&format!("traffic.{name}"), &self.longest, table)?;
            Ok::<_, String>((Traffic { awaited: false, ..traffic }, longest))
        };
        let ((goodput, longest), (delay, _)) = (read("goodput")?, read("delay")?);
        if let Some(name) = self.traffic.keys().next() {
            return Err(format!("`traffic.{name}`: expected only `goodput` and `delay`"));
        }
        let PlanFile { seeds, marks, recorded, scenario: scenarios, .. } = self;
        Ok(Plan { seeds, longest, goodput, delay, marks, recorded, scenarios })
    }
}

#[cfg(test)]
mod tests {
    use hawser_scenario::FlowKind;

    use super::*;
    use crate::experiments::plans::parse_plan;

    #[test]
    fn the_shipped_plan_has_what_the_command_promises() {
        let plan = Plan::read(None).unwrap();
        assert_eq!((plan.seeds, plan.longest), (20, Duration::from_secs(30)));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let cases = plan.cases(&folder);
        assert_eq!(cases.len(), 14);
        assert!(cases.iter().all(|case| case.file.is_file()), "{cases:?}");
        let conversation = FlowKind::Requests {
            request: 200,
            response: 64_000,
            think: Duration::from_millis(100),
            number: None,
            parallel: 1,
            every: None,
        };
        assert_eq!(plan.delay, Traffic { awaited: false, kind: conversation });
        assert!(matches!(plan.goodput.kind, FlowKind::Bulk { size: None, .. }), "{:?}", plan.goodput);
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said_with_its_place() {
        let said = |from: &str, to: &str| {
            parse_plan(("my.toml", &SHIPPED.1.replacen(from, to, 1)), PlanFile::complete).expect_err(to)
        };
        let unknown = said("delay_of_best = 1.10", "delay = 1.10");
        assert!(
            unknown.contains("my.toml") && unknown.contains("line") && unknown.contains("delay_of_best"),
            "{unknown}"
        );
        assert!(said("seeds = 20", "seeds = 0").contains("1 to 10000"));
        assert!(said("= 0.98", "= nan").contains("`marks.goodput_of_best`"));
        assert!(said("\"unequal.toml\"", "\"two-equal.toml\"").contains("two-equal.toml stands here twice"));
        assert!(said("think = \"100 ms\"", "thinks = 1").contains("traffic.delay"));
        assert!(said("delay = {", "delays = {").contains("no `traffic.delay`"));
        assert!(said("[marks]", "other = { kind = \"bulk\" }\n[marks]").contains("`traffic.other`"));
    }
}
