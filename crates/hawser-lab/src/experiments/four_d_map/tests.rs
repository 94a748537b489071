use super::*;
use crate::experiments::verify::{Verdict, testing};

/// Formulas hold whatever schedules.
#[test]
fn computations_hold() {
    for id in ["1", "2"] {
        assert_eq!(testing::verdict(&LIST, id, None), Verdict::Holds, "{id}");
    }
}

#[test]
fn nothing_reliable_is_lost() {
    assert_eq!(testing::verdict(&LIST, "3", None), Verdict::Holds);
}
