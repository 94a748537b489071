//! One table out of all parts, sorted by cell.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{read_json, write_json};
use super::part::Part;
use super::{CELLS, Folder, Found, SweepError, TIMING, TableName, table_file};
use crate::data::table::{self, Cell, Options, Table, read_table};

pub(super) const MERGED: &str = "merged";
const SUMMARY: &str = "summary.json";
/// Tables of parts held in memory. Threads take cells in order, so the parts of a shard overlap little.
const MOST_OPEN: usize = 64;
const NOWHERE: u32 = u32::MAX;

/// `merged/summary.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeSummary {
    /// Stands for plan and files.
    pub fingerprint: String,
    /// Cells of the plan.
    pub cells: usize,
    /// Of these, with a result, which may be that they failed.
    pub finished: usize,
    /// Of these, failed.
    pub failed: usize,
}

/// The file of a merged table.
pub fn merged_table(folder: &Path, table: TableName) -> PathBuf {
    merged_file(folder, table.name())
}

/// The file of a merged table of any work.
pub(crate) fn merged_file(folder: &Path, table: &str) -> PathBuf {
    table_file(&folder.join(MERGED), table)
}

/// Merges all finished parts, unless that has been done since the last of them was added.
///
/// The tables under `merged/` depend on plan, files and which cells are finished, and on nothing else: the same bytes
/// for any number of threads, shards and interruptions.
///
/// # Errors
/// [`SweepError`]: nothing is finished, parts disagree, or a file cannot be read or written.
pub fn merge(folder: &Folder) -> Result<MergeSummary, SweepError> {
    let _lock = folder.lock()?;
    let found = folder.look()?;
    if found.parts.is_empty() {
        return Err(SweepError::Empty { folder: folder.path().to_owned() });
    }
    let places = places(folder, &found)?;
    let target = folder.path().join(MERGED);
    let file = summary_file(folder);
    let finished = places.iter().filter(|place| **place != NOWHERE).count();
    if let Ok(Some(done)) = read_json::<MergeSummary>(&file)
        && done.fingerprint == folder.fingerprint()
        && done.finished == finished
        && folder.manifest().tables.iter().all(|table| path_of(folder, table).is_file())
    {
        return Ok(done);
    }
    fs::create_dir_all(&target).map_err(|error| SweepError::write(&target, error))?;
    // While it is not there, the tables may be of different age.
    forget(folder)?;
    let mut failed = 0;
    for table in &folder.manifest().tables {
        failed = failed.max(merge_table(folder, table, &found.parts, &places)?);
    }
    let (fingerprint, cells) = (folder.fingerprint().to_owned(), places.len());
    let summary = MergeSummary { fingerprint, cells, finished, failed };
    write_json(&file, &summary)?;
    Ok(summary)
}

fn summary_file(folder: &Folder) -> PathBuf {
    folder.path().join(MERGED).join(SUMMARY)
}

/// Has the next merge write all tables, since results come that replace others.
pub(super) fn forget(folder: &Folder) -> Result<(), SweepError> {
    let file = summary_file(folder);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SweepError::write(&file, error)),
        _ => Ok(()),
    }
}

fn path_of(folder: &Folder, table: &str) -> PathBuf {
    match table {
        TIMING => table_file(folder.path(), table),
        _ => table_file(&folder.path().join(MERGED), table),
    }
}

/// Per cell, the part with its result. Two parts may have the same cell, if they agree; where it failed in one of them the other
/// counts, and where it failed in both the last one.
fn places(folder: &Folder, found: &Found) -> Result<Vec<u32>, SweepError> {
    let mut places = vec![NOWHERE; folder.manifest().cells];
    let mut tables = Tables::new(CELLS, &found.parts);
    for (index, part) in found.parts.iter().enumerate() {
        for &cell in &part.description.cells {
            let place = &mut places[cell];
            if *place == NOWHERE {
                *place = u32::try_from(index).unwrap_or(NOWHERE);
                continue;
            }
            let first = *place as usize;
            let (before, now) = (tables.trace(first, cell)?, tables.trace(index, cell)?);
            if before.is_none() {
                *place = u32::try_from(index).unwrap_or(NOWHERE);
            } else if now.is_some() && before != now {
                let (first, second) = (found.parts[first].path.clone(), part.path.clone());
                return Err(SweepError::Disagreement { cell, first, second });
            }
        }
    }
    Ok(places)
}

/// Writes one merged table; returns how many of its rows say that a cell failed.
fn merge_table(folder: &Folder, table: &str, parts: &[Part], places: &[u32]) -> Result<usize, SweepError> {
    let path = path_of(folder, table);
    let manifest = folder.manifest();
    let metadata = vec![
        ("hawser.plan".to_owned(), manifest.plan.clone()),
        ("hawser.fingerprint".to_owned(), folder.fingerprint().to_owned()),
    ];
    let options = Options { metadata, ..Options::default() };
    let mut tables = Tables::new(table, parts);
    // All parts of a folder have the same columns.
    let schema = tables.open(0)?.table.schema().clone();
    let mut writer = table::create_with(&path, schema, options)?;
    let status = writer.schema().position("status");
    let mut failed = 0;
    for (cell, &place) in places.iter().enumerate().filter(|(_, place)| **place != NOWHERE) {
        let sorted = tables.open(place as usize)?;
        for row in sorted.rows_of(cell) {
            let cells = sorted.table.row(row);
            failed += usize::from(status.is_some_and(|status| cells[status] == Cell::Text("failed")));
            writer.row(&cells)?;
        }
    }
    writer.finish()?;
    Ok(failed)
}

/// The same table of all parts, those used last in memory.
struct Tables<'a> {
    name: &'a str,
    parts: &'a [Part],
    open: VecDeque<(usize, Sorted)>,
}

/// A table of a part, sorted by cell.
struct Sorted {
    table: Table,
    cells: Vec<usize>,
}

impl Sorted {
    fn rows_of(&self, cell: usize) -> std::ops::Range<usize> {
        let from = self.cells.partition_point(|other| *other < cell);
        from..from + self.cells[from..].partition_point(|other| *other == cell)
    }
}

impl<'a> Tables<'a> {
    fn new(name: &'a str, parts: &'a [Part]) -> Self {
        Tables { name, parts, open: VecDeque::new() }
    }

    fn open(&mut self, part: usize) -> Result<&Sorted, SweepError> {
        if let Some(at) = self.open.iter().position(|(index, _)| *index == part) {
            self.open.swap(at, 0);
        } else {
            let table = read_table(&table_file(&self.parts[part].path, self.name))?;
            let cells = table.numbers("cell")?.into_iter().map(|cell| cell.unwrap_or(0.0) as usize).collect();
            self.open.truncate(MOST_OPEN - 1);
            self.open.push_front((part, Sorted { table, cells }));
        }
        Ok(&self.open[0].1)
    }

    /// The trace hash of a cell in a part; none: it failed.
    fn trace(&mut self, part: usize, cell: usize) -> Result<Option<String>, SweepError> {
        let sorted = self.open(part)?;
        let column = sorted.table.schema().position("trace_hash");
        let row = sorted.rows_of(cell).next();
        Ok(match row.zip(column).map(|(row, column)| sorted.table.cell(row, column)) {
            Some(Cell::Text(hash)) => Some(hash.to_owned()),
            _ => None,
        })
    }
}
