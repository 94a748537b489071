//! Runs random courses and keeps account of them.
//!
//! ```text
//! cargo run --release -p hawser-sim --example soak -- [--first SEED] [--count N] [--ledger FILE] [--commit NAME] [--watch]
//! ```
//!
//! `--commit` is what the ledger calls the code that ran. `--watch` prints the links of each course, what happens, and how the paths are every
//! 0.1 s. Without `--first` it goes on behind the last seed of the ledger, so that courses accumulate from run to run. Ends with 1 if any course
//! failed; each failure is a line, and `--first SEED --count 1` repeats it.

#![allow(clippy::disallowed_methods)] // Measuring time and memory is what it is for.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{ExitCode, exit};
use std::time::Instant;

use hawser_policy::Registry;
use hawser_sim::soak::{Account, Course};

/// Of the ledger.
const HEADING: &str =
    "first,count,failures,virtual_seconds,packets,bytes,retransmitted,seconds,memory_growth_kib,commit";

struct Arguments {
    first: Option<u64>,
    count: u64,
    ledger: Option<PathBuf>,
    commit: String,
    watch: bool,
}

fn usage(what: &str) -> ! {
    eprintln!("soak: {what}; expected [--first SEED] [--count N] [--ledger FILE] [--commit NAME] [--watch]");
    exit(2);
}

fn arguments() -> Arguments {
    let mut parsed = Arguments { first: None, count: 100, ledger: None, commit: String::new(), watch: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--watch" {
            parsed.watch = true;
            continue;
        }
        let value = arguments.next().unwrap_or_else(|| usage(&format!("{name} without a value")));
        let number = || value.parse().unwrap_or_else(|_| usage(&format!("{value} is no number")));
        match name.as_str() {
            "--first" => parsed.first = Some(number()),
            "--count" => parsed.count = number(),
            "--ledger" => parsed.ledger = Some(value.into()),
            "--commit" => parsed.commit = value,
            _ => usage(&format!("{name} is not known")),
        }
    }
    parsed
}

/// The seed behind the last one of the ledger.
fn next_seed(ledger: &str) -> u64 {
    let ends = ledger.lines().filter_map(|line| {
        let mut fields = line.split(',').map(str::parse::<u64>);
        Some(fields.next()?.ok()? + fields.next()?.ok()?)
    });
    ends.max().unwrap_or(1)
}

/// Resident memory in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn main() -> ExitCode {
    let Arguments { first, count, ledger, commit, watch } = arguments();
    let text = ledger.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let first = first.unwrap_or_else(|| next_seed(&text));
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    let begun = Instant::now();
    let (mut total, mut failures, mut settled) = (Account::default(), 0_u64, None);
    for seed in first..first + count {
        let course = Course::of(seed, &registry);
        match catch_unwind(AssertUnwindSafe(|| match watch {
            true => course.watch(&registry, &mut |line| println!("{line}")),
            false => course.run(&registry),
        })) {
            Ok(Ok(account)) => {
                total.time += account.time;
                total.packets += account.packets;
                total.bytes += account.bytes;
                total.retransmitted += account.retransmitted;
                total.longest_pause = total.longest_pause.max(account.longest_pause);
                if std::env::var("PAUSES").is_ok() {
                    println!("PAUSE {} {course}", account.longest_pause.as_millis());
                }
            }
            Ok(Err(failure)) => {
                failures += 1;
                println!("{failure}");
            }
            Err(_) => {
                failures += 1;
                println!("{course}: panicked");
            }
        }
        // The first tenth fills caches and the allocator's free lists.
        if seed == first + count / 10 {
            settled = Some(resident());
        }
    }
    let growth = resident().saturating_sub(settled.unwrap_or(0));
    let line = format!(
        "{first},{count},{failures},{},{},{},{},{},{growth},{commit}",
        total.time.as_secs(),
        total.packets,
        total.bytes,
        total.retransmitted,
        begun.elapsed().as_secs()
    );
    println!("{HEADING}\n{line}");
    println!("longest pause with a link that was up: {:.1?}", total.longest_pause);
    if let Some(path) = ledger {
        let heading = if text.is_empty() { format!("{HEADING}\n") } else { String::new() };
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{heading}{line}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("soak: cannot write {}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::from(u8::from(failures > 0))
}
