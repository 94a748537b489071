//! Man pages and completions, as packages have them.

use std::fs;

use crate::support::*;

#[test]
fn every_command_has_a_man_page() {
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("man");
    let output = run(hawser(["generate", "man", folder.to_str().unwrap()]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for page in
        ["hawser", "hawser-get", "hawser-serve", "hawser-gateway-user-add", "hawser-lab-matrix-schedulers"]
    {
        let text = fs::read_to_string(folder.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(".TH") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    // Names of policies are on the pages, as they are in the help.
    let get = fs::read_to_string(folder.join("hawser-get.1")).unwrap();
    assert!(get.contains("roundrobin") && get.contains("cubic"), "{get}");
    let pages = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let of_help: Vec<String> = pages.filter(|name| name.contains("-help")).collect();
    assert!(of_help.is_empty(), "{of_help:?}");
}

#[test]
fn shells_get_completions() {
    for (shell, expected) in
        [("bash", "complete -F _hawser"), ("zsh", "#compdef hawser"), ("fish", "complete -c hawser")]
    {
        let output = run(hawser(["generate", "completions", shell]));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(expected), "{shell}");
        assert!(text.contains("serve") && text.contains("gateway"), "{shell}");
    }
    let failed = run(hawser(["generate", "completions", "tcsh"]));
    assert_eq!(failed.status.code(), Some(2));
}

#[test]
fn the_version_says_what_was_built() {
    let output = run(hawser(["--version"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("hawser 0.") && text.contains("-linux-"), "{text}");
    assert!(text.contains("ring") || text.contains("aws-lc-rs"), "{text}");
}
