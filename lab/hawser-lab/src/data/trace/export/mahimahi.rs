//! Mahimahi files: `LINK.up` and `LINK.down`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::super::{DirectionTrace, RateTrace, Trace, chances_of};
use super::{Draft, ExportError, plain_names, write_drafts};

/// Writes [`mahimahi_files`] into a folder, which must exist. Returns the files.
///
/// # Errors
/// Fails when no rate is known, when a link carries nothing, and when a file cannot be written.
pub fn to_mahimahi(trace: &Trace, folder: &Path) -> Result<Vec<PathBuf>, ExportError> {
    write_drafts(mahimahi_files(trace, folder)?)
}

/// `LINK.up` and `LINK.down` for every rate, not yet written.
///
/// Delay, loss and marks have no place in this format. The last line is at the end of the trace, where mahimahi
/// starts again; otherwise the chances carry what the rate carries, less than a packet apart at any time.
///
/// # Errors
/// Fails when no rate is known, and when a link carries nothing.
pub fn mahimahi_files(trace: &Trace, folder: &Path) -> Result<Vec<Draft>, ExportError> {
    let mut files = Vec::new();
    for (link, name) in trace.links.iter().zip(plain_names(trace)) {
        for (ending, direction) in [("up", &link.up), ("down", &link.down)] {
            if direction.rate.is_none() {
                continue;
            }
            let file = folder.join(format!("{name}.{ending}"));
            files.push(Draft { path: file, text: text(direction, trace, &name)? });
        }
    }
    if files.is_empty() {
        return Err(ExportError::Unfitting(
            "the trace has no rate, and a mahimahi file has nothing else".to_owned(),
        ));
    }
    Ok(files)
}

/// The lines of one direction.
pub(super) fn text(direction: &DirectionTrace, trace: &Trace, link: &str) -> Result<String, ExportError> {
    let made;
    let chances = match &direction.rate {
        Some(RateTrace::Chances(chances)) if direction.outages.is_empty() => chances,
        _ => {
            made = chances_of(&direction.service(trace.duration).unwrap_or_default());
            &made
        }
    };
    if chances.is_empty() {
        return Err(ExportError::Unfitting(format!(
            "link `{link}` carries less than one packet of 1500 bytes: there is nothing to write"
        )));
    }
    let mut text = String::with_capacity(chances.len() * 7);
    for chance in chances {
        let _ = writeln!(text, "{chance}");
    }
    Ok(text)
}
