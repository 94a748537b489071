//! What models are trained with: Data Units and their rewards from random environments, a controller at a time (F. Yang 2022,
//! section 5.3.6, stage 1).
//!
//! A folder has `collection.json`, which says what was drawn, and a file of JSON lines for each environment and controller. A
//! file is there when it is whole: the same command again makes those that are missing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hawser_cc::sscc::{self, Candidate, Experience, FEATURES, Observer, SsccParts};
use hawser_learn::Random;
use hawser_policy::{Registry, Side};
use hawser_sim::run::{NoRecorder, Options, Simulation};
use serde::{Deserialize, Serialize};
use serde_json::json;

const SCENARIO: &str = "sscc-training.toml";
/// Version of the folder's format.
const VERSION: u32 = 1;

/// What is collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Version of the format.
    version: u32,
    /// Random environments.
    pub environments: u64,
    /// Seconds of each run.
    pub seconds: u64,
    /// Everything random follows from it.
    pub seed: u64,
    /// What a line has, in order.
    features: Vec<String>,
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
    /// A run.
    #[error("{0}")]
    Run(String),
}

impl Collection {
    /// So many environments, each controller for so many seconds in each.
    pub fn new(environments: u64, seconds: u64, seed: u64) -> Collection {
        let features = FEATURES.map(str::to_owned).to_vec();
        Collection { version: VERSION, environments, seconds, seed, features }
    }

    /// Makes the runs that `folder` lacks. Stops after the runs under way when `stop` is set.
    pub fn collect(
        &self,
        folder: &Path,
        scenarios: &Path,
        registry: &Registry,
        threads: usize,
        stop: &AtomicBool,
    ) -> Result<Collected, CollectError> {
        self.prepare(folder)?;
        let cells: Vec<(u64, Candidate)> = (0..self.environments)
            .flat_map(|environment| Candidate::ALL.map(|candidate| (environment, candidate)))
            .collect();
        let left: Vec<_> = cells.iter().filter(|cell| !file(folder, **cell).exists()).collect();
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let made = AtomicUsize::new(0);
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let Some(cell) = left.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                match self.make(folder, scenarios, registry, **cell) {
                    Ok(()) => _ = made.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| (0..threads.max(1)).for_each(|_| _ = scope.spawn(work)));
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let made = made.into_inner();
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
            return fs::write(&path, text + "\n").map_err(|error| io(&path, error));
        }
        let text = fs::read_to_string(&path).map_err(|error| io(&path, error))?;
        match serde_json::from_str::<Collection>(&text) {
            Ok(there) if there == *self => Ok(()),
            _ => Err(CollectError::Other(path)),
        }
    }

    /// Runs a cell and writes its file, which gets its name when it is whole.
    fn make(
        &self,
        folder: &Path,
        scenarios: &Path,
        registry: &Registry,
        cell: (u64, Candidate),
    ) -> Result<(), CollectError> {
        let lines = self.run(scenarios, registry, cell)?;
        let path = file(folder, cell);
        let partial = path.with_extension("partial");
        let write = || {
            let mut file = fs::File::create(&partial)?;
            file.write_all(lines.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        };
        write().map_err(|error| CollectError::Io { path: path.clone(), error })
    }

    fn run(
        &self,
        scenarios: &Path,
        registry: &Registry,
        (environment, candidate): (u64, Candidate),
    ) -> Result<String, CollectError> {
        let mut set = overrides(self.seed, environment);
        set.push(format!("duration={} s", self.seconds));
        set.push(format!("seed={}", self.seed.wrapping_add(environment)));
        set.push(format!("transport.policy=sscc,coupling=off,selection=rule,initial={}", candidate.name()));
        let failed = |error: String| CollectError::Run(format!("environment {environment}: {error}"));
        let scenario = hawser_scenario::load(&scenarios.join(SCENARIO), &set);
        let scenario = scenario.map_err(|error| failed(error.to_string()))?;
        let notes = Arc::new(Notes::default());
        let mut registry = registry.clone();
        let parts = SsccParts { observer: Some(notes.clone()), ..SsccParts::default() };
        sscc::register(&mut registry, parts).map_err(|error| failed(error.to_string()))?;
        let simulation = Simulation::new(&scenario, &registry, Options::default());
        simulation.map_err(|error| failed(error.to_string()))?.run(&mut NoRecorder);
        let experiences = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |known: &Experience| {
            let (path, at) = (known.unit.path.0, known.unit.at.as_secs_f64());
            let features = known.unit.features();
            format!(
                "{}\n",
                json!({
                    "environment": environment, "controller": candidate.name(), "path": path, "at": at,
                    "features": features, "reward": known.reward,
                })
            )
        };
        Ok(experiences.iter().map(line).collect())
    }
}

fn file(folder: &Path, (environment, candidate): (u64, Candidate)) -> PathBuf {
    folder.join(format!("{environment:05}-{}.jsonl", candidate.name()))
}

/// The links of an environment, as fields of the scenario. Uniform: 5 to 100 Mbit/s, 20 to 400 ms, losses up to 2 %;
/// logarithmically: queues of 0.1 to 50 MB, background of 0.1 to 50 MB.
fn overrides(seed: u64, environment: u64) -> Vec<String> {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(environment));
    let mut fields = Vec::new();
    for path in 0..2 {
        let mut uniform = |low: f64, high: f64| low + (high - low) * random.fraction();
        let rate = uniform(5_000.0, 100_000.0).round();
        let one_way = uniform(10.0, 200.0);
        let loss = uniform(0.0, 0.02);
        let queue = (uniform(0.1_f64.ln(), 50_f64.ln()).exp() * 1e3).round();
        let background = (uniform(0.1_f64.ln(), 50_f64.ln()).exp() * 1e3).round();
        fields.push(format!("link.p{path}.rate={rate} kbit/s"));
        fields.push(format!("link.p{path}.delay={one_way:.2} ms"));
        fields.push(format!("link.p{path}.loss={loss:.5}"));
        fields.push(format!("link.p{path}.queue={queue} kB"));
        fields.push(format!("flow.background{path}.size={background} kB"));
    }
    fields
}

/// What the sending end learned.
#[derive(Default)]
struct Notes(Mutex<Vec<Experience>>);

impl Observer for Notes {
    fn on_experience(&self, side: Side, experience: &Experience) {
        if side == Side::Server {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*experience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_goes_on_where_it_was_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let registry = hawser_net::policies();
        let collection = Collection::new(1, 3, 7);
        let collect = |collection: &Collection, stop: bool| {
            collection.collect(folder.path(), &scenarios, &registry, 2, &AtomicBool::new(stop))
        };
        assert_eq!(collect(&collection, true).unwrap(), Collected { missing: 6, ..Collected::default() });
        assert_eq!(collect(&collection, false).unwrap().made, 6);
        let vegas = folder.path().join("00000-vegas.jsonl");
        let text = fs::read_to_string(&vegas).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            (line["controller"].as_str(), line["features"].as_array().unwrap().len()),
            (Some("vegas"), 8)
        );
        assert!(line["reward"].as_f64().unwrap() <= 1.0);
        // One is lost, and made again as it was.
        fs::remove_file(&vegas).unwrap();
        assert_eq!(collect(&collection, false).unwrap(), Collected { made: 1, kept: 5, missing: 0 });
        assert_eq!(fs::read_to_string(&vegas).unwrap(), text);
        let other = collect(&Collection::new(2, 3, 7), false).unwrap_err();
        assert!(other.to_string().contains("other settings"), "{other}");
    }
}
