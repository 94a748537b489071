//! `hawser generate`: man pages and shell completions, for packages.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, Subcommand};
use clap_complete::Shell;

use hawser_command::exit::Failure;
use hawser_command::report;

/// `hawser generate`.
#[derive(Subcommand, Debug)]
pub(crate) enum Generate {
    /// Write man pages to a folder: hawser.1, and one for each command
    Man {
        /// The folder; made if it is not there
        folder: PathBuf,
    },
    /// Print completions for a shell
    ///
    /// For one user: hawser generate completions bash > ~/.local/share/bash-completion/completions/hawser
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Generates what is asked for. `command` is the whole command.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn run(generate: &Generate, mut command: Command) -> Result<ExitCode, Failure> {
    match generate {
        Generate::Man { folder } => {
            let failed = |error: io::Error| Failure::write(folder, &error);
            std::fs::create_dir_all(folder).map_err(failed)?;
            // Its subcommand `help` would have pages of its own.
            let command = without_help(command);
            clap_mangen::generate_to(command, folder).map_err(failed)?;
        }
        Generate::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, "hawser", &mut script);
            report::note_lost(io::Write::write_all(&mut io::stdout(), &script));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn without_help(command: Command) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = command.disable_help_subcommand(true);
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, without_help))
}
