//! Scenarios and the files they name, from disk.

use std::path::{Path, PathBuf};

use hawser_policy::Registry;

use crate::error::LoadError;
use crate::files::{Folder, read_text};
use crate::{ReadOptions, Scenario};

/// Reads the scenario in a file. Files that it names are looked up relative to it.
///
/// Each of `overrides` is a `KEY=VALUE`, as in [`ReadOptions::overrides`].
///
/// # Errors
/// Fails when the file cannot be read, and on the first mistake in it, in a file that it names, or in an override.
pub fn load(path: &Path, overrides: &[String]) -> Result<Scenario, LoadError> {
    load_from(path, overrides, None)
}

/// The same for a scenario whose policies must be among those of `registry`.
///
/// # Errors
/// Those of [`load`], and for a policy or parameter that does not exist, with those that do.
pub fn load_with(path: &Path, overrides: &[String], registry: &Registry) -> Result<Scenario, LoadError> {
    load_from(path, overrides, Some(registry))
}

fn load_from(path: &Path, overrides: &[String], registry: Option<&Registry>) -> Result<Scenario, LoadError> {
    let text = read(path)?;
    let mut files = Folder(folder_of(path));
    let file = path.display().to_string();
    Ok(Scenario::read(ReadOptions { text: &text, file: &file, overrides, files: &mut files, registry })?)
}

pub(crate) fn read(path: &Path) -> Result<String, LoadError> {
    read_text(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}
