//! The models of the policy `4d-map` and of the scheduler `dqn`: how they are learned, and the files that take their place.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hawser_lab::experiments::four_d_map::prelearning::{Decides, FIRST_SEED, Prelearning};
use hawser_lab::experiments::four_d_map::q_training::QTraining;
use hawser_sched::{DqnModel, FourDMapModel};
use serde_json::Value;

use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

/// The names of models in a folder, and of what is said about them.
const MODEL: &str = "4d-map.model";
const MANIFEST: &str = "4d-map.json";
const DQN_MODEL: &str = "dqn.model";
const DQN_MANIFEST: &str = "dqn.json";

/// Traces unless told otherwise: as in the paper, and until exploration of the network is long over.
const TRACES: u64 = 10;
const DQN_TRACES: u64 = 20;

const EXAMPLES: &str = "\
Runs traces of live video over random links, in which LinUCB decides about frames and goes on learning from one to the next, and \
writes two files: 4d-map.model, what it learned of them, and 4d-map.json: seeds, hashes, and what each mechanism brought. With \
--chance decisions are random and LinUCB only looks on. With --dqn a network chooses paths instead, and \
learns: dqn.model and dqn.json are those of the scheduler dqn. Same arguments, same bytes (docs/4d-map-learning.md, docs/dqn.md).

Examples:
  hawser lab prelearn models/
  hawser lab prelearn --dqn models/
  hawser sim run scenarios/4dmap-adaptability.toml --set transport.policy=4d-map,model=models/";

/// `hawser lab prelearn`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Prelearn {
    /// Folder for the model
    folder: PathBuf,
    /// Train the network of the scheduler dqn instead
    #[arg(long)]
    dqn: bool,
    /// Let chance decide about frames instead of the learner
    #[arg(long, conflicts_with = "dqn")]
    chance: bool,
    /// Traces; 10, with --dqn 20 unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    traces: Option<u64>,
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

/// What was learned, and what is said about it: names of files, and what they hold.
struct Learned {
    model: (&'static str, Vec<u8>),
    manifest: (&'static str, Value),
}

/// Runs the command.
pub(crate) fn run(arguments: &Prelearn, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let learned = learn(arguments, registry);
    let Learned { model: (model, bytes), manifest: (name, manifest) } =
        learned.map_err(|error| Failure::new(Exit::Scenario, error).of_scenarios(&arguments.scenarios))?;
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.join(name);
        hawser_files::write(&file, bytes).map_err(|error| Failure::write(&file, &error))
    };
    write(model, &bytes)?;
    write(name, format!("{manifest:#}\n").as_bytes())?;
    if output.json {
        Channel::Stdout.print(&manifest);
    } else {
        print(format_args!(
            "learned from {} decisions: {}",
            manifest["decisions"],
            folder.join(model).display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn learn(arguments: &Prelearn, registry: &Registry) -> Result<Learned, String> {
    let &Prelearn { seconds, seed, .. } = arguments;
    if arguments.dqn {
        let traces = arguments.traces.unwrap_or(DQN_TRACES);
        let trained = QTraining { traces, seconds, seed }.run(&arguments.scenarios, registry)?;
        let model = DqnModel::write(&trained.network);
        return Ok(Learned { model: (DQN_MODEL, model), manifest: (DQN_MANIFEST, trained.manifest) });
    }
    let traces = arguments.traces.unwrap_or(TRACES);
    let decides = if arguments.chance { Decides::Chance } else { Decides::Learner };
    let learned = Prelearning { decides, traces, seconds, seed }.run(&arguments.scenarios, registry)?;
    let model = learned.model.write().into_bytes();
    Ok(Learned { model: (MODEL, model), manifest: (MANIFEST, learned.manifest) })
}

/// A model, and the text of its file.
pub(crate) fn read_model(path: &Path) -> Result<(FourDMapModel, String), Failure> {
    let file = if path.is_dir() { path.join(MODEL) } else { path.to_owned() };
    let text = std::fs::read_to_string(&file).map_err(|error| Failure::read(&file, &error))?;
    let model = FourDMapModel::read(&text)
        .map_err(|error| Failure::new(Exit::NotRead, format!("{}: {error}", file.display())))?;
    Ok((model, text))
}

/// A network, and its file.
pub(crate) fn read_dqn_model(path: &Path) -> Result<(DqnModel, Vec<u8>), Failure> {
    let file = if path.is_dir() { path.join(DQN_MODEL) } else { path.to_owned() };
    let bytes = std::fs::read(&file).map_err(|error| Failure::read(&file, &error))?;
    let model = DqnModel::read(&bytes)
        .map_err(|error| Failure::new(Exit::NotRead, format!("{}: {error}", file.display())))?;
    Ok((model, bytes))
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

    #[test]
    fn networks_that_are_not_whole_are_refused() {
        let folder = tempfile::TempDir::new().expect("there is room");
        let file = folder.path().join(DQN_MODEL);
        let whole = DqnModel::SHIPPED;
        std::fs::write(&file, whole).expect("it can be written");
        assert!(read_dqn_model(folder.path()).is_ok(), "a folder has it under this name");
        for (bytes, expected) in [(&whole[..whole.len() - 4], "check value"), (b"{}", "begin with")] {
            std::fs::write(&file, bytes).expect("it can be written");
            let failure = read_dqn_model(&file).expect_err("it is broken");
            assert_eq!(failure.exit as u8, Exit::NotRead as u8);
            let said = failure.to_string();
            assert!(said.contains(expected) && said.contains(DQN_MODEL), "{said}");
        }
    }
}
