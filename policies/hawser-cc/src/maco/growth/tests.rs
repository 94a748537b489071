use super::*;

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-4 * expected.max(1.0), "{actual} instead of {expected}");
}

/// Flows as (window, round-trip time, largest round-trip time); the growth of the first.
fn increase_of(flows: &[(f64, f64, f64)]) -> f64 {
    let rates = flows.iter().map(|(window, rtt, largest)| Rate { rate: window / rtt, largest_rtt: *largest });
    coupled_increase(flows[0].1, rates)
}

/// Golden vectors of the list.
#[test]
fn increases_are_those_of_the_golden_vectors() {
    assert_close(increase_of(&[(100.0, 0.1, 0.1)]), 0.15);
    assert_close(increase_of(&[(100.0, 0.1, 0.4)]), 0.30);
    assert_close(increase_of(&[(100.0, 0.1, 0.1), (100.0, 0.1, 0.1)]), 0.0265165);
    let (first, second) = ((100.0, 0.05, 0.08), (50.0, 0.1, 0.15));
    assert_close(increase_of(&[first, second]), 0.1086116);
    assert_close(increase_of(&[second, first]), 0.0543058);
}

/// n equal subflows grow together by 1.5 / n^2 of sqrt(T W / rtt), where W is the sum of their windows.
#[test]
fn the_sum_of_n_equal_flows_grows_by_the_square_of_n_less() {
    for count in 1..=8 {
        let total = 400.0;
        let flows = vec![(total / f64::from(count), 0.1, 0.16); count as usize];
        let per_round: f64 = flows.iter().map(|flow| flow.0 * increase_of(&flows)).sum();
        let expected = 1.5 / f64::from(count * count) * (0.16f64 / 0.1 * total).sqrt();
        assert!((per_round / expected - 1.0).abs() < 0.01, "{count}: {per_round} instead of {expected}");
    }
}

#[test]
fn units_of_time_cancel_and_growth_is_at_most_that_of_slow_start() {
    assert_close(increase_of(&[(100.0, 100.0, 400.0)]), 0.30);
    // 1.5 sqrt(4 / 4) datagrams.
    assert_close(increase_of(&[(4.0, 0.1, 0.4)]), 1.0);
    for wrong in [f64::NAN, 0.0, f64::INFINITY] {
        let increase = increase_of(&[(wrong, 0.1, 0.1)]);
        assert!((0.0..=1.0).contains(&increase), "{wrong}: {increase}");
    }
}

/// One flow of MACO grows by half as much again as one of Elastic-TCP.
#[test]
fn alone_it_grows_more_than_elastic_tcp() {
    assert_close(increase_of(&[(100.0, 0.1, 0.2)]), 1.5 * elastic_increase(0.1, 0.2, 100.0));
}
