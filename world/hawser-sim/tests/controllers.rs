//! Congestion controllers on the whole stack: how much of a link they fill, how long the queue is that they build, how long
//! nothing arrives.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use hawser_scenario::{Scenario, load};
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Outcome, Simulation};

use crate::common::registry;

fn run(scenario: &Scenario) -> FlowOutcome {
    let outcome =
        Simulation::new(scenario, &registry(), Options::default()).expect("runs").run(&mut NoRecorder);
    outcome.flows.into_iter().next().expect("a flow")
}

/// A download over `links` links of 50 Mbit/s and 20 ms with queues of 100 ms.
fn download(links: u32, controller: &str, megabytes: u32) -> FlowOutcome {
    let mut text = format!("version = 1\nduration = \"60 s\"\n[transport]\ncongestion = \"{controller}\"\n");
    for link in 0..links {
        text += &format!(
            "[[link]]\nname = \"a{link}\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 ms\"\n"
        );
    }
    text += &format!("[[flow]]\nname = \"main\"\nkind = \"bulk\"\nsize = \"{megabytes} MB\"\n");
    let scenario = Scenario::parse(&text, "controllers.toml", &mut |_| Err("there is none".into()));
    run(&scenario.expect("a valid scenario"))
}

/// The first second is as good as the rest: what slow start queues does not overflow, so that nothing has to wait for a
/// retransmission behind a full queue. Framing and the handshake allow 4.2 seconds.
#[test]
fn two_links_fill_without_a_gap() {
    for controller in ["cubic", "olia", "lia", "balia"] {
        let flow = download(2, controller, 50);
        let seconds = flow.completion_seconds.expect("finished");
        println!("{controller}: {seconds:.3} s, longest gap {:.1} ms", flow.longest_gap_ms);
        assert!(seconds < 4.45, "{controller}: {seconds} s");
        assert!(flow.longest_gap_ms <= 60.0, "{controller}: {} ms", flow.longest_gap_ms);
    }
}

/// A download next to an upload that fills the uplink: late acknowledgements are no queue on the way down. 20 MB take ten seconds
/// if they are taken for one.
#[test]
fn a_filled_uplink_does_not_end_slow_start() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/asymmetric-uplink.toml");
    let mut total = 0.0;
    for seed in 1..=6 {
        let overrides = [format!("seed={seed}"), "flow.main.size=20 MB".to_owned()];
        let flow = run(&load(&file, &overrides).expect("a scenario of ours"));
        total += flow.completion_seconds.expect("finished");
    }
    println!("20 MB beside an upload: {:.2} s", total / 6.0);
    assert!(total / 6.0 < 4.5, "{} s", total / 6.0);
}

/// Acknowledgements of a far path return on the near one, but for the first: the slow start of CUBIC sees its queue all the same and ends
/// before that overflows. Blind for half a second it lost 323 packets.
#[test]
fn a_far_path_beside_a_near_one_ends_slow_start_before_its_queue_overflows() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/unequal.toml");
    for scheduler in ["minrtt", "roundrobin", "default"] {
        let overrides = [
            "duration=2 s".to_owned(),
            "transport.congestion=cubic".to_owned(),
            format!("transport.scheduler={scheduler}"),
        ];
        let scenario = load(&file, &overrides).expect("a scenario of ours");
        let simulation = Simulation::new(&scenario, &registry(), Options::default());
        let outcome = simulation.expect("runs").run(&mut NoRecorder);
        let lost: Vec<u64> = outcome.paths.iter().map(|path| path.packets_lost).collect();
        println!("{scheduler}: lost {lost:?}");
        assert!(lost.iter().sum::<u64>() <= 20, "{scheduler}: lost {lost:?}");
    }
}

/// 50 Mbit/s carry 20 MB in 3.3 seconds, framing included; handshake, Startup and the pacing margin of 1 % come on top.
#[test]
fn the_bbr_family_fills_a_link_on_the_whole_stack() {
    for controller in ["bbr", "bbr2", "bbr2-alpha-beta", "bbr2plus", "bbr3", "coupled-bbr", "copa"] {
        let flow = download(1, controller, 20);
        let seconds = flow.completion_seconds.expect("finished");
        println!("{controller}: {seconds:.3} s, gap {:.1} ms, delay {:?}", flow.longest_gap_ms, flow.delay);
        assert!(seconds < 3.75, "{controller}: {seconds} s");
        assert!(flow.longest_gap_ms <= 60.0, "{controller}: {} ms", flow.longest_gap_ms);
    }
}

/// A download for 20 s with BBR, with each of these seeds. Links: name and what it is like.
fn with_bbr(links: [(&str, &str); 2], seeds: RangeInclusive<u64>) -> Vec<Outcome> {
    let mut text = "version = 1\nduration = \"20 s\"\n[transport]\ncongestion = \"bbr\"\n".to_owned();
    text.extend(links.map(|(name, link)| format!("[link.{name}]\n{link}\n")));
    text += "[flow.main]\nkind = \"bulk\"\nfrom = \"client\"\ndirection = \"down\"\n";
    let outcome = |seed| {
        let text = format!("seed = {seed}\n{text}");
        let scenario = Scenario::parse(&text, "bbr.toml", &mut |_| Err("there is none".into()));
        let simulation =
            Simulation::new(&scenario.expect("a valid scenario"), &registry(), Options::default());
        simulation.expect("runs").run(&mut NoRecorder)
    };
    seeds.map(outcome).collect()
}

/// Two long links that lose packets: before the receive window has grown, neither is filled, and what is in flight when a loss is noticed
/// is little. BBR took three such round trips for a full pipe, and one path of some runs stayed at a tenth of its link.
#[test]
fn bbr_leaves_no_long_path_behind_that_was_not_filled() {
    let link =
        |delay| format!("rate = \"50 Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"4000 kB\"\nloss = 0.015");
    let (far, near) = (link(175), link(150));
    let outcomes = with_bbr([("p0", &far), ("p1", &near)], 1..=12);
    let rates: Vec<f64> = outcomes.iter().map(|outcome| outcome.flows[0].goodput_bps / 1e6).collect();
    println!("{rates:.1?} Mbit/s");
    // Without losses, with their start of a few seconds: 77.
    assert!(rates.iter().all(|rate| *rate > 45.0), "{rates:.1?}");
}

/// A far path with a short queue, next to a quick one that leaves it pauses: what is sent between them overflows the queue. Nearly every
/// round trip ends in a pause, and BBR stayed in Startup for that, at three times the rate: 27 % were lost.
#[test]
fn bbr_sees_a_full_pipe_between_pauses() {
    let far = "rate = \"30 Mbit/s\"\ndelay = \"170 ms\"\nqueue = \"165 kB\"\nloss = 0.013";
    let near = "rate = \"70 Mbit/s\"\ndelay = \"40 ms\"\nqueue = \"560 kB\"\nloss = 0.012";
    let outcomes = with_bbr([("far", far), ("near", near)], 1..=10);
    let paths = outcomes.iter().flat_map(|outcome| &outcome.paths).filter(|path| path.link == "far");
    let (sent, lost) =
        paths.fold((0, 0), |(sent, lost), path| (sent + path.packets_sent, lost + path.packets_lost));
    let share = lost as f64 / sent as f64;
    println!("{lost} of {sent} packets lost");
    assert!(share < 0.15, "{share:.3}");
}
