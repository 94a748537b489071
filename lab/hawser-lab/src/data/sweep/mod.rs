//! Sweeps: many runs of scenarios, one for each cell of a [`Plan`].
//!
//! ```text
//!   plan.toml --load--> Sweep --run--> DIR/shard-1-of-1/part-000001/{cells,flows,paths,links,timing}.parquet
//!                               --run--> DIR/shard-2-of-3/part-...       (other machines, other processes)
//!                                              |
//!                                            merge
//!                                              v
//!                       DIR/merged/{cells,flows,paths,links}.parquet      the same bytes, independent of who ran what and when
//! ```
//!
//! A cell is a scenario with overrides, a replicate and a seed, and its result depends on nothing else. So cells can
//! run on any thread of any machine in any order. Three rules make a folder of results trustworthy:
//!
//! * **A part is whole or is not there.** Results are collected and written as a *part*, a folder with one file per
//!   table, which gets its name by one `rename` after everything in it has reached the disk. A process that is killed
//!   loses what it had not written yet (some seconds' work), and nothing else. `part.json` has the length and the
//!   digest of each file, so that a part damaged later is noticed; its cells run again.
//! * **Results of different programs are never mixed.** `manifest.json` has the digests of the plan and of all files
//!   that its scenarios read. A process that adds to a folder must have the same ones, and must get the same result for a
//!   cell that is already there.
//! * **Parts are only added.** Nothing that is finished is written again. Merging reads the parts and writes a copy,
//!   sorted by cell.
//!
//! What a cell cost in real time is kept apart (`timing.parquet`): it differs from run to run. Plans are one kind of
//! [`Work`]; the runs behind an acceptance list are another.

mod error;
mod folder;
mod inputs;
mod manifest;
mod measured;
mod merge;
mod parallel;
mod part;
mod run;
mod shard;
mod tables;
mod work;

use std::path::{Path, PathBuf};

use hawser_policy::Registry;
use hawser_scenario::{Cell, LoadError, Plan, Scenario, ScenarioError, load_plan_with};
use hawser_sim::run::{Options, Simulation};

pub use error::SweepError;
pub use folder::{Folder, Found};
pub use inputs::PolicyFiles;
pub use manifest::{InputFile, Manifest};
pub use measured::Measured;
pub use merge::{MergeSummary, merge, merged_table};
pub use run::{CellFailure, Progress, RunSettings, RunSummary, Simulate, run, run_work};
pub use shard::Shard;
pub use tables::TableName;
pub use work::{CELLS, CellOutput, CellResult, TIMING, Work};

pub(crate) use inputs::Inputs;
pub(crate) use manifest::{FORMAT as MANIFEST_FORMAT, digest, write_json};
pub(crate) use merge::merged_file;
pub(crate) use parallel::in_parallel;
use work::table_file;

/// A plan with everything that its scenarios read.
#[derive(Debug)]
pub struct Sweep {
    path: PathBuf,
    /// The path as it was given, for messages.
    given: PathBuf,
    text: String,
    plan: Plan,
    /// What each scenario is called in the tables.
    labels: Vec<(String, String)>,
    inputs: Inputs,
}

impl Sweep {
    /// Reads a plan, its scenarios with each combination of values, and once each file that they name.
    ///
    /// # Errors
    /// Fails when the plan or a scenario cannot be read, and on the first mistake in them or in a value that the plan gives.
    pub fn load(path: &Path) -> Result<Self, SweepError> {
        let sweep = Sweep::read(path, &[], &Registry::new())?;
        sweep.check(&|_| Ok(()))?;
        Ok(sweep)
    }

    /// The same with more fields set for all cells, as if the plan's `[set]` had them: key and value; and with the policies that they will
    /// run with, which may have been given files. What a cell would meet after hours is found here: each scenario is put together with
    /// each combination of values.
    ///
    /// # Errors
    /// As [`load`](Self::load), if the plan sets one of these fields itself, if a policy does not exist, and for a scenario that
    /// cannot be simulated.
    pub fn load_with(
        path: &Path,
        more: &[(String, String)],
        registry: &Registry,
    ) -> Result<Self, SweepError> {
        let sweep = Sweep::read(path, more, registry)?;
        sweep.plan.check_policies(path, registry).map_err(LoadError::from)?;
        sweep.check(&|scenario| {
            let simulation = Simulation::new(scenario, registry, Options::default());
            simulation.map(drop).map_err(|error| error.to_string())
        })?;
        Ok(sweep)
    }

    fn read(path: &Path, more: &[(String, String)], registry: &Registry) -> Result<Self, SweepError> {
        let plan = load_plan_with(path, more)?;
        let mut text = std::fs::read_to_string(path).map_err(|error| SweepError::read(path, error))?;
        // What is set besides the plan is part of what the results depend on.
        text.extend(more.iter().map(|(key, value)| format!("\n{key} = {value}")));
        let labels = labels(&plan.scenarios);
        let given = path.to_owned();
        // The names of input files must not depend on the folder that the command is run in.
        let path = path.canonicalize().map_err(|error| SweepError::read(path, error))?;
        Ok(Sweep { path, given, text, plan, labels, inputs: Inputs::of(registry) })
    }

    /// Reads the scenario of each combination of values, so that all files that any cell reads are known, and asks `is_runnable` about it.
    fn check(&self, is_runnable: &dyn Fn(&Scenario) -> Result<(), String>) -> Result<(), SweepError> {
        for cell in self.plan.cells.iter().filter(|cell| cell.replicate == 0) {
            let scenario = self.scenario(cell).map_err(|error| SweepError::Plan(self.as_given(error)))?;
            is_runnable(&scenario).map_err(|reason| {
                let values = cell.overrides.iter().map(|(key, value)| format!(" with {key}={value}"));
                let field = format!("{}{}", cell.scenario, values.collect::<String>());
                let file = self.given.display().to_string();
                SweepError::Plan(ScenarioError { file, line: None, field, message: reason }.into())
            })?;
        }
        Ok(())
    }

    /// The error with the names of files as seen from where the command runs, and at the line of the plan that gives a value.
    fn as_given(&self, error: LoadError) -> LoadError {
        let folder = self.given.parent().unwrap_or(Path::new(""));
        match error {
            LoadError::Read { path, source } => LoadError::Read { path: folder.join(path), source },
            LoadError::Scenario(error) if error.line.is_some() => {
                let file = folder.join(&error.file).display().to_string();
                ScenarioError { file, ..error }.into()
            }
            LoadError::Scenario(error) => self.plan.at_its_place(error, &self.given).into(),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What must be the same for all who add to a folder.
    pub fn manifest(&self) -> Manifest {
        let tables = TableName::ALL.iter().map(|table| table.name().to_owned()).collect();
        Manifest::new(&self.plan, &self.text, self.inputs.digests(&self.path), tables)
    }

    /// The scenario of a cell.
    pub(crate) fn scenario(&self, cell: &Cell) -> Result<Scenario, LoadError> {
        self.inputs.load(&self.path, &Plan::scenario_path(&self.path, cell), &cell.settings())
    }

    /// What a scenario is called in the tables.
    pub(crate) fn label<'a>(&'a self, scenario: &'a str) -> &'a str {
        let found = self.labels.iter().find(|(file, _)| file == scenario);
        found.map_or(scenario, |(_, label)| label.as_str())
    }
}

/// The names of the files without folder and ending, where these differ.
fn labels(scenarios: &[String]) -> Vec<(String, String)> {
    let stem = |file: &str| {
        let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
        stem.unwrap_or(file).to_owned()
    };
    let stems: Vec<String> = scenarios.iter().map(|file| stem(file)).collect();
    let unique = |name: &String| stems.iter().filter(|other| *other == name).count() == 1;
    let label =
        |(file, stem): (&String, &String)| (file.clone(), if unique(stem) { stem } else { file }.clone());
    scenarios.iter().zip(&stems).map(label).collect()
}

#[cfg(test)]
mod tests;
