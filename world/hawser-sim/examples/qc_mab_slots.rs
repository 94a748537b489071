//! What QC-MAB decides slot by slot, and what comes of it: short runs of one of its scenarios, compared with schedulers.
//!
//! `cargo run -p hawser-sim --example qc_mab_slots -- qcmab-a.toml qc-mab qc-mab,fec=on,attach=off peekaboo
//!  [--set KEY=VALUE]... [--seeds N] [--slots N]`
//!
//! A row per policy has the means over the seeds. With `--slots` the first slots of seed 1 follow, decision by decision.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use hawser_policy::{Note, PathId, Registry};
use hawser_scenario::{Direction, ReadOptions, Scenario};
use hawser_sched::QcMab;
use hawser_sim::run::{FlowOutcome, Options, Outcome, Probes, Simulation};

/// What is noted.
const DECISION: &str = "qc-mab.decision";
const FRAME: &str = "qc-mab.frame";
const CREDIT: &str = "qc-mab.credit";

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
fn run(arguments: &Arguments, policy: &str, seed: u64) -> Result<(Outcome, Vec<Note>), Box<dyn Error>> {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_cc::register_sets(&mut registry);
    QcMab::register(&mut registry);
    let mut set = arguments.set.clone();
    set.push(format!("seed={seed}"));
    if policy.starts_with(QcMab::NAME) {
        set.push(format!("transport.policy={policy}"));
    } else {
        set.push("transport.policy=qc-mab,attach=off,fec=off".to_owned());
        set.push(format!("transport.scheduler={policy}"));
    }
    let scenario = load(&arguments.file, &set)?;
    let mut probes = Probes::default().with_notes(&[DECISION, FRAME, CREDIT]);
    let outcome = Simulation::new(&scenario, &registry, Options::default())?.run(&mut probes);
    Ok((outcome, probes.notes().map(|(_, note)| note.clone()).collect()))
}

fn video(outcome: &Outcome) -> Option<&FlowOutcome> {
    outcome.flows.iter().find(|flow| flow.flow == "video")
}

/// The columns of the first table: name, and what it is of a run.
fn columns(outcome: &Outcome, notes: &[Note]) -> Vec<(&'static str, f64)> {
    let Some(video) = video(outcome) else { return Vec::new() };
    let measure =
        |name: &str| video.measures.iter().find(|it| it.name == name).map_or(f64::NAN, |it| it.value);
    let seconds = outcome.simulated_seconds;
    // Of the notes with this name: how many there are, and the sum of a value.
    let all = |name: &str, value: &str| {
        let own = notes.iter().filter(|note| note.name == name).filter_map(|note| note.number(value));
        own.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value))
    };
    let ((decisions, moves), (_, protects)) = (all(DECISION, "moves"), all(DECISION, "protects"));
    let (frames, rewards) = all(FRAME, "reward");
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

/// A value of a note; zero if absent.
fn value(note: &Note, name: &str) -> f64 {
    note.number(name).unwrap_or(0.0)
}

/// Mean rewards by what was decided: the arms differ, or there is nothing to learn.
fn credits(notes: &[Note]) -> BTreeMap<String, (f64, u32)> {
    // Decisions by path and number.
    let mut decisions: BTreeMap<(Option<PathId>, u64), &Note> = BTreeMap::new();
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for note in notes {
        let number = (note.path, value(note, "decision") as u64);
        if note.name == DECISION {
            decisions.insert(number, note);
        }
        let Some(decision) = decisions.get(&number).filter(|_| note.name == CREDIT) else { continue };
        let mut add = |name: String| {
            let (sum, count) = sums.entry(name).or_default();
            (*sum, *count) = (*sum + value(note, "reward"), *count + 1);
        };
        let rank = value(decision, "rank");
        add(format!("rank {}", if rank > 3.0 { "4+".to_owned() } else { (rank + 1.0).to_string() }));
        add(format!("protected {}", value(decision, "protects") > 0.0));
        add(format!("moved {}", value(decision, "moves") > 0.0));
    }
    sums
}

/// The first slots, a line for each note.
fn print_slots(notes: &[Note], slots: usize) {
    let mut shown = 0;
    for note in notes {
        shown += usize::from(note.name == FRAME);
        let path = note.path.map(|path| format!(" path {path}")).unwrap_or_default();
        let values: Vec<String> =
            note.values.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
        println!("{:9.1} {}{path}: {}", note.at.as_secs_f64() * 1e3, note.name, values.join(", "));
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
