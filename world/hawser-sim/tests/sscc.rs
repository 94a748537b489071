//! SSCC over simulated links: what shares a bottleneck is found and coupled, what does not is left alone.

use std::path::Path;

use hawser_cc::sscc::{self, SsccParts};
use hawser_policy::{PathId, Registry, Time};
use hawser_scenario::load;
use hawser_sim::run::{Options, Outcome, Probes, Simulation};

use crate::common;

/// A run, and what was seen of groups.
struct Run {
    outcome: Outcome,
    /// When a path of the sending end was put into a group, or taken out.
    groups: Vec<(Time, PathId, bool)>,
    seconds: f64,
}

impl Run {
    fn new(file: &str, overrides: &[&str]) -> Run {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let overrides: Vec<String> = overrides.iter().map(|field| (*field).to_owned()).collect();
        let scenario = load(&folder.join(file), &overrides).unwrap_or_else(|error| panic!("{error}"));
        let mut registry: Registry = common::registry();
        sscc::register(&mut registry, SsccParts::shipped()).expect("all parts are there");
        let simulation = Simulation::new(&scenario, &registry, Options::default());
        let mut simulation = simulation.unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut probes = Probes::default().with_notes(&["sscc.group"]);
        let outcome = simulation.run(&mut probes);
        let notes = probes.notes().map(|(_, note)| note).filter(|note| note.side.is_server());
        let groups = notes.filter_map(|note| Some((note.at, note.path?, note.number("group")? > 0.0)));
        let groups = groups.collect();
        Run { seconds: outcome.simulated_seconds, outcome, groups }
    }

    /// Share of a stretch of time in which a path was in a group with others.
    fn coupled_share(&self, path: u32, from: f64, until: f64) -> f64 {
        let (mut since, mut coupled) = (None, 0.0);
        let of_path = self.groups.iter().filter(|(_, of, _)| *of == PathId(path));
        let mut add = |from_time: f64, to: f64| coupled += (to.min(until) - from_time.max(from)).max(0.0);
        for (at, _, group) in of_path {
            let at = at.as_secs_f64();
            match (since, *group) {
                (None, true) => since = Some(at),
                (Some(began), false) => {
                    add(began, at);
                    since = None;
                }
                _ => {}
            }
        }
        if let Some(began) = since {
            add(began, self.seconds);
        }
        coupled / (until - from)
    }

    fn goodput(&self, flow: &str) -> f64 {
        let found = self.outcome.flows.iter().find(|of| of.flow == flow);
        found.map_or(0.0, |flow| flow.goodput_bps / 1e6)
    }
}

const PLAIN: &str = "transport.policy=sscc,keep_coupled=0s";

#[test]
fn a_shared_bottleneck_is_found_and_let_go_within_ten_seconds() {
    for seed in 1..=3 {
        let run = Run::new("sscc-parting.toml", &[PLAIN, "duration=70 s", &format!("seed={seed}")]);
        for path in [0, 1] {
            let found = run.groups.iter().find(|(_, of, _)| *of == PathId(path)).expect("it is found").0;
            assert!(found < Time::from_secs(10), "seed {seed}: path {path} was coupled at {found}");
            // At 40 s it is shared no longer.
            let after = run.coupled_share(path, 50.0, 70.0);
            assert!(after == 0.0, "seed {seed}: path {path} stayed coupled, {after} of the time");
        }
    }
}

/// A vote over statistics errs now and then.
#[test]
fn independent_paths_are_hardly_ever_coupled() {
    let runs = (1..=40).map(|seed| {
        let run = Run::new("sscc-emulated-stationary.toml", &["duration=30 s", &format!("seed={seed}")]);
        assert!(run.goodput("main") > 5.0, "seed {seed}");
        run
    });
    let share = |run: Run| run.coupled_share(0, 0.0, run.seconds).max(run.coupled_share(1, 0.0, run.seconds));
    let shares: Vec<f64> = runs.map(share).collect();
    let errors = shares.iter().filter(|share| **share > 0.0).count();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("coupled in {errors} of {} runs, {:.1} % of the time", shares.len(), 100.0 * mean);
    assert!(mean <= 0.05, "{shares:?}");
}

/// Three paths and one flow through one bottleneck: what the flow gets. One of four without coupling, by count; half of it would
/// be its share.
#[test]
fn coupled_paths_leave_a_single_flow_its_share() {
    let flow = |policy: &str| {
        let set = format!("transport.policy={policy}");
        let runs = [1, 2]
            .map(|seed| Run::new("sscc-static-3.toml", &[&set, "duration=100 s", &format!("seed={seed}")]));
        runs.iter().map(|run| run.goodput("newreno")).sum::<f64>() / 2.0
    };
    let (coupled, uncoupled) = (flow("sscc"), flow("sscc,coupling=off"));
    assert!(coupled > 10.0 && coupled < 24.0, "{coupled} Mbit/s of 40");
    assert!(coupled > 1.8 * uncoupled, "{coupled} and {uncoupled} Mbit/s");
}

/// The baseline couples what its detector finds as well, and leaves alone what shares nothing: there each path is Reno.
#[test]
fn mptcp_sbd_couples_what_shares_a_bottleneck_and_nothing_else() {
    let flow = |policy: &str, seed: u64| {
        let set = format!("transport.policy={policy}");
        let seed = format!("seed={seed}");
        Run::new("sscc-static-3.toml", &[&set, "duration=100 s", &seed]).goodput("newreno")
    };
    let uncoupled = "sscc,coupling=off";
    let [coupled, alone] = ["mptcp-sbd,keep_coupled=10s", uncoupled]
        .map(|policy| (1..=2).map(|seed| flow(policy, seed)).sum::<f64>() / 2.0);
    println!("NewReno beside three paths: {coupled:.2} Mbit/s, without coupling {alone:.2}");
    assert!(coupled > 1.3 * alone, "{coupled} and {alone} Mbit/s");
    let main = |set: &[&str]| {
        let run = |seed: u64| {
            let seed = format!("seed={seed}");
            let set = [set, &["duration=30 s", &seed]].concat();
            Run::new("sscc-emulated-stationary.toml", &set).goodput("main")
        };
        (1..=3).map(run).sum::<f64>() / 3.0
    };
    let apart = main(&["transport.policy=mptcp-sbd"]);
    // SSCC asks for receive timestamps as well, which alone make a difference (20.9 Mbit/s without); its controllers are replaced.
    let reno = main(&["transport.policy=sscc", "transport.congestion=newreno,hystart=on"]);
    println!("paths of their own: {apart:.3} Mbit/s, NewReno {reno:.3}");
    assert!((apart - reno).abs() < 1e-9, "{apart} and {reno} Mbit/s");
}

#[test]
fn changing_between_bbr_and_cubic_costs_little() {
    let rate = |parameters: &str| {
        let policy = format!("transport.policy=sscc,coupling=off,{parameters}");
        Run::new("sscc-steady.toml", &[&policy]).goodput("main")
    };
    let (cubic, bbr) = (rate("initial=cubic"), rate("initial=bbr"));
    let alternating = rate("selection=alternate");
    assert!(alternating >= 0.92 * cubic.max(bbr), "{alternating}, CUBIC {cubic}, BBR {bbr} Mbit/s");
}

/// CUBIC leaves slow start at the first random loss, at a fiftieth of the rate. BBR, which takes over after 5 s, has to look for the rest as
/// it does at the beginning of a connection.
#[test]
fn bbr_finds_the_rate_that_its_predecessor_never_reached() {
    let megabits = |duration_s: f64, selection: &str| {
        let policy = format!("transport.policy=sscc,coupling=off,{selection}");
        let duration = format!("duration={duration_s} s");
        let set = ["link.p0.delay=100 ms", "link.p0.loss=0.01", &duration, &policy];
        Run::new("sscc-steady.toml", &set).goodput("main") * duration_s
    };
    let alone = megabits(5.0, "selection=rule,initial=bbr");
    let before = megabits(5.0, "selection=rule");
    let after = megabits(10.0, "selection=alternate,alternate_every=5s") - before;
    assert!(after > 0.9 * alone, "{after} Mbit in the 5 s after, {alone} in the first 5 s alone");
}

#[test]
fn the_same_seed_gives_the_same_decisions() {
    let run = || Run::new("sscc-static-2.toml", &["duration=30 s"]);
    let (first, second) = (run(), run());
    assert!(!first.groups.is_empty());
    assert_eq!(first.groups, second.groups);
    assert_eq!(first.outcome.trace_hash, second.outcome.trace_hash);
}
