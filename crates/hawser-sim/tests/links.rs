//! What a client's policies know of its links.

mod common;

use std::sync::{Arc, Mutex};

use hawser_cc::Cubic;
use hawser_policy::{ControllerInit, LinkId, PathId, Registry};
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use common::registry;

/// What policies noted while a run lasted.
type Notes<T> = Arc<Mutex<Vec<T>>>;

fn run(text: &str, registry: &Registry) -> Outcome {
    let scenario = Scenario::parse(text, "test.toml", &mut |_| Err("there is none".into()));
    let simulation = Simulation::new(&scenario.expect("a scenario"), registry, Options::default());
    simulation.expect("it can be simulated").run(&mut NoRecorder)
}

/// The path of the handshake is of its link from its birth, like all others: its controller may depend on that.
#[test]
#[ignore = "fails until a connection is told its link when it begins"]
fn the_controller_of_every_path_knows_its_link() {
    let made: Notes<(PathId, Option<LinkId>)> = Arc::default();
    let mut registry = registry();
    let notes = made.clone();
    registry.add_controller("noting", move |init: &ControllerInit| {
        notes.lock().expect("nobody panicked").push((init.path, init.link));
        Box::new(Cubic::new(init)) as Box<_>
    });
    let text = "version = 1\nduration = \"2 s\"\n[transport]\ncongestion = \"noting\"\n\
        [[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\n[[link]]\nname = \"b\"\nrate = \"20 Mbit/s\"\n";
    run(text, &registry);
    let made = made.lock().expect("nobody panicked");
    let links_of = |path| {
        let known = made.iter().filter(|(id, link)| *id == path && link.is_some());
        known.map(|(_, link)| *link).collect::<Vec<_>>()
    };
    // The server's end makes controllers as well, and has no links.
    assert_eq!(links_of(PathId(0)), [Some(LinkId(0))], "{made:?}");
    assert_eq!(links_of(PathId(1)), [Some(LinkId(1))], "{made:?}");
}
