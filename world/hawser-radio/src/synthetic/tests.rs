use super::quantiles::Quantiles;
use super::*;
use crate::profile::{EventKind, Profile, Sample, sample_at, time_mean};
use crate::{Scene, bivariate_normal, normal_quantile};

const SECOND: u64 = 1_000_000_000;

#[test]
fn quantiles_are_met_between_and_beyond_the_knots() {
    let table = Quantiles(vec![(0.1, 1.0), (0.5, 10.0), (0.9, 40.0)]).table();
    for (p, value) in [(0.1, 1.0), (0.5, 10.0), (0.9, 40.0)] {
        assert!((table.value(normal_quantile(p)) / value - 1.0).abs() < 1e-9);
        assert!((table.score(value) - normal_quantile(p)).abs() < 1e-9);
    }
    // A knot at each end only: lognormal throughout.
    let two = Quantiles(vec![(0.5, 3.0), (0.841_344_746, 3.0 * std::f64::consts::E)]).table();
    assert!((two.value(2.0) / (3.0 * std::f64::consts::E.powi(2)) - 1.0).abs() < 1e-6);
    assert!((two.value(-1.0) * std::f64::consts::E / 3.0 - 1.0).abs() < 1e-6);
}

#[test]
fn quantiles_that_fall_are_refused() {
    let mut scene = TwoCarriers::default();
    scene.carriers[1].down = Quantiles(vec![(0.5, 2e6), (0.9, 1e6)]);
    let error = scene.profiles(SECOND, 1).expect_err("falling").to_string();
    assert!(error.contains("carriers.down") && error.contains("both rising"), "{error}");
}

#[test]
fn carriers_move_together_as_much_as_asked_and_no_more() {
    let alone = TwoCarriers { joint_outage_down: 0.059 * 0.075, ..TwoCarriers::default() };
    let together = TwoCarriers { joint_outage_down: 0.04, ..TwoCarriers::default() };
    let joint = |scene: &TwoCarriers| {
        let duration = 6 * 3600 * SECOND;
        let links = scene.profiles(duration, 3).expect("possible");
        let low =
            |link: &Profile, at| sample_at(&link.down, at).is_some_and(|sample| sample.rate < 1_000_000);
        let hits = (0..6 * 3600).filter(|second| links.iter().all(|link| low(link, second * SECOND))).count();
        hits as f64 / (6.0 * 3600.0)
    };
    let (low, high) = (joint(&alone), joint(&together));
    assert!((0.002..0.008).contains(&low), "{low}");
    assert!((0.032..0.048).contains(&high), "{high}");
    // The law behind it.
    let scores = [0.059, 0.075].map(normal_quantile);
    assert!((bivariate_normal(scores[0], scores[1], 0.0) - 0.059 * 0.075).abs() < 1e-9);
}

#[test]
fn a_stall_holds_packets_to_its_end() {
    let scene = TwoCarriers::default();
    let link = scene.profiles(3600 * SECOND, 2).expect("possible").remove(0);
    let long: Vec<&Sample> = link.down.iter().filter(|sample| sample.delay > 400_000_000).collect();
    assert!(!long.is_empty());
    for pair in link.down.windows(2).filter(|pair| pair[0].delay > 400_000_000 && pair[1].delay > 200_000_000)
    {
        // No later packet arrives before an earlier one by more than the jitter of the level.
        let arrivals = [pair[0].at + pair[0].delay, pair[1].at + pair[1].delay];
        assert!(arrivals[1] + 60_000_000 > arrivals[0], "{pair:?}");
    }
    let still = TwoCarriers {
        carriers: scene.carriers.clone().map(|carrier| Carrier { stalls_per_second: 0.0, ..carrier }),
        ..scene
    };
    let link = still.profiles(3600 * SECOND, 2).expect("possible").remove(0);
    assert!(link.down.iter().all(|sample| sample.delay < 200_000_000));
}

#[test]
fn the_rate_forgets_as_in_the_data() {
    // Autocorrelation of the logarithm of the rate in the data: 0.82 after 0.5 s, 0.52 after 2 s, 0.37 after 5 s.
    let link = TwoCarriers::default().profiles(4 * 3600 * SECOND, 6).expect("possible").remove(0);
    let logs: Vec<f64> = (0..2 * 4 * 3600)
        .map(|half| (sample_at(&link.down, half * SECOND / 2).expect("known").rate as f64).ln())
        .collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let at =
        |lag: usize| logs.windows(lag + 1).map(|part| (part[0] - mean) * (part[lag] - mean)).sum::<f64>() / n;
    let variance = at(0);
    for (lag, wanted) in [(1, 0.82), (4, 0.52), (10, 0.37), (20, 0.22)] {
        let got = at(lag) / variance;
        assert!((got - wanted).abs() < 0.08, "after {} s: {got}, in the data {wanted}", 0.5 * lag as f64);
    }
}

#[test]
fn starlink_slots_have_levels_and_dips() {
    let scene =
        StarlinkSlots { rate_jitter: 0.0, delay_jitter: 0.0, start_second: 12.0, ..StarlinkSlots::default() };
    let link = scene.profile(300 * SECOND, 1).expect("possible");
    assert_eq!(link.count(EventKind::Reconfiguration), 19);
    let rate = |at: u64| sample_at(&link.down, at).expect("known").rate;
    let mut levels = Vec::new();
    for slot in 1..20 {
        let edge = slot * 15 * SECOND;
        let level = rate(edge + SECOND);
        assert_eq!(level, rate(edge + 14 * SECOND), "constant within a slot");
        assert!((rate(edge) as f64 / level as f64 - 0.03).abs() < 1e-3, "a dip");
        assert_eq!(rate(edge + 310_000_000), level, "that has ended after 0.3 s");
        levels.push(level);
    }
    levels.dedup();
    assert_eq!(levels.len(), 19, "each slot has a level of its own");
}

#[test]
fn substitutes_stay_within_the_ranges_of_the_sheet() {
    let levels = |scene: &Substitute| {
        let calm = Substitute { rtt_jitter: 0.0, rate_jitter: 0.0, dip: (0.0, 0.0), ..scene.clone() };
        calm.profile(600 * SECOND, 1).expect("possible")
    };
    for scene in
        [Substitute::bent_pipe(), Substitute::inter_satellite(), Substitute::five_g(), Substitute::oneweb()]
    {
        let link = levels(&scene);
        for sample in &link.down {
            let (rtt, rate) = (2.0 * sample.delay as f64 / 1e9, sample.rate as f64);
            assert!(rtt >= scene.rtt.0 - 1e-8 && rtt <= scene.rtt.1 + 1e-8, "{}: {rtt}", scene.name);
            assert!(rate >= scene.rate.0 - 1.0 && rate <= scene.rate.1, "{}: {rate}", scene.name);
        }
    }
    // New levels: at 40 slots, every 4 s twice over (rate and RTT on their own), at each sample.
    assert_eq!(levels(&Substitute::bent_pipe()).down.len(), 41);
    let changes = levels(&Substitute::five_g()).down.len();
    assert!((250..360).contains(&changes), "{changes}");
    assert!(levels(&Substitute::oneweb()).down.len() > 5900);
}

#[test]
fn jitter_of_a_substitute_has_its_deviation_and_correlation() {
    let flat =
        Substitute { rate: (100e6, 100e6), rtt: (0.05, 0.05), dip: (0.0, 0.0), ..Substitute::bent_pipe() };
    let link = flat.profile(2000 * SECOND, 4).expect("possible");
    let values: Vec<f64> = (0..20_000)
        .map(|i| sample_at(&link.down, i * SECOND / 10).expect("known").rate as f64 / 1e8 - 1.0)
        .collect();
    let n = values.len() as f64;
    let variance = values.iter().map(|x| x * x).sum::<f64>() / n;
    let correlation = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n / variance;
    assert!((variance.sqrt() - 0.10).abs() < 0.006, "{}", variance.sqrt());
    assert!((correlation - 0.9).abs() < 0.01, "{correlation}");
    let dipped = Substitute { rate_jitter: 0.0, ..Substitute { dip: (0.2, 0.2), ..flat } };
    let link = dipped.profile(30 * SECOND, 4).expect("possible");
    let low = time_mean(&link.down, 12 * SECOND, 12 * SECOND + 200_000_000, |sample| sample.rate as f64);
    assert!((low / 30e6 - 1.0).abs() < 1e-6, "{low}");
}
