use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hawser_scenario::Direction;
use hawser_sim::run::{CopyOutcome, DelaySummary, End, FlowOutcome, Outcome, RepairOutcome};
use tempfile::TempDir;

use super::*;
use crate::data::table::read_table;

const PLAN: &str = r#"
version = 1
scenarios = ["a.toml", "b.toml"]
replicates = 10
[vary]
"transport.scheduler" = ["default", "minrtt"]
"#;
const CELLS: usize = 40;

const SCENARIO: &str = r#"
version = 1
duration = "5 s"
[[link]]
name = "x0"
rate = "10 Mbit/s"
delay = "10 ms"
"#;

/// A plan on the disk.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Stage { folder: TempDir::new().unwrap() };
        for (name, text) in [("plan.toml", PLAN), ("a.toml", SCENARIO), ("b.toml", SCENARIO)] {
            stage.write(name, text);
        }
        stage
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn sweep(&self) -> Arc<Sweep> {
        Arc::new(Sweep::load(&self.folder.path().join("plan.toml")).unwrap())
    }

    fn settings(&self, out: &str, threads: usize, shard: &str) -> RunSettings {
        RunSettings { folder: self.folder.path().join(out), threads, shard: shard.parse().unwrap() }
    }

    /// Runs to the end.
    fn run(&self, out: &str, threads: usize, shard: &str) -> RunSummary {
        self.run_with(out, threads, shard, &simulator()).unwrap()
    }

    fn run_with(
        &self,
        out: &str,
        threads: usize,
        shard: &str,
        simulate: &Arc<Simulate>,
    ) -> Result<RunSummary, SweepError> {
        let go_on = &mut |_: &Progress| ControlFlow::Continue(());
        run(&self.sweep(), &self.settings(out, threads, shard), simulate, go_on)
    }

    /// Runs until some more cells are done.
    fn run_some(&self, out: &str, cells: usize) -> RunSummary {
        let stop = &mut |progress: &Progress| match progress.ran < cells {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        run(&self.sweep(), &self.settings(out, 2, "1/1"), &simulator(), stop).unwrap()
    }

    fn open(&self, out: &str) -> Folder {
        Folder::open(&self.folder.path().join(out)).unwrap()
    }

    /// The bytes of all merged files by name.
    fn merged(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        merge(&self.open(out)).unwrap();
        let files = fs::read_dir(self.folder.path().join(out).join("merged")).unwrap();
        let file =
            |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        files.map(|entry| file(entry.unwrap())).collect()
    }

    fn parts(&self, out: &str) -> Vec<PathBuf> {
        self.open(out).look().unwrap().parts.into_iter().map(|part| part.path).collect()
    }
}

/// Takes some time, which differs, and returns what depends on the seed alone.
fn simulator() -> Arc<Simulate> {
    Arc::new(|scenario: &Scenario| {
        std::thread::sleep(Duration::from_micros(scenario.seed % 3000));
        Ok(outcome(scenario, "one"))
    })
}

fn outcome(scenario: &Scenario, program: &str) -> Outcome {
    let figure = (scenario.seed % 1000) as f64;
    Outcome {
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        scenes: scenario.scenes.clone(),
        trace_hash: format!("{:016x}{program}", scenario.seed),
        simulated_seconds: 5.0,
        end: End::Duration,
        packets: scenario.seed % 77,
        events: scenario.seed % 99,
        goodput_bps: figure,
        flows: vec![FlowOutcome {
            flow: "main".to_owned(),
            kind: "bulk",
            direction: Direction::Down,
            scheduler: scenario
                .transport
                .policies
                .scheduler
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
            controller: "cubic".to_owned(),
            start_seconds: 0.0,
            connect_seconds: None,
            completion_seconds: scenario.seed.is_multiple_of(2).then_some(figure),
            bytes: scenario.seed % 1234,
            goodput_bps: figure,
            longest_gap_ms: figure / 10.0,
            completed: 0,
            sent: 0,
            delay: DelaySummary::default(),
            intact: true,
            copies: CopyOutcome::default(),
            repair: RepairOutcome::default(),
            measures: Vec::new(),
            error: None,
        }],
        paths: Vec::new(),
        links: Vec::new(),
    }
}

#[test]
fn the_merged_result_depends_on_no_thread_shard_or_interruption() {
    let stage = Stage::new();
    let summary = stage.run("one", 1, "1/1");
    assert_eq!((summary.progress.ran, summary.missing, summary.stopped), (CELLS, 0, false));
    let expected = stage.merged("one");
    assert_eq!(expected.len(), 5, "four tables and a summary");
    assert_eq!(
        read_table(&merged_table(&stage.folder.path().join("one"), TableName::Flows)).unwrap().rows(),
        CELLS
    );
    stage.run("two", 2, "1/1");
    assert_eq!(stage.merged("two"), expected, "two threads");
    for shard in ["3/3", "1/3", "2/3"] {
        stage.run("three", 2, shard);
    }
    assert_eq!(stage.merged("three"), expected, "three shards");
    let mut ran = 0;
    while ran < CELLS {
        let summary = stage.run_some("pieces", 7);
        assert_eq!(summary.progress.found, ran, "what was done before is not done again");
        ran += summary.progress.ran;
        assert_eq!(summary.missing, CELLS - ran);
    }
    assert_eq!(ran, CELLS);
    assert!(stage.parts("pieces").len() > 3);
    assert_eq!(stage.merged("pieces"), expected, "stopped and continued");
    stage.run_some("mixed", 9);
    stage.run("mixed", 1, "2/2");
    stage.run("mixed", 1, "1/1");
    assert_eq!(stage.merged("mixed"), expected, "other shards later");
}

#[test]
fn an_unfinished_folder_is_merged_as_far_as_it_is() {
    let stage = Stage::new();
    stage.run_some("out", 5);
    let first = merge(&stage.open("out")).unwrap();
    assert!((5..CELLS).contains(&first.finished) && first.cells == CELLS);
    stage.run("out", 2, "1/1");
    assert_eq!(merge(&stage.open("out")).unwrap().finished, CELLS, "not what was merged before");
    let table = read_table(&merged_table(&stage.folder.path().join("out"), TableName::Cells)).unwrap();
    let cells: Vec<Option<f64>> = (0..CELLS).map(|cell| Some(cell as f64)).collect();
    assert_eq!(table.numbers("cell").unwrap(), cells);
    assert_eq!(table.texts("transport.scheduler").unwrap()[10], Some("minrtt"));
    assert_eq!(table.texts("scenario").unwrap()[20], Some("b"));
}

#[test]
fn a_damaged_part_is_noticed_and_its_cells_run_again() {
    let stage = Stage::new();
    stage.run("whole", 1, "1/1");
    stage.run_some("out", 15);
    stage.run("out", 2, "1/1");
    assert!(stage.parts("out").len() >= 2);
    for (damage, part) in [("truncated", 0), ("changed", 1), ("gone", 0)] {
        let part = &stage.parts("out")[part];
        let found = stage.open("out").look().unwrap();
        let lost = found.parts.iter().find(|found| found.path == *part);
        let lost = lost.map(|part| part.description.cells.len()).unwrap();
        let file = part.join("flows.parquet");
        let bytes = fs::read(&file).unwrap();
        match damage {
            "truncated" => fs::write(&file, &bytes[..bytes.len() / 2]).unwrap(),
            "changed" => {
                let mut bytes = bytes;
                bytes[40] ^= 1;
                fs::write(&file, bytes).unwrap();
            }
            _ => fs::remove_file(&file).unwrap(),
        }
        let found = stage.open("out").look().unwrap();
        assert!(found.damaged.iter().any(|(path, _)| path == part), "{damage}");
        assert_eq!(found.finished(CELLS).iter().filter(|done| !**done).count(), lost, "{damage}");
        let summary = stage.run("out", 2, "1/1");
        assert_eq!((summary.progress.ran, summary.damaged.is_empty()), (lost, false), "{damage}");
        assert_eq!(stage.merged("out"), stage.merged("whole"), "{damage}");
    }
}

#[test]
fn what_a_killed_process_left_is_cleared_away() {
    let stage = Stage::new();
    stage.run_some("out", 15);
    let shard = stage.folder.path().join("out/shard-1-of-1");
    // As far as a part can get without its name.
    let part = &stage.parts("out")[0];
    let unfinished = shard.join("part-000099.partial");
    fs::create_dir(&unfinished).unwrap();
    fs::copy(part.join("flows.parquet"), unfinished.join("flows.parquet")).unwrap();
    fs::write(unfinished.join(".links.parquet.hawser-new-0"), b"PAR1").unwrap();
    stage.run("out", 2, "1/1");
    assert!(!unfinished.exists());
    stage.run("whole", 1, "1/1");
    assert_eq!(stage.merged("out"), stage.merged("whole"));
}

#[test]
fn results_of_different_things_are_not_mixed() {
    let stage = Stage::new();
    stage.run_some("out", 15);
    let refused = |what: &str| {
        let error = stage.run_with("out", 1, "1/1", &simulator()).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    stage.write("plan.toml", &PLAN.replace("= 10", "= 11"));
    refused("the plan \"plan\" was another or has changed");
    stage.write("plan.toml", PLAN);
    stage.write("b.toml", &SCENARIO.replace("10 ms", "11 ms"));
    refused("the file b.toml has changed");
    stage.write("b.toml", SCENARIO);
    let other: Arc<Simulate> = Arc::new(|scenario: &Scenario| Ok(outcome(scenario, "two")));
    let error = stage.run_with("out", 1, "1/1", &other).unwrap_err();
    assert!(matches!(error, SweepError::OtherProgram { .. }), "{error}");
    assert_eq!(stage.run("out", 1, "1/1").missing, 0, "unchanged it goes on");
    let error = Folder::open(&stage.folder.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, SweepError::NotASweep { .. }));
}

#[test]
fn recordings_are_inputs_whichever_the_seed_chooses() {
    let stage = Stage::new();
    let scene = "[scene.dish]\nmodel = \"starlink-slots\"\n\
                 recordings = { files = \"drives/*.down\", otherwise = \"generate\" }\n";
    let link = "[[link]]\nname = \"x0\"\nchannel = \"dish\"\n";
    stage.write("a.toml", &format!("version = 1\nduration = \"5 s\"\n{scene}{link}"));
    fs::create_dir(stage.folder.path().join("drives")).unwrap();
    let without = stage.sweep().manifest();
    stage.write("drives/1.down", "1\n2\n");
    stage.write("drives/2.down", "1\n3\n");
    let manifest = stage.sweep().manifest();
    let names: Vec<&str> = manifest.inputs.iter().map(|input| input.file.as_str()).collect();
    assert_eq!(names, ["a.toml", "b.toml", "drives/1.down", "drives/2.down"]);
    assert_ne!(without, manifest);

    stage.run_some("out", 15);
    assert_eq!(stage.open("out").manifest(), &manifest, "what cells read meanwhile was known before");
    let refused = |what: &str| {
        let error = stage.run_with("out", 1, "1/1", &simulator()).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    stage.write("drives/3.down", "1\n4\n");
    refused("it reads other files");
    fs::remove_file(stage.folder.path().join("drives/3.down")).unwrap();
    stage.write("drives/2.down", "1\n4\n");
    refused("the file drives/2.down has changed");
    stage.write("drives/2.down", "1\n3\n");
    assert_eq!(stage.run("out", 1, "1/1").missing, 0, "unchanged it goes on");
}

#[test]
fn two_processes_do_not_write_to_one_shard() {
    let stage = Stage::new();
    let (sweep, settings) = (stage.sweep(), stage.settings("out", 1, "1/1"));
    let mut answer = None;
    let mut watch = |_: &Progress| {
        answer.get_or_insert_with(|| stage.run_with("out", 1, "1/1", &simulator()));
        ControlFlow::Break(())
    };
    run(&sweep, &settings, &simulator(), &mut watch).unwrap();
    assert!(matches!(answer, Some(Err(SweepError::Busy { .. }))));
}

#[test]
fn parts_that_disagree_are_not_merged() {
    let stage = Stage::new();
    stage.run("out", 1, "1/1");
    let other: Arc<Simulate> = Arc::new(|scenario: &Scenario| Ok(outcome(scenario, "two")));
    stage.run_with("other", 1, "1/2", &other).unwrap();
    let (from, to) = ("other/shard-1-of-2", "out/shard-1-of-2");
    fs::rename(stage.folder.path().join(from), stage.folder.path().join(to)).unwrap();
    let error = merge(&stage.open("out")).unwrap_err();
    assert!(matches!(error, SweepError::Disagreement { cell: 0, .. }), "{error}");
}

/// Fails at the fourth cell that it is given, and breaks down at the fifth.
fn failing() -> Arc<Simulate> {
    let count = AtomicUsize::new(0);
    Arc::new(move |scenario: &Scenario| match count.fetch_add(1, Ordering::Relaxed) {
        3 => Err("no such thing".to_owned()),
        4 => panic!("at cell {}", 4),
        _ => Ok(outcome(scenario, "one")),
    })
}

#[test]
fn a_cell_that_fails_does_not_end_the_sweep() {
    let stage = Stage::new();
    let summary = stage.run_with("out", 1, "1/1", &failing()).unwrap();
    assert_eq!((summary.failed, summary.missing), (2, 0));
    let merged = merge(&stage.open("out")).unwrap();
    assert_eq!((merged.finished, merged.failed), (CELLS, 2));
    let cells = read_table(&merged_table(&stage.folder.path().join("out"), TableName::Cells)).unwrap();
    let messages = cells.texts("message").unwrap();
    assert_eq!(messages[2..5], [None, Some("no such thing"), Some("the program broke down: at cell 4")]);
}

#[test]
fn cells_that_failed_run_again_with_the_same_command() {
    let stage = Stage::new();
    stage.run_with("out", 1, "1/1", &failing()).unwrap();
    assert_eq!(merge(&stage.open("out")).unwrap().failed, 2);
    let other_shard = stage.run("out", 1, "1/40");
    assert_eq!((other_shard.progress.ran, other_shard.failed), (0, 2), "those of other shards stay");
    // The first cell that runs is one that is there, which must give the same.
    let count = AtomicUsize::new(0);
    let again: Arc<Simulate> =
        Arc::new(move |scenario: &Scenario| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(outcome(scenario, "one")),
            _ => Err("still not".to_owned()),
        });
    let summary = stage.run_with("out", 1, "1/1", &again).unwrap();
    assert_eq!((summary.progress.found, summary.progress.ran, summary.failed), (CELLS - 2, 2, 2));
    assert_eq!(summary.first_failure.unwrap().message, "still not");
    let summary = stage.run("out", 1, "1/1");
    assert_eq!((summary.progress.ran, summary.failed, summary.missing), (2, 0, 0));
    assert_eq!(merge(&stage.open("out")).unwrap().failed, 0);
    stage.run("whole", 1, "1/1");
    assert_eq!(stage.merged("out"), stage.merged("whole"));
    assert_eq!(stage.run("out", 1, "1/1").progress.ran, 0, "nothing is left");
}

#[test]
fn a_folder_of_failures_begins_again_when_the_mistake_is_corrected() {
    let stage = Stage::new();
    let broken: Arc<Simulate> = Arc::new(|_: &Scenario| Err("no such thing".to_owned()));
    assert_eq!(stage.run_with("out", 1, "1/1", &broken).unwrap().failed, CELLS);
    stage.write("b.toml", &SCENARIO.replace("10 ms", "11 ms"));
    let summary = stage.run("out", 1, "1/1");
    assert_eq!((summary.progress.ran, summary.failed, summary.missing), (CELLS, 0, 0));
}

#[test]
fn mistakes_are_found_before_the_first_cell_runs() {
    let stage = Stage::new();
    let wrong = |more: &[(String, String)]| {
        let path = stage.folder.path().join("plan.toml");
        let error = Sweep::load_with(&path, more, &hawser_net::policies()).unwrap_err();
        error.to_string().replace(&format!("{}/", stage.folder.path().display()), "")
    };
    stage.write("b.toml", &SCENARIO.replace("rate", "rat"));
    assert_eq!(wrong(&[]), "b.toml:6: link.x0.rat: unknown field; did you mean `rate`?");
    std::fs::remove_file(stage.folder.path().join("b.toml")).unwrap();
    assert!(wrong(&[]).starts_with("cannot read b.toml: "), "{}", wrong(&[]));
    stage.write("b.toml", SCENARIO);
    let value = "\"link.x0.delay\" = [\"10 ms\",\n\"20 mss\"]";
    stage.write("plan.toml", &format!("{PLAN}{value}"));
    assert!(wrong(&[]).starts_with("plan.toml:8: vary.link.x0.delay: "), "{}", wrong(&[]));
    stage.write("plan.toml", PLAN);
    stage.write("b.toml", &SCENARIO.replace("duration = \"5 s\"", ""));
    let words = wrong(&[]);
    assert!(words.contains("b.toml with transport.scheduler=default: nothing ends this scenario"), "{words}");
}

#[test]
fn tables_say_which_scenario_by_its_name() {
    let names = |files: &[&str]| -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        labels(&files).into_iter().map(|(_, label)| label).collect()
    };
    assert_eq!(names(&["../drive.toml", "x/ship.toml"]), ["drive", "ship"]);
    assert_eq!(names(&["a/drive.toml", "b/drive.toml"]), ["a/drive.toml", "b/drive.toml"]);
}
