//! The runs behind verdicts as one tree of Parquet, with a card that says what they are, so that others can cite them.
//!
//! ```text
//!   DIR/README.md                             the card, for people
//!   DIR/dataset.json                          the same for programs: lists, columns, files with their digests
//!   DIR/runs/list=NAME/runs.parquet           a row per metric of a run
//!   DIR/cells/list=NAME/cells.parquet         a row per run: how it ended
//!   DIR/verdicts/list=NAME/verdicts.parquet   a row per item
//! ```
//!
//! Folders named `KEY=VALUE` are columns to what reads such trees (DuckDB, polars, pyarrow). The same runs give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::judge::Verdicts;
use super::kept::RUNS;
use super::work::Verification;
use super::{card, collect, judge};
use crate::data::sweep::{CELLS, Folder, Manifest, digest, merged_file};
use crate::data::table::{self, Cell, Kind, Schema, Table, column, read_table};
use crate::experiments::ExperimentError;

/// The card of a data set, for programs.
pub const DATASET: &str = "dataset.json";
/// The same for people.
pub const CARD: &str = "README.md";

/// What a data set is: `dataset.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Dataset {
    /// Stands for all of it: the SHA-256 of the lines `DIGEST  FILE` of its tables, in the order of their names (what `sha256sum` prints).
    pub sha256: String,
    /// The lists whose runs are there.
    pub lists: Vec<Source>,
    /// Columns by table.
    pub columns: BTreeMap<&'static str, Vec<ColumnRow>>,
    /// The unit of every metric, by its name; empty: a count, a share or a hash.
    pub metrics: BTreeMap<String, String>,
    /// The tables, by name.
    pub files: Vec<FileRow>,
}

/// A list, and the runs behind it.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// Its name.
    pub list: String,
    /// One line for people.
    pub title: String,
    /// The document that it comes from.
    pub source: String,
    /// What was verified: the system, or what stood in for it.
    pub policy: String,
    /// Version of the program that made the runs.
    pub hawser: String,
    /// Digest of that program.
    pub program_sha256: Option<String>,
    /// Digest of the list, its scenarios and all that they read.
    pub manifest_sha256: String,
    /// Scenarios and groups of runs.
    pub scenarios: Vec<String>,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// Runs, and how many of them failed.
    pub runs: usize,
    /// Those that failed.
    pub failed: usize,
    /// How many items there are by verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
}

/// A column of a table.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnRow {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

/// A table on disk.
#[derive(Debug, Clone, Serialize)]
pub struct FileRow {
    /// Its name in the tree.
    pub file: String,
    /// Rows.
    pub rows: usize,
    /// Size.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// Returns whether runs are kept there.
pub fn has_runs(folder: &Path) -> bool {
    Folder::is_sweep(folder)
}

/// Writes the runs of these folders, and what was judged of them, as one tree below `out`.
///
/// # Errors
/// [`ExperimentError`]: a folder has no runs, or a file cannot be read or written.
pub fn write(kept: &[(&Verification, &Path)], out: &Path) -> Result<Dataset, ExperimentError> {
    let mut dataset = Dataset {
        sha256: String::new(),
        lists: Vec::new(),
        columns: BTreeMap::new(),
        metrics: BTreeMap::new(),
        files: Vec::new(),
    };
    for (verification, folder) in kept {
        dataset.add(verification, folder, out)?;
    }
    dataset.files.sort_by(|one, other| one.file.cmp(&other.file));
    let lines = dataset.files.iter().map(|file| format!("{}  {}\n", file.sha256, file.file));
    dataset.sha256 = digest(lines.collect::<String>().as_bytes());
    table::write_file(&out.join(CARD), card::card(&dataset).as_bytes())?;
    crate::data::sweep::write_json(&out.join(DATASET), &dataset)?;
    Ok(dataset)
}

impl Dataset {
    fn add(&mut self, verification: &Verification, folder: &Path, out: &Path) -> Result<(), ExperimentError> {
        let list = verification.list();
        if !has_runs(folder) {
            return Err(ExperimentError::no_runs(folder, &list.name));
        }
        let kept = collect(verification, folder)?;
        let items = verification.settings().items(list);
        let is_substitute = verification.policy() != list.system.policy;
        let verdicts = judge::judge(&kept, &list.name, items, verification.policy(), is_substitute);
        let runs = read_table(&merged_file(folder, RUNS))?;
        let cells = read_table(&merged_file(folder, CELLS))?;
        self.describe_metrics(&runs)?;
        self.lists.push(source(verification, Folder::open(folder)?.manifest(), &cells, &verdicts)?);
        self.keep("runs", &list.name, &runs, out)?;
        self.keep("cells", &list.name, &cells, out)?;
        self.keep("verdicts", &list.name, &of_verdicts(&verdicts)?, out)
    }

    fn describe_metrics(&mut self, runs: &Table) -> Result<(), ExperimentError> {
        let names: BTreeSet<&str> = runs.texts("metric")?.into_iter().flatten().collect();
        self.metrics.extend(names.into_iter().map(|name| (name.to_owned(), card::unit(name).to_owned())));
        Ok(())
    }

    /// Writes a table of a list.
    fn keep(
        &mut self,
        name: &'static str,
        list: &str,
        rows: &Table,
        out: &Path,
    ) -> Result<(), ExperimentError> {
        let file = format!("{name}/list={list}/{name}.parquet");
        let path = out.join(&file);
        let unreadable =
            |error: std::io::Error| ExperimentError::NotRead(format!("{}: {error}", path.display()));
        fs::create_dir_all(path.parent().unwrap_or(out)).map_err(unreadable)?;
        let mut writer = table::create(&path, rows.schema().clone())?;
        for row in 0..rows.rows() {
            writer.row(&rows.row(row))?;
        }
        writer.finish()?;
        let bytes = fs::read(&path).map_err(unreadable)?;
        let columns = rows.schema().columns().iter().map(|column| ColumnRow {
            name: column.name.clone(),
            kind: column.kind.name(),
            meaning: card::meaning(name, &column.name),
        });
        self.columns.entry(name).or_insert_with(|| columns.collect());
        self.files.push(FileRow {
            file,
            rows: rows.rows(),
            bytes: bytes.len() as u64,
            sha256: digest(&bytes),
        });
        Ok(())
    }
}

fn source(
    verification: &Verification,
    manifest: &Manifest,
    cells: &Table,
    verdicts: &Verdicts,
) -> Result<Source, ExperimentError> {
    let list = verification.list();
    let distinct = |name: &str| -> Result<BTreeSet<String>, ExperimentError> {
        Ok(cells.texts(name)?.into_iter().flatten().map(str::to_owned).collect())
    };
    let seeds: BTreeSet<u64> = cells.numbers("seed")?.into_iter().flatten().map(|seed| seed as u64).collect();
    let mut counts = BTreeMap::new();
    for item in &verdicts.items {
        *counts.entry(item.verdict.name()).or_default() += 1;
    }
    Ok(Source {
        list: list.name.clone(),
        title: list.title.clone(),
        source: list.source.clone(),
        policy: verification.policy().to_owned(),
        hawser: manifest.hawser.clone(),
        program_sha256: manifest.program_sha256.clone(),
        manifest_sha256: manifest.fingerprint(),
        scenarios: distinct("scenario")?.into_iter().collect(),
        seeds: seeds.into_iter().collect(),
        runs: cells.rows(),
        failed: cells.texts("message")?.into_iter().flatten().count(),
        verdicts: counts,
    })
}

/// The items as a table.
fn of_verdicts(verdicts: &Verdicts) -> Result<Table, ExperimentError> {
    let schema = Schema::new([
        column("item", Kind::Text),
        column("statement", Kind::Text),
        column("policy", Kind::Text),
        column("value", Kind::F64).optional(),
        column("low", Kind::F64).optional(),
        column("high", Kind::F64).optional(),
        column("threshold", Kind::Text),
        column("paper", Kind::Text),
        column("must", Kind::Bool),
        column("data", Kind::Text),
        column("verdict", Kind::Text),
        column("weight", Kind::Text),
    ])?;
    let mut rows = Table::new(schema);
    for item in &verdicts.items {
        rows.push(&[
            Cell::Text(&item.id),
            Cell::Text(&item.statement),
            Cell::Text(&verdicts.policy),
            item.value.into(),
            item.low.into(),
            item.high.into(),
            Cell::Text(&item.threshold),
            Cell::Text(&item.paper),
            Cell::Bool(item.must),
            Cell::Text(item.data.name()),
            Cell::Text(item.verdict.name()),
            Cell::Text(item.weight.name()),
        ])?;
    }
    Ok(rows)
}
