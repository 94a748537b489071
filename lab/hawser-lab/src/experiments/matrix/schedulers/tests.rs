use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hawser_sim::oracle::with_oracle;
use tempfile::TempDir;

use super::*;
use crate::data::sweep::{RunSettings, Shard, Work, run_work};
use crate::experiments::ExperimentError;
use crate::experiments::matrix::{Matrix, Rows, collect};

fn settings(schedulers: &[&str], links: &[&str], workloads: &[&str]) -> Settings {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Settings {
        plan: Arc::new(Plan::read(None).unwrap()),
        scenarios: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        schedulers: owned(schedulers),
        controllers: owned(&["cubic"]),
        links: owned(links),
        workloads: owned(workloads),
        seeds: 1,
    }
}

fn matrix(settings: Settings) -> Result<Matrix<Settings>, ExperimentError> {
    settings.matrix(Arc::new(with_oracle(&hawser_net::policies())))
}

#[test]
fn every_combination_is_there_once() {
    let matrix = matrix(settings(&["default", "ecf"], &[], &[])).unwrap();
    assert_eq!(matrix.cells().len(), 2 * 11 * 7);
    let texts: BTreeSet<String> = matrix.cells().iter().map(|cell| format!("{cell:?}")).collect();
    assert_eq!(texts.len(), matrix.cells().len());
    assert_eq!(matrix.manifest().cells, matrix.cells().len());
}

#[test]
fn what_is_not_known_is_said() {
    let said = |schedulers: &[&str], links: &[&str], workloads: &[&str]| {
        let matrix = matrix(settings(schedulers, links, workloads));
        matrix.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(said(&["nobody"], &[], &[]).contains("oracle-edpf"), "{}", said(&["nobody"], &[], &[]));
    assert!(said(&["ecf,beta=x"], &[], &[]).contains("beta"));
    assert!(said(&["ecf"], &["moon"], &[]).contains("150/50"));
    assert!(said(&["ecf"], &[], &["mail"]).contains("datagrams"));
}

/// Two links of 50 Mbit/s with 20 ms: two are better than one for a file, whatever is copied costs goodput, datagrams arrive after
/// half a round trip, and a page of 900 kB takes a handful of round trips.
#[test]
fn a_small_matrix_says_what_is_known_of_its_schedulers() {
    let names = ["default", "minrtt", "redundant", "oracle-edpf"];
    let matrix =
        Arc::new(matrix(settings(&names, &["two-equal"], &["5 MB", "page", "frames", "datagrams"])).unwrap());
    let folder = TempDir::new().unwrap();
    let settings = RunSettings { folder: folder.path().to_owned(), threads: 2, shard: Shard::ALL };
    let summary = run_work(&matrix, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((summary.progress.ran, summary.failed, summary.missing), (16, 0, 0));
    let rows = collect(&matrix, folder.path()).unwrap();
    let contest = |workload: &str| rows.contests.iter().find(|contest| contest.workload == workload).unwrap();
    let row = |workload: &str, scheduler: &str| rows.row(contest(workload), scheduler).unwrap();

    let [own, copied] = ["default", "redundant"].map(|name| row("5 MB", name));
    assert!(own.goodput_bps.unwrap() > 1.4 * copied.goodput_bps.unwrap(), "{own:?} {copied:?}");
    assert!(copied.redundancy.unwrap() > 0.8 && own.redundancy.unwrap() < 0.1, "{own:?} {copied:?}");
    assert!(own.reordered_bytes.unwrap() > 10_000.0, "two paths do not deliver in order: {own:?}");
    assert!(contest("5 MB").share("redundant").unwrap() < 0.7);
    assert!(own.oracle_share.unwrap() > 0.9 && row("5 MB", "oracle-edpf").oracle_share == Some(1.0));
    assert!(contest("5 MB").share("oracle-edpf").is_none(), "the oracle competes with nobody");
    let page_time = row("page", "default").completion_seconds.unwrap();
    assert!((0.1..0.5).contains(&page_time), "{page_time} s");
    // 20 s of 30 frames per second.
    let frames = row("frames", "default");
    assert!((frames.goodput_bps.unwrap() - 3e6).abs() < 1e5 && frames.completed == 0.0, "{frames:?}");
    let delay = row("datagrams", "minrtt").p99_ms.unwrap();
    assert!((10.0..12.0).contains(&delay), "{delay} ms");

    // What is there does not run again.
    let again = run_work(&matrix, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((again.progress.ran, again.progress.found), (0, 16));

    let report = rows.report();
    let page = &report.page;
    assert!(
        page.contains("<h2>two-equal</h2>")
            && page.contains("Share of the oracle")
            && !page.contains("Failed")
    );
    let document = "# Title\n<!-- begin: hawser lab matrix schedulers -->\nold\n<!-- end -->\nAfter.\n";
    let written = report.into_document(document).unwrap();
    assert!(written.starts_with("# Title\n") && written.ends_with("<!-- end -->\nAfter.\n"));
    assert!(written.contains("| `redundant` |") && !written.contains("old"));
    assert_eq!(report.into_document(&written).unwrap(), written);
    assert!(matches!(report.into_document("# Title\n"), Err(ExperimentError::NotRead(_))));

    let file = folder.path().join("cells.csv");
    report.write_cells(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1 + rows.rows.len());
    assert!(text.lines().next().is_some_and(|names| names.ends_with("share_of_oracle,share_of_first")));
    // The oracle competes with nobody, and has no share of the first.
    assert!(
        text.lines().filter(|line| line.contains(",oracle-edpf,")).all(|line| line.ends_with("1,")),
        "{text}"
    );
}

/// Two links of 50 Mbit/s: who sends everything twice has half of the goodput, while the tunnel takes care of the call.
#[test]
fn tunnel_mix_is_judged_by_download_pages_and_call_together() {
    let names = ["default", "redundant"];
    let matrix = Arc::new(matrix(settings(&names, &["two-equal"], &["tunnel mix"])).unwrap());
    let folder = TempDir::new().unwrap();
    let settings = RunSettings { folder: folder.path().to_owned(), threads: 2, shard: Shard::ALL };
    run_work(&matrix, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    let rows = collect(&matrix, folder.path()).unwrap();
    let [contest] = &rows.contests[..] else { panic!("one cell: {rows:?}") };
    let [own, copied] = names.map(|name| rows.row(contest, name).unwrap());
    assert!(own.goodput_bps.unwrap() > 1.7 * copied.goodput_bps.unwrap(), "{own:?} {copied:?}");
    let merit = |row: &Row| {
        assert!(row.completed == 1.0 && row.p50_ms.unwrap() >= 10.0, "{row:?}");
        (row.goodput_bps.unwrap() / row.completion_seconds.unwrap() / row.p99_ms.unwrap()).cbrt()
    };
    let shares = [own, copied].map(merit);
    let best = shares[0].max(shares[1]);
    for (name, merit) in names.into_iter().zip(shares) {
        assert!((contest.share(name).unwrap() - merit / best).abs() < 1e-9, "{contest:?}");
    }
}
