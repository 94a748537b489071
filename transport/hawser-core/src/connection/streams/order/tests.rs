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
    let mut turn = Turn::default();
    order.count(Cursor::default(), &mut turn, TURN - 1);
    order.rotate(Cursor::default(), &mut turn);
    assert_eq!(ids(&order), [2, 5, 1, 4, 6, 3]);
    order.count(Cursor::default(), &mut turn, 1);
    order.rotate(Cursor::default(), &mut turn);
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

/// Sends everything of the streams that have this much queued, in packets of `packet` bytes; a stream that is refilled gets its
/// amount again each time it is empty. Returns the bytes of each stream after `total`.
fn shares(refills: &[u64], packet: u64, total: u64) -> Vec<u64> {
    let mut order = SendOrder::default();
    let mut turns = vec![Turn::default(); refills.len()];
    let mut queued = refills.to_vec();
    let mut sent = vec![0; refills.len()];
    for (id, turn) in turns.iter_mut().enumerate() {
        order.begin(0, key(id as u64), turn);
    }
    while sent.iter().sum::<u64>() < total {
        let mut cursor = Cursor::default();
        let Some(key) = order.at(&mut cursor) else { break };
        let id = key.id.0 as usize;
        let bytes = packet.min(queued[id]);
        order.count(cursor, &mut turns[id], bytes);
        (queued[id], sent[id]) = (queued[id] - bytes, sent[id] + bytes);
        if queued[id] == 0 {
            order.remove(cursor);
            queued[id] = refills[id];
            order.begin(0, key, &mut turns[id]);
        } else {
            order.rotate(cursor, &mut turns[id]);
        }
    }
    sent
}

#[test]
fn a_stream_that_is_refilled_takes_no_more_than_its_share() {
    for refill in [100, 1_400, 14_000, TURN, 60_000] {
        let sent = shares(&[1 << 40, 1 << 40, 1 << 40, refill], 1_400, 40_000_000);
        let (least, most) = (*sent[..3].iter().min().unwrap(), *sent[..3].iter().max().unwrap());
        assert!(most - least <= 2 * TURN, "refilled with {refill}: {sent:?}");
        assert!(sent[3] <= least + 2 * TURN, "refilled with {refill}: {sent:?}");
    }
}

#[test]
fn what_had_nothing_to_send_for_a_round_goes_before_what_had_its_turn() {
    let mut order = SendOrder::default();
    let (mut bulk, mut keys) = ([Turn::default(); 3], Turn::default());
    for (id, turn) in bulk.iter_mut().enumerate() {
        order.begin(0, key(id as u64), turn);
    }
    let mut serve = |order: &mut SendOrder| {
        let mut cursor = Cursor::default();
        let turn = &mut bulk[order.at(&mut cursor).expect("queued").id.0 as usize];
        order.count(cursor, turn, TURN);
        order.rotate(cursor, turn);
    };
    (0..6).for_each(|_| serve(&mut order));
    for _ in 0..4 {
        order.begin(0, key(9), &mut keys);
        assert_eq!(order.at(&mut Cursor::default()), Some(key(9)));
        order.count(Cursor::default(), &mut keys, 20_000);
        order.remove(Cursor::default());
        // The others sent less meanwhile than it did.
        order.begin(0, key(9), &mut keys);
        assert_ne!(order.at(&mut Cursor::default()), Some(key(9)));
        order.remove_key(0, key(9));
        (0..3).for_each(|_| serve(&mut order));
    }
}

/// Six of 20 kB at a time, as of a page, next to three downloads.
#[test]
fn streams_that_begin_all_the_time_leave_the_others_their_share() {
    let mut order = SendOrder::default();
    let (mut bulk, mut sent, mut new, mut next) = ([Turn::default(); 3], [0; 3], 0_u64, 10);
    for (id, turn) in bulk.iter_mut().enumerate() {
        order.begin(0, key(id as u64), turn);
    }
    let mut objects = std::collections::HashMap::new();
    while new < 6_000_000 {
        while objects.len() < 6 {
            order.begin(0, key(next), &mut objects.entry(next).or_insert((Turn::default(), 20_000)).0);
            next += 1;
        }
        let mut cursor = Cursor::default();
        let front = order.at(&mut cursor).unwrap();
        if let Some((turn, left)) = objects.get_mut(&front.id.0) {
            order.count(cursor, turn, 1_000);
            (*left, new) = (*left - 1_000, new + 1_000);
            if *left == 0 {
                order.remove(cursor);
                objects.remove(&front.id.0);
            } else {
                order.rotate(cursor, turn);
            }
        } else {
            let at = front.id.0 as usize;
            order.count(cursor, &mut bulk[at], 1_000);
            sent[at] += 1_000;
            order.rotate(cursor, &mut bulk[at]);
        }
    }
    // Three of nine.
    let all: u64 = sent.iter().sum();
    assert!((new * 4 / 10..new * 6 / 10).contains(&all), "{all} next to {new}");
    assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 2 * TURN, "{sent:?}");
}
