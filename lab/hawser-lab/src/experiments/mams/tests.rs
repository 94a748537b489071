use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("mams", id, substitute)
}

/// Item 15 is a matter of time, which no test may depend on: the planner's own tests count rounds.
#[test]
fn what_must_hold_does() {
    for id in ["1", "2"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: round robin and MinRTT in its place reorder packets as before.
#[test]
fn order_is_kept_by_nobody_else() {
    assert_ne!(verdict("3", None), Verdict::FallsShort);
    for other in ["roundrobin", "minrtt"] {
        assert_eq!(verdict("3", Some(other)), Verdict::FallsShort, "{other}");
    }
}
