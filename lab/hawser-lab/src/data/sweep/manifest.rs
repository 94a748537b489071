//! What a folder of results was made from.

use std::path::Path;

use hawser_scenario::Plan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SweepError;
use crate::data::table::write_file;

/// Version of the layout of a folder.
pub(crate) const FORMAT: u32 = 2;

/// `manifest.json` of a folder. It is the same for all shards, and nothing in it depends on time or place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the layout of the folder.
    pub format: u32,
    /// Version of the program.
    pub hawser: String,
    /// Name of the plan.
    pub plan: String,
    /// Digest of the text of the plan.
    pub plan_sha256: String,
    /// Every file that a scenario of the plan reads.
    pub inputs: Vec<InputFile>,
    /// The scenarios, in the order of the plan.
    pub scenarios: Vec<String>,
    /// What varies: key and values.
    pub factors: Vec<(String, Vec<String>)>,
    /// Number of cells.
    pub cells: usize,
    /// The tables that every part has.
    pub tables: Vec<String>,
    /// Digest of the program, where any other one may give other results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name relative to the plan.
    pub file: String,
    /// Digest of its content; empty: it cannot be read.
    pub sha256: String,
}

impl Manifest {
    /// Returns what identifies the runs of a plan, given its text, the files that it reads and the names of its tables.
    pub(super) fn new(plan: &Plan, text: &str, inputs: Vec<InputFile>, tables: Vec<String>) -> Self {
        Manifest {
            format: FORMAT,
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.name.clone(),
            plan_sha256: digest(text.as_bytes()),
            inputs,
            scenarios: plan.scenarios.clone(),
            factors: plan.factors.clone(),
            cells: plan.cells.len(),
            tables,
            program_sha256: None,
        }
    }

    /// Stands for the whole.
    pub fn fingerprint(&self) -> String {
        // Maps with text keys and plain values can always be written.
        digest(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Says what differs from another manifest.
    pub(super) fn difference(&self, now: &Manifest) -> Option<String> {
        if self.format != now.format {
            return Some(format!(
                "its layout is of version {}, this program writes {}",
                self.format, now.format
            ));
        }
        if self.hawser != now.hawser {
            return Some(format!("by hawser {}, this is {}", self.hawser, now.hawser));
        }
        if self.plan_sha256 != now.plan_sha256 {
            return Some(format!("the plan {:?} was another or has changed since", self.plan));
        }
        if self.program_sha256 != now.program_sha256 {
            return Some("another build of the program".to_owned());
        }
        let changed = |input: &&InputFile| !now.inputs.contains(input);
        if let Some(input) = self.inputs.iter().find(changed) {
            return Some(format!("the file {} has changed since", input.file));
        }
        (self != now).then(|| "it reads other files".to_owned())
    }
}

/// SHA-256 in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Reads a file of JSON; `None` if it does not exist.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, SweepError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SweepError::read(path, error)),
    };
    let wrong =
        |error: serde_json::Error| SweepError::Manifest { path: path.to_owned(), reason: error.to_string() };
    serde_json::from_slice(&text).map(Some).map_err(wrong)
}

/// Writes a file of JSON: whole, or not at all.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), SweepError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| SweepError::write(path, std::io::Error::other(error)))?;
    text.push(b'\n');
    write_whole(path, &text)
}

/// Writes a file: whole, or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    Ok(write_file(path, bytes)?)
}
