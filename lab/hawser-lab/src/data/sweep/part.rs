//! A part: the results of some cells, whole or not there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{digest, read_json, write_json};
use super::work::timing_schema;
use super::{CELLS, CellResult, Manifest, SweepError, TIMING, Work, table_file};
use crate::data::table::{self, read_table};

const DESCRIPTION: &str = "part.json";
const PREFIX: &str = "part-";
const UNFINISHED: &str = ".partial";

/// `part.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Description {
    /// Of the manifest that the cells belong to.
    pub(super) fingerprint: String,
    /// The cells in it, sorted.
    pub(super) cells: Vec<usize>,
    /// How many of them failed.
    pub(super) failed: usize,
    files: Vec<PartFile>,
}

/// A table in a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PartFile {
    table: String,
    rows: u64,
    bytes: u64,
    sha256: String,
}

/// A part that has been verified.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) description: Description,
}

/// Why a part is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Defect {
    /// Of another sweep.
    Foreign,
    /// Says what is wrong.
    Damaged(String),
}

/// The number of a part, from the name of its folder.
pub(super) fn number(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// Whether a name is that of a part that was not finished.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).is_some_and(|name| number(name).is_some())
}

/// Writes the results of some cells as a part of this number; sorts them.
pub(super) fn write<W: Work>(
    shard: &Path,
    part: u64,
    work: &W,
    fingerprint: &str,
    results: &mut [CellResult<W::Output>],
) -> Result<Part, SweepError> {
    results.sort_by_key(|result| result.cell);
    let path = shard.join(format!("{PREFIX}{part:06}"));
    let unfinished = shard.join(format!("{PREFIX}{part:06}{UNFINISHED}"));
    let written = fill(&unfinished, work, fingerprint, results).and_then(|description| {
        fs::rename(&unfinished, &path).map_err(|error| SweepError::write(&path, error))?;
        // The new name is an entry of the folder, which has to reach the disk, too.
        sync_folder(shard).map_err(|error| SweepError::write(shard, error))?;
        Ok(Part { path, description })
    });
    if written.is_err() {
        // What could not be finished takes no room, least of all on a full disk.
        let _ = fs::remove_dir_all(&unfinished);
    }
    written
}

fn fill<W: Work>(
    folder: &Path,
    work: &W,
    fingerprint: &str,
    results: &[CellResult<W::Output>],
) -> Result<Description, SweepError> {
    fs::create_dir_all(folder).map_err(|error| SweepError::write(folder, error))?;
    let mut files = Vec::new();
    for table in work.manifest().tables {
        let path = table_file(folder, &table);
        let is_timing = table == TIMING;
        let schema = if is_timing { timing_schema()? } else { work.schema(&table)? };
        let mut writer = table::create(&path, schema)?;
        for result in results {
            match is_timing {
                true => writer.row(&[(result.cell as u64).into(), result.wall_seconds.into()])?,
                false => work.write(&table, writer.as_mut(), result)?,
            }
        }
        let rows = writer.finish()?.rows;
        let bytes = fs::read(&path).map_err(|error| SweepError::read(&path, error))?;
        files.push(PartFile { table, rows, bytes: bytes.len() as u64, sha256: digest(&bytes) });
    }
    let description = Description {
        fingerprint: fingerprint.to_owned(),
        cells: results.iter().map(|result| result.cell).collect(),
        failed: results.iter().filter(|result| result.outcome.is_err()).count(),
        files,
    };
    write_json(&folder.join(DESCRIPTION), &description)?;
    Ok(description)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads the description of a part and compares all its files with it.
pub(super) fn verify(path: &Path, fingerprint: &str, manifest: &Manifest) -> Result<Part, Defect> {
    let damaged = |reason: String| Defect::Damaged(reason);
    let description: Description = read_json(&path.join(DESCRIPTION))
        .map_err(|error| damaged(error.to_string()))?
        .ok_or_else(|| damaged(format!("it has no {DESCRIPTION}")))?;
    if description.fingerprint != fingerprint {
        return Err(Defect::Foreign);
    }
    if description.cells.iter().any(|cell| *cell >= manifest.cells) || !description.cells.is_sorted() {
        return Err(damaged("it has cells that the plan does not have".to_owned()));
    }
    for name in &manifest.tables {
        let Some(file) = description.files.iter().find(|file| file.table == *name) else {
            return Err(damaged(format!("{DESCRIPTION} says nothing of {name}")));
        };
        let bytes =
            fs::read(table_file(path, name)).map_err(|error| damaged(format!("{name}.parquet: {error}")))?;
        if bytes.len() as u64 != file.bytes {
            let (found, expected) = (bytes.len(), file.bytes);
            return Err(damaged(format!("{name}.parquet has {found} bytes instead of {expected}")));
        }
        if digest(&bytes) != file.sha256 {
            return Err(damaged(format!("{name}.parquet has other content than when it was written")));
        }
    }
    Ok(Part { path: path.to_owned(), description })
}

impl Part {
    /// Returns the cells of it that failed, with their messages.
    pub(super) fn failures(&self) -> Result<BTreeMap<usize, String>, SweepError> {
        if self.description.failed == 0 {
            return Ok(BTreeMap::new());
        }
        let table = read_table(&table_file(&self.path, CELLS))?;
        let cells = table.numbers("cell")?.into_iter().zip(table.texts("message")?);
        // Only cells that failed have a message.
        let failure =
            |(cell, message): (Option<f64>, Option<&str>)| Some((cell? as usize, message?.to_owned()));
        Ok(cells.filter_map(failure).collect())
    }
}

impl Description {
    /// Rows of all tables.
    pub(super) fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }
}
