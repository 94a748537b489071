//! `hawser sim run`: the same run twice, what it leaves, and what it says about scenarios that cannot be run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{hawser, run, run_failing, run_json};

const LINK: &str =
    "version = 1\n[[link]]\nname = \"a0\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"1 %\"\n";

fn scenario(folder: &Path, more: &str) -> String {
    let file = folder.join("scenario.toml");
    fs::write(&file, format!("{LINK}{more}")).unwrap();
    file.display().to_string()
}

fn simulate(file: &str, more: &[&str]) -> Value {
    run_json(hawser(["sim", "run", file].into_iter().chain(more.iter().copied())))
}

#[test]
fn a_run_is_repeatable_and_its_json_has_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "[[flow]]\nname = \"main\"\nkind = \"bulk\"\nsize = \"1 MB\"\n");
    let first = simulate(&file, &[]);
    for field in
        ["trace_hash", "seed", "simulated_seconds", "wall_seconds", "packets", "events", "goodput_bps"]
    {
        assert!(!first[field].is_null(), "{field} is missing in {first}");
    }
    assert_eq!((&first["end"], &first["flows"][0]["bytes"]), (&"finished".into(), &1_000_000.into()));
    assert_eq!(first["paths"][0]["link"], "a0");
    assert_eq!(simulate(&file, &[])["trace_hash"], first["trace_hash"]);
    assert_ne!(simulate(&file, &["--seed", "2"])["trace_hash"], first["trace_hash"]);
    assert_ne!(simulate(&file, &["--set", "link.a0.delay=11 ms"])["trace_hash"], first["trace_hash"]);
}

#[test]
fn a_recorded_run_leaves_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "");
    let (out, capture) = (folder.path().join("out"), folder.path().join("run.pcapng"));
    let (out_name, capture_name) = (out.display().to_string(), capture.display().to_string());
    let recorded =
        ["--set", "duration=1 s", "--out", &out_name, "--packets", "--jsonl", "--pcap", &capture_name];
    let outcome = simulate(&file, &recorded);
    for name in ["flows.jsonl", "paths.jsonl", "links.jsonl", "outcome.json"] {
        assert!(fs::metadata(out.join(name)).unwrap().len() > 0, "{name}");
    }
    let packets = fs::read_to_string(out.join("packets.jsonl")).unwrap();
    let rows: Vec<Value> = packets.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let arrived = rows.iter().filter(|row| row["dropped_at"].is_null()).count();
    assert_eq!(Some(arrived as u64), outcome["packets"].as_u64());
    assert!(rows.iter().any(|row| row["cause"] == "loss" && row["dropped_at"] == "a0"));
    // The block type of a section header, which a capture begins with.
    assert_eq!(fs::read(&capture).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
}

#[test]
fn a_folder_holds_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "");
    let out = folder.path().join("out");
    let out_name = out.display().to_string();
    simulate(&file, &["--set", "duration=1 s", "--out", &out_name, "--packets"]);
    let own = out.join("packets.csv");
    fs::write(&own, "not of a run").unwrap();
    simulate(&file, &["--set", "duration=2 s", "--out", &out_name, "--jsonl"]);
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["flows.jsonl", "links.jsonl", "outcome.json", "packets.csv", "paths.jsonl"]);
    let report = run_json(hawser(["sim", "report", &out_name]));
    assert_eq!(report["delays"], serde_json::json!([]), "delays of the earlier run");
}

#[test]
fn links_that_carry_nothing_keep_no_promise() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "[[link]]\nname = \"b0\"\nrate = \"5 Mbit/s\"\n");
    let guarantee = |more: &[&str]| {
        let arguments = ["lab", "guarantee", &file, "--seeds", "2", "--seconds", "2"];
        run(hawser(arguments.into_iter().chain(more.iter().copied())))
    };
    assert!(guarantee(&[]).status.success());
    let output = guarantee(&["--set", "link.*.loss=1"]);
    let (said, words) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("Never worse") && !said.contains("inf"), "{said}");
    assert!(
        said.contains("Nothing was transferred") && words.contains("nothing was transferred"),
        "{said}{words}"
    );
    let output = guarantee(&["--set", "link.*.loss=1", "--json"]);
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&row["verdict"], &row["goodput_ratio"]), (&"nothing_transferred".into(), &Value::Null));
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), "");
    let fails = |more: &[&str], code, part: &str| {
        let said = run_failing(hawser(["sim", "run", &file].into_iter().chain(more.iter().copied())), code);
        assert!(said.contains(part), "{more:?}: {said}");
    };
    fails(&[], 78, "nothing ends this scenario");
    fails(&["--set", "duration=1 s", "--set", "link.b0.rate=1 Mbit/s"], 78, "there are: a0");
    fails(&["--set", "duration=1 s", "--set", "transport.scheduler=best"], 78, "minrtt");
    fails(
        &["--set", "duration=1 s", "--set", "transport.controller=vegas9"],
        78,
        "--set transport.controller=vegas9: transport.congestion: there is no congestion controller",
    );
    let bad = scenario(folder.path(), "[[flow]]\nname = \"main\"\nkind = \"bulk\"\nscheduler = \"best\"\n");
    let said = run_failing(hawser(["scenario", "check", &bad]), 78);
    assert!(
        said.contains("scenario.toml:10: flow.main.scheduler: there is no scheduler named \"best\""),
        "{said}"
    );
    scenario(folder.path(), "");
    fails(&["--set", "duration=9 s", "--set", "limits.events=500"], 1, "given up after 500 events");
    fails(&["--seed", "many"], 2, "invalid digit");
    // It would write indefinitely.
    fails(&["--out", "tables", "--interval", "1e-9"], 2, "expected at least 0.001 seconds");
    let missing = folder.path().join("none.toml").display().to_string();
    assert!(run_failing(hawser(["sim", "run", &missing]), 26).contains("cannot read"));
}
