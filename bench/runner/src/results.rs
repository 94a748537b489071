//! Result files.

use std::path::Path;

use bench_harness::Error;
use serde::Serialize;

use crate::machine::Machine;

#[derive(Serialize)]
struct Results<'a, S, R> {
    suite: &'a str,
    machine: Machine,
    summary: S,
    runs: R,
}

/// Writes `DIRECTORY/SUITE.json`.
pub(crate) fn write(
    directory: &Path,
    suite: &str,
    summary: impl Serialize,
    runs: impl Serialize,
) -> Result<(), Error> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("{suite}.json"));
    let results = Results { suite, machine: Machine::here(), summary, runs };
    std::fs::write(&path, serde_json::to_vec_pretty(&results)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
