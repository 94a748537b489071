use super::*;
use crate::experiments::verify::{Verdict, testing};

#[test]
fn what_takes_seconds_holds() {
    for item in ["5", "12", "15"] {
        assert_eq!(testing::verdict("xfi", item, None), Verdict::Holds, "{item}");
    }
}

#[test]
fn what_must_hold_is_marked_as_in_the_sheet() {
    let musts: Vec<&str> = LIST.items().filter(|item| item.must).map(|item| item.id).collect();
    assert_eq!(musts, ["1", "2", "3", "4", "13", "15", "14"]);
}
