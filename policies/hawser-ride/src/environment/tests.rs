use super::*;
use crate::gop::members;
use crate::{Arrival, Purpose, Viewing};

fn short(config: Config) -> Config {
    Config { frames: 200, ..config }
}

/// One session; what became of its units, and the hash.
fn random_session(config: Config, seed: u64) -> (Vec<Outcome>, u64) {
    let mut environment = Environment::new(config, seed).unwrap();
    environment.record();
    let mut random = Random::new(seed);
    loop {
        // Two in eleven are skipped.
        let action = [0, 1, 1, 1, 2, 2, 0, 1, 1, 2, 1][(random.fraction() * 11.0) as usize];
        if environment.step(action).ends_session {
            return (environment.take_outcomes(), environment.trace_hash());
        }
    }
}

#[test]
fn the_same_seed_and_actions_give_the_same_session() {
    for config in [Config::episodic(Purpose::Training), Config::continuous(Purpose::Judging)] {
        let first = random_session(short(config.clone()), 5);
        assert_eq!(first, random_session(short(config.clone()), 5));
        assert_ne!(first.1, random_session(short(config), 6).1);
    }
}

/// Item 13: with views that switch every second nothing is decoded without all that it needs, and nothing is sent twice.
#[test]
fn nothing_is_decoded_without_its_references() {
    for seed in 0..5 {
        let config = Config { viewing: Viewing::Switching, ..short(Config::episodic(Purpose::Judging)) };
        let mut environment = Environment::new(config, seed).unwrap();
        environment.record();
        let mut random = Random::new(seed);
        let mut sent = vec![0; 4 * TILES];
        loop {
            let unit = *environment.unit();
            let action = (random.fraction() * 3.0) as usize;
            if action != SKIP {
                let known = &mut sent[unit.frame / 50 * TILES + unit.tile];
                assert_eq!(*known & unit.bundle, 0, "sent twice: {unit:?}");
                *known |= unit.bundle;
            }
            if environment.step(action).ends_session {
                break;
            }
        }
        let outcomes = environment.take_outcomes();
        let gop = crate::Gop::of_fifty();
        let mut decoded = 0;
        for outcome in outcomes.iter().filter(|outcome| outcome.decode.is_finite()) {
            let needed = gop.closure(outcome.frame % 50);
            assert_eq!(needed & !sent[outcome.frame / 50 * TILES + outcome.tile], 0, "{outcome:?}");
            decoded += 1;
        }
        assert!(decoded > 100 && decoded < outcomes.len(), "{decoded}");
    }
}

/// Rewards with their corrections add up to those of the outcomes.
#[test]
fn corrections_complete_rewards() {
    let mut environment = Environment::new(short(Config::episodic(Purpose::Training)), 2).unwrap();
    environment.record();
    let mut random = Random::new(1);
    let mut rewards = Vec::new();
    let mut corrected = 0;
    loop {
        let step = environment.step((random.fraction() * 3.0) as usize);
        rewards.push(step.reward);
        for correction in environment.corrections() {
            rewards[correction.decision as usize] += correction.change;
            corrected += 1;
        }
        if step.ends_session {
            break;
        }
    }
    let outcomes = environment.take_outcomes();
    assert_eq!(outcomes.len(), rewards.len());
    assert!(corrected > 100, "{corrected}");
    assert!(outcomes.iter().zip(&rewards).all(|(outcome, reward)| (outcome.reward - reward).abs() < 1e-9));
}

/// A unit is decoded when the last of what it needs is there.
#[test]
fn decode_times_follow_the_tree() {
    let (outcomes, _) = random_session(short(Config::episodic(Purpose::Judging)), 3);
    let gop = crate::Gop::of_fifty();
    for outcome in outcomes.iter().filter(|outcome| outcome.decode.is_finite()) {
        assert!(outcome.decode >= outcome.arrival);
        let references = gop.references(outcome.frame % 50).into_iter().flatten();
        for reference in references {
            let frame = outcome.frame - outcome.frame % 50 + reference;
            let unit = outcomes.iter().find(|it| (it.frame, it.tile) == (frame, outcome.tile));
            assert!(unit.is_none_or(|unit| unit.decode <= outcome.decode), "{outcome:?} {unit:?}");
        }
    }
}

/// E2: the queue that a frame left is there when the next one comes.
#[test]
fn queues_last_in_the_continuous_environment() {
    for (kind, lasts) in [(Kind::Episodic, false), (Kind::Continuous, true)] {
        let config = Config { kind, ..short(Config::episodic(Purpose::Judging)) };
        let mut environment = Environment::new(config, 1).unwrap();
        while !environment.step(2).ends_frame {}
        assert_eq!(environment.paths()[1].queued > 0.0, lasts);
    }
}

/// In decode order a B frame finds its references decided about: nothing is corrected later, and they arrive before it.
#[test]
fn decode_order_leaves_nothing_to_correct() {
    let config = Config { order: Order::Decode, ..short(Config::episodic(Purpose::Judging)) };
    let mut environment = Environment::new(config, 2).unwrap();
    environment.record();
    loop {
        let unit = *environment.unit();
        let step = environment.step(1);
        assert!(environment.corrections().is_empty(), "{unit:?}");
        if step.ends_session {
            break;
        }
    }
    let outcomes = environment.take_outcomes();
    let display = random_session(short(Config::episodic(Purpose::Judging)), 2).0;
    let units = |outcomes: &[Outcome]| {
        let mut units: Vec<_> = outcomes.iter().map(|it| (it.frame, it.tile)).collect();
        units.sort_unstable();
        units
    };
    assert_eq!(units(&outcomes), units(&display), "the same tiles of the same frames");
    // The P frame behind three B frames leaves three frames sooner, the B frames one later; playback is the same.
    let found = |outcomes: &[Outcome], frame| outcomes.iter().find(|it| it.frame == frame).copied().unwrap();
    for (frame, sooner) in [(0, 0.0), (4, 3.0), (1, -1.0), (49, 0.0)] {
        let (decode, display) = (found(&outcomes, frame), found(&display, frame));
        assert!((display.release - decode.release - sooner * crate::FRAME_SECONDS).abs() < 1e-9, "{frame}");
        assert_eq!(decode.playback.start, display.playback.start);
    }
}

/// Without losses a window that has room for the frame costs no round; one that has not costs some, and more with losses.
#[test]
fn rounds_of_a_window_are_added_to_the_queue() {
    let delay = |arrival, max_loss| {
        let config = Config { arrival, max_loss, ..short(Config::episodic(Purpose::Judging)) };
        let mut environment = Environment::new(config, 3).unwrap();
        environment.record();
        while !environment.step(1).ends_session {}
        let outcomes = environment.take_outcomes();
        outcomes.iter().map(|it| it.arrival - it.release).sum::<f64>() / outcomes.len() as f64
    };
    let [sampled, without_loss, with_loss] =
        [(Arrival::Sampled, 0.0), (Arrival::Rounds, 0.0), (Arrival::Rounds, 0.02)]
            .map(|it| delay(it.0, it.1));
    assert!(sampled < without_loss && without_loss < with_loss, "{sampled} {without_loss} {with_loss}");
}

#[test]
fn what_makes_no_sense_is_told_so() {
    let config = Config::episodic(Purpose::Training);
    let rounds = Config { arrival: Arrival::Rounds, ..Config::continuous(Purpose::Training) };
    assert_eq!(Environment::new(rounds, 1).map(|_| ()), Err(ConfigError::Rounds));
    assert!(matches!(
        Environment::new(Config { frames: 60, ..config.clone() }, 1),
        Err(ConfigError::Frames(60))
    ));
    let wrong = Config { max_loss: f64::NAN, ..config };
    assert!(matches!(Environment::new(wrong, 1), Err(ConfigError::Range { .. })));
}

/// What is fetched along is not viewed, and I and P frames.
#[test]
fn bundles_have_what_is_not_viewed() {
    let config = Config { viewing: Viewing::Switching, ..short(Config::episodic(Purpose::Judging)) };
    let mut environment = Environment::new(config, 4).unwrap();
    let mut fetched = 0;
    for _ in 0..5_000 {
        let unit = *environment.unit();
        let views = environment.views.of(unit.frame / 50, unit.tile);
        for member in members(unit.bundle & !bit(unit.frame % 50)) {
            assert!(views & bit(member) == 0 && crate::Gop::of_fifty().kind(member) != FrameKind::B);
            fetched += 1;
        }
        environment.step(1);
    }
    assert!(fetched > 0);
}
