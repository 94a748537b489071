//! `hawser pin`: by what clients know a server of this machine.

use std::path::PathBuf;

use clap::Args;

use hawser::Identity;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::server::state_folder;

/// Arguments of `hawser pin`.
#[derive(Args, Debug)]
pub(crate) struct ShowPin {
    /// Folder that keeps the server's own certificate. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// Certificate chain (PEM) of which to tell the pin instead
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
}

/// Prints the pin of the certificate that servers of this machine use.
pub(crate) fn run(arguments: ShowPin, output: Output) -> Result<(), Failure> {
    let file = match arguments.cert {
        Some(file) => file,
        None => {
            let folder = arguments.state.map_or_else(state_folder, Ok)?;
            let file = Identity::kept_certificate(&folder);
            if !file.exists() {
                let words = format!(
                    "there is no certificate in {}; `hawser serve` makes one when it starts for the first time",
                    folder.display()
                );
                return Err(Failure::new(Exit::NotRead, words));
            }
            file
        }
    };
    let pin = Identity::pin_of_pem_file(&file)?;
    match output.json {
        true => Channel::Stdout.print(&serde_json::json!({ "pin": pin.to_string() })),
        false => print(pin.to_string()),
    }
    Ok(())
}
