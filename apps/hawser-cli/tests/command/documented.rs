//! The blocks of the documentation that are marked `run`, run: in a folder with the scenarios and the files that a reader has by then.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::*;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Blocks with ```` ```sh run ````, each with the line where it begins.
fn marked(page: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = page.lines().collect();
    let begins = (0..lines.len()).filter(|at| lines[*at] == "```sh run");
    let block =
        |at: usize| lines[at + 1..].iter().take_while(|line| **line != "```").copied().collect::<Vec<_>>();
    begins.map(|at| (at + 2, block(at).join("\n"))).collect()
}

/// A recording of ten seconds, in the format `victoria` of docs/traces.md.
fn trace() -> String {
    let rows = (1..=100)
        .map(|at| format!("{},{},26,{},0,0.01,{}\n", 10 + at % 3, 40 + at % 7, 24 + at % 5, at * 100));
    std::iter::once("ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms\n".to_owned()).chain(rows).collect()
}

#[test]
fn marked_blocks_of_the_documentation_run() {
    let checkout = checkout();
    let pages = std::fs::read_dir(checkout.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        pages.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    pages.push(checkout.join("README.md"));
    let mut ran = 0;
    for page in pages {
        for (line, block) in marked(&std::fs::read_to_string(&page).unwrap()) {
            let work = tempfile::tempdir().unwrap();
            let home = work.path();
            std::os::unix::fs::symlink(checkout.join("scenarios"), home.join("scenarios")).unwrap();
            std::os::unix::fs::symlink(&checkout, home.join("hawser")).unwrap();
            std::fs::copy(checkout.join("scenarios/wifi-lte.toml"), home.join("wifi-lte.toml")).unwrap();
            std::fs::write(home.join("drive.csv"), trace()).unwrap();
            let programs = Path::new(env!("CARGO_BIN_EXE_hawser")).parent().unwrap();
            let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
            let mut command = clean(Command::new("bash"));
            command
                .args(["-euo", "pipefail", "-c", &block])
                .current_dir(home)
                .env("PATH", path)
                .env("HOME", home);
            let output = run(command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}:{line}: {:?}\n{block}\n{said}",
                page.display(),
                output.status
            );
            ran += 1;
        }
    }
    assert!(ran >= 6, "only {ran} blocks are marked");
}
