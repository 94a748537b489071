//! What models are trained with: Data Units and what followed them, from random environments (F. Yang 2022, section 5.3.6).
//!
//! A folder has `collection.json`, which says what was drawn, and a table (module `unit_table`) for each run: in each
//! environment one of each controller (stage 1), one in which chance chooses, and one of each model that was asked for (stage 2). A
//! table is there when it is whole: the same command again makes those that are missing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hawser_cc::sscc::{self, Candidate, DataUnit, FEATURES, Models, SsccParts};
use hawser_policy::{PathId, Registry};
use hawser_sim::run::{Options, Probes, Simulation};
use serde::{Deserialize, Serialize};

use super::environments::{Environments, JUDGE_SEED};
use super::unit_table::{self, Experience};
use crate::data::sweep::in_parallel;
use crate::data::table::TableError;

/// Version of the folder's format.
const VERSION: u32 = 3;

/// What is collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Version of the format.
    version: u32,
    /// Random environments.
    environments: u64,
    /// Seconds of each run.
    seconds: u64,
    /// Where they come from.
    family: Environments,
    /// Hash of the scenario files, the drawn fields included.
    scenarios_sha256: String,
    /// Their names, in the order of the models.
    features: Vec<String>,
}

/// Models that are put in control of runs of their own.
#[derive(Debug, Clone)]
pub struct InControl {
    /// The models.
    pub models: Arc<Models>,
    /// What tells their runs from those of others: letters and digits.
    pub name: String,
}

/// What runs are made with.
struct Place<'a> {
    scenarios: &'a Path,
    registry: &'a Registry,
    models: Option<&'a InControl>,
}

/// Who chooses the controllers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chooser<'a> {
    /// Nobody: this one stays.
    Fixed(Candidate),
    Chance,
    /// The models of this name, and chance one time in ten: else only what they like would be seen.
    Models(&'a str),
}

impl fmt::Display for Chooser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chooser::Fixed(candidate) => f.write_str(candidate.name()),
            Chooser::Chance => f.write_str("random"),
            Chooser::Models(name) => write!(f, "model-{name}"),
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Runs that were made now.
    pub made: usize,
    /// Runs that were there.
    pub kept: usize,
    /// Runs that are missing, since somebody stopped.
    pub missing: usize,
}

/// Why it cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file or folder.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: std::io::Error,
    },
    /// The folder has units of another collection.
    #[error("{}: made with other settings; choose another folder", .0.display())]
    Other(PathBuf),
    /// Units with this seed would be those that models are judged by.
    #[error("seeds from {JUDGE_SEED} on are for judging: choose a smaller one")]
    Seed,
    /// A table of units.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A run.
    #[error("{0}")]
    Run(String),
}

impl Collection {
    /// So many environments, for so many seconds each time.
    pub fn new(
        environments: u64,
        seconds: u64,
        seed: u64,
        scenarios: &Path,
    ) -> Result<Collection, CollectError> {
        if seed.saturating_add(environments) >= JUDGE_SEED {
            return Err(CollectError::Seed);
        }
        let family = Environments { seed, scenes: true };
        let features = FEATURES.map(str::to_owned).to_vec();
        let scenarios_sha256 = family.digest(environments, scenarios).map_err(CollectError::Run)?;
        Ok(Collection { version: VERSION, environments, seconds, family, scenarios_sha256, features })
    }

    /// Makes the runs that `folder` lacks. Stops after the runs under way when `stop` is set.
    pub fn collect(
        &self,
        folder: &Path,
        scenarios: &Path,
        registry: &Registry,
        models: Option<&InControl>,
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<Collected, CollectError> {
        self.prepare(folder)?;
        let mut choosers = Candidate::ALL.map(Chooser::Fixed).to_vec();
        choosers.push(Chooser::Chance);
        choosers.extend(models.map(|models| Chooser::Models(&models.name)));
        let cells: Vec<(u64, Chooser<'_>)> = (0..self.environments)
            .flat_map(|environment| choosers.iter().map(move |chooser| (environment, *chooser)))
            .collect();
        let left: Vec<_> = cells.iter().filter(|cell| !file(folder, **cell).exists()).collect();
        let place = Place { scenarios, registry, models };
        let made = in_parallel(&left, threads, stop, |cell| self.make(folder, &place, **cell))?.len();
        Ok(Collected { made, kept: cells.len() - left.len(), missing: left.len() - made })
    }

    /// Makes the folder, or checks that it is one of this collection.
    fn prepare(&self, folder: &Path) -> Result<(), CollectError> {
        let io = |path: &Path, error| CollectError::Io { path: path.to_owned(), error };
        fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
        let path = folder.join("collection.json");
        if !path.exists() {
            let text =
                serde_json::to_string_pretty(self).map_err(|error| CollectError::Run(error.to_string()))?;
            return hawser_files::write(&path, (text + "\n").as_bytes()).map_err(|error| io(&path, error));
        }
        let text = fs::read_to_string(&path).map_err(|error| io(&path, error))?;
        match serde_json::from_str::<Collection>(&text) {
            Ok(there) if there == *self => Ok(()),
            _ => Err(CollectError::Other(path)),
        }
    }

    /// Runs a cell and writes its table, which gets its name when it is whole.
    fn make(&self, folder: &Path, place: &Place<'_>, cell: (u64, Chooser<'_>)) -> Result<(), CollectError> {
        Ok(unit_table::write(&file(folder, cell), cell.0, &self.run(place, cell)?)?)
    }

    /// What the sending end learned in a run.
    fn run(
        &self,
        place: &Place<'_>,
        (number, chooser): (u64, Chooser<'_>),
    ) -> Result<Vec<Experience>, CollectError> {
        let environment = self.family.get(number);
        let mut set = environment.set;
        set.push(format!("duration={} s", self.seconds));
        set.push(match chooser {
            Chooser::Fixed(candidate) => {
                format!("transport.policy=sscc,coupling=off,selection=rule,initial={}", candidate.name())
            }
            Chooser::Chance => "transport.policy=sscc,coupling=off,selection=random".to_owned(),
            Chooser::Models(_) => "transport.policy=sscc,coupling=off,selection=model,epsilon=0.1".to_owned(),
        });
        let failed = |error: String| CollectError::Run(format!("environment {number}: {error}"));
        let scenario = hawser_scenario::load(&place.scenarios.join(environment.file), &set);
        let scenario = scenario.map_err(|error| failed(error.to_string()))?;
        let mut registry = place.registry.clone();
        let parts =
            SsccParts { models: place.models.map(|given| given.models.clone()), ..SsccParts::default() };
        sscc::register(&mut registry, parts).map_err(|error| failed(error.to_string()))?;
        let simulation = Simulation::new(&scenario, &registry, Options::default());
        let mut probes = Probes::default().with_notes(&[DataUnit::NOTE, REWARD]);
        simulation.map_err(|error| failed(error.to_string()))?.run(&mut probes);
        Ok(experiences(&probes))
    }
}

fn file(folder: &Path, (environment, chooser): (u64, Chooser<'_>)) -> PathBuf {
    folder.join(format!("{environment:05}-{chooser}.parquet"))
}

/// The note of what came of a choice: it follows the unit that shows it, and was made at the unit of the path before that.
const REWARD: &str = "sscc.reward";

/// What the sending end learned.
fn experiences(probes: &Probes) -> Vec<Experience> {
    let mut units: BTreeMap<(&str, PathId), [Option<DataUnit>; 2]> = BTreeMap::new();
    let mut experiences = Vec::new();
    for (flow, note) in probes.notes().filter(|(_, note)| note.side.is_server()) {
        let Some(path) = note.path else { continue };
        let [before, last] = units.entry((flow, path)).or_default();
        if let Some(unit) = DataUnit::of_note(note) {
            (*before, *last) = (*last, Some(unit));
        } else if let (Some(unit), Some(outcome), Some(reward)) = (*before, *last, note.number("reward")) {
            experiences.push(Experience { unit, outcome, reward });
        }
    }
    experiences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::read_table;

    fn scenarios() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
    }

    #[test]
    fn a_collection_goes_on_where_it_was_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let registry = hawser_net::policies();
        let new = |environments| Collection::new(environments, 3, 7, &scenarios()).unwrap();
        let collect = |collection: &Collection, stop: bool| {
            collection.collect(folder.path(), &scenarios(), &registry, None, 2, &AtomicBool::new(stop))
        };
        assert_eq!(collect(&new(1), true).unwrap(), Collected { missing: 7, ..Collected::default() });
        assert_eq!(collect(&new(1), false).unwrap().made, 7);
        let vegas = folder.path().join("00000-vegas.parquet");
        let bytes = fs::read(&vegas).unwrap();
        let table = read_table(&vegas).unwrap();
        assert!(
            table.rows() > 5 && table.texts("controller").unwrap().iter().all(|name| *name == Some("vegas"))
        );
        assert!(FEATURES.iter().all(|feature| table.numbers(feature).is_ok()), "{}", table.schema());
        assert!(table.numbers("reward").unwrap().iter().flatten().all(|reward| *reward <= 1.0));
        // One is lost, and made again as it was.
        fs::remove_file(&vegas).unwrap();
        assert_eq!(collect(&new(1), false).unwrap(), Collected { made: 1, kept: 6, missing: 0 });
        assert_eq!(fs::read(&vegas).unwrap(), bytes);
        let other = collect(&new(2), false).unwrap_err();
        assert!(other.to_string().contains("other settings"), "{other}");
    }

    #[test]
    fn chance_meets_several_controllers_and_judging_environments_are_refused() {
        let collection = Collection::new(1, 20, 7, &scenarios()).unwrap();
        let place = Place { scenarios: &scenarios(), registry: &hawser_net::policies(), models: None };
        let units = collection.run(&place, (0, Chooser::Chance)).unwrap();
        let met = Candidate::ALL
            .into_iter()
            .filter(|candidate| units.iter().any(|it| it.outcome.running.name() == candidate.name()));
        assert!(met.count() >= 3, "{units:?}");
        assert!(matches!(Collection::new(1, 20, JUDGE_SEED, &scenarios()), Err(CollectError::Seed)));
    }
}
