//! Every kept input once, a short random run that is always the same, and one that never is.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::SystemTime;

use hawser_fuzz::TARGETS;

/// SplitMix64: with the same seed the run is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

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
        let mut random = Random(1);
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
        let mut random = Random(seed);
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
fn changed(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(4) {
        mutate(&mut input, random);
    }
    input
}

fn mutate(input: &mut Vec<u8>, random: &mut Random) {
    if input.is_empty() {
        input.push(random.next() as u8);
        return;
    }
    let at = random.below(input.len());
    match random.below(5) {
        0 => input[at] = random.next() as u8,
        1 => input[at] ^= 1 << random.below(8),
        2 => input.truncate(at),
        3 => input.insert(at, random.next() as u8),
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
        _ => 200_000,
    }
}
