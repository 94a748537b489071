use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use hawser_policy::{PathId, PolicyKind, Time};
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{
    CopyOutcome, DelaySummary, End, FlowOutcome, FlowSample, LinkSample, Outcome, PacketRecord, PathSample,
    Recorder, RepairOutcome,
};
use tempfile::TempDir;

use super::*;
use crate::data::record::{FileRecorder, RecordOptions, SampleOptions};
use crate::data::statistics::Pairing;
use crate::data::sweep::{self, Progress, RunSettings, Shard, Simulate, Sweep};

const PLAN: &str = r#"
version = 1
scenarios = ["road.toml"]
replicates = 8
paired = PAIRED
[vary]
"transport.scheduler" = ["default", "minrtt"]
"transport.congestion" = ["cubic", "newreno"]
"#;

const SCENARIO: &str = r#"
version = 1
duration = "5 s"
[[link]]
name = "x0"
rate = "10 Mbit/s"
delay = "10 ms"
"#;

/// A sweep in which the second scheduler is a little better in every pair, and some flows do not finish.
fn swept(paired: bool) -> (TempDir, PathBuf) {
    let stage = TempDir::new().unwrap();
    let plan = stage.path().join("plan.toml");
    fs::write(&plan, PLAN.replace("PAIRED", if paired { "true" } else { "false" })).unwrap();
    fs::write(stage.path().join("road.toml"), SCENARIO).unwrap();
    let folder = stage.path().join("out");
    let settings = RunSettings { folder: folder.clone(), threads: 1, shard: Shard::ALL };
    let simulate: Arc<Simulate> =
        Arc::new(|scenario: &Scenario| match policy(scenario, PolicyKind::Congestion).as_str() {
            "newreno" if policy(scenario, PolicyKind::Scheduler) == "minrtt" => {
                Err("<no> such thing".to_owned())
            }
            _ => Ok(outcome(scenario)),
        });
    let sweep = Arc::new(Sweep::load(&plan).unwrap());
    sweep::run(&sweep, &settings, &simulate, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    (stage, folder)
}

fn policy(scenario: &Scenario, kind: PolicyKind) -> String {
    scenario.transport.policies.get(kind).map_or_else(String::new, ToString::to_string)
}

fn outcome(scenario: &Scenario) -> Outcome {
    let luck = (scenario.seed % 1_000_003) as f64 * 20.0;
    let better = if policy(scenario, PolicyKind::Scheduler) == "minrtt" { 1e5 } else { 0.0 };
    let flow = |copy: u64| FlowOutcome {
        flow: format!("main.{copy}"),
        kind: "bulk",
        direction: Direction::Down,
        scheduler: policy(scenario, PolicyKind::Scheduler),
        controller: policy(scenario, PolicyKind::Congestion),
        start_seconds: 0.0,
        connect_seconds: None,
        completion_seconds: (luck > 4e6).then_some(luck / 1e7),
        bytes: 1000,
        goodput_bps: 1e7 + luck + better + copy as f64 * 1000.0,
        longest_gap_ms: 5.0,
        completed: 0,
        sent: 0,
        delay: DelaySummary::default(),
        intact: true,
        copies: CopyOutcome::default(),
        repair: RepairOutcome::default(),
        measures: Vec::new(),
        error: None,
    };
    Outcome {
        scenario: "road".to_owned(),
        seed: scenario.seed,
        scenes: scenario.scenes.clone(),
        trace_hash: scenario.seed.to_string(),
        simulated_seconds: 5.0,
        end: End::Duration,
        packets: 1,
        events: 1,
        goodput_bps: 1.0,
        flows: vec![flow(1), flow(2), flow(3)],
        paths: Vec::new(),
        links: Vec::new(),
    }
}

fn read_sweep(folder: &Path) -> SweepReport {
    match SimReport::read(folder).unwrap() {
        SimReport::Sweep(report) => report,
        SimReport::Run(_) => panic!("a sweep was taken for a run"),
    }
}

/// Every tag that is opened is closed in its order; nothing is loaded from elsewhere; no number is missing.
fn check_page(html: &str) {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1) {
        let name = tag.split(|c: char| c.is_whitespace() || c == '>').next().unwrap();
        let is_void =
            ["!DOCTYPE", "meta", "br"].contains(&name) || tag.split('>').next().unwrap().ends_with('/');
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if !is_void => open.push(name),
            None => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for wrong in ["http", "url(", "@import", "<script", "NaN", "inf ", "Infinity"] {
        assert!(!html.contains(wrong), "{wrong}");
    }
}

#[test]
fn a_sweep_says_what_differs() {
    let (_stage, folder) = swept(true);
    let report = read_sweep(&folder);
    assert_eq!((report.cells, report.finished, report.failed), (32, 32, 8));
    let [group] = &report.groups[..] else { panic!("{:?}", report.groups) };
    assert_eq!((group.flow.as_str(), group.copies, group.variants.len()), ("main", 3, 3));
    // Copies are averaged: eight values, not twenty-four.
    let goodput = group.variants[0].metrics[&Metric::GoodputBps].unwrap();
    assert_eq!(goodput.count, 8);
    assert!(group.variants[0].metrics[&Metric::DelayP99Ms].is_none());
    let completed = group.variants[0].metrics[&Metric::CompletionSeconds].map_or(0, |summary| summary.count);
    assert!((1..8).contains(&completed), "some did not finish: {completed}");
    let comparison = group.comparisons.iter().find(|one| one.factor == "transport.scheduler").unwrap();
    assert_eq!(comparison.others, [("transport.congestion".to_owned(), "cubic".to_owned())]);
    let difference = comparison.differences[&Metric::GoodputBps].unwrap();
    assert_eq!((difference.pairing, difference.count, difference.larger), (Pairing::Paired, 8, Some(8)));
    assert!((difference.mean - 1e5).abs() < 1e-3 && difference.is_clear());
    assert_eq!((report.failures[0].message.as_str(), report.failures[0].cells), ("<no> such thing", 8));
    let html = SimReport::Sweep(report).html();
    check_page(&html);
    assert!(html.contains("&lt;no&gt; such thing") && html.contains("mean of 3") && html.contains("of 8"));
}

#[test]
fn without_pairs_samples_are_compared() {
    let (_stage, folder) = swept(false);
    let report = read_sweep(&folder);
    let difference = report.groups[0].comparisons[0].differences[&Metric::GoodputBps].unwrap();
    assert_eq!(difference.pairing, Pairing::Welch);
    assert!(!difference.is_clear(), "luck is larger than the difference");
    check_page(&SimReport::Sweep(report).html());
}

/// What a recorder leaves of a link that delivers 1 MB/s and is down from 4 s to 6 s, and of a path over it.
fn recorded(folder: &Path, json_lines: bool) {
    let interval = std::time::Duration::from_millis(100);
    let samples = SampleOptions { folder: folder.to_owned(), interval, json_lines };
    let options = RecordOptions { samples: Some(samples), packets: true, capture: None };
    let link = "version = 1\n[[link]]\nname = \"x0\"\nrate = \"unlimited\"";
    let scenario = hawser_scenario::Scenario::parse(link, "x.toml", &mut |_| Err(String::new())).unwrap();
    let mut recorder = FileRecorder::create(&options, &scenario).unwrap();
    let stats = hawser_core::PathStats::default();
    for step in 0..=100_u64 {
        let at = Time::from_nanos(step * 100_000_000);
        recorder.flow(&FlowSample { at, flow: "main", bytes: step * 100_000, completed: 0, waiting: 0 });
        recorder.path(&PathSample { at, flow: "main", path: PathId(0), link: "x0", stats: &stats });
        recorder.link(&LinkSample {
            at,
            link: "x0",
            direction: Direction::Down,
            up: !(40..60).contains(&step),
            queued_bytes: 10 * step,
            delivered_bytes: step * 100_000,
            dropped_packets: step / 50,
        });
        // Every other packet carries data, which waits for a neighbour; the data of the lost one is sent once more.
        let label = (step % 2 == 1).then_some(step);
        recorder.packet(&PacketRecord {
            followed: label,
            sent: at,
            at: at + std::time::Duration::from_millis(20),
            route: "x0",
            direction: Direction::Down,
            port: 1,
            length: 1500,
            ecn: None,
            dropped: (step == 7).then_some(("x0", hawser_link::DropCause::Queue)),
            payload: &[],
            addresses: hawser_core::FourTuple {
                local: "10.0.0.1:1".parse().unwrap(),
                remote: "10.0.0.2:2".parse().unwrap(),
            },
        });
        if let Some(label) = label {
            let after = std::time::Duration::from_millis(if step == 7 { 400 } else { 50 });
            recorder.settled(label, (step < 99).then_some(at + after));
        }
    }
    recorder.finish().unwrap();
    let outcome = r#"{"scenario":"a & b","seed":1,"simulated_seconds":10.0,"end":"duration","goodput_bps":8e6,"packets":100,
        "events":1,"trace_hash":"00","flows":[{"flow":"main","error":null,"intact":true,"bytes":10000000}],"paths":[],"links":[]}"#;
    fs::write(folder.join(OUTCOME), outcome).unwrap();
}

#[test]
fn a_run_is_drawn_from_either_kind_of_table() {
    let pages = [false, true].map(|json_lines| {
        let stage = TempDir::new().unwrap();
        recorded(stage.path(), json_lines);
        let SimReport::Run(report) = SimReport::read(stage.path()).unwrap() else { panic!("no run") };
        assert_eq!(report.flows[0].samples.len(), 101);
        let [(from, to)] = report.links[0].down[..] else { panic!("{:?}", report.links[0].down) };
        assert!((from - 4.0).abs() < 0.11 && (to - 6.0).abs() < 0.11, "{from} {to}");
        let delay = &report.delays[0];
        assert_eq!((delay.arrived, delay.dropped), (100, 1));
        let is_about = |delay: f64, expected: f64| assert!((delay / expected - 1.0).abs() < 0.02, "{delay}");
        is_about(delay.one_way.p99_ms, 20.0);
        is_about(delay.one_way.max_ms, 20.0);
        // The lost packet counts: its data came. That of the last one did not.
        let to_delivery = delay.to_delivery.as_ref().unwrap();
        assert_eq!(delay.delivered, 49);
        is_about(to_delivery.p95_ms, 50.0);
        is_about(to_delivery.max_ms, 400.0);
        let html = SimReport::Run(report).html();
        check_page(&html);
        assert!(html.contains("a &amp; b") && html.contains("x0 is down"));
        let row = html.split("To delivery</td>").nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(row.starts_with("<td>49</td>") && row.contains("399 ms"), "{row}");
        html
    });
    assert_eq!(pages[0], pages[1]);
}

#[test]
fn a_folder_without_results_is_said_so() {
    let stage = TempDir::new().unwrap();
    assert!(matches!(SimReport::read(stage.path()), Err(SimReportError::NoResults { .. })));
}
