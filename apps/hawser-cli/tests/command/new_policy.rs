//! `hawser policies new`: what it makes is built and tested against this tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::*;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn new(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = hawser(["policies", "new"]);
    command.args(arguments).current_dir(folder);
    command
}

/// Builds and tests a crate by itself: without the command, which takes minutes and whose way to build is the same for all.
fn test(folder: &Path, target: &Path) -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--offline", "--no-default-features"]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    assert!(!said.contains("warning"), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_new_scheduler_and_a_new_controller_build_and_pass_their_tests() {
    let work = tempfile::tempdir().unwrap();
    let checkout = checkout();
    let checkout = checkout.to_str().unwrap();
    for (name, kind, option) in
        [("far-sighted", "scheduler", "--scheduler"), ("gentle", "congestion", "--cc")]
    {
        run(new(work.path(), &[name, "--kind", kind, "--hawser", checkout]));
        let folder = work.path().join(name);
        let printed = test(&folder, &work.path().join("target"));
        assert!(printed.contains("test result: ok. 2 passed"), "{printed}");
        // The plan and the scenario are understood by the command that knows the name: here by one without it, which says so.
        let scenario = folder.join("scenario.toml");
        let scenario = scenario.to_str().unwrap();
        run(hawser(["scenario", "check", scenario]));
        let words = run_failing(hawser(["sim", "run", scenario, option, name]), 2);
        assert!(words.contains(name), "{words}");
        for file in ["README.md", "plan.toml", "src/main.rs", "tests/simulated.rs", "Cargo.toml"] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            assert!(!text.contains("{{") && text.contains(name), "{file}: {text}");
        }
    }
}

#[test]
fn a_wrong_name_a_folder_that_is_there_and_a_missing_checkout_are_refused() {
    let work = tempfile::tempdir().unwrap();
    let checkout = checkout();
    let checkout = checkout.to_str().unwrap();
    std::fs::create_dir(work.path().join("there")).unwrap();
    for (arguments, expected) in [
        (vec!["Mine", "--hawser", checkout], "small letters"),
        (vec!["minrtt", "--hawser", checkout], "there is a scheduler `minrtt` already"),
        (vec!["cubic", "--kind", "congestion", "--hawser", checkout], "congestion controller `cubic`"),
        (vec!["there", "--hawser", checkout], "--out"),
        (vec!["mine"], "--hawser"),
        (vec!["mine", "--hawser", "."], "no checkout of Hawser"),
    ] {
        let words = run_failing(new(work.path(), &arguments), 2);
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 1, "something was left");
}
