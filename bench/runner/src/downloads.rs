//! Downloads over emulated links: what all links together give, and what happens when one dies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_harness::Error;
use bench_harness::arrivals::BIN;
use hawser_emu::{Scenario, load_scenario};
use serde::Serialize;

use crate::Arguments;
use crate::comparison::{Better, Metric, OURS, StackRuns, Summary};
use crate::emulated::{self, Download, down_rates};
use crate::launch::Launcher;
use crate::quiet::Quiet;
use crate::results;

const STACKS: [&str; 3] = ["hawser", "noq", "mptcp"];
/// The path that carried the handshake, over the first link: the one that dies.
const FIRST_PATH: u64 = 0;
/// After the gap, before the goodput of the link that is left is taken.
const SETTLING: Duration = Duration::from_millis(300);

/// Downloads over all links of each scenario.
pub(crate) fn aggregate(
    arguments: &Arguments,
    launcher: &Launcher,
    scenarios: &[PathBuf],
    bytes: u64,
) -> Result<(), Error> {
    let share = |run: &Download| run.bytes as f64 * 8.0 / run.seconds / run.sum_of_rates_bps;
    let metrics = [
        Metric { name: "goodput / sum of rates", decimals: 4, better: Some(Better::Higher), value: share },
        Metric { name: "seconds", decimals: 3, better: None, value: |run| run.seconds },
        Metric {
            name: "longest gap ms",
            decimals: 1,
            better: None,
            value: |run| run.arrivals.longest_gap_ms,
        },
        Metric { name: "emulator late ms", decimals: 2, better: None, value: |run| run.lateness_ms },
    ];
    for path in scenarios {
        let scenario = load_scenario(path)?;
        let sum = down_rates(&scenario).iter().sum::<f64>() / 1e6;
        let stacks = rounds(arguments, launcher, &scenario, |stack| {
            let run = emulated::download(launcher, &scenario, stack, bytes)?;
            eprintln!("{} {stack:<6} {:.4} of the sum, {:.3} s", scenario.name, share(&run), run.seconds);
            Ok(run)
        })?;
        let summary = Summary::of(&stacks, &metrics);
        let title = format!("{} MB over {} ({sum:.0} Mbit/s)", bytes / 1_000_000, scenario.description);
        summary.print(&title, &stacks, &metrics);
        summary.judge(&["noq", "mptcp"], &metrics);
        let runs: Vec<_> = stacks.iter().flat_map(|stack| &stack.runs).collect();
        results::write(&arguments.out, &format!("aggregate-{}", scenario.name), summary, runs)?;
    }
    Ok(())
}

/// A download during which the first link died.
#[derive(Debug, Clone, Serialize)]
struct Failover {
    #[serde(flatten)]
    download: Download,
    /// Three probe timeouts of the dead path as its sender saw it just before, milliseconds.
    three_pto_ms: Option<f64>,
    /// Goodput once the other link is alone, over its rate.
    left_share: f64,
}

/// One of two links dies during a download.
pub(crate) fn failover(
    arguments: &Arguments,
    launcher: &Launcher,
    path: &Path,
    bytes: u64,
) -> Result<(), Error> {
    let scenario = load_scenario(path)?;
    let metrics = [
        Metric {
            name: "longest gap ms",
            decimals: 0,
            better: Some(Better::Lower),
            value: |run: &Failover| run.download.arrivals.longest_gap_ms,
        },
        Metric {
            name: "3 PTO ms",
            decimals: 0,
            better: None,
            value: |run| run.three_pto_ms.unwrap_or(f64::NAN),
        },
        Metric {
            name: "afterwards / rate left",
            decimals: 3,
            better: Some(Better::Higher),
            value: |run| run.left_share,
        },
        Metric { name: "seconds", decimals: 2, better: None, value: |run| run.download.seconds },
        Metric { name: "emulator late ms", decimals: 2, better: None, value: |run| run.download.lateness_ms },
    ];
    let stacks = rounds(arguments, launcher, &scenario, |stack| {
        let run = analyse(emulated::download(launcher, &scenario, stack, bytes)?, &scenario)?;
        let gap = &run.download.arrivals;
        eprintln!(
            "{} {stack:<6} gap {:.0} ms at {:.0} ms, afterwards {:.3} of the rate left",
            scenario.name,
            gap.longest_gap_ms,
            gap.gap_from_ms.unwrap_or(f64::NAN),
            run.left_share
        );
        Ok(run)
    })?;
    let summary = Summary::of(&stacks, &metrics);
    summary.print(&scenario.description, &stacks, &metrics);
    for run in stacks.iter().filter(|stack| stack.stack == OURS).flat_map(|stack| &stack.runs) {
        let (gap, bound) =
            (run.value.download.arrivals.longest_gap_ms, run.value.three_pto_ms.unwrap_or(f64::NAN));
        let verdict = if gap <= bound { "holds" } else { "MISSED" };
        println!("{verdict:<6}  gap {gap:.0} ms (at most 3 PTO = {bound:.0} ms)");
    }
    let runs: Vec<_> = stacks.iter().flat_map(|stack| &stack.runs).collect();
    results::write(&arguments.out, "failover", summary, runs)
}

fn analyse(download: Download, scenario: &Scenario) -> Result<Failover, Error> {
    let first = scenario.links.first().ok_or("a scenario without links")?;
    let dies = first.down.outages.next_down(0).ok_or("the first link of this scenario never dies")?;
    let dies_unix_ms = download.schedule_unix_ms + dies / 1_000_000;
    let before = |path: u64| {
        download.paths.iter().rfind(|sample| sample.path == path && sample.unix_ms <= dies_unix_ms)
    };
    let three_pto_ms = before(FIRST_PATH).and_then(|sample| sample.pto_ms).map(|pto| 3.0 * pto);

    let arrivals = &download.arrivals;
    let settled_ms = dies_unix_ms.saturating_sub(arrivals.began_unix_ms) as f64
        + arrivals.longest_gap_ms
        + SETTLING.as_secs_f64() * 1e3;
    let from = (settled_ms / arrivals.bin_ms as f64).ceil() as usize;
    // The last bin is only partly used.
    let bins = arrivals.bins.get(from..arrivals.bins.len().saturating_sub(1)).unwrap_or_default();
    let rate_left: f64 = down_rates(scenario).iter().skip(1).sum();
    let goodput = bins.iter().sum::<u64>() as f64 * 8.0 / (bins.len() as f64 * BIN.as_secs_f64());
    Ok(Failover { three_pto_ms, left_share: goodput / rate_left, download })
}

/// Runs `run` for every stack in turn, round after round.
fn rounds<R>(
    arguments: &Arguments,
    launcher: &Launcher,
    scenario: &Scenario,
    mut run: impl FnMut(&str) -> Result<R, Error>,
) -> Result<Vec<StackRuns<R>>, Error> {
    let stacks = launcher.choose(&STACKS, &arguments.stacks)?;
    let mut quiet = Quiet::new(Duration::from_secs(arguments.patience));
    let mut all: Vec<StackRuns<R>> =
        stacks.into_iter().map(|stack| StackRuns { stack, runs: Vec::new() }).collect();
    for round in 1..=arguments.runs {
        eprintln!("{}: round {round}", scenario.name);
        for stack in &mut all {
            if stack.runs.len() + 1 < round {
                continue;
            }
            match quiet.measure(|| run(&stack.stack)) {
                Ok(measured) => stack.runs.push(measured),
                // What a peer cannot do is a result as well. What we cannot do is a failure.
                Err(error) if stack.stack != OURS => {
                    println!("{} failed, left out from here on: {error}", stack.stack)
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(all)
}
