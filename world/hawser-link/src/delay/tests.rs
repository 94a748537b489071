use super::*;
use crate::time::{MICROSECOND, MILLISECOND};

fn line(jitter: Jitter) -> DelayLine {
    DelayLine::new(&DelayModel { jitter, ..DelayModel::constant(20 * MILLISECOND) }, 3)
}

#[test]
fn gamma_jitter_has_its_mean_when_packets_are_far_apart() {
    let mut line = line(Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 3 * MILLISECOND });
    let gap = 500 * MILLISECOND;
    let sum: u64 = (0..50_000).map(|index| line.arrival(index * gap) - index * gap - 20 * MILLISECOND).sum();
    let mean = sum as f64 / 50_000.0 / MILLISECOND as f64;
    assert!((mean - 4.0).abs() < 0.08, "{mean} ms");
}

#[test]
fn arrivals_never_go_back_even_when_the_delay_drops() {
    let base = Series::new(vec![(0, 50 * MILLISECOND), (10 * MILLISECOND, 20 * MILLISECOND)], None).unwrap();
    let jitter = Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 8 * MILLISECOND };
    let mut line = DelayLine::new(&DelayModel { jitter, ..base.into() }, 3);
    let arrivals: Vec<_> = (0..2000).map(|index| line.arrival(index * 100 * MICROSECOND)).collect();
    assert!(arrivals.is_sorted());
}

#[test]
fn a_walk_stays_within_its_bounds_and_moves() {
    let (maximum, step) = (10 * MILLISECOND, 2 * MILLISECOND);
    let mut jitter = line(Jitter::RandomWalk { maximum, step, interval: 10 * MILLISECOND }).jitter.unwrap();
    let values: Vec<_> = (0..20_000).map(|index| jitter.next_random(index * 10 * MILLISECOND)).collect();
    assert!(values.iter().all(|&value| value <= maximum));
    assert!(values.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= step));
    let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
    assert!((mean / maximum as f64 - 0.5).abs() < 0.1, "a reflected walk is uniform: mean {mean}");
}

/// Mean delay of packets one `gap` apart, in nanoseconds beyond the base, and how many overtook another.
fn mean_jitter(jitter: Jitter, reordering: bool, gap: Nanos) -> (f64, usize) {
    const PACKETS: u64 = 200_000;
    let model = DelayModel { jitter, reordering, ..DelayModel::constant(20 * MILLISECOND) };
    let mut line = DelayLine::new(&model, 3);
    let arrivals: Vec<_> = (0..PACKETS).map(|index| line.arrival(index * gap)).collect();
    let delays = (0..PACKETS).zip(&arrivals).map(|(index, arrival)| arrival - index * gap);
    let sum: u64 = delays.map(|delay| delay - 20 * MILLISECOND).sum();
    (sum as f64 / PACKETS as f64, arrivals.windows(2).filter(|pair| pair[1] < pair[0]).count())
}

#[test]
fn gaussian_jitter_has_the_mean_of_the_curve_cut_at_zero() {
    let (mean, deviation) = (40 * MILLISECOND, 20 * MILLISECOND);
    let jitter = Jitter::Gaussian { mean, deviation };
    // E max(0, N(2, 1)) = 2 Phi(2) + phi(2).
    let expected = (2.0 * 0.977_249_868 + 0.053_990_967) * deviation as f64;
    for (reordering, gap) in [(false, 500 * MILLISECOND), (true, 500 * MILLISECOND), (true, MILLISECOND)] {
        let (found, overtaken) = mean_jitter(jitter.clone(), reordering, gap);
        assert!((found / expected - 1.0).abs() < 0.01, "{found}, expected {expected}");
        assert_eq!(overtaken > 50_000, gap == MILLISECOND, "{overtaken}");
    }
    // In order a packet waits for the slowest of the many before it.
    let (found, overtaken) = mean_jitter(jitter, false, MILLISECOND);
    assert!(overtaken == 0 && found > 1.5 * expected, "{found}");
}

#[test]
fn the_other_jitters_have_their_means() {
    let steps = RandomSteps::Redraw { base: 4 * MILLISECOND, spread: 1.0, interval: 100 * MILLISECOND };
    let jitters = [
        Jitter::Exponential { mean: 4 * MILLISECOND },
        Jitter::Uniform { maximum: 8 * MILLISECOND },
        Jitter::Steps(steps),
        Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 3 * MILLISECOND },
    ];
    for jitter in jitters {
        let (found, overtaken) = mean_jitter(jitter.clone(), false, 100 * MILLISECOND);
        assert!((found / (4.0 * MILLISECOND as f64) - 1.0).abs() < 0.01, "{jitter:?}: {found}");
        assert_eq!(overtaken, 0);
    }
}
