//! Every kept input once, a short random run that is always the same, and one that never is.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::SystemTime;

use hawser_fuzz::TARGETS;
use hawser_numbers::SplitMix64;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a readable file")).collect()
}

#[test]
fn kept_inputs() {
    for (target, check) in TARGETS {
        let inputs = corpus(target);
        assert!(!inputs.is_empty(), "corpus/{target} is empty");
        inputs.iter().for_each(|input| check(input));
    }
}

/// Kept inputs with bytes changed, cut or doubled.
#[test]
fn mutated_inputs() {
    for (target, check) in TARGETS {
        let inputs = corpus(target);
        let mut random = SplitMix64::new(1);
        for _ in 0..rounds(target) {
            check(&changed(&inputs, &mut random));
        }
    }
}

/// A quarter as many with a seed that nobody has tried; HAWSER_FUZZ_SEED repeats one. What an input breaks is kept with it.
#[test]
fn mutated_inputs_with_a_fresh_seed() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    let seed = std::env::var("HAWSER_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now);
    for (target, check) in TARGETS {
        let inputs = corpus(target);
        let mut random = SplitMix64::new(seed);
        for _ in 0..rounds(target) / 4 {
            let input = changed(&inputs, &mut random);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&input))) {
                let path = std::env::temp_dir().join(format!("{target}-{seed}"));
                let kept = fs::write(&path, &input);
                eprintln!(
                    "HAWSER_FUZZ_SEED={seed}: the input of {target} is in {} ({kept:?})",
                    path.display()
                );
                resume_unwind(panic);
            }
        }
    }
}

/// One of these inputs with some changes.
fn changed(inputs: &[Vec<u8>], random: &mut SplitMix64) -> Vec<u8> {
    let mut input = inputs[below(inputs.len(), random)].clone();
    for _ in 0..=below(4, random) {
        mutate(&mut input, random);
    }
    input
}

fn below(bound: usize, random: &mut SplitMix64) -> usize {
    random.below(bound as u64) as usize
}

fn mutate(input: &mut Vec<u8>, random: &mut SplitMix64) {
    if input.is_empty() {
        input.push(random.next_random() as u8);
        return;
    }
    let at = below(input.len(), random);
    match below(5, random) {
        0 => input[at] = random.next_random() as u8,
        1 => input[at] ^= 1 << below(8, random),
        2 => input.truncate(at),
        3 => input.insert(at, random.next_random() as u8),
        _ => input.extend_from_within(at..),
    }
    input.truncate(4096);
}

/// A script for whole connections takes much longer than any decoder.
fn rounds(target: &str) -> usize {
    match target {
        "connection" => 10_000,
        "endpoint" => 50_000,
        "http3" => 20_000,
        "repair" => 3_000,
        "relay" | "vr360" => 20_000,
        "measure" => 50_000,
        _ => 200_000,
    }
}
