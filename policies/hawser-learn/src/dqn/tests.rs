use super::*;

/// Rooms of the corridor.
const ROOMS: usize = 5;

fn room(at: usize) -> [f32; ROOMS] {
    std::array::from_fn(|number| f32::from(u8::from(number == at)))
}

fn settings() -> DqnSettings {
    DqnSettings {
        shapes: vec![ROOMS, 16, 16, 2],
        replay: 2_000,
        warm_up: 100,
        target_every: 100,
        exploration_steps: 3_000,
        ..DqnSettings::default()
    }
}

/// A corridor: 1 goes right, 0 left; behind the last room there is a reward of 1, and the end.
fn walk(learner: &mut Dqn, steps: usize) {
    let mut at = 0;
    for _ in 0..steps {
        let action = learner.explore(&room(at));
        let next = if action == 1 { at + 1 } else { at.saturating_sub(1) };
        let (reward, next_room) = if next == ROOMS { (1.0, None) } else { (0.0, Some(room(next))) };
        let next_room = next_room.as_ref().map(<[f32; ROOMS]>::as_slice);
        learner.learn(&Transition { state: &room(at), action, reward, next: next_room });
        at = next % ROOMS;
    }
}

/// Values are powers of the discount: 0.9^4 from the first room on to 1 in the last; going left costs two more.
#[test]
fn a_corridor_is_learnt() {
    let mut learner = Dqn::new(settings(), 7);
    walk(&mut learner, 6_000);
    for at in 0..ROOMS {
        assert_eq!(learner.best(&room(at)), 1, "{at}");
        let value = |exponent: usize| 0.9f32.powi(i32::try_from(exponent).unwrap());
        let right = value(ROOMS - 1 - at);
        let left = value(ROOMS - at.saturating_sub(1));
        let values = learner.network.forward(&room(at));
        assert!((values[1] - right).abs() < 0.05, "{at}: {values:?}, {right}");
        assert!((values[0] - left).abs() < 0.08, "{at}: {values:?}, {left}");
    }
}

#[test]
fn the_same_seed_gives_the_same_network() {
    let learned = |seed| {
        let mut learner = Dqn::new(settings(), seed);
        walk(&mut learner, 500);
        learner.network().write()
    };
    assert_eq!(learned(1), learned(1));
    assert_ne!(learned(1), learned(2));
}

#[test]
fn exploration_falls_evenly_to_its_end() {
    let mut learner = Dqn::new(settings(), 1);
    let mut by_chance = 0;
    for number in 0..4_000 {
        match number {
            0 => assert_eq!(learner.exploration(), 1.0),
            1_500 => assert!((learner.exploration() - 0.525).abs() < 1e-9),
            3_000.. => assert!((learner.exploration() - 0.05).abs() < 1e-9),
            _ => {}
        }
        let best = learner.best(&room(0));
        by_chance += u32::from(learner.explore(&room(0)) != best);
    }
    // Half of what chance decides is the best action all the same: (3000 * 0.525 + 1000 * 0.05) / 2.
    assert!((750..880).contains(&by_chance), "{by_chance}");
    assert_eq!(learner.decisions(), 4_000);
}

#[test]
fn what_is_no_number_is_ignored() {
    let mut learner = Dqn::new(DqnSettings { warm_up: 1, ..settings() }, 1);
    let before = learner.network().clone();
    for (reward, action) in [(f32::NAN, 0), (f32::INFINITY, 1), (0.0, 2)] {
        learner.learn(&Transition { state: &room(0), action, reward, next: None });
    }
    learner.learn(&Transition { state: &[f32::NAN; ROOMS], action: 0, reward: 0.0, next: None });
    assert_eq!(*learner.network(), before);
}

/// The target stays as it was between two renewals.
#[test]
fn the_target_is_renewed_now_and_then() {
    let mut learner = Dqn::new(DqnSettings { warm_up: 1, target_every: 3, ..settings() }, 1);
    let first = learner.target.clone();
    for number in 1..=6u64 {
        learner.learn(&Transition { state: &room(1), action: 1, reward: 1.0, next: None });
        let is_new = number % 3 == 0;
        assert_eq!(learner.target.parameters() == learner.network.parameters(), is_new, "{number}");
        assert_eq!(learner.target.parameters() == first.parameters(), number < 3, "{number}");
    }
}
