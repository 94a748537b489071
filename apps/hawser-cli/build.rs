//! Says which commit a release was built from, for `hawser --version`, and embeds the scenarios.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=HAWSER_COMMIT");
    // Packages are built from archives without a history: their makers set the variable.
    let named = env::var("HAWSER_COMMIT").ok();
    // A build for development would be made again with each commit.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = named.or_else(|| is_release.then(of_repository).flatten());
    let target = env::var("TARGET").ok();
    let has_aws_lc = env::var_os("CARGO_FEATURE_AWS_LC_RS").is_some();
    let crypto = if has_aws_lc { "aws-lc-rs" } else { "ring" };
    let parts: Vec<String> = commit.into_iter().chain(target).chain([crypto.to_owned()]).collect();
    println!("cargo:rustc-env=HAWSER_BUILD={}", parts.join(", "));
    embed_scenarios()
}

/// Writes a list of the scenarios, and of the files that they name, with what is in them.
fn embed_scenarios() -> io::Result<()> {
    println!("cargo:rerun-if-changed=scenarios");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("scenarios");
    let mut list = String::from("&[\n");
    for below in ["", "parts", "data"] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder.join(below))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            let name = Path::new(below).join(file.file_name().unwrap_or_default());
            let _ = writeln!(list, "    ({name:?}, include_str!({file:?})),");
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("scenarios.rs");
    fs::write(out, list + "]\n")
}

/// The commit of the repository that the sources are in, if it has a history.
fn of_repository() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={head}");
    git(&["rev-parse", "--short=12", "HEAD"])
}
