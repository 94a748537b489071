use crate::experiments::lists;
use crate::experiments::verify::{Item, Policy, Verdict, testing};

/// Formulas hold whatever schedules.
#[test]
fn computations_hold() {
    for id in ["1", "2"] {
        assert_eq!(testing::verdict("4d-map", id, None), Verdict::Holds, "{id}");
    }
}

#[test]
fn nothing_reliable_is_lost() {
    assert_eq!(testing::verdict("4d-map", "3", None), Verdict::Holds);
}

#[test]
fn copies_are_sent_once_and_decisions_are_quick() {
    assert_eq!(testing::verdict("4d-map", "4", None), Verdict::Holds);
}

/// Negative control: MinRTT decides about no frame.
#[test]
fn what_takes_the_place_of_the_system_is_found_out() {
    assert_eq!(testing::verdict("4d-map", "5", Some("minrtt")), Verdict::FallsShort);
    // Orderings of the system's own mechanisms rest on the same claim, others name the system.
    let is_of_system = |item: &Item| {
        let mut metrics = item.claims.iter().flat_map(|claim| claim.value.metrics());
        metrics.any(|metric| metric.policy == Policy::System)
    };
    let list = lists::find("4d-map").unwrap();
    for id in ["8", "9", "11", "12", "13", "14", "15", "R1", "R2", "R3"] {
        assert!(list.items.iter().any(|item| item.id == id && is_of_system(item)), "{id}");
    }
}
