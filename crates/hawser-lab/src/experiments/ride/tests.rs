use super::*;
use crate::experiments::verify::{Bound, Estimate, Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict(&LIST, id, substitute)
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
        assert_eq!(verdict("R1", Some(other)), Verdict::FallsShort, "{other}");
    }
}

/// Negative control: no ordering against a policy is met by that policy itself.
#[test]
fn orderings_exclude_equality() {
    let strict = LIST.items().flat_map(|item| item.claims).filter(|claim| {
        claim.value.is_ordering() && matches!(claim.bound, Bound::Below(_) | Bound::Above(_))
    });
    for claim in strict {
        let equal = if matches!(claim.bound, Bound::Above(0.0) | Bound::Below(0.0)) { 0.0 } else { 1.0 };
        assert!(!claim.bound.admits(&Estimate::exact(equal)), "{claim:?}");
    }
}
