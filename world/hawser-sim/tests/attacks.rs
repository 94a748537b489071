//! What named attacks may take of their victim at most: memory and bytes sent per byte that arrived, and how each ends.
//!
//! `cargo run --release -p hawser-sim --example attacks` prints what they take.

use std::time::Duration;

use hawser_policy::Registry;
use hawser_sim::adversary::{
    HEADING, Meter, NETWORK_ATTACKS, NetworkAttack, PEER_ATTACKS, PeerAttack, Row, Toll, Usage,
};

/// Memory held per byte that arrived, beyond the caps of what an attack fills (`PeerAttack::holds`).
const HELD_PER_BYTE: u64 = 2;
/// Memory that is left when a connection is long over: buffers of the host, tables that do not shrink.
const LEFT: u64 = 128 << 10;
/// Bytes sent per byte that arrived, to a peer that has shown its address and asks for nothing: small packets are answered one
/// by one.
const SENT_PER_BYTE: u64 = 3;
/// Bytes sent beyond that: probes of a connection on which nothing is acknowledged.
const SENT: u64 = 64 << 10;
/// Memory allocated per byte that arrived, freed or not: a measure of the work.
const ALLOCATED_PER_BYTE: u64 = 32;

struct Counting;

impl Meter for Counting {
    fn measure(&mut self, work: &mut dyn FnMut()) -> Usage {
        let counted = allocation_counter::measure(work);
        Usage { held: counted.bytes_current, allocated: counted.bytes_total, nanos: 0 }
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    registry
}

/// What is wrong with this toll.
fn excesses(toll: &Toll, left: u64, holds: u64, response: u64) -> Vec<String> {
    let Toll { bytes_in, bytes_out, most_held, allocated, .. } = *toll;
    let mut excesses = Vec::new();
    let mut check = |what: &str, value: u64, limit: u64| {
        if value > limit {
            excesses.push(format!("{what}: {value} of {limit} for {bytes_in} bytes"));
        }
    };
    check("held", most_held, holds + HELD_PER_BYTE * bytes_in);
    check("left", left, LEFT);
    check("sent", bytes_out, SENT + response + SENT_PER_BYTE * bytes_in);
    check("allocated", allocated, holds + 4 * response + ALLOCATED_PER_BYTE * bytes_in);
    excesses
}

#[test]
fn peers_take_no_more_than_their_bytes_pay_for() {
    let registry = registry();
    let mut failures = Vec::new();
    println!("{HEADING}");
    for attack in PEER_ATTACKS {
        let PeerAttack { name, ends, response, holds, .. } = *attack;
        let outcome = attack.run(&registry, Counting);
        // An answer to a request is what was asked for; the window bounds it.
        let end = format!("{:?}", outcome.closed);
        println!("{}", Row { name, toll: outcome.toll, left: outcome.left, end });
        let excesses = excesses(&outcome.toll, outcome.left, holds, response);
        failures.extend(excesses.iter().map(|excess| format!("{name}: {excess}")));
        if outcome.closed != ends {
            failures.push(format!("{name}: closed with {:?}, and not {ends:?}", outcome.closed));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn networks_neither_stop_a_download_nor_have_strangers_flooded() {
    let registry = registry();
    let undisturbed = NetworkAttack::NONE.run(&registry, Counting).took.unwrap();
    let mut failures = Vec::new();
    for attack in NETWORK_ATTACKS {
        let outcome = attack.run(&registry, Counting);
        let end = format!("{:?}", outcome.took);
        println!("{}", Row { name: attack.name, toll: outcome.toll, left: outcome.left, end });
        let limit = undisturbed.mul_f64(attack.slows) + Duration::from_millis(200);
        if outcome.took.is_none_or(|took| took > limit) {
            failures.push(format!("{}: took {:?}, and not {limit:?}", attack.name, outcome.took));
        }
        if let Some((received, sent)) = outcome.excess {
            failures.push(format!("{}: {sent} bytes sent for {received}", attack.name));
        }
        if outcome.left > LEFT {
            failures.push(format!("{}: {} bytes left", attack.name, outcome.left));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
