//! Whether the policies that a plan names exist, before its first cell runs.

use std::path::Path;

use hawser_policy::Registry;

use super::{Plan, combine};
use crate::document::{join, sets_policy};
use crate::error::ScenarioError;
use crate::files::Folder;
use crate::load::folder_of;
use crate::{ReadOptions, read};

/// Combinations of policies and parameters that are checked one by one; of more only each value by itself.
const MOST_COMBINATIONS: usize = 10_000;

/// Where a plan gives a field a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// `set` or `vary`.
    pub(super) section: &'static str,
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: Option<usize>,
}

impl Plan {
    /// Whether all policies and parameters that this plan and its scenarios name are in `registry`. `path` is that of the
    /// plan. Whatever else may be wrong with a scenario is told by its cells.
    ///
    /// # Errors
    /// For the first policy or parameter that does not exist, or value out of range: where the plan or a scenario names it,
    /// and what is allowed.
    pub fn check_policies(&self, path: &Path, registry: &Registry) -> Result<(), ScenarioError> {
        let of_policies = |(key, _): &&(String, String)| sets_policy(key);
        let fixed: Vec<(String, String)> = self.fixed.iter().filter(of_policies).cloned().collect();
        let varied: Vec<_> = self.factors.iter().filter(|(key, _)| sets_policy(key)).cloned().collect();
        let combinations = varied.iter().map(|(_, values)| values.len()).try_fold(1, usize::checked_mul);
        let all_of_them = combinations.is_some_and(|count| count <= MOST_COMBINATIONS);
        let mut choices: Vec<Vec<(String, String)>> = Vec::new();
        if all_of_them {
            combine(&varied, &mut fixed.clone(), &mut |overrides| choices.push(overrides.to_vec()));
        } else {
            let with = |key: &str, value: &str| {
                let more = [(key.to_owned(), value.to_owned())];
                fixed.iter().cloned().chain(more).collect()
            };
            let singles = varied.iter().flat_map(|(key, values)| values.iter().map(move |v| (key, v)));
            choices.extend(singles.map(|(key, value)| with(key, value)));
        }
        for scenario in &self.scenarios {
            let scenario = join(&path.display().to_string(), scenario);
            for overrides in &choices {
                check(&scenario, overrides, registry).map_err(|error| self.at_its_place(error, path))?;
            }
        }
        Ok(())
    }

    /// Returns the error at the line of the plan that gives the value, if it is the plan that does. `path` is that of the plan.
    pub fn at_its_place(&self, error: ScenarioError, path: &Path) -> ScenarioError {
        let is_meant = |place: &&Place| error.file == format!("--set {}={}", place.key, place.value);
        let Some(place) = self.places.iter().find(is_meant) else { return error };
        ScenarioError {
            file: path.display().to_string(),
            line: place.line,
            field: format!("{}.{}", place.section, place.key),
            message: error.message,
        }
    }
}

fn check(scenario: &str, overrides: &[(String, String)], registry: &Registry) -> Result<(), ScenarioError> {
    let path = Path::new(scenario);
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    let overrides: Vec<String> = overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut files = Folder(folder_of(path));
    read::check_policies(ReadOptions {
        text: &text,
        file: scenario,
        overrides: &overrides,
        files: &mut files,
        registry: Some(registry),
    })
}
