//! `hawser top`: a program that runs, in a terminal.

use std::time::Duration;

use clap::Args;
use hawser_top::{Palette, TopError};

use hawser_command::control::{Socket, failure};
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::seconds;

const EXAMPLES: &str = "\
A line for each link with its recent past, who carried what, and what happened. Keys pause a link, change modes and shares: `?` \
shows them. Leaving it leaves the program as it is. Without colours if NO_COLOR is set.

Examples:
  hawser top                          the only program of this user that runs
  hawser top --socket 4711            the program with this process id
  ssh -t gateway.example hawser top";

/// Arguments of `hawser top`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Top {
    #[command(flatten)]
    socket: Socket,
    /// Seconds between samples
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    interval: Duration,
}

/// Shows it until the user leaves.
pub(crate) async fn run(arguments: Top) -> Result<(), Failure> {
    let client = arguments.socket.connect().await?;
    // https://no-color.org: set, and not empty.
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let shown = hawser_top::run(client, arguments.interval, Palette { colours }).await;
    shown.map_err(|error| match error {
        TopError::NoTerminal => Failure::usage(error.to_string()),
        TopError::Terminal(_) => Failure::new(Exit::Failure, error.to_string()),
        TopError::Client(error) => failure(&error),
    })
}
