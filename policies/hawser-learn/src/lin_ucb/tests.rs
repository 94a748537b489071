use super::*;
use crate::Random;

/// 4D-MAP's vector: theta = (0.888889, 0.444444) after one update with reward 2.
#[test]
fn one_update_gives_the_known_model() {
    let mut bandit = LinUcb::new(2, 2, 0.8);
    bandit.update(0, &[1.0, 0.5], 2.0);
    assert!((bandit.prediction(0, &[1.0, 0.0]) - 0.888_889).abs() < 1e-6);
    assert!((bandit.prediction(0, &[0.0, 1.0]) - 0.444_444).abs() < 1e-6);
    assert_eq!(bandit.choose(&[1.0, 0.5]), 0);
    assert_eq!(bandit.prediction(1, &[1.0, 0.5]), 0.0);
}

#[test]
fn what_is_no_number_does_not_spoil_the_model() {
    let mut bandit = LinUcb::new(1, 2, 0.8);
    let before = bandit.clone();
    bandit.update(0, &[f64::NAN, 1.0], 1.0);
    bandit.update(0, &[1.0, 1.0], f64::INFINITY);
    bandit.update(9, &[1.0, 1.0], 1.0);
    assert_eq!(bandit, before);
}

/// Four arms, 13 features, noise of 0.1: in decisions 500 to 1000 the best arm at least nine times of ten.
#[test]
fn the_best_arm_of_a_linear_problem_is_found() {
    let mut random = Random::new(1);
    let models: Vec<Vec<f64>> = (0..4).map(|_| (0..13).map(|_| random.fraction() - 0.5).collect()).collect();
    let mut bandit = LinUcb::new(4, 13, 0.8);
    let mut right = 0;
    for round in 0..1_000 {
        let context: Vec<f64> = (0..13).map(|_| random.fraction()).collect();
        let means: Vec<f64> = models.iter().map(|model| dot(model, &context)).collect();
        let arm = bandit.choose(&context);
        let best = means.iter().copied().fold(f64::MIN, f64::max);
        // Arms that the noise does not tell apart are equally right.
        right += usize::from(round >= 500 && means[arm] >= best - 0.1);
        bandit.update(arm, &context, means[arm] + 0.1 * random.normal());
    }
    assert!(right >= 450, "{right} of 500");
}

/// A few updates of a bandit with two arms.
fn taught(mut bandit: LinUcb) -> LinUcb {
    let mut random = Random::new(3);
    for round in 0..40 {
        let context = [0; 3].map(|_| random.fraction());
        bandit.update(round % 2, &context, context[0] - context[2]);
    }
    bandit
}

#[test]
fn a_model_that_is_stored_and_loaded_goes_on_as_before() {
    for memory in [1.0, 0.99] {
        let learned = taught(LinUcb::new(2, 3, 0.8).with_forgetting(memory));
        let mut loaded = LinUcb::new(2, 3, 0.8).with_forgetting(memory);
        for arm in 0..2 {
            assert!(loaded.load(arm, &learned.arm(arm).unwrap()));
        }
        let (learned, loaded) = (taught(learned), taught(loaded));
        for arm in 0..2 {
            let context = [0.3, 0.9, 0.1];
            assert!((learned.score(arm, &context) - loaded.score(arm, &context)).abs() < 1e-9);
        }
        assert_eq!(learned.arm(2), None);
    }
}

#[test]
fn a_model_that_does_not_fit_is_not_loaded() {
    let mut bandit = taught(LinUcb::new(2, 3, 0.8));
    let before = bandit.clone();
    let sound = bandit.arm(0).unwrap();
    assert!(!bandit.load(2, &sound));
    assert!(!bandit.load(0, &LinUcb::new(1, 2, 0.8).arm(0).unwrap()));
    assert!(!bandit.load(0, &LinUcbArm { b: vec![f64::NAN; 3], ..sound.clone() }));
    assert!(!bandit.load(0, &LinUcbArm { matrix: vec![1.0; 9], ..sound }));
    assert_eq!(bandit, before);
}

/// A memory next to 1 gives what Sherman and Morrison's formula gives; a shorter one follows a reward that changes.
#[test]
fn what_is_forgotten_no_longer_counts() {
    let (plain, slow) =
        (taught(LinUcb::new(2, 3, 0.8)), taught(LinUcb::new(2, 3, 0.8).with_forgetting(1.0 - 1e-12)));
    let context = [0.2, 0.4, 0.8];
    assert!((plain.score(0, &context) - slow.score(0, &context)).abs() < 1e-9);
    let changed = |memory: f64| {
        let mut bandit = LinUcb::new(1, 1, 0.8).with_forgetting(memory);
        (0..200).for_each(|_| bandit.update(0, &[1.0], 1.0));
        (0..50).for_each(|_| bandit.update(0, &[1.0], 0.0));
        bandit.prediction(0, &[1.0])
    };
    assert!(changed(1.0) > 0.75 && changed(0.9) < 0.01, "{} {}", changed(1.0), changed(0.9));
}
