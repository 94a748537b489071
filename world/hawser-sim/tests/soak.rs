//! The first of the random courses; `make soak` goes on with others.

use hawser_policy::Registry;
use hawser_sim::soak::Course;

#[test]
fn random_courses() {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    // Those behind found defects: of probes in the handshake, of questions that were answered, of ranges held for repair, of the time
    // that an end has to forget a connection, of what arrived of an abandoned path or after it was declared lost, of ranges that no
    // acknowledgement reported, of silence while much is in flight.
    let failures: Vec<String> = (1..=24)
        .chain([780, 1_100, 1_143, 1_682, 1_799, 63_600, 91_791, 100_862, 200_086, 401_950])
        .filter_map(|seed| Course::of(seed, &registry).run(&registry).err())
        .map(|failure| failure.to_string())
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
