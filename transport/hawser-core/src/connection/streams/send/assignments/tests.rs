use std::collections::BTreeMap;

use hawser_policy::PathId;
use proptest::prelude::*;

use super::{Assignments, MAX_ASSIGNMENTS};

const END: u64 = 100;

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64, u32),
    Remove(u64, u64),
    RemovePath(u32),
    Trim(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let ends = (0..END, 0..END);
    prop_oneof![
        4 => (ends.clone(), 0..3u32).prop_map(|((a, b), path)| Op::Insert(a.min(b), a.max(b) + 1, path)),
        3 => ends.prop_map(|(a, b)| Op::Remove(a.min(b), a.max(b))),
        1 => (0..3u32).prop_map(Op::RemovePath),
        1 => (0..END / 2).prop_map(Op::Trim),
    ]
}

proptest! {
    #[test]
    fn agrees_with_a_map_of_bytes(ops in prop::collection::vec(op(), 1..60)) {
        let mut assignments = Assignments::default();
        let mut model = BTreeMap::new();
        let mut trimmed = 0;
        for op in ops {
            match op {
                Op::Insert(start, end, path) => {
                    prop_assert!(assignments.insert(start..end, PathId(path)));
                    model.extend((start..end).map(|at| (at, PathId(path))));
                }
                Op::Remove(start, end) => {
                    let held = (start.max(trimmed)..end).any(|at| model.remove(&at).is_some());
                    (start..end).for_each(|at| { model.remove(&at); });
                    let removed = assignments.remove(start..end);
                    prop_assert!(removed || !held);
                }
                Op::RemovePath(path) => {
                    assignments.remove_path(PathId(path));
                    model.retain(|_, owner| *owner != PathId(path));
                }
                Op::Trim(offset) => {
                    assignments.trim(offset);
                    trimmed = trimmed.max(offset);
                }
            }
            for at in trimmed..=END {
                prop_assert_eq!(assignments.at(at).0, model.get(&at).copied(), "at {}", at);
            }
            for path in [PathId(0), PathId(1), PathId(9)] {
                let allowed = |at: &u64| model.get(at).is_none_or(|owner| *owner == path);
                let first = (trimmed..END).find(allowed);
                let found = assignments.first_allowed(trimmed..END, path);
                prop_assert_eq!(found.clone().map(|range| range.start), first);
                prop_assert!(found.is_none_or(|range| range.clone().all(|at| allowed(&at))));
            }
        }
    }
}

#[test]
fn neighbours_are_joined_and_the_number_is_bounded() {
    let mut assignments = Assignments::default();
    for at in 0..1_000 {
        assert!(assignments.insert(at..at + 1, PathId(1)));
    }
    assert_eq!(assignments.0.len(), 1);
    let refused = (0..10_000u64).filter(|at| !assignments.insert(2 * at..2 * at + 1, PathId(2))).count();
    assert!(assignments.0.len() <= MAX_ASSIGNMENTS && refused > 0);
}
