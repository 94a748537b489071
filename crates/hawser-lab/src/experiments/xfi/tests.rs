use super::*;
use crate::experiments::verify::{Verdict, testing};

#[test]
fn what_is_computed_is_judged_and_what_is_missing_falls_short() {
    assert_eq!(testing::verdict(&LIST, "15", None), Verdict::Holds);
    assert_eq!(testing::verdict(&LIST, "5", None), Verdict::Holds);
    for missing in ["6", "8", "14"] {
        assert_eq!(testing::verdict(&LIST, missing, None), Verdict::FallsShort, "{missing}");
    }
}
