//! `hawser lab verify` and `hawser lab figure`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{hawser, run, run_failing};

const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

/// Orderings that differ little from seed to seed.
const ORDERINGS: [&str; 2] = ["unequal-delay", "link-dies-gap"];

fn verify(folder: &Path, more: &[&str]) -> Command {
    verify_items(("seam", "4"), &ORDERINGS, folder, more)
}

/// Some items of a list, with so many seeds.
fn verify_items((list, seeds): (&str, &str), items: &[&str], folder: &Path, more: &[&str]) -> Command {
    let folder = folder.to_str().unwrap();
    let arguments = ["lab", "verify", list, "--scenarios", SCENARIOS, "--seeds", seeds, "-o", folder];
    let items = items.iter().flat_map(|id| ["--item", *id]);
    hawser(arguments.into_iter().chain(items).chain(more.iter().copied()))
}

#[test]
fn the_default_scheduler_keeps_its_orderings_and_minrtt_in_its_place_does_not() {
    let stage = TempDir::new().unwrap();
    let (own, control, page) =
        (stage.path().join("own"), stage.path().join("control"), stage.path().join("page"));
    // Simulations take their time on a busy machine: without the watchdog of `run`.
    let output = verify(&own, &["--json", "--html", page.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["name"], &report["policy"]), (&"seam".into(), &"default".into()));
    let items = report["items"].as_array().unwrap();
    let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ORDERINGS);
    for item in items {
        let [low, value, high] = ["low", "value", "high"].map(|field| item[field].as_f64().unwrap());
        assert!(low <= value && value <= high && high < 1.0, "{item}");
        for field in ["statement", "threshold", "paper", "must", "data"] {
            assert!(!item[field].is_null(), "{field}: {item}");
        }
        assert_eq!(item["verdict"], "holds");
    }
    assert!(fs::read_to_string(page.join("index.html")).unwrap().contains("link-dies-gap"));

    // The same figures, judged the same way, must not hold for what they are compared with.
    let output = verify(&control, &["--as", "minrtt", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        report["items"].as_array().unwrap().iter().all(|item| item["verdict"] == "falls-short"),
        "{report}"
    );

    // Everything is kept: nothing runs again, and others can judge it.
    let again = run(verify(&own, &[]));
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && told.contains("0 runs now"), "{told}");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/recompute-verify");
    if let Ok(output) = Command::new("python3").arg(script).arg(&own).output() {
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("2 claims recomputed, 0 differ"), "{text}");
    }
}

/// BBRv2+ does not probe where there is nothing to find. BBR in its place must not pass.
#[test]
fn bbrv2plus_judges_its_trials_and_bbr_in_its_place_does_not_pass() {
    const ITEMS: [&str; 1] = ["10"];
    let stage = TempDir::new().unwrap();
    let verdicts = |name: &str, more: &[&str]| {
        let output = verify_items(("bbrv2plus", "2"), &ITEMS, &stage.path().join(name), more).output();
        let output = output.unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let items = report["items"].as_array().unwrap();
        let verdicts = items.iter().map(|item| item["verdict"].as_str().unwrap().to_owned());
        (output.status.code(), verdicts.collect::<Vec<_>>())
    };
    assert_eq!(verdicts("own", &["--json"]), (Some(0), vec!["holds".to_owned()]));
    assert_eq!(verdicts("control", &["--json", "--as", "bbr"]), (Some(1), vec!["falls-short".to_owned()]));
}

/// A list is a file that anybody may write. What it names is checked before anything runs.
#[test]
fn a_list_in_a_file_is_verified_and_its_mistakes_are_told_with_their_line() {
    const LIST: &str = include_str!("../../../../lab/reproductions/seam.toml");
    let stage = TempDir::new().unwrap();
    let (file, folder) = (stage.path().join("own.toml"), stage.path().join("runs"));
    fs::write(&file, LIST).unwrap();
    let list = file.to_str().unwrap();
    let own = verify_items((list, "1"), &["one-way-delays"], &folder, &["--json"]);
    let output = run(own);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["items"][0]["verdict"], "holds", "{report}");

    let metric = "shallow-queues.flow.main.longest_gap_ms";
    let line = 1 + LIST[..LIST.find(metric).unwrap()].matches('\n').count();
    fs::write(&file, LIST.replacen(metric, "shallow-queues.flow.main.longest_gab_ms", 1)).unwrap();
    let words = run_failing(hawser(["lab", "verify", list]), 2);
    let expected = format!("own.toml:{line}: no metric \"flow.main.longest_gab_ms\"; known are seed");
    assert!(words.contains(&expected), "{words}");
    // Whether a scenario has the flow shows when it is read.
    fs::write(&file, LIST.replacen(metric, "shallow-queues.flow.mein.longest_gap_ms", 1)).unwrap();
    let words = run_failing(hawser(["lab", "verify", list, "--scenarios", SCENARIOS]), 2);
    assert!(words.contains(&format!("own.toml:{line}: no flow \"mein\"; known are main")), "{words}");
    fs::remove_file(&file).unwrap();
    assert!(run_failing(hawser(["lab", "verify", list]), 26).contains("own.toml"));
}

#[test]
fn what_is_wrong_is_said() {
    let stage = TempDir::new().unwrap();
    for which in ["verify 4d-map --item 6", "prelearn models"] {
        let arguments = format!("lab {which} --scenarios nowhere");
        let words = run_failing(hawser(arguments.split(' ')), 26);
        assert!(words.contains("no folder nowhere: say with --scenarios"), "{words}");
    }
    let words = run_failing(hawser(["lab", "verify", "nothing"]), 2);
    assert!(words.contains("seam"), "{words}");
    let words = run_failing(verify(stage.path(), &["--as", "nobody"]), 2);
    assert!(words.contains("minrtt"), "{words}");
    let words = run_failing(verify(stage.path(), &["--item", "99"]), 2);
    assert!(words.contains("unequal-delay"), "{words}");
    let folder = stage.path().to_str().unwrap();
    let figure = |name| hawser(["lab", "figure", name, "--scenarios", SCENARIOS, "--runs", folder]);
    assert!(run_failing(figure("seam.nothing"), 2).contains("seam.delay"));
    assert!(run_failing(figure("seam.delay"), 26).contains("hawser lab verify seam"));
}

#[test]
fn a_data_set_is_made_of_kept_runs_and_says_which_are_missing() {
    let stage = TempDir::new().unwrap();
    let dataset = |more: &[&str]| {
        let arguments = ["lab", "dataset", "--scenarios", SCENARIOS, "-o", "set"];
        let mut command = hawser(arguments.into_iter().chain(more.iter().copied()));
        command.current_dir(stage.path());
        command
    };
    let message = run_failing(dataset(&[]), 26);
    assert!(message.contains("make some with `hawser lab verify LIST`"), "{message}");
    let message = run_failing(dataset(&["ftrl-wrr"]), 26);
    assert!(message.contains("run `hawser lab verify ftrl-wrr` first"), "{message}");
    let kept = stage.path().join("lab-results/ftrl-wrr-1-seeds");
    // A computation: no simulation.
    let verified = verify_items(("ftrl-wrr", "1"), &["6"], &kept, &[]).output().unwrap();
    assert!(verified.status.code().is_some_and(|code| code <= 1));
    let told = run(dataset(&["--seeds", "1", "--json"]));
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["lists"][0]["list"], "ftrl-wrr");
    assert!(stage.path().join("set/runs/list=ftrl-wrr/runs.parquet").is_file());
}
