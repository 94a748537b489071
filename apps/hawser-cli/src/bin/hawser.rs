//! The `hawser` command: every policy that comes with the project, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    hawser_cli::run(hawser::policies())
}
