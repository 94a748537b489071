use crate::experiments::lists;
use crate::experiments::verify::{Verdict, testing};

#[test]
fn what_takes_seconds_holds() {
    for item in ["5", "12", "15"] {
        assert_eq!(testing::verdict("xfi", item, None), Verdict::Holds, "{item}");
    }
}

#[test]
fn what_must_hold_is_marked_as_in_the_sheet() {
    let list = lists::find("xfi").unwrap();
    let musts: Vec<&str> = list.items.iter().filter(|item| item.must).map(|item| item.id.as_str()).collect();
    assert_eq!(musts, ["1", "2", "3", "4", "13", "15", "14"]);
}
