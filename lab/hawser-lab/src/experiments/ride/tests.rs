use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("ride", id, substitute)
}

#[test]
fn what_must_hold_does() {
    for id in ["13", "14", "15"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: RR and MinRTT in its place earn what they earned before.
#[test]
fn nobody_else_earns_as_much() {
    for other in ["rr", "minrtt", "random"] {
        assert_eq!(verdict("1", Some(other)), Verdict::FallsShort, "{other}");
    }
}
