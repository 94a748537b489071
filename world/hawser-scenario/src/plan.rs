//! Plans: many runs at once.
//!
//! ```toml
//! version = 1
//! scenarios = ["two-equal.toml", "drive.toml"]
//! replicates = 100                      # runs of each combination, each with a seed of its own
//! paired = true                         # but the same one for all values of what varies
//!
//! [set]                                 # the same for all runs
//! duration = "60 s"
//!
//! [vary]                                # all combinations of these
//! "transport.scheduler" = ["default", "minrtt"]
//! "link.*.delay" = { from = "10 ms", to = "50 ms", step = "10 ms" }
//! ```

mod policies;
mod range;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hawser_link::derive_seed;
use hawser_policy::PolicyKind;

use crate::document::{assemble, join};
use crate::error::{LoadError, ScenarioError};
use crate::load::read;
use crate::read::fields::{Fields, Value};
use crate::read::stem;
use policies::Place;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Cells of a plan: more would take years.
const MOST_CELLS: usize = 10_000_000;

/// A sweep: runs in a fixed order, each known by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its name, or that of its file.
    pub name: String,
    /// The scenario files, relative to the plan's folder.
    pub scenarios: Vec<String>,
    /// What varies: keys in the order of the file, each with its values.
    pub factors: Vec<(String, Vec<String>)>,
    /// The same for all runs.
    fixed: Vec<(String, String)>,
    /// Where the plan gives values.
    places: Vec<Place>,
    /// All runs: scenario by scenario, the first factor slowest, replicates fastest.
    pub cells: Vec<Cell>,
}

/// One run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The scenario file, relative to the plan's folder.
    pub scenario: String,
    /// Key and value of each override: those of `[set]`, then one of each factor.
    pub overrides: Vec<(String, String)>,
    /// Which repetition, counted from 0.
    pub replicate: u32,
    /// The seed of the run. It depends on scenario, overrides and replicate only: neither the plan's name nor the
    /// cell's place in it change a run. In a plan with `paired = true` what varies does not count, so that runs which
    /// differ only in that meet the same random events (common random numbers: differences show with fewer runs).
    pub seed: u64,
}

impl Cell {
    /// What [`load`](crate::load) takes as overrides, with the seed.
    pub fn settings(&self) -> Vec<String> {
        let settings = self.overrides.iter().map(|(key, value)| format!("{key}={value}"));
        settings.chain([format!("seed={}", self.seed)]).collect()
    }
}

/// Reads the plan in a file.
///
/// # Errors
/// Fails when the file cannot be read, and on the first mistake in it. The scenarios are not read.
pub fn load_plan(path: &Path) -> std::result::Result<Plan, LoadError> {
    load_plan_with(path, &[])
}

/// The same with more fields set for all runs, as if `[set]` had them: key and value.
///
/// # Errors
/// Fails as [`load_plan`] does, and if the plan sets one of these fields itself.
pub fn load_plan_with(path: &Path, more: &[(String, String)]) -> std::result::Result<Plan, LoadError> {
    Ok(Plan::parse_with(&read(path)?, &path.display().to_string(), more)?)
}

impl Plan {
    /// Reads a plan. `file` is its name for messages.
    ///
    /// # Errors
    /// Fails on the first mistake, naming line, field and what is allowed there.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Plan::parse_with(text, file, &[])
    }

    /// The same with more fields set for all runs.
    fn parse_with(text: &str, file: &str, more: &[(String, String)]) -> Result<Self> {
        let mut no_file = |name: &str| Err(format!("a plan includes no files, found {name:?}"));
        let document = assemble(text, file, &[], &mut no_file)?;
        let table = document.table().cloned().unwrap_or_default();
        let fields = Fields::new(&document.origin, String::new(), &table);
        fields.required("version", "1")?.integer(1..=1)?;
        let name = fields.read_or("name", stem(file), |value| value.string())?.to_owned();
        let scenarios = scenarios(&fields)?;
        let replicates = fields.read_or("replicates", 1, |value| value.integer(1..=1_000_000))? as u32;
        let base_seed = fields.read_or("seed", 1, |value| value.integer(0..=i64::MAX as u64))?;
        let paired = fields.read_or("paired", false, |value| value.boolean())?;
        let mut places = Vec::new();
        let mut fixed = fields.read_or("set", Vec::new(), |value| fixed(value, &mut places))?;
        let factors = fields.read_or("vary", Vec::new(), |value| factors(value, &fixed, &mut places))?;
        let own = fixed.iter().map(|(key, _)| key).chain(factors.iter().map(|(key, _)| key));
        let own: Vec<_> = own.map(|key| current_name(key)).collect();
        if let Some((key, value)) = more.iter().find(|(key, _)| own.contains(&current_name(key))) {
            return Err(fields
                .error(format!("the plan sets {key} itself; it cannot be {value} for all runs as well")));
        }
        fixed.extend_from_slice(more);
        let combinations =
            factors.iter().map(|(_, values)| values.len()).try_fold(1usize, usize::checked_mul);
        let count = combinations
            .and_then(|count| count.checked_mul(scenarios.len())?.checked_mul(replicates as usize))
            .filter(|&count| count <= MOST_CELLS);
        if count.is_none() {
            return Err(fields.error(format!("the plan has more than {MOST_CELLS} runs")));
        }
        fields.finish()?;
        let mut cells = Vec::with_capacity(count.unwrap_or_default());
        for scenario in &scenarios {
            let mut overrides = fixed.clone();
            combine(&factors, &mut overrides, &mut |overrides| {
                for replicate in 0..replicates {
                    let known = if paired { &overrides[..fixed.len()] } else { overrides };
                    let seed = seed(scenario, known, replicate, base_seed);
                    let (scenario, overrides) = (scenario.clone(), overrides.to_vec());
                    cells.push(Cell { scenario, overrides, replicate, seed });
                }
            });
        }
        Ok(Plan { name, scenarios, factors, fixed, places, cells })
    }

    /// The path of a cell's scenario, given that of the plan.
    pub fn scenario_path(plan: &Path, cell: &Cell) -> PathBuf {
        PathBuf::from(join(&plan.display().to_string(), &cell.scenario))
    }
}

/// Returns a key with the present name of a policy's field, such as `transport.congestion` for `transport.controller`.
fn current_name(key: &str) -> Cow<'_, str> {
    match key.strip_prefix("transport.").and_then(PolicyKind::named) {
        Some(kind) => Cow::Owned(format!("transport.{}", kind.field())),
        None => Cow::Borrowed(key),
    }
}

fn scenarios(fields: &Fields<'_>) -> Result<Vec<String>> {
    let value = fields.required("scenarios", "[\"drive.toml\"]")?;
    let mut scenarios: Vec<String> = Vec::new();
    for item in value.array()? {
        let name = item.string()?;
        if name.is_empty() || scenarios.iter().any(|other| other == name) {
            return Err(item.error(format!("expected the name of another file, found {name:?}")));
        }
        scenarios.push(name.to_owned());
    }
    if scenarios.is_empty() {
        return Err(value.error("expected at least one scenario"));
    }
    Ok(scenarios)
}

fn fixed(value: &Value<'_>, places: &mut Vec<Place>) -> Result<Vec<(String, String)>> {
    let fields = value.fields()?;
    let set = |(name, value): (&str, Value<'_>)| {
        let (key, text) = (key(name, &value)?, range::text(value.node())?);
        let line = value.node().origin.line();
        places.push(Place { section: "set", key: key.clone(), value: text.clone(), line });
        Ok((key, text))
    };
    fields.all().map(set).collect()
}

fn factors(
    value: &Value<'_>,
    fixed: &[(String, String)],
    places: &mut Vec<Place>,
) -> Result<Vec<(String, Vec<String>)>> {
    let fields = value.fields()?;
    let factor = |(name, value): (&str, Value<'_>)| {
        let key = key(name, &value)?;
        if fixed.iter().any(|(other, _)| *other == key) {
            return Err(value.error("is given in `set` as well"));
        }
        let values = range::values(&value)?;
        let items = value.array().unwrap_or_default();
        for (index, text) in values.iter().enumerate() {
            let line = items.get(index).unwrap_or(&value).node().origin.line();
            places.push(Place { section: "vary", key: key.clone(), value: text.clone(), line });
        }
        Ok((key, values))
    };
    fields.all().map(factor).collect()
}

/// The seed is no factor: it belongs to the replicates.
fn key(name: &str, value: &Value<'_>) -> Result<String> {
    if value.node().table().is_some_and(|table| table.get("from").is_none()) {
        return Err(value.error(format!("write the path in quotes: \"{name}.FIELD\" = ...")));
    }
    match name {
        "seed" => {
            Err(value.error("the seed follows from the replicate; set `replicates` or the plan's `seed`"))
        }
        _ if name.is_empty() || name.contains('=') => Err(value.error("expected the path of a field")),
        _ => Ok(name.to_owned()),
    }
}

/// Calls `each` with every combination of the factors' values behind `overrides`.
fn combine(
    factors: &[(String, Vec<String>)],
    overrides: &mut Vec<(String, String)>,
    each: &mut impl FnMut(&[(String, String)]),
) {
    let Some(((key, values), rest)) = factors.split_first() else { return each(overrides) };
    for value in values {
        overrides.push((key.clone(), value.clone()));
        combine(rest, overrides, each);
        overrides.pop();
    }
}

/// The seed of a run: of its replicate and of the overrides that count.
fn seed(scenario: &str, overrides: &[(String, String)], replicate: u32, base_seed: u64) -> u64 {
    let mut identity = scenario.to_owned();
    for (key, value) in overrides {
        // No key or value holds a line break that TOML would not escape.
        identity.push_str(&format!("\n{key}={value}"));
    }
    identity.push_str(&format!("\n#{replicate}"));
    // TOML integers are signed.
    derive_seed(base_seed, &identity) >> 1
}

#[cfg(test)]
mod tests;
