//! `hawser sim sweep` and `hawser sim report`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::{hawser, run, run_failing, run_json};

const SCENARIO: &str = r#"
version = 1
duration = "3 s"
[[link]]
name = "a0"
rate = "8 Mbit/s"
delay = "10 ms"
loss = "1 %"
[[link]]
name = "b0"
rate = "5 Mbit/s"
delay = "30 ms"
[[flow]]
name = "main"
kind = "bulk"
size = "1 MB"
"#;

const PLAN: &str = r#"
version = 1
scenarios = ["near.toml", "far.toml"]
replicates = REPLICATES
paired = true
[vary]
"transport.scheduler" = ["default", "minrtt"]
"#;

/// A plan of `4 * replicates` cells.
fn stage(replicates: usize) -> TempDir {
    let stage = tempfile::tempdir().unwrap();
    fs::write(stage.path().join("plan.toml"), PLAN.replace("REPLICATES", &replicates.to_string())).unwrap();
    fs::write(stage.path().join("near.toml"), SCENARIO).unwrap();
    fs::write(stage.path().join("far.toml"), SCENARIO.replace("30 ms", "90 ms")).unwrap();
    stage
}

fn sweep(stage: &TempDir, out: &str, more: &[&str]) -> Command {
    let (plan, out) = (stage.path().join("plan.toml"), stage.path().join(out));
    let arguments = ["sim", "sweep", plan.to_str().unwrap(), "-o", out.to_str().unwrap()];
    hawser(arguments.into_iter().chain(more.iter().copied()))
}

/// The merged files of a folder.
fn merged(stage: &TempDir, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(stage.path().join(out).join("merged")).unwrap();
    files
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into(), fs::read(file.path()).unwrap()))
        .collect()
}

fn finished_parts(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder.join("shard-1-of-1")) else { return 0 };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("part-") && !name.ends_with(".partial")).count()
}

/// Starts a sweep and sends it a signal when some parts are finished.
fn signalled(stage: &TempDir, out: &str, signal: Signal, parts: usize) -> Option<i32> {
    let mut process = sweep(stage, out, &["-q", "-j", "2"]).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while finished_parts(&stage.path().join(out)) < parts && process.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "no part after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A process that is done already is as good as one that was killed late.
    let _ = kill(Pid::from_raw(process.id() as i32), signal);
    process.wait().unwrap().code()
}

#[test]
fn a_sweep_that_is_killed_goes_on_and_gives_the_same() {
    let stage = stage(60);
    let whole = run_json(sweep(&stage, "whole", &["-j", "1"]));
    assert_eq!((&whole["ran"], &whole["missing"], &whole["merged"]), (&240.into(), &0.into(), &true.into()));
    if signalled(&stage, "out", Signal::SIGKILL, 1).is_some() {
        eprintln!("the sweep was faster than the kill");
    }
    signalled(&stage, "out", Signal::SIGKILL, 2);
    let rest = run_json(sweep(&stage, "out", &["-j", "2"]));
    let (found, ran) = (rest["found"].as_u64().unwrap(), rest["ran"].as_u64().unwrap());
    assert!(found > 0 && found + ran == 240, "{rest}");
    assert_eq!(merged(&stage, "out"), merged(&stage, "whole"));
    for shard in ["3/3", "2/3", "1/3"] {
        run_json(sweep(&stage, "shards", &["--shard", shard]));
    }
    assert_eq!(merged(&stage, "shards"), merged(&stage, "whole"));
    let idle = run_json(sweep(&stage, "out", &[]));
    assert_eq!((&idle["found"], &idle["ran"]), (&240.into(), &0.into()));
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let stage = stage(400);
    assert_eq!(signalled(&stage, "out", Signal::SIGINT, 1), Some(130));
    let folder = stage.path().join("out");
    let partial = run_json(hawser(["sim", "sweep", "--merge", "-o", folder.to_str().unwrap()]));
    let finished = partial["finished"].as_u64().unwrap();
    assert!((1..1600).contains(&finished), "{partial}");
    let report = run_json(hawser(["sim", "report", folder.to_str().unwrap()]));
    assert_eq!((&report["kind"], &report["finished"]), (&"sweep".into(), &finished.into()));
}

#[test]
fn a_report_of_a_sweep_and_of_a_run_is_a_page() {
    let stage = stage(3);
    run_json(sweep(&stage, "out", &[]));
    let folder = stage.path().join("out");
    let output = run(hawser(["sim", "report", folder.to_str().unwrap()]));
    assert!(output.status.success());
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(
        page.contains("Sweep plan") && page.contains("transport.scheduler") && page.ends_with("</html>\n")
    );
    let (scenario, single) = (stage.path().join("near.toml"), stage.path().join("single"));
    let (scenario, single) = (scenario.to_str().unwrap(), single.to_str().unwrap());
    run_json(hawser(["sim", "run", scenario, "--out", single, "--packets", "--jsonl"]));
    let output = run(hawser(["sim", "report", single, "-o", "-"]));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("Congestion window") && page.contains("Delay of packets"));
    run_failing(hawser(["sim", "report", stage.path().to_str().unwrap()]), 26);
}

#[test]
fn what_is_wrong_is_said() {
    let stage = stage(2);
    run_failing(sweep(&stage, "out", &["--shard", "5/4"]), 2);
    run_json(sweep(&stage, "out", &[]));
    fs::write(stage.path().join("far.toml"), SCENARIO).unwrap();
    let words = run_failing(sweep(&stage, "out", &[]), 1);
    assert!(words.contains("far.toml has changed") && words.contains("another folder"), "{words}");
    fs::write(stage.path().join("far.toml"), "version = 1\n").unwrap();
    let words = run_failing(sweep(&stage, "other", &[]), 78);
    assert!(words.contains("far.toml") && !stage.path().join("other").exists(), "{words}");
    fs::remove_file(stage.path().join("far.toml")).unwrap();
    let words = run_failing(sweep(&stage, "other", &[]), 26);
    assert!(words.contains("far.toml") && !stage.path().join("other").exists(), "{words}");
    fs::write(stage.path().join("plan.toml"), "version = 1\n").unwrap();
    run_failing(sweep(&stage, "third", &[]), 78);
}

/// A disk of 300 KiB, in a mount namespace; skipped where that is not allowed.
#[test]
fn a_full_disk_keeps_what_is_done() {
    let allowed = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mount namespaces here");
        return;
    }
    let stage = stage(1000);
    let disk = stage.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = Command::new("unshare");
    // What is left is copied out: the disk goes with the namespace.
    let script = "mount -t tmpfs -o size=300k tmpfs \"$1\" && { \"$0\" sim sweep \"$2\" -o \"$1/out\" -q; code=$?; \
                  cp -r \"$1/out\" \"$3\"; exit $code; }";
    let (plan, saved) = (stage.path().join("plan.toml"), stage.path().join("saved"));
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_hawser")]).arg(&disk).arg(plan).arg(&saved);
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(24), "{words}");
    assert!(words.contains("the disk is full") && words.contains("kept"), "{words}");
    let parts = finished_parts(&saved);
    assert!(parts > 0);
    let names = fs::read_dir(saved.join("shard-1-of-1")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        names.into_iter().all(|name| !name.to_string_lossy().ends_with(".partial")),
        "nothing half-written"
    );
    let merged = run_json(hawser(["sim", "sweep", "--merge", "-o", saved.to_str().unwrap()]));
    assert!(merged["finished"].as_u64().unwrap() > 0, "{merged}");
}

#[test]
fn it_does_not_matter_where_the_command_is_run() {
    let stage = stage(1);
    let far = stage.path().join("far.toml");
    let plan = PLAN.replace("REPLICATES", "1").replace("far.toml", far.to_str().unwrap());
    fs::write(stage.path().join("plan.toml"), plan).unwrap();
    run_json(sweep(&stage, "out", &[]));
    let mut again = hawser(["sim", "sweep", "plan.toml", "-o", "out"]);
    again.current_dir(stage.path());
    assert_eq!(run_json(again)["found"], 4);
}

/// The mean of each value is that of its runs, whatever else varied.
#[test]
fn each_value_of_a_factor_has_its_means() {
    let stage = tempfile::tempdir().unwrap();
    fs::write(stage.path().join("near.toml"), SCENARIO).unwrap();
    let plan = "version = 1\nscenarios = [\"near.toml\"]\nreplicates = 3\n[vary]\n\
                \"transport.scheduler\" = [\"minrtt\", \"ecf\"]\n\"transport.congestion\" = \
                [\"cubic,beta=0.5\", \"cubic,beta=0.9\"]\n";
    fs::write(stage.path().join("plan.toml"), plan).unwrap();
    let report = run_json(sweep(&stage, "out", &[]));
    let means = report["means"].as_array().unwrap();
    let mean = |key: &str, value: &str| {
        let mut found = means.iter().filter(|mean| mean["key"] == key && mean["value"] == value);
        found.next().unwrap_or_else(|| panic!("no mean of {key} = {value} in {report}")).clone()
    };
    assert_eq!(means.len(), 4, "{report}");
    let goodputs = |key: &str, values: [&str; 2]| {
        values.map(|value| {
            let mean = mean(key, value);
            assert_eq!(
                (&mean["runs"], &mean["flow"]),
                (&6.into(), &"main".into()),
                "two factors, three replicates"
            );
            // 1 MB over 8 and 5 Mbit/s with 1 % of loss: never more than both carry.
            let goodput = mean["goodput_bps"].as_f64().unwrap();
            let completion = mean["completion_seconds"].as_f64().unwrap();
            assert!((1e6..13e6).contains(&goodput) && (0.6..3.0).contains(&completion), "{mean}");
            goodput
        })
    };
    let schedulers = goodputs("transport.scheduler", ["minrtt", "ecf"]);
    let controllers = goodputs("transport.congestion", ["cubic,beta=0.5", "cubic,beta=0.9"]);
    // Both tables are of the same twelve runs.
    let total = |means: [f64; 2]| means[0] + means[1];
    assert!((total(schedulers) / total(controllers) - 1.0).abs() < 1e-9, "{schedulers:?} {controllers:?}");
    assert!(controllers[0] != controllers[1] && schedulers[0] != schedulers[1]);
    let text = String::from_utf8(run(sweep(&stage, "out", &[])).stdout).unwrap();
    for words in
        ["near, main", "transport.congestion", "cubic,beta=0.9", "goodput", "completion", "p99 delay"]
    {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

/// As `[set]` in the plan does.
#[test]
fn policies_are_chosen_for_all_cells() {
    let stage = stage(1);
    let vary = fs::read_to_string(stage.path().join("plan.toml")).unwrap();
    let (head, _) = vary.split_once("[vary]").unwrap();
    fs::write(
        stage.path().join("plan.toml"),
        format!("{head}[set]\n\"transport.congestion\" = \"newreno\"\n"),
    )
    .unwrap();
    let events = |out: &str, more: &[&str]| {
        let report = run_json(sweep(&stage, out, more));
        (report["packets"].as_u64().unwrap(), report["events"].as_u64().unwrap())
    };
    let plan = events("plan", &[]);
    fs::write(stage.path().join("plan.toml"), head).unwrap();
    let (option, neither) = (events("option", &["--congestion", "newreno"]), events("neither", &[]));
    assert_eq!(plan, option, "the same runs");
    assert_ne!(neither, option, "the controller was used");
    // Results of other policies do not get into the same folder.
    let words = run_failing(sweep(&stage, "neither", &["--congestion", "newreno"]), 1);
    assert!(words.contains("plan"), "{words}");
    fs::write(stage.path().join("plan.toml"), vary).unwrap();
    let words = run_failing(sweep(&stage, "twice", &["--scheduler", "ecf"]), 78);
    assert!(words.contains("the plan sets transport.scheduler itself"), "{words}");
    let words = run_failing(sweep(&stage, "wrong", &["--congestion", "cubic,beta=7"]), 2);
    assert!(
        words.contains("--congestion: cubic: expected 0.1 to 0.95 for \"beta\" (default 0.7), found \"7\""),
        "{words}"
    );
}
