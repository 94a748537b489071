//! Urgent messages next to bulk with the simplest scheduler; the gauntlet has the default.

use hawser_sim::gauntlet::{CASES, Setting};

use crate::common;

#[test]
fn a_message_does_not_wait_for_the_bulk_of_a_dead_path() {
    let registry = common::registry();
    let case =
        CASES.iter().find(|case| case.name == "urgent-message-next-to-a-dead-path").expect("it is listed");
    let setting =
        Setting { registry: &registry, scheduler: "minrtt", controller: "cubic", seed: 1, priorities: true };
    for measure in case.run(&setting) {
        println!("{measure}");
        assert!(measure.holds(), "{measure}");
    }
}
