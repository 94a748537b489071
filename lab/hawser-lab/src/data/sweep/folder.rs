//! A folder of results: what is in it, and who may write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{read_json, write_json, write_whole};
use super::merge::MERGED;
use super::part::{self, Defect, Part};
use super::work::table_file;
use super::{CellResult, Manifest, Shard, SweepError, TIMING, Work};

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
const SHARD_PREFIX: &str = "shard-";

/// A folder with the results of a sweep.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    manifest: Manifest,
    fingerprint: String,
}

/// What there is in a folder.
#[derive(Debug, Default)]
pub struct Found {
    pub(super) parts: Vec<Part>,
    /// Parts that are damaged, with what is wrong: their cells count as not run.
    pub damaged: Vec<(PathBuf, String)>,
}

/// The part of a folder that one process writes to.
#[derive(Debug)]
pub(super) struct ShardFolder {
    path: PathBuf,
    manifest: ShardManifest,
    next_part: u64,
    /// Held until the process ends, however it ends.
    _lock: File,
}

/// `manifest.json` of a shard: for people and other programs; the parts themselves are what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ShardManifest {
    fingerprint: String,
    hawser: String,
    shard: String,
    /// Cells of the shard.
    cells: usize,
    /// Finished parts by name.
    parts: BTreeMap<String, ShardPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ShardPart {
    cells: usize,
    failed: usize,
    rows: u64,
}

impl Folder {
    /// Makes the folder of some work, or opens the one that is there. One in which nothing but failures of other work is kept begins
    /// again: what made them fail may have been corrected.
    ///
    /// # Errors
    /// [`SweepError::Changed`] when it has results of something else; also when it cannot be written.
    pub fn begin(path: &Path, work: &impl Work) -> Result<Self, SweepError> {
        fs::create_dir_all(path).map_err(|error| SweepError::write(path, error))?;
        let _lock = lock(path)?;
        let manifest = work.manifest();
        let file = path.join(MANIFEST);
        if let Some(begun) = read_json::<Manifest>(&file)? {
            let Some(what) = begun.difference(&manifest) else { return Ok(Self::with(path, manifest)) };
            let begun = Self::with(path, begun);
            let found = begun.look()?;
            if found.has_results() || !found.damaged.is_empty() || begun.is_busy()? {
                return Err(SweepError::Changed { folder: path.to_owned(), what });
            }
            Self::discard(path, &[])?;
        }
        if let Some((name, text)) = work.description() {
            write_whole(&path.join(name), text.as_bytes())?;
        }
        write_json(&file, &manifest)?;
        Ok(Self::with(path, manifest))
    }

    /// Whether another process writes to a shard.
    fn is_busy(&self) -> Result<bool, SweepError> {
        for shard in entries(&self.path)?.iter().filter(|name| name.starts_with(SHARD_PREFIX)) {
            let file = self.path.join(shard).join(LOCK);
            if !file.is_file() {
                continue;
            }
            match open_lock(&file)?.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(true),
                Err(TryLockError::Error(error)) => return Err(SweepError::write(&file, error)),
            }
        }
        Ok(false)
    }

    /// Opens the folder of a sweep.
    ///
    /// # Errors
    /// [`SweepError::NotASweep`] if it has none.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        let manifest = read_json::<Manifest>(&path.join(MANIFEST))?;
        let manifest = manifest.ok_or_else(|| SweepError::NotASweep { folder: path.to_owned() })?;
        Ok(Self::with(path, manifest))
    }

    /// Whether a folder has a sweep in it.
    pub fn is_sweep(path: &Path) -> bool {
        path.join(MANIFEST).is_file()
    }

    /// Removes the results in a folder and these files next to them, and nothing else in it.
    ///
    /// # Errors
    /// Fails when the folder cannot be read or something in it cannot be removed.
    pub fn discard(path: &Path, beside: &[&str]) -> Result<(), SweepError> {
        if !path.is_dir() {
            return Ok(());
        }
        let timing = table_file(path, TIMING);
        let mut doomed = vec![path.join(MANIFEST), path.join(MERGED), timing];
        doomed.extend(beside.iter().map(|name| path.join(name)));
        let shards = entries(path)?;
        doomed
            .extend(shards.iter().filter(|name| name.starts_with(SHARD_PREFIX)).map(|name| path.join(name)));
        for path in doomed {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SweepError::write(&path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn with(path: &Path, manifest: Manifest) -> Self {
        Folder { path: path.to_owned(), fingerprint: manifest.fingerprint(), manifest }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it was made from.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Stands for the manifest.
    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Looks for parts and verifies them.
    ///
    /// # Errors
    /// Fails when the folder cannot be read.
    pub fn look(&self) -> Result<Found, SweepError> {
        let mut found = Found::default();
        for shard in entries(&self.path)?.iter().filter(|name| name.starts_with(SHARD_PREFIX)) {
            let shard = self.path.join(shard);
            for name in entries(&shard)?.iter().filter(|name| part::number(name).is_some()) {
                let path = shard.join(name);
                match part::verify(&path, &self.fingerprint, &self.manifest) {
                    Ok(part) => found.parts.push(part),
                    Err(Defect::Damaged(reason)) => found.damaged.push((path, reason)),
                    Err(Defect::Foreign) => {
                        let what = format!("{} belongs to another sweep", path.display());
                        return Err(SweepError::Changed { folder: self.path.clone(), what });
                    }
                }
            }
        }
        Ok(found)
    }

    /// Waits until nobody else writes to the folder as a whole.
    pub(super) fn lock(&self) -> Result<File, SweepError> {
        lock(&self.path)
    }
}

impl Found {
    /// Per cell of the plan, whether its result is there.
    pub fn finished(&self, cells: usize) -> Vec<bool> {
        let mut finished = vec![false; cells];
        for cell in self.parts.iter().flat_map(|part| &part.description.cells) {
            finished[*cell] = true;
        }
        finished
    }

    /// Cells that failed whenever they ran, with the last message.
    pub(super) fn failures(&self) -> Result<BTreeMap<usize, String>, SweepError> {
        let mut failures = BTreeMap::new();
        let mut done: BTreeSet<usize> = BTreeSet::new();
        for part in &self.parts {
            let own = part.failures()?;
            done.extend(part.description.cells.iter().filter(|cell| !own.contains_key(cell)));
            failures.extend(own);
        }
        failures.retain(|cell, _| !done.contains(cell));
        Ok(failures)
    }

    /// Whether a cell has a result other than that it failed.
    fn has_results(&self) -> bool {
        self.parts.iter().any(|part| part.description.failed < part.description.cells.len())
    }
}

impl ShardFolder {
    /// Opens the folder of a shard for writing and removes what a killed process left unfinished.
    pub(super) fn open(folder: &Folder, shard: Shard, found: &Found) -> Result<Self, SweepError> {
        let path = folder.path.join(shard.folder_name());
        fs::create_dir_all(&path).map_err(|error| SweepError::write(&path, error))?;
        let file = path.join(LOCK);
        let lock = open_lock(&file)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Busy { path }),
            Err(TryLockError::Error(error)) => return Err(SweepError::write(&file, error)),
        }
        let names = entries(&path)?;
        for name in names.iter().filter(|name| part::is_unfinished(name)) {
            let unfinished = path.join(name);
            fs::remove_dir_all(&unfinished).map_err(|error| SweepError::write(&unfinished, error))?;
        }
        let next_part = names.iter().filter_map(|name| part::number(name)).max().unwrap_or(0) + 1;
        let manifest = ShardManifest {
            fingerprint: folder.fingerprint.clone(),
            hawser: folder.manifest.hawser.clone(),
            shard: shard.to_string(),
            cells: (0..folder.manifest.cells).filter(|cell| shard.has(*cell)).count(),
            parts: BTreeMap::new(),
        };
        let mut shard = ShardFolder { path, manifest, next_part, _lock: lock };
        found.parts.iter().filter(|part| part.path.parent() == Some(&shard.path)).for_each(|part| {
            shard.manifest.note(part);
        });
        Ok(shard)
    }

    /// Writes the results of some cells.
    pub(super) fn add<W: Work>(
        &mut self,
        work: &W,
        results: &mut [CellResult<W::Output>],
    ) -> Result<(), SweepError> {
        let part = part::write(&self.path, self.next_part, work, &self.manifest.fingerprint, results)?;
        self.next_part += 1;
        self.manifest.note(&part);
        write_json(&self.path.join(MANIFEST), &self.manifest)
    }
}

impl ShardManifest {
    fn note(&mut self, part: &Part) {
        let name = part.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let description = &part.description;
        let (cells, failed, rows) = (description.cells.len(), description.failed, description.rows());
        self.parts.insert(name, ShardPart { cells, failed, rows });
    }
}

fn lock(folder: &Path) -> Result<File, SweepError> {
    let path = folder.join(LOCK);
    let file = open_lock(&path)?;
    file.lock().map_err(|error| SweepError::write(&path, error))?;
    Ok(file)
}

/// Opens a file to lock, or makes it. It must not be emptied: somebody may keep something under this name.
fn open_lock(path: &Path) -> Result<File, SweepError> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    opened.map_err(|error| SweepError::write(path, error))
}

/// Names in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<String>, SweepError> {
    let failed = |error| SweepError::read(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
