//! The learner and the detector against their formulas (items 1 to 5).

use hawser_learn::{
    Accumulation, Adwin, CutTest, IntervalFtrl, Random, curvature, minimiser, radius, step_size,
};

use crate::experiments::verify::{Measured, Request};

/// What two ideal paths carry at share `x` for the first, which has `b` of the bandwidth (thesis, section 2.3).
fn throughput(x: f64, b: f64) -> f64 {
    if x >= b { b / x } else { (1.0 - b) / (1.0 - x) }
}

fn is_above(step: usize) -> bool {
    (step / 2) % 2 == 1
}

pub(super) fn closed_forms(_: &Request<'_>) -> Result<Measured, String> {
    let mut difference = 0f64;
    let mut a = 1e-3f64;
    while a <= 1e3 {
        for a in [a, -a] {
            let printed = (a + 2.0 - (a * a + 4.0).sqrt()) / (2.0 * a);
            difference = difference.max((minimiser(a) - printed).abs());
        }
        a *= 1.001;
    }
    let mut random = Random::new(1);
    let mut outside = 0u32;
    for _ in 0..1_000_000 {
        let x = minimiser((random.fraction() - 0.5) * 10f64.powf(6.0 * random.fraction()));
        let side = if random.fraction() < 0.5 { -1.0 } else { 1.0 };
        let point = x + side * random.fraction() / 2.0 / curvature(x).sqrt();
        outside += u32::from(!(point > 0.0 && point < 1.0));
    }
    Ok(Measured::new("")
        .with("difference_to_printed", difference)
        .with("points_outside", f64::from(outside))
        .with("minimiser_at_zero_off_by", (minimiser(0.0) - 0.5).abs()))
}

pub(super) fn surrogate(_: &Request<'_>) -> Result<Measured, String> {
    let mut worst = 0f64;
    for (r, expected) in [(1.0, 0.2522), (0.5, 0.2743), (0.3, 0.2842), (0.1, 0.2946)] {
        // f(x + d) = f(x - d) with d = (r/2) / sqrt(R''(x)), by bisection.
        let (mut low, mut high) = (0.05, 0.6);
        for _ in 0..60 {
            let x = f64::midpoint(low, high);
            let reach = r / 2.0 / curvature(x).sqrt();
            let is_left = throughput(x - reach, 0.3) < throughput(x + reach, 0.3);
            if is_left { low = x } else { high = x }
        }
        worst = worst.max((low - expected).abs());
    }
    Ok(Measured::new("").with("off_by", worst))
}

/// Centers of the model from step 1: the loss of step `s` is known before step `s + 2`.
fn centers(accumulation: Accumulation, b: f64, steps: usize, mut noise: impl FnMut() -> f64) -> Vec<f64> {
    let mut learner = IntervalFtrl::new(accumulation);
    let mut plays = vec![learner.play(is_above(1)), learner.play(is_above(2))];
    while plays.len() < steps {
        let play = plays[plays.len() - 2];
        let loss = (1.0 - throughput(play.point, b) * noise()).max(0.0).powi(2);
        learner.update(&play, loss);
        plays.push(learner.play(is_above(plays.len() + 1)));
    }
    plays.iter().map(|play| play.center).collect()
}

pub(super) fn golden_run(_: &Request<'_>) -> Result<Measured, String> {
    const STEPS: [usize; 7] = [3, 4, 5, 6, 10, 20, 100];
    let golden = [
        (Accumulation::PerStep, [0.501166, 0.429635, 0.367928, 0.368498, 0.316453, 0.277682, 0.264921]),
        (Accumulation::CurrentEta, [0.501166, 0.429682, 0.370326, 0.377080, 0.341063, 0.315125, 0.292644]),
    ];
    let first = IntervalFtrl::new(Accumulation::PerStep);
    let points = [first.play(false).point - 0.323223, first.play(true).point - 0.676777];
    let mut worst = points.iter().fold(0f64, |worst, off| worst.max(off.abs()));
    for (accumulation, expected) in golden {
        let found = centers(accumulation, 0.3, 100, || 1.0);
        for (step, expected) in STEPS.iter().zip(expected) {
            worst = worst.max((found[step - 1] - expected).abs());
        }
    }
    let schedules = [(1, 0.3194, 1.0), (20, 0.1661, 0.8726), (1_000, 0.0169, 0.4076)];
    let agree =
        |(k, step, r): (u32, f64, f64)| (step_size(k) - step).abs() < 5e-5 && (radius(k) - r).abs() < 5e-5;
    if !schedules.into_iter().all(agree) {
        return Err("the schedules of step size and radius are not those of the thesis".to_owned());
    }
    Ok(Measured::new("").with("off_by", worst))
}

/// How far the center is off after 200 steps, with the noise of one seed.
pub(super) fn convergence(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    for (name, accumulation) in
        [("per_step", Accumulation::PerStep), ("current_eta", Accumulation::CurrentEta)]
    {
        for percent in [10u32, 25, 50, 75, 90] {
            let b = f64::from(percent) / 100.0;
            let mut random = Random::new(request.seed);
            let noise = || 1.0 + 0.05 * random.normal();
            let off = (centers(accumulation, b, 200, noise)[199] - b).abs();
            measured = measured.with(format!("{name}_b{percent}"), off);
        }
    }
    Ok(measured)
}

pub(super) fn adwin(request: &Request<'_>) -> Result<Measured, String> {
    let test = CutTest::Hoeffding { confidence: 0.3 };
    let mut random = Random::new(request.seed);
    let mut noisy = |mean: f64| (mean + 0.05 * random.normal()).clamp(0.0, 1.0);
    let mut stationary = Adwin::new(test, 5);
    let false_cuts = (0..100_000).filter(|_| stationary.insert(noisy(0.5)).is_some()).count();
    let mut step = |mean: f64, most: usize| {
        let mut window = Adwin::new(test, 5);
        (0..300).for_each(|_| {
            window.insert(noisy(0.3));
        });
        (1..=most).find_map(|inputs| Some((inputs, window.insert(noisy(mean))?)))
    };
    let (inputs, change) = step(0.7, 300).ok_or("a step from .3 to .7 is not noticed")?;
    let crosses = |before: f64, after: f64| f64::from(u8::from((before < 0.5) != (after < 0.5)));
    let small = step(0.4, 3_000).map_or(0.0, |(_, change)| crosses(change.before, change.after));
    let table = [(32.0, 32.0, 0.459), (128.0, 128.0, 0.252), (512.0, 128.0, 0.210), (512.0, 8.0, 0.749)];
    let off =
        table.iter().map(|(older, newer, expected)| (test.threshold(*older, *newer, 0.0) - expected).abs());
    Ok(Measured::new("")
        .with("false_cuts", false_cuts as f64)
        .with("inputs_until_cut", inputs as f64)
        .with("large_step_crosses", crosses(change.before, change.after))
        .with("small_step_crosses", small)
        .with("threshold_off_by", off.fold(0.0, f64::max)))
}
