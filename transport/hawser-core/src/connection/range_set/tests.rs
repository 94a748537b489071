use proptest::prelude::*;

use super::*;

const SIZE: u64 = 64;

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    Remove(u64, u64),
    Absorb(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let range = (0..SIZE, 0..SIZE).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        4 => range.clone().prop_map(|(start, end)| Op::Insert(start, end)),
        3 => range.prop_map(|(start, end)| Op::Remove(start, end)),
        1 => (0..SIZE).prop_map(Op::Absorb),
    ]
}

fn check(set: &RangeSet, model: &[bool]) {
    let mut expected: Vec<Range<u64>> = Vec::new();
    for offset in (0..SIZE).filter(|&offset| model[offset as usize]) {
        match expected.last_mut() {
            Some(last) if last.end == offset => last.end += 1,
            _ => expected.push(offset..offset + 1),
        }
        assert!(set.contains(offset));
    }
    assert_eq!(set.iter().collect::<Vec<_>>(), expected);
    assert_eq!(set.bytes(), model.iter().filter(|&&held| held).count() as u64);
    assert_eq!(set.is_empty(), expected.is_empty());
    assert_eq!((set.first(), set.last()), (expected.first().cloned(), expected.last().cloned()));
}

proptest! {
    #[test]
    fn behaves_like_a_set_of_bytes(ops in prop::collection::vec(op(), 1..60)) {
        let mut set = RangeSet::default();
        let mut model = vec![false; SIZE as usize];
        for op in ops {
            match op {
                Op::Insert(start, end) => {
                    let part = &mut model[start as usize..end as usize];
                    let new = part.iter().filter(|&&held| !held).count() as u64;
                    part.fill(true);
                    prop_assert_eq!(set.insert(start..end), new);
                }
                Op::Remove(start, end) => {
                    let part = &mut model[start as usize..end as usize];
                    let gone = part.iter().filter(|&&held| held).count() as u64;
                    part.fill(false);
                    prop_assert_eq!(set.remove(start..end), gone);
                }
                Op::Absorb(offset) => {
                    let mut end = offset as usize;
                    while end < model.len() && model[end] {
                        end += 1;
                    }
                    model[..end].fill(false);
                    prop_assert_eq!(set.absorb(offset), end as u64);
                }
            }
            check(&set, &model);
        }
        let missing = set.first_missing(3..SIZE - 3);
        let start = (3..SIZE - 3).find(|&offset| !model[offset as usize]);
        let end = |start: u64| (start..SIZE - 3).find(|&o| model[o as usize]).unwrap_or(SIZE - 3);
        prop_assert_eq!(missing, start.map(|start| start..end(start)));
    }
}

/// Every sequence of three insertions and removals of ranges within six offsets, and of four within four.
#[test]
fn every_short_sequence_behaves_like_a_set_of_bytes() {
    fn go(set: &RangeSet, model: &[bool; SIZE as usize], size: u64, left: u32) {
        check(set, model);
        if left == 0 {
            return;
        }
        for (start, end) in (0..size).flat_map(|start| (start + 1..=size).map(move |end| (start, end))) {
            for inserts in [true, false] {
                let (mut set, mut model) = (set.clone(), *model);
                let part = &mut model[start as usize..end as usize];
                let changed = part.iter().filter(|held| **held != inserts).count() as u64;
                part.fill(inserts);
                let found = if inserts { set.insert(start..end) } else { set.remove(start..end) };
                assert_eq!(found, changed, "{start}..{end}");
                go(&set, &model, size, left - 1);
            }
        }
    }
    go(&RangeSet::default(), &[false; SIZE as usize], 6, 3);
    go(&RangeSet::default(), &[false; SIZE as usize], 4, 4);
}
