use hawser_policy::StreamId;

use super::*;

fn key(id: u64) -> Key {
    Key { slot: id as u32, id: StreamId(id) }
}

fn ids(order: &SendOrder) -> Vec<u64> {
    order.iter().map(|key| key.id.0).collect()
}

#[test]
fn priority_first_then_turns() {
    let mut order = SendOrder::default();
    for (priority, id) in [(0, 1), (5, 2), (-3, 3), (0, 4), (5, 5), (0, 6)] {
        order.push(priority, key(id));
    }
    assert_eq!(ids(&order), [2, 5, 1, 4, 6, 3]);
    order.rotate(Cursor::default());
    assert_eq!(ids(&order), [5, 2, 1, 4, 6, 3]);
    let mut cursor = Cursor { level: 1, position: 1 };
    assert_eq!(order.at(&mut cursor), Some(key(4)));
    order.remove(cursor);
    assert_eq!(order.at(&mut cursor), Some(key(6)));
    order.remove_key(-3, key(3));
    assert_eq!(ids(&order), [5, 2, 1, 6]);
}

#[test]
fn a_walk_crosses_levels_and_ends() {
    let mut order = SendOrder::default();
    for id in 0..4 {
        order.push(-(id as i32 / 2), key(id));
    }
    let mut cursor = Cursor::default();
    let mut seen = Vec::new();
    while let Some(key) = order.at(&mut cursor) {
        seen.push(key.id.0);
        cursor = cursor.next();
    }
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn levels_do_not_pile_up() {
    let mut order = SendOrder::default();
    for priority in 0..1_000 {
        order.push(priority, key(7));
        order.remove_key(priority, key(7));
    }
    assert!(order.levels.len() <= 1);
}
