//! `hawser trace`, from recorded files to scenarios, and what it says about files that are wrong.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::hawser;

/// Runs a command in a folder; its exit code, what it printed, and what it said.
fn run(folder: &Path, line: &str) -> (i32, String, String) {
    let output = hawser(line.split(' ')).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_trace_becomes_a_scenario_that_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("walk.up"), "5\n10\n").unwrap();
    fs::write(at.join("walk.down"), "1\n2\n2\n10\n").unwrap();
    fs::write(at.join("delay_walk.txt"), "15\n25\n").unwrap();
    let (code, said, remarks) = run(at, "trace import walk.up walk.down delay_walk.txt -o out --json");
    assert_eq!(code, 0, "{remarks}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["links"], serde_json::json!(["walk"]));
    assert_eq!(said["duration_seconds"], 0.02);
    let (code, checked, remarks) = run(at, "scenario check out/scenario.toml --json");
    assert_eq!(code, 0, "{remarks}");
    let checked: Value = serde_json::from_str(&checked).unwrap();
    // 4 packets of 1500 bytes in 10 ms, the one at the very end not counted.
    assert_eq!(checked["directions"][1]["mean_rate_bps"], 4_200_000);
    assert_eq!(checked["directions"][1]["delay_ms"], serde_json::json!([15.0, 25.0]));
}

#[test]
fn a_part_of_a_trace_becomes_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("road.rate"), "0 8\n60 2\n90 5\n100 5\n").unwrap();
    let (code, said, remarks) = run(at, "trace import road.rate --from 30 --length 60 -o out --json");
    assert_eq!(code, 0, "{remarks}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["duration_seconds"], &said["notes"][0]),
        (&60.0.into(), &"60 s from 30 s on, of 110 s".into())
    );
    let (code, checked, remarks) = run(at, "scenario check out/scenario.toml --json");
    assert_eq!(code, 0, "{remarks}");
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["directions"][1]["mean_rate_bps"], 5_000_000);
}

#[test]
fn an_import_replaces_only_what_imports_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bus.up"), "1\n2\n10\n").unwrap();
    assert_eq!(run(at, "trace import bus.up -o bus.csv -q").0, 0);
    let before = fs::read(at.join("bus.up")).unwrap();
    for line in
        ["trace import bus.up --to mahimahi -o .", "trace import x=./bus.up bus=bus.up -o bus.up --to table"]
    {
        let (code, _, said) = run(at, line);
        assert!(code == 2 && said.contains("bus.up is read"), "{line}: {said}");
        assert_eq!(fs::read(at.join("bus.up")).unwrap(), before);
    }
    fs::write(at.join("scenario.toml"), "version = 1\n").unwrap();
    let (code, _, said) = run(at, "trace import bus.up -o .");
    assert!(code == 2 && said.contains("./scenario.toml is there already"), "{said}");
    assert_eq!(fs::read_to_string(at.join("scenario.toml")).unwrap(), "version = 1\n");
    assert!(!at.join("bus.trace").exists(), "nothing else is written, either");
    assert_eq!(run(at, "trace import bus.up -o other -q").0, 0);
    assert_eq!(run(at, "trace import bus.up -o other -q").0, 0, "its own it replaces");
}

#[test]
fn figures_drawings_and_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bus.rate"), "0 10\n1 0\n2 20\n").unwrap();
    let (code, said, _) = run(at, "trace info bus.rate --direction down --json");
    let info: Value = serde_json::from_str(&said).unwrap();
    let down = &info["links"][0]["directions"][0];
    assert_eq!((code, &down["direction"]), (0, &"down".into()));
    assert_eq!((&down["rate_bps"]["mean"], &down["outages"]["longest_seconds"]), (&10e6.into(), &1.0.into()));
    assert_eq!(run(at, "trace import bus.rate --to mahimahi -o . -q").0, 0);
    let (_, again, _) = run(at, "trace info bus.up --json");
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["links"][0]["directions"][0]["rate_bps"]["mean"], 10e6);
    for (drawing, begin) in [("a.svg", "<svg "), ("a.html", "<!DOCTYPE html>")] {
        assert_eq!(
            run(at, &format!("trace plot bus.rate -o {drawing} -q")),
            (0, String::new(), String::new())
        );
        assert!(fs::read_to_string(at.join(drawing)).unwrap().starts_with(begin));
    }
    assert_eq!(run(at, "trace import bus.rate -o a.csv -q").0, 0);
    let csv = fs::read_to_string(at.join("a.csv")).unwrap();
    assert_eq!(csv.lines().nth(2), Some("bus,up,1000000000,0,,,false,,"));
}

#[test]
fn each_kind_of_mistake_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("good.up"), "1\n2\n").unwrap();
    fs::write(at.join("back.up"), "3\n1\n").unwrap();
    fs::write(at.join("empty"), "").unwrap();
    fs::write(at.join("page"), "<html>\n").unwrap();
    fs::write(at.join("bytes"), [0xff, 0xfe]).unwrap();
    for (line, exit, kind, message) in [
        ("trace info none", 26, "not_read", "cannot read none"),
        ("trace info .", 26, "not_read", "cannot read ."),
        ("trace info back.up", 79, "trace", "back.up:2: 1 ms comes after 3 ms"),
        ("trace info empty", 79, "trace", "empty is empty"),
        ("trace info page", 79, "trace", "no known format begins like \"<html>\""),
        ("trace info bytes", 79, "trace", "it is not text"),
        ("trace info good.up --format victoria", 79, "trace", "good.up:1: expected 7 columns"),
        ("trace info good.up good.up", 2, "usage", "gives the rate of link `good`"),
        ("trace import good.up -o x --from 1", 2, "usage", "good has 0.002 s; nothing is left from 1 s on"),
        ("trace info good.up --from 0 --length 9", 2, "usage", "9 s from 0 s on are not in it"),
        ("trace info good.up --from=-1", 2, "usage", "expected seconds"),
        ("trace import good.up -o x.txt --to table", 2, "usage", "ends in .parquet, .jsonl or .csv"),
        (
            "trace import good.up -o x --rate 20",
            2,
            "usage",
            "such as 500k, 20M or 1G; without a letter from 1000 on",
        ),
        ("trace import good.up -o good.up/x", 23, "not_written", "cannot write good.up/x"),
        ("trace plot good.up -o x.png", 2, "usage", "ends in .svg or .html"),
        ("trace info good.up --format wav", 2, "usage", "expected one of mahimahi, delay"),
    ] {
        let (code, said, remarks) = run(at, &format!("{line} --json"));
        assert_eq!(code, exit, "{line}: {remarks}");
        let error: Value = serde_json::from_str(said.trim()).unwrap_or_else(|_| panic!("{line}: {said}"));
        assert_eq!(error["error"]["kind"], kind, "{line}");
        assert!(error["error"]["message"].as_str().unwrap().contains(message), "{line}: {said}");
    }
}
