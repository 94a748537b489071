//! How well the fitted generators of links meet the measured facts, and how well the published part of the data does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hawser_link::SECOND;
use hawser_radio::fit::{CarrierFacts, StarlinkFacts, Table, table};
use hawser_radio::{RadioError, Scene, StarlinkSlots, TwoCarriers};

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A generator, or recorded data that makes no sense.
    #[error(transparent)]
    Radio(#[from] RadioError),
    /// Recorded data that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
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
    // The two carriers of the runs; the folder has pings of others, too.
    let mut pings = texts(&folder.join("pam2025-ping"), "atnt")?;
    pings.extend(texts(&folder.join("pam2025-ping"), "verizon")?);
    let runs = folder.join("pam2025");
    let carriers = CarrierFacts::of_pam(&texts(&runs, "DL_")?, &texts(&runs, "UL_")?, &pings)?;
    let terminal = folder.join("leocc-starlink");
    let (rate, delay) = (read(&terminal.join("bw_example.txt"))?, read(&terminal.join("delay_example.txt"))?);
    let dish = StarlinkFacts::of_recording(&rate, &delay)?;
    Ok(vec![
        against_carriers("published part of the data against the whole data set", &carriers),
        against_dish("recorded terminal against its facts", &dish),
    ])
}

fn against_carriers(title: &str, got: &CarrierFacts) -> Table {
    table(title, &CarrierFacts::published().statistics(), &got.statistics())
}

fn against_dish(title: &str, got: &StarlinkFacts) -> Table {
    table(title, &StarlinkFacts::published().statistics(), &got.statistics())
}

/// The files of a folder whose names begin so, by name.
fn texts(folder: &Path, prefix: &str) -> Result<Vec<String>, FitError> {
    let failed = |source| FitError::Read { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<String, FitError> {
    fs::read_to_string(path).map_err(|source| FitError::Read { path: path.to_owned(), source })
}
