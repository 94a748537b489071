//! Scenario files with foreign servers: everything arrives, and a seed repeats its run.

use std::path::Path;

use hawser_interop_virtual::policies;
use hawser_interop_virtual::serve::Peer;
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

fn scenario(name: &str, set: &[&str]) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let set: Vec<String> = ["transport.crypto=tls"].iter().chain(set).map(ToString::to_string).collect();
    hawser_scenario::load(&file, &set).expect("a valid scenario")
}

fn run(scenario: &Scenario, peer: Peer) -> Outcome {
    let options = Options { server: Some(peer.servers()), ..Options::default() };
    Simulation::new(scenario, &policies(), options).expect("a scenario that can run").run(&mut NoRecorder)
}

/// Runs twice, and once more in a thread next to another that is busy with another seed.
fn run_thrice(scenario: &Scenario, peer: Peer) -> Outcome {
    let first = run(scenario, peer);
    assert_eq!(run(scenario, peer), first);
    let beside = std::thread::scope(|scope| {
        let busy = scope.spawn(|| run(&Scenario { seed: scenario.seed + 1, ..scenario.clone() }, peer));
        let same = scope.spawn(|| run(scenario, peer)).join().expect("no panic");
        assert_ne!(busy.join().expect("no panic").trace_hash, same.trace_hash);
        same
    });
    assert_eq!(beside, first);
    println!("{}: {} packets, {:.1} Mbit/s", first.trace_hash, first.packets, first.goodput_bps / 1e6);
    first
}

/// Bytes that arrived over a link in a direction.
fn delivered(outcome: &Outcome, link: &str, direction: Direction) -> u64 {
    let is = |of: &&hawser_sim::run::LinkOutcome| of.link == link && of.direction == direction;
    outcome.links.iter().find(is).map_or(0, |link| link.counters.delivered_bytes)
}

/// The one flow, which carried something and carried it intact.
fn main_flow(outcome: &Outcome) -> &hawser_sim::run::FlowOutcome {
    let flow = &outcome.flows[0];
    assert!(flow.intact && flow.error.is_none() && flow.bytes > 0, "{flow:?}");
    flow
}

#[test]
fn noq_serves_over_both_links_and_a_seed_repeats_its_run() {
    let outcome = run_thrice(&scenario("wifi-lte.toml", &["flow.main.size=8 MB"]), Peer::Noq);
    let flow = main_flow(&outcome);
    assert_eq!((flow.bytes, flow.completed), (8_000_000, 1));
    for link in ["wifi0", "lte0"] {
        let bytes = delivered(&outcome, link, Direction::Down);
        assert!(bytes > 500_000, "{link}: {bytes}");
        let of_path = outcome.paths.iter().find(|path| path.link == link).expect("its path");
        assert!(of_path.bytes_sent > 500_000 && of_path.smoothed_rtt_ms > 5.0, "{of_path:?}");
    }
}

#[test]
fn noq_receives_over_both_links() {
    let set = ["flow.main.size=4 MB", "flow.main.direction=up"];
    let outcome = run_thrice(&scenario("wifi-lte.toml", &set), Peer::Noq);
    let flow = main_flow(&outcome);
    assert_eq!((flow.bytes, flow.completed), (4_000_000, 1));
    for link in ["wifi0", "lte0"] {
        let bytes = delivered(&outcome, link, Direction::Up);
        assert!(bytes > 200_000, "{link}: {bytes}");
    }
}

#[test]
fn quinn_serves_over_one_link_and_a_seed_repeats_its_run() {
    let outcome = run_thrice(&scenario("wifi-lte.toml", &["flow.main.size=8 MB"]), Peer::Quinn);
    assert_eq!(main_flow(&outcome).bytes, 8_000_000);
    assert_eq!(outcome.paths.len(), 1);
    let lte = delivered(&outcome, "lte0", Direction::Down);
    assert!(delivered(&outcome, "wifi0", Direction::Down) > 8_000_000 && lte < 100_000, "{lte}");
}

const MANY: &str = "version = 1\nduration = \"3 s\"\n[transport]\ncrypto = \"tls\"\n\
    [[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
    [[link]]\nname = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
    [[flow]]\nname = \"ask\"\nkind = \"requests\"\nrequest = \"2 kB\"\nresponse = \"30 kB\"\nthink = \"20 ms\"\ncount = 3\n\
    [[flow]]\nname = \"call\"\nkind = \"datagrams\"\ndirection = \"down\"\nsize = \"1000 B\"\nrate = \"1 Mbit/s\"\n\
    [[flow]]\nname = \"voice\"\nkind = \"datagrams\"\ndirection = \"up\"\nsize = \"200 B\"\nrate = \"64 kbit/s\"\n";

#[test]
fn requests_and_datagrams_on_many_connections() {
    let scenario = Scenario::parse(MANY, "many.toml", &mut |_| Err("there is none".into())).expect("valid");
    for peer in [Peer::Noq, Peer::Quinn] {
        let outcome = run_thrice(&scenario, peer);
        for flow in &outcome.flows {
            assert!(flow.intact && flow.error.is_none(), "{flow:?}");
            match flow.kind {
                "requests" => assert!(flow.completed > 20, "{flow:?}"),
                _ => assert!(
                    flow.completed > 100 && flow.sent - flow.completed < 10 && flow.delay.p50_ms > 9.0,
                    "{flow:?}"
                ),
            }
        }
    }
}

#[test]
fn another_controller_serves() {
    let set = ["flow.main.size=4 MB", "flow.main.links=[\"lte0\"]"];
    let scenario = scenario("wifi-lte.toml", &set);
    for (peer, name) in [(Peer::Noq, "bbr3"), (Peer::Quinn, "bbr")] {
        let default = run(&scenario, peer);
        let congestion = peer.congestion(name).expect("it has this one");
        let options = Options { server: Some(peer.servers_with(congestion)), ..Options::default() };
        let other = Simulation::new(&scenario, &policies(), options).expect("can run").run(&mut NoRecorder);
        assert_eq!(main_flow(&other).bytes, 4_000_000);
        assert_ne!(other.trace_hash, default.trace_hash, "{name} is not the default");
    }
    let error = Peer::Noq.congestion("bbr").expect_err("noq has no BBRv1");
    assert_eq!(error, "Noq has no controller `bbr`: it has cubic, newreno, bbr3");
}
