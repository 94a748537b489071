//! Says which commit a release was built from, for `hawser --version`.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=HAWSER_COMMIT");
    // Packages are built from archives without a history: their makers set the variable.
    let named = std::env::var("HAWSER_COMMIT").ok();
    // A build for development would be made again with each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = named.or_else(|| is_release.then(of_repository).flatten());
    let target = std::env::var("TARGET").ok();
    let has_aws_lc = std::env::var_os("CARGO_FEATURE_AWS_LC_RS").is_some();
    let crypto = if has_aws_lc { "aws-lc-rs" } else { "ring" };
    let parts: Vec<String> = commit.into_iter().chain(target).chain([crypto.to_owned()]).collect();
    println!("cargo:rustc-env=HAWSER_BUILD={}", parts.join(", "));
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
