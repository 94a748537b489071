//! Layered video: what its receiver sees where there is room and where there is not, and QC-MAB on its walk.

use hawser_policy::Note;
use hawser_sched::QcMab;
use hawser_sim::run::{FlowOutcome, Options, Outcome, Probes, RepairOutcome, Simulation};

use crate::common;

/// A run, and what its receiver noted if it is QC-MAB.
fn run(file: &str, set: &[&str]) -> (Outcome, Vec<Note>) {
    let mut registry = common::registry();
    QcMab::register(&mut registry);
    let simulation = Simulation::new(&common::load(file, set), &registry, Options::default());
    let mut probes = Probes::default().with_notes(&["qc-mab.decision", "qc-mab.frame", "qc-mab.credit"]);
    let outcome = simulation.expect("it can run").run(&mut probes);
    (outcome, probes.notes().map(|(_, note)| note.clone()).collect())
}

fn video(outcome: &Outcome) -> &FlowOutcome {
    outcome.flows.iter().find(|flow| flow.flow == "video").expect("there is a video")
}

fn measure(outcome: &Outcome, name: &str) -> f64 {
    let flow = video(outcome);
    let found = flow.measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", flow.measures)).value
}

const SHORT: &str = "duration=24 s";

/// 2 Mbit/s where there are 40: every layer of every frame is there in time, but for what 0.01 % of loss delays.
#[test]
fn a_layered_video_with_room_is_shown_in_full() {
    let set = [SHORT, "flow.video.application=layered,representation=5"];
    let (outcome, _) = run("qcmab-b.toml", &set);
    assert!(measure(&outcome, "mean_quality") > 4.9, "{}", measure(&outcome, "mean_quality"));
    assert!(measure(&outcome, "base_in_time_share") > 0.99);
    assert_eq!(measure(&outcome, "corrupt"), 0.0);
}

/// 20 Mbit/s where there are 6: enhancement layers are left out, not the base layer (3.8 Mbit/s), which goes first.
#[test]
fn without_room_the_enhancement_is_left_out_first() {
    let set = [SHORT, "flow.video.application=layered,representation=8", "segment.*.rate=3 Mbit/s"];
    let (outcome, _) = run("qcmab-b.toml", &set);
    let [base, more] =
        ["base_in_time_share", "enhancement_in_time_share"].map(|name| measure(&outcome, name));
    println!("base {base:.3}, enhancement {more:.3}");
    assert!(base > 3.0 * more && more < 0.3, "{base} {more}");
    assert_eq!(measure(&outcome, "corrupt"), 0.0);
}

/// A retransmission comes too late where the delay is 60 ms and the deadline 150: repair symbols come in time, also on a path that
/// is not protected all of the time next to one that is. By the median of eight seeds: with one of them (3) protection costs more
/// than it brings.
#[test]
fn protection_brings_lost_packets_back_in_time() {
    let run = |policy: &str, seed: u64| {
        let (policy, seed) = (format!("transport.policy={policy},attach=off"), format!("seed={seed}"));
        let set = ["duration=60 s", "link.*.delay=60 ms", "link.*.loss=2 %", &policy, &seed];
        let set = [&set[..], &["flow.video.application=layered,representation=3"]].concat();
        let outcome = run("qcmab-b.toml", &set).0;
        (measure(&outcome, "interruption_share"), video(&outcome).repair)
    };
    let interrupted = |policy: &str, check: &dyn Fn(u64, RepairOutcome)| {
        let mut shares: Vec<f64> = (1..=8)
            .map(|seed| {
                let (share, repair) = run(policy, seed);
                check(seed, repair);
                share
            })
            .collect();
        println!("{policy}, seeds 1 to 8: interrupted {shares:.3?}");
        shares.sort_by(f64::total_cmp);
        f64::midpoint(shares[3], shares[4])
    };
    let off = interrupted("qc-mab,fec=off", &|_, none| {
        assert_eq!((none.symbols_sent, none.recovered_bytes), (0, 0));
    });
    let on = interrupted("qc-mab,fec=on", &|seed, all| {
        let factor = if seed == 1 { 3 } else { 1 };
        assert!(all.recovered_bytes > factor * all.retransmitted_bytes, "{seed}: {all:?}");
    });
    assert!(off > 0.02 && on < 0.8 * off, "{on} of {off}");
}

/// The receiver decides in each slot, moves its links, and has paths protected: repair symbols bring data back. The same seed
/// notes the same.
#[test]
fn qc_mab_walks_decides_and_protects() {
    const SEEDS: usize = 3;
    let mut all_protected = 0;
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let set = [SHORT, "transport.policy=qc-mab", seed];
        let (outcome, notes) = run("qcmab-a.toml", &set);
        let of = |name: &'static str| notes.iter().filter(move |note| note.name == name);
        let count = |what: &str| of("qc-mab.decision").filter(|note| note.number(what) == Some(1.0)).count();
        let (decisions, moves, protected) =
            (of("qc-mab.decision").count(), count("moves"), count("protects"));
        let rewards: f64 = of("qc-mab.frame").filter_map(|note| note.number("reward")).sum();
        println!("{decisions} decisions, {moves} moves, {protected} protected, reward {rewards:.1}");
        println!("{:?}", video(&outcome).measures);
        // About 157 frames, and two links.
        assert!((250..330).contains(&decisions), "{decisions}");
        assert!(moves > 20 && protected < decisions - 20, "{moves} {protected}");
        assert!(rewards > 20.0, "{rewards}");
        assert_eq!(measure(&outcome, "corrupt"), 0.0);
        all_protected += protected;
    }
    // How often is the learner's chance.
    assert!(all_protected > 50 * SEEDS, "{all_protected}");
    let set = [SHORT, "transport.policy=qc-mab"];
    assert_eq!(run("qcmab-a.toml", &set).1, run("qcmab-a.toml", &set).1);
}
