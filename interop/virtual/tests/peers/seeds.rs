//! Random path-opening times, loss and reordering: every transfer completes, intact.
//!
//! `HAWSER_SEED=17 cargo test --release seeds` repeats one, `HAWSER_SEED=0..5000` looks further, and
//! `HAWSER_SEEDS=10` takes only the first so many of each test's own (README.md).

use std::ops::Range;

use hawser_interop_virtual::noq::Noq;
use hawser_interop_virtual::scenario::{Played, report};
use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{Foreign, Multipath, Ours, Plan, client, noq, quinn, server};
use hawser_policy::Time;
use hawser_sim::{Host, Network};

use crate::origin;

/// A transfer that hangs does so for good; a slow one has a link of 2 Mbit/s with loss.
const DEADLINE: Time = Time::from_secs(60);

/// The seeds of a test, unless the environment wants others or fewer.
fn seeds(range: Range<u64>) -> Range<u64> {
    let number =
        |text: &str| text.parse::<u64>().expect("HAWSER_SEED is a number or a range, HAWSER_SEEDS a number");
    let Ok(wanted) = std::env::var("HAWSER_SEED") else {
        let most = std::env::var("HAWSER_SEEDS").map_or(u64::MAX, |text| number(&text));
        return range.start..range.end.min(range.start.saturating_add(most));
    };
    match wanted.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(&wanted)..number(&wanted) + 1,
    }
}

/// Runs the seeds and fails at the end with all that failed.
pub(crate) fn all<T>(range: Range<u64>, mut run: impl FnMut(u64) -> Result<T, String>) -> Vec<T> {
    let (mut played, mut failed) = (Vec::new(), Vec::new());
    for seed in seeds(range) {
        match run(seed) {
            Ok(result) => played.push(result),
            Err(report) => {
                println!("HAWSER_SEED={seed} failed:\n{report}\n");
                failed.push(seed);
            }
        }
    }
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
    played
}

/// In every script three paths come and one goes, or it does not end; most should also have had two at work before.
fn judge(played: &[Played]) {
    let two = played.iter().filter(|played| played.two_carried).count();
    println!("{} seeds, in {two} both paths carried data when one was abandoned", played.len());
    assert!(two * 2 >= played.len(), "the times drawn test too little");
}

fn hawser_to_noq(plan: &Plan) -> Network<Host<Ours>, Foreign<Noq>> {
    let identity = Identity::new();
    let ends =
        (client(&identity, u64::MAX, plan.seed), noq::server(&identity, u64::MAX, plan.seed, origin()));
    plan.network(ends.0, ends.1)
}

fn noq_to_hawser(plan: &Plan) -> Network<Foreign<Noq>, Host<Ours>> {
    let identity = Identity::new();
    let ends =
        (noq::client(&identity, u64::MAX, plan.seed, origin()), server(&identity, u64::MAX, plan.seed));
    plan.network(ends.0, ends.1)
}

#[test]
fn hawser_client_noq_server() {
    judge(&all(0..100, |seed| {
        let plan = Plan::draw(seed);
        plan.play(&mut hawser_to_noq(&plan), DEADLINE)
    }));
}

#[test]
fn noq_client_hawser_server() {
    judge(&all(100..200, |seed| {
        let plan = Plan::draw(seed);
        plan.play(&mut noq_to_hawser(&plan), DEADLINE)
    }));
}

#[test]
fn hawser_client_quinn_server() {
    all(200..220, |seed| {
        let (plan, identity) = (Plan::draw(seed), Identity::new());
        let server = quinn::server(&identity, plan.length, seed, origin());
        plan.transfer(&mut plan.network(client(&identity, plan.length, seed), server), DEADLINE)
    });
}

#[test]
fn quinn_client_hawser_server() {
    all(220..240, |seed| {
        let (plan, identity) = (Plan::draw(seed), Identity::new());
        let client = quinn::client(&identity, plan.length, seed, origin());
        plan.transfer(&mut plan.network(client, server(&identity, plan.length, seed)), DEADLINE)
    });
}

/// Plan of a seed with links that lose 3 to 18 % of all packets, those of the handshake too.
fn bad_links(seed: u64) -> Plan {
    let mut plan = Plan::draw(seed);
    for (_, _, loss) in &mut plan.links {
        *loss = 3.0 * loss.max(0.01);
    }
    plan
}

#[test]
fn handshakes_on_bad_links() {
    let identity = Identity::new();
    all(0..120, |seed| {
        let plan = bad_links(seed);
        let ours = || server(&identity, plan.length, seed);
        let client = noq::client(&identity, plan.length, seed, origin());
        plan.transfer(&mut plan.network(client, ours()), DEADLINE)?;
        let client = quinn::client(&identity, plan.length, seed, origin());
        plan.transfer(&mut plan.network(client, ours()), DEADLINE)
    });
}

/// Plays a seed and says all that can be said about it.
fn told<C: Multipath, S: Multipath>(plan: &Plan, mut network: Network<C, S>) -> String {
    let played = plan.play(&mut network, DEADLINE).unwrap_or_else(|failure| panic!("{failure}"));
    report(plan, &played, &mut network)
}

#[test]
fn a_seed_repeats_its_run() {
    for seed in seeds(0..5) {
        let plan = Plan::draw(seed);
        assert_eq!(told(&plan, hawser_to_noq(&plan)), told(&plan, hawser_to_noq(&plan)));
        assert_eq!(told(&plan, noq_to_hawser(&plan)), told(&plan, noq_to_hawser(&plan)));
    }
}
