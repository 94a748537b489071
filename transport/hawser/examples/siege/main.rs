//! Attacks a build of the command from outside, each with a victim that asks for a small file meanwhile (`make soak`).
//!
//! ```text
//! cargo run --release -p hawser --example siege -- target/release/hawser [FORM...]
//! cargo run --release -p hawser --example siege -- target/release/hawser --load [LOAD...]
//! cargo run --release -p hawser --example siege -- --list
//! ```
//!
//! Each form starts a server of its own on loopback, and ends it. Printed are what the attackers sent, the CPU time of the
//! server for each of their packets, the memory that it holds more for each of their bytes, and the longest that a victim
//! waited. Ends with 1 if a victim waited for a second, or a figure is above its bound; what is allowed beyond 100 µs and 100
//! bytes has its reason next to the form. Where a form is about something else, as what is stored under a quota, it says
//! that in the last column. `--list` names the attacks that were once carried out against the project, and the forms of each.
//! docs/security-siege.md has the tables.

mod client;
mod connections;
mod drain;
mod files;
mod flood;
mod form;
mod frames;
mod gateway;
mod idle;
mod link;
mod list;
mod load;
mod local;
mod measure;
mod program;
mod programs;
mod raw;
mod relay;
mod requests;
mod run;
mod server;
mod tap;
mod vr360;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use form::Form;
use programs::TRIALS;
use run::{Bounds, HEADING, Outcome, judge, run};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a victim may wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Every form of attack on a server.
fn all_forms() -> impl Iterator<Item = &'static Form> {
    let served = requests::REQUESTS.iter().chain(files::FILES).chain(connections::CONNECTIONS);
    let transport = frames::FRAMES.iter().chain(idle::IDLE);
    let others = vr360::FILMS.iter().chain(measure::RECORDS).chain(relay::RELAYED).chain(gateway::GATEWAY);
    served.chain(transport).chain(others)
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let holds = match arguments.next().as_deref() {
        Some("--list") => Ok(list::print()),
        Some(command) if !command.starts_with('-') => {
            let (command, mut names) = (PathBuf::from(command), arguments.collect::<Vec<_>>());
            let is_load = names.iter().any(|name| name == "--load");
            names.retain(|name| name != "--load");
            match is_load {
                true => load::run(&command, &names).await,
                false => all(&command, &names).await,
            }
        }
        _ => {
            eprintln!("usage: siege HAWSER [FORM...] | siege HAWSER --load [LOAD...] | siege --list");
            return ExitCode::from(2);
        }
    };
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Carries out these forms, or all of them if none are named. Whether all hold.
async fn all(command: &Path, names: &[String]) -> Result<bool, Error> {
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let known = || all_forms().map(|form| form.name).chain(TRIALS.iter().map(|trial| trial.name));
    if let Some(unknown) = names.iter().find(|name| known().all(|known| known != *name)) {
        return Err(format!("there is no form `{unknown}`; `siege --list` names all").into());
    }
    println!("{HEADING}");
    let mut all_hold = true;
    let mut note = |bounds: &Bounds, outcome: Result<Outcome, Error>| {
        let (line, holds) = match outcome {
            Ok(outcome) => judge(bounds, &outcome),
            Err(error) => (format!("| {} | it could not be run: {error} |", bounds.name), false),
        };
        all_hold &= holds;
        println!("{line}");
    };
    for form in all_forms().filter(|form| is_wanted(form.name)) {
        note(&Bounds::from(form), run(form, command).await);
    }
    for trial in TRIALS.iter().filter(|trial| is_wanted(trial.name)) {
        note(&trial.bounds(), trial.run(command).await);
    }
    Ok(all_hold)
}
