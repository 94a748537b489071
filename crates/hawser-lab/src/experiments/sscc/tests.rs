use super::*;
use crate::experiments::verify::{Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict(&LIST, id, substitute)
}

/// Items 12 and 14 must hold as well; the one takes long, and the other measures time: docs/sscc.md.
#[test]
fn of_what_must_hold_this_does() {
    for id in ["1", "2", "11", "13", "15"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: without coupling there are neither groups nor decisions.
#[test]
fn without_coupling_it_falls_short() {
    for id in ["15", "R1"] {
        assert_eq!(verdict(id, Some("sscc,coupling=off,selection=rule")), Verdict::FallsShort, "{id}");
    }
}
