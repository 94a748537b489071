//! What QC-MAB decides slot by slot, and what comes of it: short runs of one of its scenarios, compared with schedulers.
//!
//! `cargo run -p hawser-sim --example qc_mab_slots -- qcmab-a.toml qc-mab qc-mab,fec=on,attach=off peekaboo
//!  [--set KEY=VALUE]... [--seeds N] [--slots N]`
//!
//! A row per policy has the means over the seeds. With `--slots` the first slots of seed 1 follow, decision by decision.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use hawser_policy::{PathId, Registry, Time};
use hawser_scenario::{Direction, ReadOptions, Scenario};
use hawser_sched::{QcMab, QcMabLog, QcMabRecord};
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Outcome, Simulation};

/// What is to be run.
#[derive(Default)]
struct Arguments {
    file: String,
    policies: Vec<String>,
    set: Vec<String>,
    seeds: u64,
    slots: usize,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments { seeds: 2, ..Arguments::default() };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--set" => arguments.set.push(value()?),
            "--seeds" => arguments.seeds = value()?.parse()?,
            "--slots" => arguments.slots = value()?.parse()?,
            _ if arguments.file.is_empty() => arguments.file = argument,
            _ => arguments.policies.push(argument),
        }
    }
    match arguments.policies.is_empty() {
        true => {
            Err("usage: qc_mab_slots SCENARIO POLICY... [--set KEY=VALUE] [--seeds N] [--slots N]".into())
        }
        false => Ok(arguments),
    }
}

fn load(file: &str, set: &[String]) -> Result<Scenario, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join(file))?;
    let mut files =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let options = ReadOptions { text: &text, file, overrides: set, files: &mut files, registry: None };
    Ok(Scenario::read(options)?)
}

/// A run, and what the receiver noted. A scheduler runs under a receiver that decides nothing.
fn run(
    arguments: &Arguments,
    policy: &str,
    seed: u64,
) -> Result<(Outcome, Vec<QcMabRecord>), Box<dyn Error>> {
    let log = QcMabLog::default();
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_cc::register_sets(&mut registry);
    QcMab::register_with(&mut registry, Some(log.clone()));
    let mut set = arguments.set.clone();
    set.push(format!("seed={seed}"));
    if policy.starts_with(QcMab::NAME) {
        set.push(format!("transport.policy={policy}"));
    } else {
        set.push("transport.policy=qc-mab,attach=off,fec=off".to_owned());
        set.push(format!("transport.scheduler={policy}"));
    }
    let scenario = load(&arguments.file, &set)?;
    let outcome = Simulation::new(&scenario, &Arc::new(registry), Options::default())?.run(&mut NoRecorder);
    let records = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((outcome, records))
}

fn video(outcome: &Outcome) -> Option<&FlowOutcome> {
    outcome.flows.iter().find(|flow| flow.flow == "video")
}

/// The columns of the first table: name, and what it is of a run.
fn columns(outcome: &Outcome, records: &[QcMabRecord]) -> Vec<(&'static str, f64)> {
    let Some(video) = video(outcome) else { return Vec::new() };
    let measure =
        |name: &str| video.measures.iter().find(|it| it.name == name).map_or(f64::NAN, |it| it.value);
    let seconds = outcome.simulated_seconds;
    let (mut decisions, mut moves, mut protects) = (0.0, 0.0, 0.0);
    for record in records {
        if let QcMabRecord::Decision { arm, moves: is_move, .. } = record {
            decisions += 1.0;
            moves += f64::from(u8::from(*is_move));
            protects += f64::from(u8::from(arm.fec));
        }
    }
    let (rewards, frames) = records.iter().fold((0.0, 0.0), |(sum, count), record| match record {
        QcMabRecord::Frame { reward, .. } => (sum + reward, count + 1.0),
        _ => (sum, count),
    });
    let downlinks: Vec<_> = outcome
        .links
        .iter()
        .filter(|link| link.direction == Direction::Down && (link.link == "wifi0" || link.link == "cell0"))
        .collect();
    let sum = |of: fn(&hawser_sim::run::LinkOutcome) -> u64| {
        downlinks.iter().map(|link| of(link)).sum::<u64>() as f64
    };
    let offered = sum(|link| link.counters.offered_packets).max(1.0);
    vec![
        ("interrupted %", 100.0 * measure("interruption_share")),
        ("base in time %", 100.0 * measure("base_in_time_share")),
        ("more in time %", 100.0 * measure("enhancement_in_time_share")),
        ("quality", measure("mean_quality")),
        ("representation", measure("mean_representation")),
        ("decoded Mbit/s", measure("decoded_bps") / 1e6),
        ("reward", rewards / f64::max(frames, 1.0)),
        ("moves /s", moves / seconds),
        ("protected %", 100.0 * protects / f64::max(decisions, 1.0)),
        ("repair symbols", video.repair.symbols_sent as f64),
        ("recovered kB", video.repair.recovered_bytes as f64 / 1e3),
        ("retransmitted kB", video.repair.retransmitted_bytes as f64 / 1e3),
        ("offered Mbit/s", sum(|link| link.counters.offered_bytes) * 8.0 / seconds / 1e6),
        ("capacity Mbit/s", sum(|link| link.capacity_bps.unwrap_or(0)) / 1e6),
        ("lost at random %", 100.0 * sum(|link| link.counters.dropped_loss) / offered),
        ("lost down %", 100.0 * sum(|link| link.counters.dropped_down) / offered),
        ("lost queue %", 100.0 * sum(|link| link.counters.dropped_queue) / offered),
        (
            "queue ms",
            downlinks.iter().map(|link| link.mean_queue_ms).sum::<f64>() / downlinks.len().max(1) as f64,
        ),
    ]
}

/// Decisions by their number: rank of the access point, protection, whether the link moved for it.
type Arms = BTreeMap<(PathId, u32), (usize, bool, bool)>;

/// Mean rewards by what was decided: the arms differ, or there is nothing to learn.
fn credits(records: &[QcMabRecord]) -> BTreeMap<String, (f64, u32)> {
    let mut arms = Arms::new();
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for record in records {
        match record {
            QcMabRecord::Decision { path, id, arm, rank, moves, .. } => {
                arms.insert((*path, *id), (*rank, arm.fec, *moves));
            }
            QcMabRecord::Credit { path, decision, reward, .. } => {
                let Some((rank, fec, moves)) = arms.get(&(*path, *decision)) else { continue };
                let mut add = |name: String| {
                    let (sum, count) = sums.entry(name).or_default();
                    (*sum, *count) = (*sum + reward, *count + 1);
                };
                add(format!("rank {}", if *rank > 3 { "4+".to_owned() } else { (rank + 1).to_string() }));
                add(format!("protected {fec}"));
                add(format!("moved {moves}"));
            }
            QcMabRecord::Frame { .. } => {}
        }
    }
    sums
}

fn print_slots(records: &[QcMabRecord], slots: usize) {
    let milliseconds = |at: &Time| at.as_nanos() as f64 / 1e6;
    let mut shown = 0;
    for record in records {
        match record {
            QcMabRecord::Frame { at, number, base, enhancement, reward } => {
                shown += 1;
                println!(
                    "{:9.1} frame {number:4}: base {}/{}, more {}/{}, reward {reward:.3}",
                    milliseconds(at),
                    base.in_time,
                    base.all,
                    enhancement.in_time,
                    enhancement.all
                );
            }
            QcMabRecord::Decision {
                at,
                link,
                id,
                cell,
                context: [rate, delay, loss],
                arm,
                arms,
                rank,
                moves,
                ..
            } => {
                println!(
                    "{:9.1}   link {} decision {id:4}: cell {cell:2} ({rate:.1} Mbit/s, {delay:.0} ms, {loss:.4}), \
                     point {:x} rank {} of {arms} arms{}{}",
                    milliseconds(at),
                    link.0,
                    arm.point & 0xffff,
                    rank + 1,
                    if arm.fec { ", protected" } else { "" },
                    if *moves { ", moves" } else { "" }
                );
            }
            QcMabRecord::Credit { at, path, frame, decision, reward } => {
                println!(
                    "{:9.1}     path {} frame {frame} -> decision {decision}: {reward:.3}",
                    milliseconds(at),
                    path.0
                );
            }
        }
        if shown >= slots {
            return;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    for policy in &arguments.policies {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        let mut all = BTreeMap::<String, (f64, u32)>::new();
        let mut first = Vec::new();
        for seed in 1..=arguments.seeds {
            let (outcome, records) = run(&arguments, policy, seed)?;
            for (at, (name, value)) in columns(&outcome, &records).into_iter().enumerate() {
                match sums.get_mut(at) {
                    Some(sum) => sum.1 += value,
                    None => sums.push((name, value)),
                }
            }
            for (name, (sum, count)) in credits(&records) {
                let entry = all.entry(name).or_default();
                (entry.0, entry.1) = (entry.0 + sum, entry.1 + count);
            }
            if seed == 1 {
                first = records;
            }
        }
        println!("{policy}");
        let row: Vec<String> =
            sums.iter().map(|(name, sum)| format!("{name} {:.2}", sum / arguments.seeds as f64)).collect();
        println!("  {}", row.join(", "));
        let row: Vec<String> = all
            .iter()
            .map(|(name, (sum, count))| format!("{name}: {:.3} ({count})", sum / f64::from(*count)))
            .collect();
        println!("  reward by {}", row.join(", "));
        if arguments.slots > 0 {
            print_slots(&first, arguments.slots);
        }
    }
    Ok(())
}
