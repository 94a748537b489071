use super::*;
use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict(&LIST, id, substitute)
}

#[test]
fn computations_hold() {
    for id in ["14", "15"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: MinRTT in its place decides nothing and is no more in time than Peekaboo.
#[test]
fn nobody_else_does_as_well() {
    for id in ["10", "13"] {
        assert_eq!(verdict(id, Some("minrtt")), Verdict::FallsShort, "{id}");
    }
}
