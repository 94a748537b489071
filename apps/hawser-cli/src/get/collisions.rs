//! Files of one command that would overwrite each other.

use std::collections::BTreeMap;
use std::path::Path;

use hawser_files::Identity;

use super::batches::{Destination, Target};
use super::partial::place;
use hawser_command::exit::Failure;

/// Refuses a command in which a file, or what is kept of it until it is complete, would go where another one does. Symbolic
/// and hard links are looked through.
///
/// # Errors
/// Says which files, and what to do; and when a file cannot go where it is to.
pub(super) fn refuse(targets: &[Target]) -> Result<(), Failure> {
    let mut files: BTreeMap<Identity, &Target> = BTreeMap::new();
    let mut drafts: BTreeMap<Identity, &Target> = BTreeMap::new();
    for target in targets {
        let Destination::File(path) = &target.destination else { continue };
        // What is wrong with the place itself concerns this file only, and is said when its turn comes.
        let Ok(place) = place(path) else { continue };
        let Some(identity) = place.identity() else { continue };
        if let Some(other) = files.insert(identity, target) {
            return Err(collision(
                &other.url,
                &target.url,
                &format!("would both be written to {}", path.display()),
            ));
        }
        for draft in place.draft_identities() {
            drafts.insert(draft, target);
        }
    }
    for (identity, target) in &files {
        if let Some(other) = drafts.get(identity) {
            let name = name_of(target);
            let how =
                format!("cannot be got together: {name} is what the file is called until it is complete");
            return Err(collision(&other.url, &target.url, &how));
        }
    }
    Ok(())
}

fn collision(a: &hawser_command::url::Url, b: &hawser_command::url::Url, how: &str) -> Failure {
    let text = format!(
        "{a} and {b} {how}; get them with two commands, into different folders (--output-dir) or under other names (-o)"
    );
    Failure::usage(text)
}

fn name_of(target: &Target) -> String {
    match &target.destination {
        Destination::File(path) => path.file_name().map(Path::new).unwrap_or(path).display().to_string(),
        Destination::Stdout => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(folder: &Path, names: &[&str]) -> Result<(), Failure> {
        let target = |(number, name): (usize, &&str)| Target {
            url: format!("https://a/{number}/{name}").parse().unwrap(),
            destination: Destination::File(folder.join(name)),
        };
        refuse(&names.iter().enumerate().map(target).collect::<Vec<_>>())
    }

    #[test]
    fn files_that_go_to_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(check(folder, &["x", "y", "x.par", "x.part.jso"]).is_ok());
        let failure = check(folder, &["x", "y", "x"]).unwrap_err();
        assert!(failure.message.contains("a/0/x and https://a/2/x would both"), "{failure}");
        for pair in [["x", "x.part"], ["x.part", "x"], ["x", "x.part.json"]] {
            let failure = check(folder, &pair).unwrap_err();
            assert!(failure.message.contains("until it is complete"), "{failure}");
        }
        for name in ["x", "x.part"] {
            fs::write(folder.join(name), name).unwrap();
        }
        assert!(check(folder, &["x", "x.part"]).is_err(), "whether they are there or not");
    }

    #[test]
    fn links_are_looked_through() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("a"), "a").unwrap();
        fs::hard_link(folder.join("a"), folder.join("b")).unwrap();
        symlink("a", folder.join("c")).unwrap();
        symlink("missing", folder.join("d")).unwrap();
        symlink("/dev/null", folder.join("null")).unwrap();
        symlink("/dev/null", folder.join("nil")).unwrap();
        for pair in [["a", "b"], ["a", "c"], ["b", "c"], ["d", "missing"]] {
            assert!(check(folder, &pair).is_err(), "{pair:?}");
        }
        assert!(check(folder, &["null", "nil"]).is_ok(), "nothing is lost there");
    }
}
