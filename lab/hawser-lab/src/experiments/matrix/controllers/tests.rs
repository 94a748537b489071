use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::data::sweep::{RunSettings, Shard, Work, run_work};
use crate::experiments::ExperimentError;
use crate::experiments::matrix::text::{number, share};
use crate::experiments::matrix::{Matrix, Rows, collect};

fn settings(controllers: &[&str], links: &[&str], longest: u64) -> Settings {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Settings {
        plan: Arc::new(Plan::read(None).unwrap()),
        scenarios: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        controllers: owned(controllers),
        links: owned(links),
        seeds: 1,
        longest: Some(longest),
    }
}

fn matrix(settings: Settings) -> Result<Matrix<Settings>, ExperimentError> {
    settings.matrix(Arc::new(hawser_net::policies()))
}

#[test]
fn every_combination_is_there_once() {
    let matrix = matrix(settings(&["cubic", "olia"], &[], 40)).unwrap();
    let of = |against: Against| matrix.cells().iter().filter(|cell| cell.against == against).count();
    // Two controllers, five links, three buffers, three losses.
    assert_eq!(Against::ALL.map(of), [90, 90, 45, 9, 9]);
    let texts: BTreeSet<String> = matrix.cells().iter().map(|cell| format!("{cell:?}")).collect();
    assert_eq!(texts.len(), matrix.cells().len());
    assert_eq!(matrix.manifest().cells, matrix.cells().len());
}

#[test]
fn numbers_of_the_tables_keep_the_zero_before_the_point() {
    let numbers = [0.004, 0.046, 0.46, -0.46, 1.04, 12.4].map(number);
    assert_eq!(numbers, ["0", "0.05", "0.46", "-0.46", "1.0", "12"]);
    assert_eq!([0.002, 0.46, 0.999, 1.03].map(share), ["0.00", "0.46", "1.00", "1.03"]);
}

#[test]
fn what_is_not_known_is_said() {
    let said = |controllers: &[&str], links: &[&str]| {
        matrix(settings(controllers, links, 10)).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(said(&["nobody"], &[]).contains("newreno"), "{}", said(&["nobody"], &[]));
    assert!(said(&["cubic,beta=7"], &[]).contains("0.95"));
    assert!(said(&["cubic"], &["moon"]).contains("300/100"));
}

/// The figures are what they are called: a loss-based controller fills a deep buffer and one with a model of the path does not; 1 % of loss
/// leaves NewReno its response function, 1.2 datagrams / (20 ms sqrt(p)) = 7 Mbit/s; a flow shares with another of its kind.
#[test]
fn a_small_matrix_says_what_is_known_of_its_controllers() {
    let matrix = Arc::new(matrix(settings(&["bbr", "newreno"], &["20/20"], 20)).unwrap());
    let folder = TempDir::new().unwrap();
    let settings = RunSettings { folder: folder.path().to_owned(), threads: 2, shard: Shard::ALL };
    let summary = run_work(&matrix, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((summary.progress.ran, summary.failed, summary.missing), (54, 0, 0));
    let rows = collect(&matrix, folder.path()).unwrap();
    let cell = |controller, buffer, loss| rows.cell(controller, "20/20", buffer, loss).unwrap();
    let deep = [cell("newreno", 8.0, 0.0), cell("bbr", 8.0, 0.0)].map(|row| row.queue_p95_ms.unwrap());
    assert!(deep[0] > 100.0 && deep[1] < 40.0, "{deep:?}");
    let lossy = cell("newreno", 1.0, 0.01).utilisation.unwrap();
    assert!((0.2..0.5).contains(&lossy), "{lossy}");
    let shared = cell("newreno", 1.0, 0.0);
    assert!(shared.jain_itself.unwrap() > 0.8 && shared.converged_seconds.unwrap() < 12.0, "{shared:?}");
    assert!(cell("newreno", 1.0, 0.0).utilisation.unwrap() > 0.9);
    assert!(rows.outliers().iter().any(|row| row.controller == "newreno" && row.loss == 0.01), "{rows:?}");

    // What is there does not run again.
    let again = run_work(&matrix, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((again.progress.ran, again.progress.found), (0, 54));

    let report = rows.report();
    let page = &report.page;
    assert!(page.contains("<h2>20/20</h2>") && page.contains("8 BDP, 1 %") && !page.contains("Failed"));
    let document = "# Title\n<!-- begin: hawser lab matrix controllers -->\nold\n<!-- end -->\nAfter.\n";
    let written = report.into_document(document).unwrap();
    assert!(written.starts_with("# Title\n") && written.ends_with("<!-- end -->\nAfter.\n"));
    assert!(written.contains("| `bbr` |") && !written.contains("old"));
    assert_eq!(report.into_document(&written).unwrap(), written);
    assert!(matches!(report.into_document("# Title\n"), Err(ExperimentError::NotRead(_))));

    // Every cell is a row; those that stand out have the mean of their neighbours.
    let file = folder.path().join("cells.csv");
    report.write_cells(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1 + rows.rows.len());
    let stand_out = text.lines().skip(1).filter(|line| !line.ends_with(',')).count();
    assert_eq!(stand_out, rows.outliers().len());
    assert!(report.write_cells(&folder.path().join("cells.txt")).is_err());
}
