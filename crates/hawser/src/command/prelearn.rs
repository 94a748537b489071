//! The model of the policy `4d-map`: how it is learned, and the file that takes its place.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::data::sweep::PolicyFiles;
use hawser_lab::experiments::four_d_map::prelearning::{FIRST_SEED, Prelearning};
use hawser_sched::{FourDMap, FourDMapModel};

use crate::Registry;
use crate::command::exit::{Exit, Failure};
use crate::command::options::Output;
use crate::command::report::{Channel, print};

/// The name of a model in a folder, and of what is said about it.
const MODEL: &str = "4d-map.model";
const MANIFEST: &str = "4d-map.json";

const EXAMPLES: &str = "\
Runs traces of live video over random links, in which chance decides about frames, and writes two files: 4d-map.model, what LinUCB \
learned of them, and 4d-map.json: seeds, hashes, and what each mechanism brought. Same arguments, same bytes (docs/4d-map.md).

Examples:
  hawser lab prelearn models/
  hawser sim run scenarios/4dmap-adaptability.toml --set transport.policy=4d-map --4d-map-model models/";

/// `hawser lab prelearn`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Prelearn {
    /// Folder for the model
    folder: PathBuf,
    /// Traces
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    traces: u64,
    /// Seconds of each
    #[arg(long, default_value = "60", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Seed of the first trace, from which the others count on; lists have smaller ones
    #[arg(long, default_value_t = FIRST_SEED, value_parser = clap::value_parser!(u64).range(FIRST_SEED..))]
    seed: u64,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Prelearn, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let &Prelearn { traces, seconds, seed, .. } = arguments;
    let learned = Prelearning { traces, seconds, seed }.run(&arguments.scenarios, registry);
    let learned =
        learned.map_err(|error| Failure::new(Exit::Scenario, error).of_scenarios(&arguments.scenarios))?;
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(|error| Failure::write(&file, &error))
    };
    write(MODEL, learned.model.write())?;
    write(MANIFEST, format!("{:#}\n", learned.manifest))?;
    if output.json {
        Channel::Stdout.print(&learned.manifest);
    } else {
        print(format_args!(
            "learned from {} decisions: {}",
            learned.manifest["decisions"],
            folder.join(MODEL).display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of the policy `4d-map`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FourDMapData {
    /// Model that the policy 4d-map starts with in place of that which comes with it: a file, or a folder of `hawser lab prelearn`
    #[arg(
        long = "4d-map-model",
        id = "4d-map-model",
        global = true,
        value_name = "FILE",
        help_heading = "Policies"
    )]
    model: Option<PathBuf>,
}

impl FourDMapData {
    /// The registry with a policy `4d-map` that starts with what the option says.
    ///
    /// # Errors
    /// A file that cannot be read, or a model that is broken.
    pub(crate) fn apply(&self, registry: Arc<Registry>) -> Result<Arc<Registry>, Failure> {
        let Some(path) = &self.model else { return Ok(registry) };
        let (model, text) = read_model(path)?;
        let mut registry = Registry::clone(&registry);
        PolicyFiles::note(&mut registry, "--4d-map-model", &text);
        FourDMap::register_with(&mut registry, Arc::new(model), None);
        Ok(Arc::new(registry))
    }
}

/// A model, and the text of its file.
fn read_model(path: &Path) -> Result<(FourDMapModel, String), Failure> {
    let file = if path.is_dir() { path.join(MODEL) } else { path.to_owned() };
    let text = std::fs::read_to_string(&file).map_err(|error| Failure::read(&file, &error))?;
    let model = FourDMapModel::read(&text)
        .map_err(|error| Failure::new(Exit::NotRead, format!("{}: {error}", file.display())))?;
    Ok((model, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_are_not_whole_are_refused() {
        let folder = tempfile::TempDir::new().expect("there is room");
        let file = folder.path().join(MODEL);
        let whole = FourDMapModel::SHIPPED;
        std::fs::write(&file, whole).expect("it can be written");
        assert!(read_model(folder.path()).is_ok(), "a folder has it under this name");
        for (text, expected) in [
            (whole.replacen("model 1", "model 9", 1), "version 9"),
            (whole[..whole.len() / 2].to_owned(), "model"),
            (whole.replacen("arm normal", "arm other", 1), "line 3"),
        ] {
            std::fs::write(&file, text).expect("it can be written");
            let failure = read_model(&file).expect_err("it is broken");
            assert_eq!(failure.exit as u8, Exit::NotRead as u8);
            let said = failure.to_string();
            assert!(said.contains(expected) && said.contains(MODEL), "{said}");
        }
        std::fs::remove_file(&file).expect("it is there");
        assert!(read_model(&file).is_err());
    }
}
