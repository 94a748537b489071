//! Recorded drives as scenarios: every pair of carriers that one drive measured at the same time.

use std::path::{Path, PathBuf};

use super::Case;
use super::plan::{Entry, Plan};
use crate::experiments::ExperimentError;

/// The drives in a folder, or in `pam2025` within it, by name, as scenarios of a plan, whose files are in the folder `scenarios`. `DL_*.csv` were
/// measured from the network, and are downloads; `UL_*.csv` to it, and are uploads. The seed chooses the window of a
/// drive. None are there: an empty list.
///
/// # Errors
/// [`ExperimentError::NotRead`]: a folder that is there cannot be listed.
pub fn recorded_pairs(plan: &Plan, folder: &Path, scenarios: &Path) -> Result<Vec<Case>, ExperimentError> {
    let mut files = drives(folder)?;
    if files.is_empty() {
        files = drives(&folder.join("pam2025"))?;
    }
    // Names in a scenario are relative to its file.
    let whole = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let case = |(name, file): (String, PathBuf)| case(&plan.recorded, &name, &whole(file), scenarios);
    Ok(files.into_iter().map(case).collect())
}

/// Names and files, sorted.
fn drives(folder: &Path) -> Result<Vec<(String, PathBuf)>, ExperimentError> {
    let failed = |source: std::io::Error| {
        ExperimentError::NotRead(format!("cannot list {}: {source}", folder.display()))
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut drives = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let is_drive = path.extension().is_some_and(|ending| ending == "csv") && path.is_file();
        if is_drive && (name.starts_with("DL_") || name.starts_with("UL_")) {
            drives.push((name, path));
        }
    }
    drives.sort_unstable();
    Ok(drives)
}

/// One drive: NAME, FILE and DIRECTION in the fields of `entry` are replaced, each field by what stands in it.
fn case(entry: &Entry, name: &str, file: &Path, scenarios: &Path) -> Case {
    let direction = if name.starts_with("UL_") { "up" } else { "down" };
    let (name, path) = (toml_string(name), toml_string(&file.display().to_string()));
    let words = [("NAME", name.as_str()), ("FILE", path.as_str()), ("DIRECTION", direction)];
    let fill = |field: &String| {
        // One of them at most: a file may have any name.
        let word = words.iter().find(|(word, _)| field.contains(word));
        word.map_or_else(|| field.clone(), |(word, value)| field.replacen(word, value, 1))
    };
    Case { file: scenarios.join(&entry.file), set: entry.set.iter().map(fill).collect() }
}

/// A text as a basic string of TOML.
fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use hawser_scenario::{FlowKind, load};

    use super::*;

    const HEADER: &str = "TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y";

    /// A drive of two minutes in the form of the PAM data: the rate of a carrier tells the second.
    fn drive(direction: &str) -> String {
        let row = |half: u32| {
            let (time, rate) = (1_700_000_000.0 + f64::from(half) / 2.0, 1 + half / 2);
            format!("{time},{rate},LTE,,{time},{},LTE,", 200 - rate)
        };
        let rows: Vec<String> = (0..240).map(row).collect();
        format!("{}\n{}\n", HEADER.replace("DL", direction), rows.join("\n"))
    }

    fn scenarios() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
    }

    #[test]
    fn every_pair_of_a_drive_is_a_scenario_whose_seed_chooses_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan::read(None).unwrap();
        let pairs = |folder: &Path| recorded_pairs(&plan, folder, &scenarios());
        assert_eq!(pairs(folder.path()).unwrap(), []);
        let inner = folder.path().join("pam2025");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("LICENSE"), "").unwrap();
        std::fs::write(inner.join("DL_a.csv"), drive("DL")).unwrap();
        std::fs::write(inner.join("UL_b.csv"), drive("UL")).unwrap();
        let cases = pairs(folder.path()).unwrap();
        assert_eq!(cases, pairs(&inner).unwrap());
        let read = |case: &Case, seed: u64| {
            let set: Vec<String> = case.set.iter().cloned().chain([format!("seed={seed}")]).collect();
            load(&case.file, &set).unwrap()
        };
        let [down, up] = &cases[..] else { panic!("{cases:?}") };
        assert_eq!((read(down, 1).name, read(up, 1).name), ("DL_a".into(), "UL_b".into()));
        let direction = |case: &Case| match read(case, 1).traffic()[0].kind {
            FlowKind::Bulk { direction, .. } => direction.name(),
            _ => "none",
        };
        assert_eq!([direction(down), direction(up)], ["down", "up"]);
        let first = |seed| read(down, seed).links[0].down.rate.clone();
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2), "another seed, another window");
    }
}
