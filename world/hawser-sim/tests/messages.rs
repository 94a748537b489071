//! Messages go on two paths within a budget, unless the second is metered: what that gains, and what it costs.

use hawser_scenario::Scenario;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// Two links with bursts of loss, each on its own.
fn outcome(scheduler: &str, metered: &str, flow: &str, seed: u64) -> FlowOutcome {
    let text = format!(
        r#"
        version = 1
        seed = {seed}
        duration = "30 s"
        [[link]]
        name = "wifi0"
        rate = "30 Mbit/s"
        delay = "10 ms"
        queue = "100 kB"
        loss = {{ model = "gilbert-elliott", loss = "2 %", mean_burst = 8 }}
        metered = {wifi}
        [[link]]
        name = "lte0"
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = "200 kB"
        loss = {{ model = "gilbert-elliott", loss = "1 %", mean_burst = 4 }}
        metered = {lte}
        [[flow]]
        name = "main"
        {flow}
        [transport]
        scheduler = "{scheduler}"
        "#,
        wifi = metered == "all",
        lte = metered != "none",
    );
    let scenario = Scenario::parse(&text, "messages.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder).flows.swap_remove(0)
}

const ANSWERS: &str = r#"kind = "requests"
        response = "20 kB"
        every = "100 ms""#;

struct Mean {
    p99_ms: f64,
    /// Bytes copied per byte of the application.
    copied: f64,
    goodput_mbps: f64,
}

const SEEDS: u64 = 20;

fn mean(scheduler: &str, metered: &str, flow: &str) -> Mean {
    let runs: Vec<_> = (1..=SEEDS).map(|seed| outcome(scheduler, metered, flow, seed)).collect();
    let mean = |of: &dyn Fn(&FlowOutcome) -> f64| runs.iter().map(of).sum::<f64>() / SEEDS as f64;
    let mean = Mean {
        p99_ms: mean(&|run| run.delay.p99_ms),
        copied: mean(&|run| run.copies.copied_bytes as f64 / run.bytes as f64),
        goodput_mbps: mean(&|run| run.goodput_bps / 1e6),
    };
    println!(
        "{scheduler}, metered {metered}, seeds 1 to {SEEDS}: p99 {:.1} ms, copied {:.3}, {:.2} Mbit/s",
        mean.p99_ms, mean.copied, mean.goodput_mbps
    );
    mean
}

#[test]
fn answers_come_sooner_for_a_fifth_of_copies() {
    let [with, without] = ["default", "default,budget=0"].map(|scheduler| mean(scheduler, "none", ANSWERS));
    assert!(with.p99_ms < 0.95 * without.p99_ms, "{} ms instead of {}", with.p99_ms, without.p99_ms);
    assert!(
        (0.15..0.35).contains(&with.copied) && without.copied < 0.1,
        "{} {}",
        with.copied,
        without.copied
    );
}

/// The server copies nothing to a link of which the client said that it is metered; the near link is copied to all the same.
//= wire-extensions-1.1.4-4
#[test]
fn no_copies_of_messages_go_over_a_metered_link() {
    let [none, far, all] = ["none", "far", "all"].map(|metered| mean("default", metered, ANSWERS));
    let rescue = mean("default,budget=0", "none", ANSWERS);
    assert!(far.copied < 0.6 * none.copied, "{} of {}", far.copied, none.copied);
    assert!(all.copied < rescue.copied + 0.02, "{} of {}", all.copied, rescue.copied);
}

#[test]
fn a_download_is_no_message() {
    let download = r#"kind = "bulk""#;
    let [with, without] = ["default", "default,budget=0"].map(|scheduler| mean(scheduler, "none", download));
    assert!(
        with.goodput_mbps > 0.99 * without.goodput_mbps,
        "{} {}",
        with.goodput_mbps,
        without.goodput_mbps
    );
    assert!(with.copied < without.copied + 0.005, "{} {}", with.copied, without.copied);
}

/// The 99th percentile of answers of 64 kB, one after the other, over these links: milliseconds.
fn conversation(links: &[&str], seed: u64) -> f64 {
    let links = links.concat();
    let text = format!(
        r#"
        version = 1
        seed = {seed}
        duration = "30 s"
        {links}
        [[flow]]
        name = "main"
        kind = "requests"
        response = "64 kB"
        think = "100 ms"
        "#
    );
    let scenario = Scenario::parse(&text, "conversation.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder).flows[0].delay.p99_ms
}

/// A message as long as the one before it is no queue that is refilled, of which a far path would take the end.
#[test]
fn a_far_link_makes_no_answer_late() {
    let near = r#"
        [[link]]
        name = "near0"
        rate = "100 Mbit/s"
        delay = "10 ms"
        queue = "500 kB"
        "#;
    let far = r#"
        [[link]]
        name = "far0"
        rate = "20 Mbit/s"
        delay = "30 ms"
        queue = "300 kB"
        "#;
    for seed in 1..=6 {
        let (both, alone) = (conversation(&[near, far], seed), conversation(&[near], seed));
        println!("seed {seed}: {both:.1} ms, over the near link alone {alone:.1} ms");
        assert!(both < 1.02 * alone, "seed {seed}: {both} ms instead of {alone}");
    }
}
