use super::*;

fn lost(model: LossModel) -> Vec<bool> {
    let mut process = LossProcess::new(&model, 11);
    (0..400_000).map(|time| process.loses(time)).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

/// Mean length of the runs of losses.
fn mean_run(lost: &[bool]) -> f64 {
    let losses = lost.iter().filter(|&&lost| lost).count();
    let runs = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
    losses as f64 / runs as f64
}

#[test]
fn bernoulli_loses_its_share_without_memory() {
    let lost = lost(LossModel::Bernoulli { probability: 0.03 });
    assert!((share(&lost) - 0.03).abs() < 0.001);
    assert!((mean_run(&lost) - 1.0 / 0.97).abs() < 0.02);
}

#[test]
fn bursts_have_their_share_and_length() {
    for (loss, burst) in [(0.01, 5.0), (0.1, 20.0), (0.2, 2.0)] {
        let model = LossModel::bursts(loss, burst);
        assert!((model.mean().unwrap() - loss).abs() < 1e-9);
        let lost = lost(model);
        assert!((share(&lost) / loss - 1.0).abs() < 0.1, "share {} for {loss}", share(&lost));
        assert!((mean_run(&lost) / burst - 1.0).abs() < 0.1, "run {} for {burst}", mean_run(&lost));
    }
}

#[test]
fn gilbert_elliott_matches_its_stationary_loss() {
    let model =
        LossModel::GilbertElliott { good_to_bad: 0.02, bad_to_good: 0.1, loss_good: 0.001, loss_bad: 0.4 };
    assert!((share(&lost(model.clone())) / model.mean().unwrap() - 1.0).abs() < 0.05);
}

#[test]
fn a_loss_series_is_followed_in_time() {
    let series = Series::new(vec![(0, 0.0), (100, 0.5), (300, 0.1)], Some(1000)).unwrap();
    let model = LossModel::Series(series);
    assert!((model.mean().unwrap() - (0.5 * 200.0 + 0.1 * 700.0) / 1000.0).abs() < 1e-12);
    let lost = lost(model);
    let share_in = |from: usize, to: usize| {
        let phase: Vec<_> = lost.chunks(1000).flat_map(|turn| turn[from..to].iter().copied()).collect();
        share(&phase)
    };
    assert_eq!(share_in(0, 100), 0.0);
    // 80,000 and 280,000 packets: standard errors of 0.0018 and 0.0006.
    assert!((share_in(100, 300) - 0.5).abs() < 0.006, "{}", share_in(100, 300));
    assert!((share_in(300, 1000) - 0.1).abs() < 0.002, "{}", share_in(300, 1000));
}

#[test]
fn events_lose_runs_of_packets_at_their_mean_interval() {
    let lost = lost(LossModel::Events { mean_interval: 1000, packets: 7 });
    // Runs are a bit longer than 7, as an event may come within another: 0.7 % of them.
    assert!((mean_run(&lost) - 7.0).abs() < 0.15, "{}", mean_run(&lost));
    // 400 events: a standard error of 5 %.
    assert!((share(&lost) / 0.007 - 1.0).abs() < 0.15, "{}", share(&lost));
    assert_eq!(LossModel::Events { mean_interval: 1000, packets: 7 }.mean(), None);
}

/// Runs in the bad state of a model that loses everything there are geometric: `P(run > n) = (1 - p)^n`.
#[test]
fn gilbert_elliott_bursts_are_geometric() {
    let lost = lost(LossModel::bursts(0.1, 5.0));
    let runs: Vec<_> = lost.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect();
    for longer_than in [1, 2, 5, 10, 20] {
        let share = runs.iter().filter(|run| **run > longer_than).count() as f64 / runs.len() as f64;
        let expected = 0.8_f64.powi(longer_than as i32);
        // About 8,000 runs: a standard error below 0.0056.
        assert!((share - expected).abs() < 0.018, "longer than {longer_than}: {share}, expected {expected}");
    }
}
