use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("ftrl-wrr", id, substitute)
}

/// As shipped, where packets are handed over: a path that is given little shows a rate that is as little. Negative control: what
/// does not learn does not learn a hand-over.
#[test]
fn a_hand_over_is_learnt_by_nobody_else() {
    assert_eq!(verdict("R7", Some("ftrl-wrr")), Verdict::Holds);
    for other in ["fixed-split", "minrtt", "default"] {
        assert_eq!(verdict("R7", Some(other)), Verdict::FallsShort, "{other}");
    }
}

/// Formulas hold whatever schedules.
#[test]
fn computations_hold() {
    for id in ["1", "2", "3", "6", "7"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}
