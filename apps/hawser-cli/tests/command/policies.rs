//! `hawser policies`: what there is, and what can be set of it.

use serde_json::Value;

use crate::support::*;

fn text(arguments: &[&str]) -> String {
    let output = run(hawser(["policies"].into_iter().chain(arguments.iter().copied())));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn everything_is_listed_by_kind_with_the_default_marked() {
    let list = text(&[]);
    for heading in [
        "--scheduler NAME, `scheduler` in scenarios",
        "--congestion NAME, `congestion` in scenarios",
        "--acks NAME, `acks` in scenarios",
        "--paths NAME, `paths` in scenarios",
    ] {
        assert!(list.contains(heading), "{heading} in\n{list}");
    }
    for name in
        ["earliestarrival (default)", "tide (default)", "fastest-return (default)", "full-mesh (default)"]
    {
        assert!(list.lines().any(|line| line.trim() == name), "{name} in\n{list}");
    }
}

#[test]
fn one_policy_is_described_with_range_default_and_source() {
    let cubic = text(&["Cubic"]);
    let words = cubic.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--congestion NAME") && !words.contains("--scheduler NAME"), "{cubic}");
    assert!(words.contains("beta = 0.7 0.1 to 0.95"), "{cubic}");
    assert!(words.contains("RFC 9438"), "{cubic}");
}

#[test]
fn the_list_for_programs_has_the_same() {
    let list = run_json(hawser(["policies"]));
    let list = list.as_array().unwrap();
    let of_kind = |kind: &str| list.iter().filter(|policy| policy["kind"] == kind).collect::<Vec<_>>();
    for kind in ["scheduler", "congestion", "acks", "paths"] {
        let defaults = of_kind(kind).iter().filter(|policy| policy["default"] == true).count();
        assert_eq!(defaults, 1, "defaults among the {kind}");
    }
    let everything = text(&[]);
    for policy in list {
        let name = policy["name"].as_str().unwrap();
        assert!(everything.contains(name) && !policy["summary"].as_str().unwrap().is_empty(), "{policy}");
        for parameter in policy["parameters"].as_array().unwrap() {
            let ranges =
                [&parameter["range"], &parameter["choices"]].map(|list| list.as_array().map_or(0, Vec::len));
            let is_file = parameter["kind"] == "file";
            assert!(is_file || ranges.iter().any(|count| *count >= 2), "{name}: {parameter}");
            assert!(!parameter["default"].as_str().unwrap().is_empty(), "{name}: {parameter}");
        }
    }
    let cubic = run_json(hawser(["policies", "cubic"]));
    assert_eq!(cubic.as_array().map(Vec::len), Some(1));
    let beta =
        &cubic[0]["parameters"].as_array().unwrap().iter().find(|it| it["name"] == "beta").unwrap().clone();
    assert_eq!(beta["range"], Value::from(vec!["0.1", "0.95"]));
    assert_eq!((&beta["default"], &beta["kind"]), (&"0.7".into(), &"number".into()));
}

#[test]
fn an_unknown_name_is_answered_with_what_was_meant() {
    let words = run_failing(hawser(["policies", "cubik"]), 2);
    assert!(
        words.contains("there is no policy named \"cubik\"") && words.contains("did you mean \"cubic\"?"),
        "{words}"
    );
}

/// The page on the seam shows what a plan printed: of every scheduler that there is, twice.
#[test]
fn the_tables_of_schedulers_on_the_page_are_complete() {
    let list = run_json(hawser(["policies"]));
    let schedulers = list.as_array().unwrap().iter().filter(|policy| policy["kind"] == "scheduler");
    let expected: Vec<&str> = schedulers.map(|policy| policy["name"].as_str().unwrap()).collect();
    let read = |file: &str| {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let plan = read("scenarios/plans/schedulers-at-hand.toml");
    let varied = plan.lines().find_map(|line| line.strip_prefix("\"transport.scheduler\" = ")).unwrap();
    assert_eq!(varied.split('"').skip(1).step_by(2).collect::<Vec<_>>(), expected, "what the plan runs");
    let page = read("docs/policy-seam.md");
    let section = page.split("## What the schedulers at hand do").nth(1).unwrap();
    assert!(
        section.contains("hawser sim sweep scenarios/plans/schedulers-at-hand.toml"),
        "how the tables are made"
    );
    let lines: Vec<&str> = section.lines().collect();
    let is_head = |line: &&str| line.starts_with("transport.scheduler ");
    let tables: Vec<Vec<&str>> = lines
        .split(|line| line.is_empty() || line.starts_with("```"))
        .filter_map(|block| {
            let head = block.iter().position(is_head)?;
            Some(block[head + 1..].iter().filter_map(|line| line.split_whitespace().next()).collect())
        })
        .collect();
    assert_eq!(tables, [expected.clone(), expected], "the tables on the page");
}
