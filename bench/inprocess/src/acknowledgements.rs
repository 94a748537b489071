//! Instructions of a congestion controller per acknowledgement, counted by valgrind.
//!
//! A download is simulated with the controller that is asked for inside one that counts. Once it runs steadily, some of its
//! acknowledgements go through a function of their own, after which the profiler writes down who called whom since the one before.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use bench_harness::Error;
use clap::Args;
use hawser_policy::PolicyKind;
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};
use serde::Serialize;

use crate::counted::{self, COUNTED};

/// At most, for the median: controllers with a window and nothing else, and those with a model or siblings.
const LIMIT_WINDOW: u64 = 600;
const LIMIT_MODEL: u64 = 2_000;
/// Where a controller that is not coupled has more than a window to keep.
const WITH_MODEL: &str = "bbr";

/// A link of 20 Mbit/s and 20 ms with a queue of a bandwidth-delay product; the second is as fast and farther away.
const SCENARIO: &str = r#"
version = 1
duration = "8 s"
[transport]
congestion = "counted"
[[link]]
name = "a"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "20 ms"
"#;
const SECOND_LINK: &str = r#"
[[link]]
name = "b"
rate = "20 Mbit/s"
delay = "20 ms"
queue = "20 ms"
"#;

/// What a controller takes on so many paths.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Acknowledgements {
    controller: String,
    paths: usize,
    counted: usize,
    median: u64,
    p99: u64,
    mean: f64,
    limit: u64,
}

/// The download alone, for a profiler to look at.
#[derive(Debug, Args)]
pub(crate) struct Download {
    /// The controller.
    #[arg(long)]
    controller: String,
    /// How many paths, one or two.
    #[arg(long, default_value_t = 1)]
    paths: usize,
}

/// Counts for all controllers on one path, and for coupled ones on two.
pub(crate) fn report(only: &[String]) -> Result<Vec<Acknowledgements>, Error> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("instructions per acknowledgement: not counted, valgrind is not installed");
        return Ok(Vec::new());
    }
    let registry = hawser_net::policies();
    let names = registry.names(PolicyKind::Congestion);
    let wanted: Vec<&str> = names.filter(|name| only.is_empty() || only.iter().any(|n| n == name)).collect();
    let mut counts = Vec::new();
    for name in wanted {
        let coupled = counted::is_coupled(name)?;
        let limit = if coupled || name.starts_with(WITH_MODEL) { LIMIT_MODEL } else { LIMIT_WINDOW };
        for paths in 1..=1 + usize::from(coupled) {
            let counted = of_controller(name, paths, limit)?;
            let verdict = if counted.median < limit { "holds" } else { "MISSED" };
            let Acknowledgements { median, p99, mean, .. } = &counted;
            eprintln!(
                "{verdict:<6}  instructions per acknowledgement, {name} on {paths}: median {median}, p99 {p99}, \
                 mean {mean:.0} (median less than {limit})"
            );
            counts.push(counted);
        }
    }
    Ok(counts)
}

fn of_controller(name: &str, paths: usize, limit: u64) -> Result<Acknowledgements, Error> {
    let folder = tempfile::tempdir()?;
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", folder.path().join("profile").display()))
        .arg(format!("--dump-after=*{COUNTED}*"))
        .arg(std::env::current_exe()?)
        .args(["download", "--controller", name, "--paths", &paths.to_string()])
        .output()?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind failed ({}): {log}", output.status).into());
    }
    let mut counts = dumped(folder.path())?;
    counts.sort_unstable();
    let at = |share: f64| counts.get((counts.len() as f64 * share) as usize).copied();
    let (Some(median), Some(p99)) = (at(0.5), at(0.99)) else {
        return Err(format!("valgrind counted no acknowledgement of {name}").into());
    };
    Ok(Acknowledgements {
        controller: name.to_owned(),
        paths,
        counted: counts.len(),
        median,
        p99,
        mean: counts.iter().sum::<u64>() as f64 / counts.len() as f64,
        limit,
    })
}

/// What the function took, with all that it calls, in each profile of a folder in which it was called.
fn dumped(folder: &Path) -> Result<Vec<u64>, Error> {
    let mut counts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        counts.extend(inclusive(&std::fs::read_to_string(entry?.path())?)?);
    }
    Ok(counts)
}

/// The instructions of the call in a profile: a name is written out once, `cfn=(12) name`, then it is `cfn=(12)`; what the calls took
/// stands in the line after their number.
fn inclusive(profile: &str) -> Result<Option<u64>, Error> {
    let names = profile.lines().filter_map(|line| line.split_once("fn=("));
    let Some(number) =
        names.filter_map(|(_, name)| name.split_once(')')).find(|(_, name)| name.contains(COUNTED))
    else {
        return Ok(None);
    };
    let callee = format!("cfn=({})", number.0);
    let mut lines = profile.lines().skip_while(|line| !line.starts_with(&callee));
    // "calls=1 0", "123 456"
    let cost = lines.nth(2).and_then(|line| line.split_whitespace().nth(1));
    Ok(cost.map(str::parse).transpose()?)
}

/// Runs the download; what each link carried, in packets.
pub(crate) fn run(download: &Download) -> Result<BTreeMap<String, u64>, Error> {
    let second = if download.paths > 1 { SECOND_LINK } else { "" };
    let mut registry = hawser_net::policies();
    counted::register(&mut registry, &download.controller)?;
    let scenario =
        Scenario::parse(&format!("{SCENARIO}{second}"), "download", &mut |_| Err("there is none".into()))?;
    let outcome = Simulation::new(&scenario, &registry, Options::default())?.run(&mut NoRecorder);
    let paths = outcome.paths.iter().filter(|path| path.packets_sent > 0);
    Ok(paths.map(|path| (path.link.clone(), path.packets_sent)).collect())
}
