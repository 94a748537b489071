//! `hawser lab matrix`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{hawser, run_failing};

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

fn matrix(folder: &Path, more: &[&str]) -> Command {
    let folder = folder.to_str().unwrap();
    let arguments =
        ["lab", "matrix", "controllers", "--scenarios", SCENARIOS, "-o", folder, "--longest", "10"];
    hawser(arguments.into_iter().chain(more.iter().copied()))
}

#[test]
fn a_matrix_of_one_controller_is_kept_shown_and_written_into_a_document() {
    let stage = TempDir::new().unwrap();
    let (folder, document) = (stage.path().join("runs"), stage.path().join("table.md"));
    fs::write(&document, "# Matrix\n<!-- begin: hawser lab matrix controllers -->\n<!-- end -->\n").unwrap();
    let some = ["--controllers", "newreno,olia:quality=drafted", "--links", "20/20"];
    let tables = ["--json", "--markdown", document.to_str().unwrap()];
    // Simulations take their time on a busy machine: without the watchdog of `run`.
    let output = matrix(&folder, &[&some[..], &tables[..]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = rows["rows"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[1]["controller"]), (18, &"olia,quality=drafted".into()));
    for field in ["utilisation", "queue_p95_ms", "dropped", "jain_itself", "share_cubic"] {
        assert!(cells.iter().all(|cell| cell[field].is_f64()), "{field}");
    }
    assert!(fs::read_to_string(folder.join("index.html")).unwrap().contains("<h2>20/20</h2>"));
    assert!(fs::read_to_string(&document).unwrap().contains("| `newreno` |"));

    let again = matrix(&folder, &some).output().unwrap();
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && told.contains("0 runs now"), "{told}");
    let table = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(table.contains("use, no loss") && table.contains("newreno"), "{table}");
}

#[test]
fn a_matrix_of_two_schedulers_is_kept_shown_and_written_into_a_document() {
    let stage = TempDir::new().unwrap();
    let (folder, document) = (stage.path().join("runs"), stage.path().join("table.md"));
    fs::write(&document, "<!-- begin: hawser lab matrix schedulers -->\n<!-- end -->\n").unwrap();
    let matrix = |more: &[&str]| {
        let folder = folder.to_str().unwrap();
        let some =
            ["--schedulers", "ecf:beta=0.5,oracle-edpf", "--links", "two-equal", "--workloads", "page,5 MB"];
        let arguments = ["lab", "matrix", "schedulers", "--scenarios", SCENARIOS, "-o", folder];
        hawser(arguments.into_iter().chain(some).chain(more.iter().copied())).output().unwrap()
    };
    let output = matrix(&["--json", "--markdown", document.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = rows["rows"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[0]["scheduler"]), (4, &"ecf,beta=0.5".into()));
    for field in
        ["goodput_bps", "completion_seconds", "p99_ms", "reordered_bytes", "redundancy", "oracle_share"]
    {
        assert!(cells.iter().all(|cell| cell[field].is_f64()), "{field}");
    }
    assert!(fs::read_to_string(folder.join("index.html")).unwrap().contains("<h2>two-equal</h2>"));
    assert!(fs::read_to_string(&document).unwrap().contains("| `ecf,beta=0.5` |"));
    let again = matrix(&[]);
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && told.contains("0 runs now"), "{told}");
}

#[test]
fn what_is_wrong_is_said() {
    let stage = TempDir::new().unwrap();
    assert!(run_failing(matrix(stage.path(), &["--controllers", "nobody"]), 2).contains("newreno"));
    assert!(run_failing(matrix(stage.path(), &["--links", "moon"]), 2).contains("300/100"));
}
