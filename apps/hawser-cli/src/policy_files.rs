//! The files that parameters of policies name: who reads and keeps them.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use hawser_lab::data::sweep::PolicyFiles;
use hawser_policy::{FileContents, TraceSink};

use crate::prelearn::{read_dqn_model, read_model};
use crate::sscc_data::{Keeper, read_models};
use crate::sscc_log::SsccLog;
use hawser::{PolicyKind, PolicySpec, Registry};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::policy_options::failure;

/// Memories of policies, which are kept on disk until they are closed.
#[derive(Clone, Default)]
pub(crate) struct Keepers(Arc<Mutex<Vec<Keeper>>>);

impl Keepers {
    fn kept(&self) -> MutexGuard<'_, Vec<Keeper>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what was learned. Connections that end later add nothing.
    pub(crate) fn close(&self) {
        self.kept().clear();
    }
}

/// Has this registry read the files of its policies. `is_real`: connections are, and what they learn may be kept.
pub(crate) fn attach(registry: &mut Registry, is_real: bool, output: Output) -> Keepers {
    let noted = PolicyFiles::default();
    registry.keep(noted.clone());
    let note = move |parameter: &str, file: &Path, bytes: &[u8]| {
        noted.note(&format!("{parameter}={}", file.display()), bytes);
    };
    let noted = note.clone();
    registry.read_with(
        "sscc",
        "models",
        once(move |file| {
            let (models, text) = read_models(file)?;
            noted("sscc,models", file, text.as_bytes());
            Ok(Arc::new(models))
        }),
    );
    let noted = note.clone();
    registry.read_with(
        "4d-map",
        "model",
        once(move |file| {
            let (model, text) = read_model(file)?;
            noted("4d-map,model", file, text.as_bytes());
            Ok(Arc::new(model))
        }),
    );
    registry.read_with(
        "dqn",
        "model",
        once(move |file| {
            let (model, bytes) = read_dqn_model(file)?;
            note("dqn,model", file, &bytes);
            Ok(Arc::new(model))
        }),
    );
    registry.read_with(
        "sscc",
        "log",
        once(move |file| {
            let log = SsccLog::create(file, output).map_err(|error| Failure::write(file, &error))?;
            Ok(Arc::new(Arc::new(log) as Arc<dyn TraceSink>))
        }),
    );
    let keepers = Keepers::default();
    let kept = keepers.clone();
    registry.read_with(
        "sscc",
        "prefixes",
        once(move |file| {
            // Runs of the simulator follow from scenario and seed alone.
            if !is_real {
                return Err(Failure::usage("prefixes are of real connections; leave them out here"));
            }
            let keeper = Keeper::open(file, output)?;
            let memory = keeper.memory();
            kept.kept().push(keeper);
            Ok(memory)
        }),
    );
    keepers
}

/// Reads each file once.
fn once<T, R>(read: R) -> impl Fn(&str) -> Result<FileContents, String> + Send + Sync
where
    T: Any + Send + Sync,
    R: Fn(&Path) -> Result<Arc<T>, Failure> + Send + Sync,
{
    let known: Mutex<BTreeMap<String, Result<Arc<T>, String>>> = Mutex::default();
    move |file| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = known
            .entry(file.to_owned())
            .or_insert_with(|| read(Path::new(file)).map_err(|failure| failure.message));
        contents.clone().map(|contents| contents as FileContents)
    }
}

/// Uses these parameters wherever such a policy is chosen without them.
///
/// # Errors
/// No policy of that name, or it has no such parameter.
pub(crate) fn set_defaults(registry: &mut Registry, place: &str, spec: &PolicySpec) -> Result<(), Failure> {
    let kinds = PolicyKind::ALL.into_iter().filter(|kind| registry.policy(*kind, spec.name()).is_some());
    let kinds: Vec<PolicyKind> = kinds.collect();
    if kinds.is_empty() {
        let known: Vec<&str> = PolicyKind::ALL.iter().flat_map(|kind| registry.names(*kind)).collect();
        let words =
            format!("{place}: there is no policy \"{}\"; known are: {}", spec.name(), known.join(", "));
        return Err(Failure::usage(words));
    }
    kinds
        .into_iter()
        .try_for_each(|kind| registry.set_defaults(kind, spec).map_err(|error| failure(place, &error)))
}

/// Options of an earlier release, which parameters have taken the place of.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FormerOptions {
    #[arg(long, global = true, hide = true)]
    sscc_models: Option<PathBuf>,
    #[arg(long, global = true, hide = true)]
    sscc_prefixes: Option<PathBuf>,
    #[arg(long, global = true, hide = true)]
    sscc_log: Option<PathBuf>,
    #[arg(long = "4d-map-model", id = "4d-map-model", global = true, hide = true)]
    four_d_map_model: Option<PathBuf>,
    #[arg(long = "dqn-model", id = "dqn-model", global = true, hide = true)]
    dqn_model: Option<PathBuf>,
}

impl FormerOptions {
    /// Does what the options say.
    ///
    /// # Errors
    /// A file that cannot be read or written, or whose name no parameter can carry.
    pub(crate) fn apply(&self, registry: &mut Registry) -> Result<(), Failure> {
        let given = [
            ("--sscc-models", "sscc", "models", &self.sscc_models),
            ("--sscc-prefixes", "sscc", "prefixes", &self.sscc_prefixes),
            ("--sscc-log", "sscc", "log", &self.sscc_log),
            ("--4d-map-model", "4d-map", "model", &self.four_d_map_model),
            ("--dqn-model", "dqn", "model", &self.dqn_model),
        ];
        for (option, policy, parameter, file) in given {
            let Some(file) = file else { continue };
            let spec = PolicySpec::new(policy).and_then(|spec| spec.with(parameter, file.display()));
            let spec = spec.map_err(|error| Failure::usage(format!("{option}: {error}")))?;
            set_defaults(registry, option, &spec)?;
        }
        Ok(())
    }
}
