//! The files that scenarios read, each read once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_policy::Registry;
use hawser_scenario::{Files, LoadError, ReadOptions, Scenario, files_matching};

use super::manifest::{InputFile, digest};

/// The text of a file, or a sentence that says why it cannot be read.
type Text = Result<Arc<str>, String>;

/// Names of files, or why their folder cannot be listed.
type Matches = Result<Vec<String>, String>;

/// Files that parameters of policies named, by policy, parameter and name. A registry whose files are read keeps this, since what is run
/// with it depends on them.
#[derive(Debug, Clone, Default)]
pub struct PolicyFiles(Arc<Mutex<BTreeMap<String, String>>>);

impl PolicyFiles {
    /// Notes that a file was read: `name` is the parameter with the name of the file.
    pub fn note(&self, name: &str, contents: &[u8]) {
        self.files().insert(name.to_owned(), digest(contents));
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Texts by path. A file is read once: what changes on the disk while a sweep runs does not change the sweep.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    files: Mutex<BTreeMap<PathBuf, Text>>,
    /// What matched a pattern when it was first asked for.
    patterns: Mutex<BTreeMap<PathBuf, Matches>>,
    /// The policies of the runs, and the files that were read for them.
    registry: Registry,
    policies: PolicyFiles,
}

/// The files around a scenario.
struct Folder<'a> {
    inputs: &'a Inputs,
    folder: &'a Path,
    /// Messages name files as seen from here.
    base: &'a Path,
}

impl Files for Folder<'_> {
    fn read(&mut self, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        let cannot = |error: String| format!("cannot read {}: {error}", relative(&path, self.base));
        self.inputs.text(&path).map(|text| text.to_string()).map_err(cannot)
    }

    fn matching(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        let cannot =
            |error| format!("cannot list {}: {error}", relative(&self.folder.join(pattern), self.base));
        self.inputs.matching(self.folder, pattern).map_err(cannot)
    }
}

impl Inputs {
    /// Of runs with these policies.
    pub(crate) fn of(registry: &Registry) -> Inputs {
        let policies = registry.kept().cloned().unwrap_or_default();
        Inputs { registry: registry.clone(), policies, ..Inputs::default() }
    }

    /// Reads a scenario of a plan as [`hawser_scenario::load`] does, from the files as they were first seen. Messages
    /// name files as the plan sees them, so that where the sweep lies makes no difference.
    pub(crate) fn load(
        &self,
        plan: &Path,
        scenario: &Path,
        overrides: &[String],
    ) -> Result<Scenario, LoadError> {
        let base = plan.parent().unwrap_or(Path::new(""));
        let file = relative(scenario, base);
        let text = self
            .text(scenario)
            .map_err(|message| LoadError::Read { path: (&file).into(), source: io::Error::other(message) })?;
        let folder = scenario.parent().unwrap_or(Path::new(""));
        let mut files = Folder { inputs: self, folder, base };
        let scenario = Scenario::read(ReadOptions {
            text: &text,
            file: &file,
            overrides,
            files: &mut files,
            registry: None,
        })?;
        self.read_files_of_policies(&scenario);
        Ok(scenario)
    }

    /// Has the files read that policies of a scenario name. What is wrong with one is told by the run.
    fn read_files_of_policies(&self, scenario: &Scenario) {
        for flow in &scenario.flows {
            for (kind, spec) in scenario.policies_of(flow).parts() {
                let _ = self.registry.check(kind, spec);
            }
        }
    }

    /// The files that match a pattern, each read: which of them a cell needs depends on its seed, and a sweep has read
    /// what it depends on before it begins.
    fn matching(&self, folder: &Path, pattern: &str) -> Matches {
        let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        let found = patterns
            .entry(folder.join(pattern))
            .or_insert_with(|| files_matching(folder, pattern).map_err(|error| error.to_string()));
        for name in found.iter().flatten() {
            // Why it cannot be read is reported to the caller that wants its text.
            let _ = self.text(&folder.join(name));
        }
        found.clone()
    }

    fn text(&self, path: &Path) -> Text {
        // Nothing panics while it holds the lock.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = files.get(path) {
            return text.clone();
        }
        let text: Text = std::fs::read_to_string(path).map(Into::into).map_err(|error| error.to_string());
        files.insert(path.to_owned(), text.clone());
        text
    }

    /// All files read so far, named relative to the plan, and those of policies.
    pub(crate) fn digests(&self, plan: &Path) -> Vec<InputFile> {
        let folder = plan.parent().unwrap_or(Path::new(""));
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let input = |(path, text): (&PathBuf, &Text)| InputFile {
            file: relative(path, folder),
            sha256: text.as_ref().map(|text| digest(text.as_bytes())).unwrap_or_default(),
        };
        let of_policy =
            |(file, sha256): (&String, &String)| InputFile { file: file.clone(), sha256: sha256.clone() };
        let mut inputs: Vec<InputFile> = files.iter().map(input).collect();
        inputs.extend(self.policies.files().iter().map(of_policy));
        inputs.sort_by(|a, b| a.file.cmp(&b.file));
        inputs
    }
}

/// The path of a file as seen from a folder, so that where the sweep lies does not matter.
fn relative(path: &Path, folder: &Path) -> String {
    let (path, folder): (Vec<_>, Vec<_>) = (path.components().collect(), folder.components().collect());
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), folder.len() - common);
    let down = path[common..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_depend_on_where_the_sweep_lies() {
        let name = |path, folder| relative(Path::new(path), Path::new(folder));
        assert_eq!(name("scenarios/drive.toml", "scenarios/plans"), "../drive.toml");
        assert_eq!(name("/a/b/scenarios/drive.toml", "/a/b/scenarios/plans"), "../drive.toml");
        assert_eq!(name("plans/x.toml", "plans"), "x.toml");
        assert_eq!(name("x.toml", ""), "x.toml");
    }
}
