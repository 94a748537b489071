use super::*;
use crate::random::generator;
use crate::rate::{RateModel, RateServer};
use crate::time::{MILLISECOND, SECOND};

fn level(value: u64, mean_stay: Nanos) -> Level {
    Level { value, mean_stay }
}

/// Spans from time zero until `until`.
fn spans(steps: &RandomSteps, until: Nanos) -> Vec<Span<u64>> {
    let mut cursor = RandomCursor::new(steps.clone(), generator(5, "steps"));
    let mut spans = Vec::new();
    let mut time = 0;
    while time < until {
        spans.push(cursor.span_at(time));
        time = spans[spans.len() - 1].until;
        cursor.forget(time);
    }
    spans
}

#[test]
fn a_markov_chain_spends_its_stationary_shares_of_time() {
    let levels =
        vec![level(10, 100 * MILLISECOND), level(20, 300 * MILLISECOND), level(30, 50 * MILLISECOND)];
    // Jumps: pi = pi P has the solution (0.4, 0.4, 0.2); times the stays: 40, 120, 10 of 170.
    let moves = vec![vec![0.0, 0.75, 0.25], vec![0.75, 0.0, 0.25], vec![0.5, 0.5, 0.0]];
    let expected = [40.0 / 170.0, 120.0 / 170.0, 10.0 / 170.0];
    let chain = MarkovLevels::new(levels, Some(moves)).unwrap();
    for (share, expected) in chain.shares().iter().zip(expected) {
        assert!((share - expected).abs() < 1e-9, "{share}, expected {expected}");
    }
    let steps = RandomSteps::Markov(chain);
    // About 120,000 stays: the standard error of a share is below 0.003.
    let end = 20_000 * SECOND;
    let spans = spans(&steps, end);
    for (value, expected) in [(10, expected[0]), (20, expected[1]), (30, expected[2])] {
        let of_value = spans.iter().filter(|span| span.value == value);
        let share = of_value.clone().map(|span| span.until - span.from).sum::<u64>() as f64 / end as f64;
        assert!((share - expected).abs() < 0.01, "level {value}: {share}, expected {expected}");
    }
    let stays: Vec<_> =
        spans.iter().filter(|span| span.value == 30).map(|span| span.until - span.from).collect();
    let mean = stays.iter().sum::<u64>() as f64 / stays.len() as f64 / MILLISECOND as f64;
    assert!((mean / 50.0 - 1.0).abs() < 0.03, "mean stay {mean} ms");
}

#[test]
fn without_a_matrix_all_other_levels_are_as_likely() {
    let chain = MarkovLevels::new(vec![level(1, 10), level(2, 30)], None).unwrap();
    assert!((chain.shares()[0] - 0.25).abs() < 1e-9);
    assert!((RandomSteps::Markov(chain).mean() - 1.75).abs() < 1e-9);
}

#[test]
fn redraws_are_uniform_around_the_base() {
    let interval = 100 * MILLISECOND;
    let spans = spans(&RandomSteps::Redraw { base: 20_000, spread: 0.2, interval }, 10_000 * SECOND);
    assert!(spans.iter().all(|span| span.until - span.from == interval));
    assert!(spans.iter().all(|span| (16_000..=24_000).contains(&span.value)));
    let mean = spans.iter().map(|span| span.value as f64).sum::<f64>() / spans.len() as f64;
    let below = spans.iter().filter(|span| span.value < 18_000).count() as f64 / spans.len() as f64;
    assert!((mean - 20_000.0).abs() < 30.0 && (below - 0.25).abs() < 0.01, "mean {mean}, below {below}");
}

#[test]
fn an_autoregressive_walk_has_its_mean_deviation_and_correlation() {
    let (mean, deviation) = (1_000_000, 100_000);
    let steps = RandomSteps::Autoregressive { mean, deviation, correlation: 0.9, interval: MILLISECOND };
    // 400,000 values, correlated: worth about 21,000 independent ones.
    let values: Vec<f64> = spans(&steps, 400 * SECOND).iter().map(|span| span.value as f64).collect();
    let count = values.len() as f64;
    let found = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - found).powi(2)).sum::<f64>() / count;
    let product = values.windows(2).map(|pair| (pair[0] - found) * (pair[1] - found)).sum::<f64>() / count;
    assert!((found / mean as f64 - 1.0).abs() < 0.005, "mean {found}");
    assert!((variance.sqrt() / deviation as f64 - 1.0).abs() < 0.03, "deviation {}", variance.sqrt());
    assert!((product / variance - 0.9).abs() < 0.01, "correlation {}", product / variance);
}

#[test]
fn a_saturated_server_sends_what_the_realised_series_says() {
    let levels = vec![level(2_000_000, 200 * MILLISECOND), level(30_000_000, 300 * MILLISECOND)];
    let model = RateModel::Random(RandomSteps::Markov(MarkovLevels::new(levels, None).unwrap()));
    let mut server = RateServer::new(&model, 7);
    let (mut time, mut bits) = (0, 0);
    while time < 100 * SECOND {
        time = server.finish(time, 1500);
        bits += 12_000;
    }
    let realised = model.realised(7, time).capacity_bits(time).unwrap();
    // Each packet loses less than one nanosecond.
    assert!(bits <= realised && realised - bits < 12_000, "{bits} of {realised}");
    let expected = model.capacity_bits(time).unwrap();
    assert!((realised as f64 / expected as f64 - 1.0).abs() < 0.1);
}

#[test]
fn what_is_not_forgotten_can_be_asked_for_again() {
    let levels = vec![level(1, MILLISECOND), level(2, MILLISECOND), level(3, MILLISECOND)];
    let steps = RandomSteps::Markov(MarkovLevels::new(levels, None).unwrap());
    let mut cursor = RandomCursor::new(steps, generator(5, "steps"));
    let times: Vec<_> = (0..2000).map(|step| step * MILLISECOND / 7).collect();
    let first: Vec<_> = times.iter().map(|time| cursor.span_at(*time)).collect();
    assert!(first.iter().zip(&times).all(|(span, time)| span.contains(*time)));
    cursor.forget(times[900]);
    let again: Vec<_> = times[900..].iter().rev().map(|time| cursor.span_at(*time)).collect();
    assert!(again.iter().eq(first[900..].iter().rev()));
}

#[test]
fn bad_chains_are_refused() {
    let two = || vec![level(1, 10), level(2, 10)];
    assert_eq!(MarkovLevels::new(vec![level(1, 10)], None), Err(MarkovError::TooFewLevels(1)));
    assert_eq!(
        MarkovLevels::new(vec![level(1, 10), level(2, 0)], None),
        Err(MarkovError::NoStay { level: 2 })
    );
    let moves =
        |rows: &[&[f64]]| MarkovLevels::new(two(), Some(rows.iter().map(|row| row.to_vec()).collect()));
    assert_eq!(moves(&[&[0.5, 0.5]]), Err(MarkovError::Shape { row: 2, found: 0, expected: 2 }));
    assert_eq!(moves(&[&[0.5, 0.5], &[1.0]]), Err(MarkovError::Shape { row: 2, found: 1, expected: 2 }));
    assert_eq!(moves(&[&[0.5, 0.4], &[1.0, 0.0]]), Err(MarkovError::NotADistribution { row: 1, sum: 0.9 }));
    assert!(matches!(moves(&[&[1.5, -0.5], &[1.0, 0.0]]), Err(MarkovError::NotADistribution { row: 1, .. })));
}

#[test]
fn a_silence_fills_no_memory() {
    let steps = RandomSteps::Redraw { base: 100, spread: 0.5, interval: 1000 };
    let cursor = || RandomCursor::new(steps.clone(), generator(5, "steps"));
    let (mut kept, mut lean) = (cursor(), cursor());
    lean.forget(SECOND);
    assert_eq!(lean.span_at(SECOND), kept.span_at(SECOND));
    assert!(lean.kept() <= 2 && kept.kept() == 1_000_001, "{}", lean.kept());
}
