//! What the default scheduler promises, on links that pause, dribble, collapse and overflow: the sum of the links, answers
//! that are no later than over the best link alone, and few copies for nothing.

use hawser_scenario::Scenario;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// Two cellular links whose scheduler serves others for some tens of milliseconds again and again: pauses of 100 ms and
/// more are normal on both.
const PAUSING: &str = r#"
version = 1
duration = "30 s"
[[link]]
name = "lte0"
delay = "25 ms"
queue = "300 kB"
[link.down]
rate = { model = "markov", levels = [["40 Mbit/s", "80 ms"], ["12 Mbit/s", "60 ms"], ["50 kbit/s", "35 ms"]] }
[link.up]
rate = "10 Mbit/s"
[[link]]
name = "lte1"
delay = "32 ms"
queue = "300 kB"
[link.down]
rate = { model = "markov", levels = [["24 Mbit/s", "80 ms"], ["9 Mbit/s", "60 ms"], ["50 kbit/s", "45 ms"]] }
[link.up]
rate = "10 Mbit/s"
"#;

/// A link that carries 12 Mbit/s, then for long times next to nothing, but never falls silent: what it holds when its rate
/// collapses takes it 24 s. The other one is steady.
const DRIBBLING: &str = r#"
version = 1
duration = "50 s"
[[link]]
name = "steady0"
delay = "30 ms"
rate = "6 Mbit/s"
queue = "200 ms"
[[link]]
name = "poor0"
delay = "25 ms"
queue = "600 kB"
[link.down]
rate = { steps = [["0 s", "12 Mbit/s"], ["8 s", "200 kbit/s"], ["28 s", "12 Mbit/s"], ["36 s", "100 kbit/s"]] }
[link.up]
rate = "5 Mbit/s"
"#;

/// A near link that collapses for the better part of a second every few seconds, and a steady one that is slower and farther.
const FADING: &str = r#"
version = 1
duration = "60 s"
[[link]]
name = "steady0"
delay = "30 ms"
rate = "10 Mbit/s"
queue = "200 ms"
[[link]]
name = "fading0"
delay = "15 ms"
queue = "300 kB"
[link.down]
rate = { model = "markov", levels = [["25 Mbit/s", "2 s"], ["300 kbit/s", "700 ms"]] }
[link.up]
rate = "5 Mbit/s"
"#;

/// A fat, far link whose queue the first slow start overflows by a megabyte, and a near one that is narrower.
const OVERFLOWING: &str = r#"
version = 1
duration = "20 s"
[[link]]
name = "far0"
rate = "150 Mbit/s"
delay = "50 ms"
queue = "1875 kB"
[[link]]
name = "near0"
rate = "50 Mbit/s"
delay = "10 ms"
queue = "125 kB"
"#;

/// An unbounded download.
const BULK: &str = "[[flow]]\nname = \"main\"\nkind = \"bulk\"\n";

/// Answers of 64 kB, one after the other.
const ANSWERS: &str = "[[flow]]\nname = \"main\"\nkind = \"requests\"\nrequest = \"200 B\"\nresponse = \"64 kB\"\n\
                       think = \"100 ms\"\n";

/// A video call of many: 40 Mbit/s in datagrams.
const DATAGRAMS: &str = "[[flow]]\nname = \"main\"\nkind = \"datagrams\"\nrate = \"40 Mbit/s\"\n";

/// A flow under CUBIC, whose queues the scheduler has to see through.
fn with_cubic(flow: &str) -> String {
    format!("[transport]\ncongestion = \"cubic\"\n{flow}")
}

/// Runs the flow of a scenario over all links, or over one alone.
fn run(links: &str, flow: &str, seed: u64, alone: Option<usize>) -> FlowOutcome {
    let text = format!("{links}\n{flow}");
    let scenario = Scenario::parse(&text, "default.toml", &mut |_| Err(String::new()));
    let mut scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    scenario.seed = seed;
    let mut flows = scenario.traffic().into_owned();
    if let Some(link) = alone {
        flows[0].links = vec![link];
    }
    scenario.flows = flows;
    let options = Options::default();
    let mut simulation = Simulation::new(&scenario, &common::registry(), options).expect("it can run");
    let outcome = simulation.run(&mut NoRecorder);
    outcome.flows.into_iter().find(|flow| flow.flow == "main").expect("it has one")
}

const SEEDS: [u64; 3] = [1, 2, 3];

/// Mean over the seeds.
fn mean(value: impl Fn(u64) -> f64) -> f64 {
    SEEDS.iter().map(|seed| value(*seed)).sum::<f64>() / SEEDS.len() as f64
}

fn goodput(links: &str, alone: Option<usize>) -> f64 {
    mean(|seed| run(links, BULK, seed, alone).goodput_bps)
}

#[test]
fn links_that_pause_are_no_reason_for_copies() {
    let flows = SEEDS.map(|seed| run(PAUSING, BULK, seed, None));
    let total = |of: fn(&FlowOutcome) -> u64| flows.iter().map(of).sum::<u64>() as f64;
    let bytes = total(|flow| flow.bytes);
    let needless = total(|flow| flow.copies.needless_bytes) / bytes;
    let twice = total(|flow| flow.copies.duplicate_bytes) / bytes;
    let sum = goodput(PAUSING, Some(0)) + goodput(PAUSING, Some(1));
    let share = goodput(PAUSING, None) / sum;
    println!("{share:.3} of the sum, {needless:.4} copied needlessly, {twice:.4} arrived twice");
    assert!(needless <= 0.02 && twice <= 0.04, "{needless:.4} {twice:.4}");
    assert!(share >= 0.95, "{share:.3} of the sum");
}

/// What was lost waits for the near link, which carries a quarter of what the far one does. That one has work meanwhile: it idled for
/// two of its round trips, and 50 MB took 5.6 % longer than with turns of both.
#[test]
fn the_far_link_works_on_while_what_was_lost_waits_for_the_near_one() {
    let completion = |scheduler: &str| {
        let flow = format!(
            "[[flow]]\nname = \"main\"\nkind = \"bulk\"\nsize = \"50 MB\"\n[transport]\nscheduler = \"{scheduler}\"\ncongestion = \"cubic\"\n"
        );
        mean(|seed| run(OVERFLOWING, &flow, seed, None).completion_seconds.expect("it ends"))
    };
    let [default, turns] = ["default", "roundrobin"].map(completion);
    println!("seeds {SEEDS:?}: 50 MB in {default:.3} s, with turns {turns:.3} s");
    assert!(default < 1.02 * turns, "{default} s instead of {turns}");
}

#[test]
fn a_link_that_dribbles_holds_nobody_up() {
    let bulk = &with_cubic(BULK);
    let both = SEEDS.map(|seed| run(DRIBBLING, bulk, seed, None));
    let alone = |link| mean(|seed| run(DRIBBLING, bulk, seed, Some(link)).goodput_bps);
    let sum = alone(0) + alone(1);
    let share = mean(|seed| run(DRIBBLING, bulk, seed, None).goodput_bps) / sum;
    let gap = both.iter().map(|flow| flow.longest_gap_ms).fold(0.0, f64::max);
    println!("{share:.3} of the sum, longest stall {gap:.0} ms");
    assert!(share >= 0.95, "{share:.3} of the sum");
    // It was 13 s. The steady link alone has none longer than its round trips, of up to 260 ms.
    assert!(gap <= 500.0, "{gap:.0} ms without data");
}

#[test]
fn the_end_of_an_answer_is_not_left_on_a_link_that_collapsed() {
    let answers = &with_cubic(ANSWERS);
    let p99 = |alone| mean(|seed| run(FADING, answers, seed, alone).delay.p99_ms);
    let (both, alone) = (p99(None), p99(Some(0)).min(p99(Some(1))));
    println!("99th percentile {both:.0} ms, over the best link {alone:.0} ms");
    assert!(both <= 1.1 * alone, "{both:.0} instead of {alone:.0} ms");
}

#[test]
fn datagrams_take_all_links_when_one_is_too_narrow() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/three-links.toml"));
    let text = text.expect("the scenario is there");
    let (links, _) = text.split_once("[[flow]]").expect("it has a flow");
    for seed in SEEDS {
        let flow = run(links, DATAGRAMS, seed, None);
        let delivered = flow.completed as f64 / flow.sent as f64;
        println!("{delivered:.3} delivered, median {:.1} ms", flow.delay.p50_ms);
        assert!(delivered >= 0.97 && flow.delay.p50_ms <= 40.0, "{delivered:.3} {}", flow.delay.p50_ms);
    }
}

/// One of two links dies. (The answer that is under way when it does may be late, and with it the request after.)
#[test]
fn a_link_that_dies_under_answers_costs_none_of_them_a_probe_timeout() {
    let link = |name: &str, more: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 ms\"\n{more}\n"
        )
    };
    // At other moments of a conversation: in an answer, in a request, in the pause.
    for at in (3_000..3_150).step_by(10) {
        let dying = link("a0", &format!("outage = [{{ from = \"{at} ms\" }}]"));
        let links = format!("version = 1\nduration = \"6 s\"\n{dying}{}", link("b0", ""));
        let flow = run(&links, ANSWERS, 1, None);
        println!("dead from {at} ms: longest answer {:.0} ms", flow.delay.max_ms);
        assert!(flow.delay.max_ms <= 100.0, "{at}: {:?}", flow.delay);
    }
}
