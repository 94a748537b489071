//! The scenarios that are in the command itself: `hawser sim run drive` needs no file.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_command::exit::Failure;
use hawser_scenario::nearest;

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

/// Returns what to add to the message that there is no such file: which built-in scenario was meant, or where their names are. Nothing
/// for a file in a folder.
pub(crate) fn hint(file: &Path) -> String {
    let Some(name) = file.to_str().filter(|name| !name.contains('/')) else { return String::new() };
    let bare = name.strip_suffix(ENDING).unwrap_or(name);
    let meant = nearest(bare, names()).or_else(|| names().find(|known| known.starts_with(bare)));
    let meant = meant.map_or(String::new(), |meant| format!(" (did you mean \"{meant}\"?)"));
    format!(
        "; it is not the name of a built-in scenario either{meant}: `hawser scenario list` prints those names"
    )
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

/// The built-in scenarios on disk, as long as this lives, if one of some files is one.
pub(crate) struct Files(Option<tempfile::TempDir>);

impl Files {
    /// Writes them if one of these is meant.
    ///
    /// # Errors
    /// When the folder for temporary files cannot be written.
    pub(crate) fn of(files: &[PathBuf]) -> Result<Self, Failure> {
        let is_meant = files.iter().any(|file| named(file).is_some());
        Ok(Files(is_meant.then(write_all).transpose()?))
    }

    /// Returns where the file is that is meant.
    pub(crate) fn path(&self, file: &Path) -> PathBuf {
        let written = self.0.as_ref().zip(named(file));
        written
            .map_or_else(|| file.to_owned(), |(folder, name)| folder.path().join(format!("{name}{ENDING}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_name_leads_to_the_nearest_one() {
        for (name, meant) in
            [("wifi-lt", "wifi-lte"), ("driv.toml", "drive"), ("xfi-city-p", "xfi-city-paris")]
        {
            let hint = hint(Path::new(name));
            assert!(hint.contains(&format!("did you mean \"{meant}\"?")), "{name}: {hint}");
        }
        assert!(hint(Path::new("nothing-like-it")).contains("hawser scenario list"));
        assert_eq!(hint(Path::new("folder/wifi-lt.toml")), "");
    }

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
