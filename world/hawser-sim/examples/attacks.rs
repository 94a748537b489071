//! What each named attack takes of its victim: memory, bytes sent, allocations, time.
//!
//! ```text
//! cargo run --release -p hawser-sim --example attacks [NAME...]
//! ```
//!
//! Each line: packets and bytes that arrived, bytes sent, most memory held beyond that of before the attack, what was left of
//! it when the connection was long over, memory and bytes sent and memory allocated per byte that arrived, microseconds of
//! work per packet.

#![allow(clippy::disallowed_methods)] // Measuring time is what it is for.

use std::time::Instant;

use hawser_policy::Registry;
use hawser_sim::adversary::{HEADING, Meter, NETWORK_ATTACKS, NetworkAttack, PEER_ATTACKS, Row, Usage};

struct Measured;

impl Meter for Measured {
    fn measure(&mut self, work: &mut dyn FnMut()) -> Usage {
        let begun = Instant::now();
        let counted = allocation_counter::measure(work);
        Usage {
            held: counted.bytes_current,
            allocated: counted.bytes_total,
            nanos: u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn main() {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    println!("{HEADING}");
    for attack in PEER_ATTACKS.iter().filter(|attack| is_wanted(attack.name)) {
        let outcome = attack.run(&registry, Measured);
        let end = outcome.closed.map_or_else(|| "goes on".to_owned(), |code| format!("closed: {code}"));
        println!("{}", Row { name: attack.name, toll: outcome.toll, left: outcome.left, end });
    }
    let none = [NetworkAttack::NONE];
    for attack in none.iter().chain(NETWORK_ATTACKS).filter(|attack| is_wanted(attack.name)) {
        let outcome = attack.run(&registry, Measured);
        let end = match (outcome.excess, outcome.took) {
            (Some((received, sent)), _) => format!("amplified: {sent} bytes for {received}"),
            (None, Some(took)) => format!("download took {took:.2?}"),
            (None, None) => "the download did not end".to_owned(),
        };
        println!("{}", Row { name: attack.name, toll: outcome.toll, left: outcome.left, end });
    }
}
