//! 360-degree video in tiles over the real stack: what its receiver sees where there is room and where there is not, and RIDE.

use std::sync::Arc;

use hawser_sched::Ride;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common;

const NO_LOSS: [&str; 2] = ["link.wifi0.loss=0 %", "link.lte0.loss=0 %"];

/// The scenario of E2 with fields set otherwise.
fn run(set: &[&str]) -> Outcome {
    let scenario = common::load("ride-continuous.toml", set);
    let mut registry = common::registry();
    Ride::register(&mut registry);
    let registry = Arc::new(registry);
    let mut simulation = Simulation::new(&scenario, &registry, Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder)
}

fn measure(outcome: &Outcome, name: &str) -> f64 {
    let flow = &outcome.flows[0];
    assert_eq!(flow.error, None);
    let found = flow.measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", flow.measures)).value
}

/// 12 Mbit/s where there are 60, without losses: but for the first frames, which meet slow start, everything is shown in time,
/// with every scheduler.
#[test]
fn tiles_with_room_are_shown_in_time() {
    for policy in ["transport.scheduler=default", "transport.scheduler=minrtt", "transport.policy=ride"] {
        let application = "flow.tiles.application=tiles,viewing=fixed,mean=1250,length=10s";
        let outcome = run(&[&[policy, application][..], &NO_LOSS].concat());
        let useful = measure(&outcome, "useful_share");
        println!("{policy}: {useful:.4} of use, B {:.4}", measure(&outcome, "b_zero_share"));
        assert!(useful > 0.985, "{policy}: {useful}");
        assert!(measure(&outcome, "b_zero_share") > 0.97, "{policy}");
        assert_eq!((measure(&outcome, "corrupt"), measure(&outcome, "units_refused")), (0.0, 0.0));
        assert_eq!(measure(&outcome, "units"), measure(&outcome, "units_made"));
    }
}

/// 90 Mbit/s where there are 60: what is too late is given up, so that what comes is young; the queue does not grow from frame to
/// frame. A B frame is of use for 233 ms, a P frame for 367; only I frames may take longer, one in fifty.
#[test]
fn what_does_not_fit_is_given_up() {
    for policy in ["transport.scheduler=default", "transport.policy=ride"] {
        let application = "flow.tiles.application=tiles,viewing=fixed,mean=9400,length=10s";
        let outcome = run(&[&[policy, application][..], &NO_LOSS].concat());
        let (arrived, delay) = (measure(&outcome, "arrived_share"), measure(&outcome, "delay_p95"));
        println!("{policy}: {arrived:.3} arrived, 95th percentile of the delay {delay:.0} ms");
        assert!((0.2..0.9).contains(&arrived), "{policy}: {arrived}");
        assert!(delay < 450.0, "{policy}: {delay} ms");
        assert_eq!(measure(&outcome, "corrupt"), 0.0);
    }
}

/// The agent that was trained where queues last earns more on a connection than the one that was trained where each frame finds
/// them empty: 62 and 36 on average (docs/ride.md).
#[test]
fn the_agent_of_lasting_queues_is_the_better_one_on_a_connection() {
    let reward = |agent: &str| {
        let of = |seed: u64| {
            let (seed, policy) =
                (format!("seed={seed}"), format!("transport.policy=ride,agent={agent},guard=off"));
            let application = "flow.tiles.application=tiles,viewing=fixed,length=20s";
            measure(&run(&[&seed, &policy, application]), "reward_frames")
        };
        (1..=3).map(of).sum::<f64>() / 3.0
    };
    let (continuous, episodic) = (reward("continuous"), reward("episodic"));
    println!("E2's {continuous:.1}, E1's {episodic:.1}");
    assert!(continuous > episodic + 10.0, "{continuous} {episodic}");
}
