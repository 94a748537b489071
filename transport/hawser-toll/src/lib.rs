//! What messages of peers cost their reader: for tests that go through the smallest form of each and fail if a packet full of them
//! costs too much.
//!
//! CPU time says little on a machine that does other things as well: caches are shared, and what a hypervisor takes counts.
//! So each cost is judged next to a reference work that is done in turns with it, in the same build: what slows one down slows
//! both.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Bytes of a QUIC packet.
pub const PACKET: usize = 1_150;
/// Reference works that reading a packet may cost. One takes 45 µs on the machine that the tables of docs/security-costs.md were made on,
/// and 62 µs where nothing is optimised across functions and overflows are looked for: so 100 µs, and 200 µs.
pub const MOST: f64 = if cfg!(debug_assertions) { 3.2 } else { 2.2 };
/// CPU time of each turn.
const TURN: Duration = Duration::from_micros(1_500);
/// Turns that are taken in any case, and where it seems to cost too much: the least disturbed ones count.
const TURNS: u32 = 3;
const MOST_TURNS: u32 = 12;

/// Prints what a packet full of this costs, in reference works. `run` reads, and returns the bytes that it took.
///
/// # Panics
///
/// If it is more than [`MOST`].
pub fn measure(name: &str, mut run: impl FnMut() -> usize) {
    measure_prepared(name, || (), |()| run());
}

/// The same for a reader that has a state, of which `prepare` makes a fresh one for each run, which does not count.
///
/// # Panics
///
/// If it is more than [`MOST`].
pub fn measure_prepared<T>(name: &str, prepare: impl FnMut() -> T, run: impl FnMut(T) -> usize) {
    let (works, time) = cost(prepare, run);
    println!("{name:45} {works:6.3} reference works for each packet, {:6.1} µs", time * 1e6);
    assert!(works < MOST, "{name}: {works:.3} reference works for each packet, of {MOST} that it may cost");
}

/// What a packet costs in reference works, and in seconds of CPU time.
fn cost<T>(mut prepare: impl FnMut() -> T, mut run: impl FnMut(T) -> usize) -> (f64, f64) {
    let packet = PACKET as f64;
    let (mut least, mut least_reference) = (f64::INFINITY, f64::INFINITY);
    let mut references = Reference::new();
    for turn in 0..MOST_TURNS {
        least = least.min(packet * turn_of(&mut prepare, &mut run));
        least_reference = least_reference.min(turn_of(&mut || (), &mut |()| references.work()));
        if turn + 1 >= TURNS && least < MOST * least_reference {
            break;
        }
    }
    (least / least_reference, least)
}

/// CPU time in seconds for each byte, or for whatever else is counted.
fn turn_of<T>(prepare: &mut impl FnMut() -> T, run: &mut impl FnMut(T) -> usize) -> f64 {
    let (mut spent, mut count) = (Duration::ZERO, 0);
    while spent < TURN {
        let state = prepare();
        let began = cpu_time();
        count += run(state);
        spent += cpu_time() - began;
    }
    spent.as_secs_f64() / count.max(1) as f64
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a kernel that counts CPU time").into()
}

/// What a reader of messages does, for a packet in which nothing is out of proportion: looks at each byte, looks some up, copies
/// what it found into memory of its own.
struct Reference {
    packet: Vec<u8>,
    known: BTreeMap<u32, u32>,
}

impl Reference {
    /// Rounds over the packet.
    const ROUNDS: u32 = 16;

    fn new() -> Self {
        let packet = (0..PACKET).map(|at| (at * 31 % 251) as u8).collect();
        Reference { packet, known: (0..256).map(|byte| (byte * 7, byte)).collect() }
    }

    /// One.
    fn work(&mut self) -> usize {
        for round in 0..Self::ROUNDS {
            let mut found: Vec<Vec<u8>> = Vec::new();
            for piece in black_box(&self.packet).chunks(16) {
                let key = piece.iter().fold(round, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte));
                if let Some(known) = self.known.get(&(key % 256 * 7)) {
                    found.push(piece.iter().map(|byte| byte ^ *known as u8).collect());
                }
            }
            black_box(found);
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What costs as much as the reference costs one, what costs eight times as much costs eight.
    #[test]
    fn a_cost_is_that_of_the_reference_however_fast_the_machine_is() {
        for times in [1, 8] {
            let mut reference = Reference::new();
            let (works, _) =
                cost(|| (), |()| (0..times).map(|_| reference.work() * PACKET).sum::<usize>() / times);
            let expected = times as f64;
            assert!((0.7 * expected..1.4 * expected).contains(&works), "{works} of {times}");
        }
    }

    #[test]
    #[should_panic(expected = "may cost")]
    fn what_costs_too_much_fails() {
        let mut reference = Reference::new();
        let times = MOST as usize * 2 + 2;
        measure("twice as much and more", || {
            (0..times).map(|_| reference.work() * PACKET).sum::<usize>() / times
        });
    }
}
