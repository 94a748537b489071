//! The planner by itself: probabilities, expected deliveries, allocation, cost (items 1, 2 and 15).

use std::hint::black_box;
use std::time::Instant;

use hawser_learn::Random;
use hawser_sched::{
    MamsForecast, MamsPath, MamsPlanner, MamsPlannerSettings, MamsPoint, MamsRun, MamsWindowModel, outcomes,
};

use crate::experiments::verify::{Measured, Request};

/// A path whose window leaves at once, as in the paper.
fn path(window: f64, threshold: f64, rtt: f64, timeout: f64, loss: f64) -> MamsPath {
    MamsPath {
        window,
        threshold,
        rtt,
        one_way: rtt / 2.0,
        timeout,
        in_flight: 0.0,
        packet_time: 0.0,
        loss,
        up: MamsForecast::UNKNOWN,
        down: MamsForecast::UNKNOWN,
    }
}

/// Item 1: the three outcomes of a round, the mean of what arrives, and the eight values of q(T).
pub(super) fn model(_: &Request<'_>) -> Result<Measured, String> {
    let (mut sum, mut mean) = (0f64, 0f64);
    for sent in 1..=200 {
        for loss in [0.0, 0.01, 0.1, 0.5, 0.99, 1.0] {
            let all: f64 = outcomes(f64::from(sent), loss).iter().sum();
            sum = sum.max((all - 1.0).abs());
            let binomial: f64 =
                (0..=sent).map(|arrived| f64::from(arrived) * chance(sent, arrived, loss)).sum();
            mean = mean.max((binomial - f64::from(sent) * (1.0 - loss)).abs());
        }
    }
    Ok(Measured::new("")
        .with("sum_off_by", sum)
        .with("mean_off_by", mean)
        .with("deliveries_off_by_packets", deliveries_off_by()))
}

/// How likely it is that so many of `sent` packets arrive (equation 18).
fn chance(sent: u32, arrived: u32, loss: f64) -> f64 {
    let (sent, arrived) = (f64::from(sent), f64::from(arrived));
    let lost = sent - arrived;
    if loss == 0.0 || loss == 1.0 {
        return f64::from(u8::from(if loss == 0.0 { lost == 0.0 } else { arrived == 0.0 }));
    }
    let ways: f64 = (1..=lost as u32).map(|n| ((arrived + f64::from(n)) / f64::from(n)).ln()).sum();
    (ways + lost * loss.ln() + arrived * (1.0 - loss).ln()).exp()
}

/// The largest difference to the values of the model in section V, with TCP's timeouts and nothing cut off.
fn deliveries_off_by() -> f64 {
    let settings = MamsPlannerSettings {
        model: MamsWindowModel::Tcp,
        least_likelihood: 0.0,
        ..MamsPlannerSettings::default()
    };
    let falling = [(0.0, 30.0), (0.15, 0.0)];
    let falling: MamsForecast =
        falling.into_iter().map(|(at, packets)| MamsPoint { at, packets, loss: 0.0 }).collect();
    let none = MamsForecast::UNKNOWN;
    let values = [
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.0, none, 30.0),
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.01, none, 28.2801),
        (0.075, 10.0, 64.0, 0.05, 0.25, 0.10, none, 18.2072),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, none, 98.2758),
        (0.175, 10.0, 8.0, 0.05, 0.25, 0.05, none, 31.1114),
        (0.150, 32.0, 16.0, 0.02, 0.20, 0.02, none, 142.5032),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, MamsForecast::constant(20.0, 0.0), 62.0745),
        (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, falling, 37.7829),
    ];
    let off_by =
        |(budget, window, threshold, rtt, timeout, loss, up, expected): (f64, _, _, _, _, _, _, f64)| {
            let path = MamsPath { up, ..path(window, threshold, rtt, timeout, loss) };
            // A slow path beside it, so that plans look as far ahead.
            let slow = MamsPath { one_way: budget, ..self::path(1.0, 1.0, 2.0 * budget, 1.0, 0.0) };
            let mut planner = MamsPlanner::new(settings);
            planner.plan(&[path, slow], 1_000);
            (planner.expected(0, budget) - expected).abs()
        };
    values.into_iter().map(off_by).fold(0.0, f64::max)
}

/// Paths that differ in everything.
fn random_paths(random: &mut Random, count: usize) -> Vec<MamsPath> {
    let mut between = |least: f64, most: f64| least + random.fraction() * (most - least);
    (0..count)
        .map(|_| {
            let rtt = between(0.01, 0.3);
            let window = between(2.0, 100.0);
            MamsPath {
                packet_time: between(0.0, rtt / window),
                ..path(window, between(2.0, 100.0), rtt, rtt + 0.1, between(0.0, 0.1))
            }
        })
        .collect()
}

/// Item 2: 10^4 plans.
pub(super) fn allocation(request: &Request<'_>) -> Result<Measured, String> {
    let mut random = Random::new(request.seed);
    let (mut gaps, mut unordered, mut misplaced) = (0, 0, 0);
    for number in 0..10_000 {
        let paths = random_paths(&mut random, 1 + number % 16);
        let mut planner = MamsPlanner::default();
        let queued = 1 + (random.fraction() * 5_000.0) as u64;
        let runs = planner.plan(&paths, queued).to_vec();
        let of_paths = positions(&runs, paths.len());
        let mut all: Vec<u64> = of_paths.iter().flatten().copied().collect();
        all.sort_unstable();
        gaps += usize::from(!all.iter().copied().eq(0..all.len() as u64) || all.len() as u64 > queued);
        unordered += of_paths.iter().filter(|own| !own.is_sorted()).count();
        misplaced += usize::from(is_misplaced(&planner, &paths, &of_paths, all.len()));
    }
    Ok(Measured::new("")
        .with("plans_with_gaps", gaps as f64)
        .with("paths_out_of_order", unordered as f64)
        .with("slow_paths_misplaced", misplaced as f64))
}

/// The packets of each path, counted from FP.
fn positions(runs: &[MamsRun], paths: usize) -> Vec<Vec<u64>> {
    let mut of_paths = vec![Vec::new(); paths];
    let mut next = 0;
    for run in runs {
        of_paths[run.path].extend(next..next + run.packets);
        next += run.packets;
    }
    of_paths
}

/// Whether the slowest path's first packet is another one than FP + round(sum q_f(T)). Where all that the faster paths deliver
/// was rounded path by path, it may be off by half a packet of each.
fn is_misplaced(planner: &MamsPlanner, paths: &[MamsPath], of_paths: &[Vec<u64>], planned: usize) -> bool {
    let Some((slow, faster)) = planner.selected().split_last() else { return true };
    let Some(first) = of_paths[*slow].first().copied() else { return false };
    let expected: f64 = faster.iter().map(|fast| planner.expected(*fast, paths[*slow].one_way)).sum();
    let exhausted = first as usize + of_paths[*slow].len() >= planned;
    let tolerance = if exhausted { faster.len() as f64 / 2.0 } else { 0.0 };
    (first as f64 - expected.round()).abs() > tolerance
}

/// Item 15: the median time of a plan.
pub(super) fn cost(request: &Request<'_>) -> Result<Measured, String> {
    const PLANS: usize = 2_000;
    const CALLS: u32 = 20;
    let mut random = Random::new(request.seed);
    let mut median = |count: usize| {
        let mut planner = MamsPlanner::default();
        let mut times = Vec::with_capacity(PLANS);
        let mut rounds = 0;
        for _ in 0..PLANS {
            let paths = random_paths(&mut random, count);
            let began = Instant::now();
            for _ in 0..CALLS {
                black_box(planner.plan(black_box(&paths), 100_000));
            }
            times.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
            rounds += planner.rounds();
        }
        times.sort_by(f64::total_cmp);
        (times[PLANS / 2], rounds as f64 / PLANS as f64)
    };
    let ((two, two_rounds), (eight, eight_rounds)) = (median(2), median(8));
    Ok(Measured::new("")
        .with("two_paths_us", two)
        .with("two_paths_rounds", two_rounds)
        .with("eight_paths_us", eight)
        .with("eight_paths_rounds", eight_rounds))
}
