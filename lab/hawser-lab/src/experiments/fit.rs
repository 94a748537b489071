//! How well the fitted generators of links meet the measured facts, and how well the published part of the data does.

use std::io;
use std::path::{Path, PathBuf};

use hawser_link::{Direction, Nanos, SECOND};
use hawser_radio::fit::{CarrierFacts, CarrierRun, StarlinkFacts, Table, table};
use hawser_radio::{RadioError, Scene, StarlinkSlots, TwoCarriers};
use hawser_trace::{Input, RateTrace, ReadOptions, Trace, TraceError};

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A generator.
    #[error(transparent)]
    Radio(#[from] RadioError),
    /// Recorded data that cannot be read, or make no sense.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A folder of recorded data that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What the generators yield in `hours` of drive, against the facts.
///
/// # Errors
/// [`FitError::Radio`].
pub fn generated(hours: u64, seed: u64) -> Result<Vec<Table>, FitError> {
    let duration = hours.saturating_mul(3600 * SECOND);
    let links = TwoCarriers::default().profiles(duration, seed)?;
    let carriers = CarrierFacts::of_profiles([&links[0], &links[1]], duration);
    let dish = StarlinkSlots::default().profile(duration, seed)?;
    let dish = StarlinkFacts::of_profile(&dish, duration);
    Ok(vec![
        against_carriers("two-carriers against PAM 2025", &carriers),
        against_dish("starlink-slots against the recorded terminal and the 90-minute loss trace", &dish),
    ])
}

/// What the recorded data themselves yield, against the facts; `folder` holds `pam2025`, `pam2025-ping` and
/// `leocc-starlink`.
///
/// # Errors
/// [`FitError`].
pub fn recorded(folder: &Path) -> Result<Vec<Table>, FitError> {
    let runs = folder.join("pam2025");
    let (down, up) = (carrier_runs(&runs, Direction::Down)?, carrier_runs(&runs, Direction::Up)?);
    let mut round_trips = Vec::new();
    // The two carriers of the runs; the folder has pings of others, too.
    for carrier in ["atnt", "verizon"] {
        for log in files(&folder.join("pam2025-ping"), carrier)? {
            // A log has half of each round-trip time as the delay.
            round_trips.extend(delays(&trace(&[log])?).map(|delay| 2.0 * delay));
        }
    }
    let terminal = folder.join("leocc-starlink");
    let dish = trace(&["bw_example.txt", "delay_example.txt"].map(|name| terminal.join(name)))?;
    let pieces = dish.links.iter().find_map(|link| link.down.service(dish.duration)).unwrap_or_default();
    let rates: Vec<f64> = pieces.iter().map(|piece| piece.value).collect();
    let dish = StarlinkFacts::of_recording(&rates, &delays(&dish).collect::<Vec<_>>());
    Ok(vec![
        against_carriers(
            "published part of the data against the whole data set",
            &CarrierFacts::of_runs(&down, &up, &round_trips),
        ),
        against_dish("recorded terminal against its facts", &dish),
    ])
}

/// The drives that were measured in a direction.
fn carrier_runs(folder: &Path, direction: Direction) -> Result<Vec<CarrierRun>, FitError> {
    let prefix = if direction == Direction::Up { "UL_" } else { "DL_" };
    let run = |file: PathBuf| {
        let drive = trace(&[file])?;
        let mut run = CarrierRun::default();
        for (rates, link) in run.rates.iter_mut().zip(&drive.links) {
            let Some(RateTrace::Steps(series)) = &link.direction(direction).rate else { continue };
            rates.extend(series.points().iter().map(|&(at, rate)| (seconds(at), rate as f64)));
            run.handovers.extend(link.hand_overs().map(|event| seconds(event.to - event.from)));
            run.time += seconds(drive.duration);
        }
        Ok(run)
    };
    files(folder, prefix)?.into_iter().map(run).collect()
}

/// One-way delays towards the host as they were recorded, seconds.
fn delays(trace: &Trace) -> impl Iterator<Item = f64> {
    let series = trace.links.iter().filter_map(|link| link.down.delay.as_ref());
    series.flat_map(|series| series.points()).map(|&(_, delay)| seconds(delay))
}

fn seconds(time: Nanos) -> f64 {
    time as f64 / SECOND as f64
}

fn against_carriers(title: &str, got: &CarrierFacts) -> Table {
    table(title, &CarrierFacts::published().statistics(), &got.statistics())
}

fn against_dish(title: &str, got: &StarlinkFacts) -> Table {
    table(title, &StarlinkFacts::published().statistics(), &got.statistics())
}

/// The files of a folder whose names begin so, by name.
fn files(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, FitError> {
    let failed = |source| FitError::Read { path: folder.to_owned(), source };
    let names = hawser_scenario::files_matching(folder, &format!("{prefix}*")).map_err(failed)?;
    match names.is_empty() {
        true => Err(failed(io::Error::new(io::ErrorKind::NotFound, format!("no file {prefix}*")))),
        false => Ok(names.into_iter().map(|name| folder.join(name)).collect()),
    }
}

/// What files about the same links say.
fn trace(files: &[PathBuf]) -> Result<Trace, FitError> {
    let input = |path: &PathBuf| Input { link: None, path: path.clone(), text: None };
    let inputs: Vec<Input> = files.iter().map(input).collect();
    Ok(hawser_trace::read(&inputs, &ReadOptions::default())?)
}

#[cfg(test)]
mod tests;
