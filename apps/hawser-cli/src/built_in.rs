//! The scenarios that are in the command itself: `hawser sim run drive` needs no file.

use std::fs;
use std::path::Path;

use hawser_command::exit::Failure;

/// Names of files, with what is in them; those that scenarios name are in folders.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
const ENDING: &str = ".toml";

/// Names of the scenarios.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter(|(file, _)| !file.contains('/')).filter_map(|(file, _)| file.strip_suffix(ENDING))
}

/// The file that is meant by what cannot be found as a file: a name alone, with its ending or without.
pub(crate) fn named(file: &Path) -> Option<&'static str> {
    let name = file.to_str().filter(|_| !file.exists())?;
    let bare = name.strip_suffix(ENDING).unwrap_or(name);
    names().find(|known| *known == bare)
}

/// Writes all of them to a folder that goes when what comes back is dropped. A scenario names others, and files next to it.
///
/// # Errors
/// When the folder for temporary files cannot be written.
pub(crate) fn write_all() -> Result<tempfile::TempDir, Failure> {
    let failed = |error| Failure::write(&std::env::temp_dir(), &error);
    let folder = tempfile::Builder::new().prefix("hawser-scenarios-").tempdir().map_err(failed)?;
    for (file, text) in FILES {
        let path = folder.path().join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&path, text).map_err(failed)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_had_by_name() {
        assert!(names().count() > 50 && names().any(|name| name == "drive"));
        assert_eq!(named(Path::new("drive")), Some("drive"));
        assert_eq!(named(Path::new("drive.toml")), Some("drive"));
        assert_eq!(named(Path::new("parts/matrix.toml")), None);
        assert_eq!(named(Path::new("elsewhere/drive.toml")), None);
        let folder = write_all().unwrap();
        let registry = hawser::policies();
        for name in names() {
            let path = folder.path().join(name).with_extension("toml");
            hawser_scenario::load_with(&path, &[], &registry).unwrap();
        }
    }
}
