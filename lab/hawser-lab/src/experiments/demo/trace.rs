//! Why there were gaps in Hawser's run: from the traces of both ends, by `hawser qlog view`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Gaps of at least this length are listed, in ms.
const LEAST_GAP: &str = "40";
/// Name of the page next to the report.
pub const PAGE: &str = "trace.html";

/// What the traces of Hawser's run say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceReport {
    /// Gaps in delivery, the earliest first.
    pub gaps: Vec<GapReport>,
}

/// A gap in delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapReport {
    /// When it began, in seconds since the client's trace did.
    pub from_s: f64,
    /// When it ended.
    pub to_s: f64,
    /// Its length.
    pub length_ms: f64,
    /// The cause in one word.
    pub cause: String,
    /// The cause in a sentence.
    pub because: String,
}

/// Makes the page of the run whose client wrote its trace to the first folder, and its server to the second one. Addresses of
/// links come with their names.
///
/// # Errors
/// In words: there is no trace, or the command failed.
pub(crate) fn view(
    hawser: &Path,
    (client, server): (&Path, &Path),
    output: &Path,
    names: &[(String, String)],
) -> Result<TraceReport, String> {
    let first = trace_in(client).ok_or("the client left no trace")?;
    let name = first.file_name().map(|name| name.to_string_lossy().replace("_client", "_server"));
    let second = name.map(|name| server.join(name)).filter(|path| path.is_file());
    fs::create_dir_all(output).map_err(|error| error.to_string())?;
    let mut command = Command::new(hawser);
    command.args(["qlog", "view", "--json", "--least-gap", LEAST_GAP, "--out"]).arg(output.join(PAGE));
    for (address, name) in names {
        command.arg("--name").arg(format!("{address}={name}"));
    }
    let done = command.arg(first).args(second).output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
    }
    serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())
}

/// The only trace in a folder.
fn trace_in(folder: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "sqlog")).min()
}
