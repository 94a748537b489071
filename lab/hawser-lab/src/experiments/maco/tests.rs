use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("maco", id, substitute)
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
