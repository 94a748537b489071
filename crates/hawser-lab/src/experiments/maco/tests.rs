use super::*;
use crate::experiments::verify::{Bound, Estimate, Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict(&LIST, id, substitute)
}

#[test]
fn what_must_hold_does() {
    for id in ["1", "2", "4", "6"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: OLIA carries no more than OLIA, and does not grow like MACO.
#[test]
fn olia_in_its_place_falls_short() {
    assert_eq!(verdict("R4", None), Verdict::Holds);
    for id in ["1", "4", "R4"] {
        assert_eq!(verdict(id, Some("olia")), Verdict::FallsShort, "{id}");
    }
}

/// Negative control: no ordering against a policy is met by that policy itself.
#[test]
fn orderings_exclude_equality() {
    let strict = LIST.items().flat_map(|item| item.claims).filter(|claim| {
        claim.value.is_ordering() && matches!(claim.bound, Bound::Below(_) | Bound::Above(_))
    });
    for claim in strict {
        assert!(!claim.bound.admits(&Estimate::exact(1.0)), "{claim:?}");
    }
}
