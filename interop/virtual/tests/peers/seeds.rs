//! Random path-opening times, loss and reordering: every transfer completes, intact.
//!
//! `HAWSER_SEED=17 cargo test --release seeds -- --nocapture` repeats one, `HAWSER_SEED=0..5000` looks further.

use std::ops::Range;

use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{Plan, client, noq, quinn, scenario, server};
use hawser_policy::Time;

use crate::origin;

const DEADLINE: Time = Time::from_secs(60);

fn seeds(range: Range<u64>) -> Range<u64> {
    let Ok(wanted) = std::env::var("HAWSER_SEED") else { return range };
    let number = |text: &str| text.parse::<u64>().expect("HAWSER_SEED is a number or a range");
    match wanted.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(&wanted)..number(&wanted) + 1,
    }
}

/// Runs the seeds and fails at the end with all that failed.
fn all(range: Range<u64>, multipath: bool, mut run: impl FnMut(u64) -> Result<scenario::Played, String>) {
    let (mut opened, mut abandoned, mut failed) = (0, 0, Vec::new());
    let seeds = seeds(range);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        match run(seed) {
            Ok(played) => {
                opened += u64::from(played.opened > 0);
                abandoned += u64::from(played.abandoned);
            }
            Err(report) => {
                println!("seed {seed} failed: {report}\n");
                failed.push(seed);
            }
        }
    }
    println!(
        "{count} seeds, {opened} with a second path, {abandoned} with one abandoned, {} failed",
        failed.len()
    );
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
    // Otherwise the times drawn say nothing.
    assert!(!multipath || count == 1 || (opened > count / 2 && abandoned > count / 4), "too little happened");
}

#[test]
fn hawser_client_noq_server() {
    let identity = Identity::generate();
    all(0..100, true, |seed| {
        let plan = Plan::draw(seed, true);
        let server = noq::server(&identity, plan.length, seed, origin());
        let mut network = plan.network(client(&identity, plan.length, seed), server);
        plan.play(&mut network, DEADLINE)
    });
}

#[test]
fn noq_client_hawser_server() {
    let identity = Identity::generate();
    all(100..200, true, |seed| {
        let plan = Plan::draw(seed, true);
        let client = noq::client(&identity, plan.length, seed, origin());
        let mut network = plan.network(client, server(&identity, plan.length, seed));
        plan.play(&mut network, DEADLINE)
    });
}

#[test]
fn hawser_client_quinn_server() {
    let identity = Identity::generate();
    all(200..220, false, |seed| {
        let plan = Plan::draw(seed, false);
        let server = quinn::server(&identity, plan.length, seed, origin());
        let mut network = plan.network(client(&identity, plan.length, seed), server);
        plan.play(&mut network, DEADLINE)
    });
}

#[test]
fn quinn_client_hawser_server() {
    let identity = Identity::generate();
    all(220..240, false, |seed| {
        let plan = Plan::draw(seed, false);
        let client = quinn::client(&identity, plan.length, seed, origin());
        let mut network = plan.network(client, server(&identity, plan.length, seed));
        plan.play(&mut network, DEADLINE)
    });
}
