use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("qc-mab", id, substitute)
}

#[test]
fn what_is_computed_holds() {
    for id in ["13", "14", "15"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: a scheduler in its place has no links attached elsewhere, on which items depend that compare the system with
/// its own variants.
#[test]
fn nobody_else_decides() {
    for other in ["minrtt", "peekaboo"] {
        assert_eq!(verdict("13", Some(other)), Verdict::FallsShort, "{other}");
    }
}
