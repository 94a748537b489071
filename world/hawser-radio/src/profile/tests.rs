use proptest::prelude::*;

use super::*;

fn sample(at: u64, rate: u64) -> Sample {
    Sample { at, rate, delay: 10, loss: 0.1, up: true }
}

#[test]
fn steps_keep_changes_only() {
    let mut steps = Steps::new();
    for (at, rate) in [(0, 5), (10, 5), (20, 6), (20, 7), (30, 7)] {
        steps.push(sample(at, rate));
    }
    assert_eq!(steps.finish(), vec![sample(0, 5), sample(20, 7)]);
}

#[test]
fn layers_combine_loss_and_gaps() {
    let base = [sample(0, 5), sample(100, 6)];
    let all = layered(&base, &[(50, 0.5), (150, 0.0)], &gaps(&[(120, 130)]));
    let states: Vec<(u64, u64, bool)> =
        all.iter().map(|sample| (sample.at, sample.rate, sample.up)).collect();
    assert_eq!(
        states,
        [(0, 5, true), (50, 5, true), (100, 6, true), (120, 6, false), (130, 6, true), (150, 6, true)]
    );
    let losses: Vec<f64> = all.iter().map(|sample| sample.loss).collect();
    // 1 - 0.9 * 0.5
    for (got, wanted) in losses.iter().zip([0.1, 0.55, 0.55, 0.55, 0.55, 0.1]) {
        assert!((got - wanted).abs() < 1e-12, "{losses:?}");
    }
}

#[test]
fn gaps_that_touch_are_one() {
    assert_eq!(
        gaps(&[(10, 20), (15, 30), (30, 40), (50, 50), (60, 70)]),
        [(10, false), (40, true), (60, false), (70, true)]
    );
}

#[test]
fn positions_are_interpolated_and_held() {
    let place = |at, east| Position { at, metres: [east, 0.0, 0.0] };
    let profile = Profile { positions: vec![place(10, 1.0), place(20, 3.0)], ..Profile::default() };
    let east = |at| profile.position_at(at).map(|metres| metres[0]);
    assert_eq!([east(0), east(10), east(15), east(20), east(99)], [1.0, 1.0, 2.0, 3.0, 3.0].map(Some));
    assert_eq!(Profile::default().position_at(5), None);
}

proptest! {
    /// The layers must give at each time what each of them gives on its own.
    #[test]
    fn layering_is_pointwise(
        base in proptest::collection::btree_map(1u64..1000, 1u64..9, 0..20),
        loss in proptest::collection::btree_map(0u64..1000, 0u8..3, 0..20),
        gap in proptest::collection::btree_map(0u64..1000, 1u64..50, 0..10),
        at in 0u64..1100,
    ) {
        let mut list = vec![sample(0, 1)];
        list.extend(base.iter().map(|(at, rate)| sample(*at, *rate)));
        let loss: Vec<(u64, f64)> = loss.iter().map(|(at, loss)| (*at, f64::from(*loss) / 4.0)).collect();
        let holes: Vec<(u64, u64)> = gap.iter().map(|(at, length)| (*at, at + length)).collect();
        let all = layered(&list, &loss, &gaps(&holes));
        prop_assert!(all.windows(2).all(|pair| pair[0].at < pair[1].at));
        let got = sample_at(&all, at).copied().expect("from 0 on");
        let known = sample_at(&list, at).copied().expect("from 0 on");
        let extra = loss.iter().rev().find(|step| step.0 <= at).map_or(0.0, |step| step.1);
        prop_assert_eq!(got.rate, known.rate);
        prop_assert!((got.loss - (1.0 - 0.9 * (1.0 - extra))).abs() < 1e-12);
        prop_assert_eq!(got.up, !holes.iter().any(|hole| (hole.0..hole.1).contains(&at)));
    }
}

#[test]
fn the_mean_over_time_weighs_by_duration() {
    let list = [sample(0, 10), sample(250, 30)];
    assert!((time_mean(&list, 0, 1000, |sample| sample.rate as f64) - 25.0).abs() < 1e-9);
    assert!((time_mean(&list, 200, 300, |sample| sample.rate as f64) - 20.0).abs() < 1e-9);
}
