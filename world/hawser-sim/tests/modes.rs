//! What each mode of the scheduler `modes` is for, measured: delays of answers, and what carries them.

use std::time::Duration;

use hawser_policy::{PathId, PathStatus};
use hawser_scenario::Scenario;
use hawser_sched::Mode;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};
use hawser_sim::testing::link;

use crate::common;
use crate::common::{Net, client_side, config, download, links, open, server_side};

/// Answers of 20 kB every 100 ms over two links with delays that jump, each on its own, and some loss.
fn answers(scheduler: &str, controller: &str, seed: u64) -> FlowOutcome {
    let text = format!(
        r#"
        version = 1
        seed = {seed}
        duration = "60 s"
        [[link]]
        name = "wifi0"
        rate = "30 Mbit/s"
        delay = "10 ms"
        queue = "100 kB"
        jitter = {{ model = "uniform", maximum = "4 ms" }}
        loss = {{ model = "gilbert-elliott", loss = "2 %", mean_burst = 8 }}
        [[link]]
        name = "lte0"
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = "200 kB"
        loss = {{ model = "gilbert-elliott", loss = "1 %", mean_burst = 4 }}
        [[flow]]
        name = "main"
        kind = "requests"
        response = "20 kB"
        every = "100 ms"
        [transport]
        scheduler = "{scheduler}"
        congestion = "{controller}"
        "#
    );
    main_flow(&text)
}

/// What becomes of the flow `main` of a scenario.
fn main_flow(text: &str) -> FlowOutcome {
    let scenario = Scenario::parse(text, "modes.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    let outcome = simulation.run(&mut NoRecorder);
    outcome.flows.into_iter().find(|flow| flow.flow == "main").expect("it has one")
}

/// Of 100 seeds: with some, a loss of both links at once weighs more in the mean than all else.
struct Tail {
    mean: f64,
    median: f64,
    copied: f64,
}

fn tail(scheduler: &str, controller: &str) -> Tail {
    let runs: Vec<_> = (1..=100).map(|seed| answers(scheduler, controller, seed)).collect();
    let mean = |of: &dyn Fn(&FlowOutcome) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let mut tails: Vec<f64> = runs.iter().map(|run| run.delay.p99_ms).collect();
    tails.sort_by(f64::total_cmp);
    let tail = Tail {
        mean: mean(&|run| run.delay.p99_ms),
        median: tails[tails.len() / 2],
        copied: mean(&|run| run.copies.copied_bytes as f64 / run.bytes as f64),
    };
    println!(
        "{scheduler}, {controller}, seeds 1 to 100: p99 {:.1} ms in the mean, {:.1} in the median, copied {:.1} % of the answers",
        tail.mean,
        tail.median,
        100.0 * tail.copied
    );
    tail
}

/// Over two equal links each sends half of an answer before it sends a copy of the other half.
#[test]
fn copies_do_not_make_messages_longer() {
    let text = r#"
        version = 1
        duration = "20 s"
        [[link]]
        name = "a0"
        rate = "50 Mbit/s"
        delay = "10 ms"
        [[link]]
        name = "b0"
        rate = "50 Mbit/s"
        delay = "10 ms"
        [[flow]]
        name = "main"
        kind = "requests"
        response = "12500 B"
        every = "33 ms"
        [transport]
        scheduler = "modes,mode=low-latency"
        "#;
    let main = main_flow(text);
    println!("answers of 12.5 kB: p99 {:.2} ms", main.delay.p99_ms);
    assert!(main.copies.copied_bytes as f64 > 0.9 * main.bytes as f64, "{:?}", main.copies);
    // A round trip of 20 ms and five of nine packets, 0.23 ms each; one link alone needs 22.1.
    assert!(main.delay.p99_ms < 21.5, "{:?}", main.delay);
}

/// The tail of answers comes from losses and delays of one link, which a copy on the other does not share.
#[test]
fn low_latency_pays_for_a_shorter_tail_within_its_budget() {
    let default = tail("default,budget=0", "bbr");
    let low = tail("modes,mode=low-latency,budget=0.5", "bbr");
    let little = tail("modes,mode=low-latency,budget=0.1", "bbr");
    assert!(low.mean < 0.9 * default.mean, "{} ms instead of {}", low.mean, default.mean);
    // A share of what is sent: as much again if it is one half.
    assert!((0.5..=1.05).contains(&low.copied), "{}", low.copied);
    assert!(little.copied < 0.2, "{}", little.copied);
}

/// Loss keeps the windows of CUBIC small here. Copies may not take the room of the next answer.
#[test]
fn low_latency_shortens_the_tail_with_small_windows_as_well() {
    let [default, low] =
        ["default,budget=0", "modes,mode=low-latency"].map(|scheduler| tail(scheduler, "cubic"));
    assert!(low.median < 0.9 * default.median, "{} ms instead of {}", low.median, default.median);
    assert!(low.mean < default.mean, "{} ms instead of {}", low.mean, default.mean);
}

fn sent(network: &mut Net, path: PathId) -> u64 {
    server_side(network).path_stats(path).map_or(0, |stats| stats.bytes_sent)
}

fn run_for(network: &mut Net, time: Duration) {
    let until = network.now() + time;
    network.run_until(until, |_| false);
}

/// A download of which the application at the server changes the mode: one link carries it, then both do, then one again.
#[test]
fn a_mode_changes_while_the_connection_runs() {
    let seed = 1;
    println!("seed {seed}");
    let mut network = download(seed, config("modes,mode=backup", "cubic"), 100_000_000);
    links(&mut network, &[link(20, 10), link(20, 20)]);
    let second = open(&mut network, 1, PathStatus::Available);
    let step = Duration::from_secs(3);
    let mut carried = Vec::new();
    for mode in [None, Some(Mode::Aggregate), Some(Mode::Backup)] {
        let now = network.now();
        if let Some(mode) = mode {
            server_side(&mut network).tell_policies(now, &mode.for_connection());
        }
        let before = [PathId::ZERO, second].map(|path| sent(&mut network, path));
        run_for(&mut network, step);
        let after = [PathId::ZERO, second].map(|path| sent(&mut network, path));
        carried.push([after[0] - before[0], after[1] - before[1]]);
    }
    println!("bytes on both links in three seconds each: {carried:?}");
    // 7.5 MB is what a link carries in this time.
    let [backup, aggregate, again] = [carried[0], carried[1], carried[2]];
    assert!(backup[0] > 6_000_000 && backup[1] < 50_000, "{backup:?}");
    assert!(aggregate[0] > 6_000_000 && aggregate[1] > 6_000_000, "{aggregate:?}");
    // Which one stays in use is the scheduler's business.
    assert!(again.iter().max() > Some(&6_000_000) && again.iter().min() < Some(&700_000), "{again:?}");
}

/// The link in use dies: the one that stood by has copies of what was in flight before the death is certain.
#[test]
fn the_link_that_stands_by_takes_over() {
    let seed = 2;
    println!("seed {seed}");
    let mut network = download(seed, config("modes,mode=backup", "cubic"), 20_000_000);
    let handles = links(&mut network, &[link(20, 10), link(20, 20)]);
    open(&mut network, 1, PathStatus::Available);
    run_for(&mut network, Duration::from_secs(2));
    let died_at = network.now();
    network.set_filter(move |_, link, _| match link == handles[0] {
        true => hawser_sim::Verdict::Drop,
        false => hawser_sim::Verdict::Pass,
    });
    let before = network.client.application.received;
    network.run_until(died_at + Duration::from_secs(5), |n| n.client.application.received > before + 500_000);
    let after = network.now().since(died_at);
    println!("500 kB more after {after:?}");
    // 200 ms of them is what the link needs for so much.
    assert!(after < Duration::from_millis(700), "{after:?}");
    assert!(client_side(&mut network).stats().bytes_received > 0);
}
