//! `hawser lab encounters`: what sessions over the encounters of a city come to, for those who choose the parameters of the generator.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::experiments::xfi::{Calibration, Sessions};
use serde_json::{Map, json};

use crate::emulate::load;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

const EXAMPLES: &str = "\
Runs the sessions of the list xfi over encounters whose statistics are set otherwise, and prints what its items are judged by: means \
over the seeds. The list judges by seeds from 1 on; parameters are to be chosen by others (docs/radio.md).

Examples:
  hawser lab encounters los-angeles --hours 3.2
  hawser lab encounters macao-rate17 --hours 9 --set quality.queue=64000 --set quality.bad_share=0.1
  hawser lab encounters macao --bands
  hawser lab encounters macao --controllers";

/// `hawser lab encounters`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Encounters {
    /// The city: paris, bologna, los-angeles, macao, macao-rate17
    city: String,
    /// Hours of the drive
    #[arg(long, default_value = "2")]
    hours: f64,
    /// Goodput by band and direction in place of a drive
    #[arg(long, conflicts_with = "controllers")]
    bands: bool,
    /// Goodput by controller, and with eight flows, in place of a drive
    #[arg(long)]
    controllers: bool,
    /// Set a field of the city's statistics, such as quality.queue=64000; may be repeated
    #[arg(long = "set", value_name = "FIELD=NUMBER")]
    set: Vec<String>,
    /// The first seed
    #[arg(long, default_value = "1000")]
    seed: u64,
    /// How many seeds
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
}

/// Runs the command.
pub(crate) fn run(
    arguments: &Encounters,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let calibration = Calibration::new(&arguments.city, &arguments.set);
    let mut calibration = calibration.map_err(|error| Failure::new(Exit::Usage, error))?;
    calibration.hours = arguments.hours;
    calibration.sessions = match (arguments.bands, arguments.controllers) {
        (true, _) => Sessions::Bands,
        (_, true) => Sessions::Controllers,
        _ => Sessions::Drive,
    };
    let read = |file: &str, set: &[String]| {
        load(registry, &arguments.scenarios.join(file), set).map_err(|failure| failure.message)
    };
    let mut means: Vec<(String, f64)> = Vec::new();
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let measured = calibration.run(seed, registry, &read);
        let measured = measured.map_err(|error| Failure::new(Exit::Failure, error))?;
        for (name, value) in measured.metrics {
            let part = value / arguments.seeds as f64;
            match means.iter_mut().find(|(known, _)| *known == name) {
                Some((_, mean)) => *mean += part,
                None => means.push((name, part)),
            }
        }
    }
    if output.json {
        let metrics: Map<_, _> = means.into_iter().map(|(name, mean)| (name, json!(mean))).collect();
        Channel::Stdout.print(&metrics);
    } else {
        for (name, mean) in means {
            print(format_args!("{name:<26} {mean:>9.3}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
