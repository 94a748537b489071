use super::*;
use crate::profile::{EventKind, sample_at, time_mean};
use crate::{Profile, Sample, Scene, to_db};

const SECOND: u64 = 1_000_000_000;

/// W. Yang 2024, equations (3.2) and (3.3), with the parameters of its evaluation.
#[test]
fn capacity_of_a_satellite_is_that_of_the_sheet() {
    let budget = SpaceBudget::default();
    let mbit = |distance: f64| budget.capacity(distance) / 1e6;
    assert!((to_db(budget.snr(550e3)) - 48.8).abs() < 0.05, "{}", to_db(budget.snr(550e3)));
    for (distance, wanted) in [(550e3, 198.6), (570e3, 197.4), (596e3, 195.8)] {
        assert!((mbit(distance) - wanted).abs() < 0.1, "{distance}: {}", mbit(distance));
    }
    let more = SpaceBudget { power_dbm: 35.46, ..budget };
    assert!((more.capacity(550e3) / 1e6 - 200.0).abs() < 0.1);
    for (bandwidth, wanted) in
        [(5e6, 85.9), (10e6, 162.0), (15e6, 234.0), (20e6, 304.0), (25e6, 373.0), (30e6, 440.0)]
    {
        let got = SpaceBudget { bandwidth, ..budget }.capacity(550e3) / 1e6;
        assert!((got - wanted).abs() < 0.6, "{bandwidth}: {got}");
    }
}

#[test]
fn subflows_are_on_two_satellites_and_on_one_by_turns() {
    for tick in 0..100 {
        let [one, two] = association(tick);
        assert_eq!(one == two, tick % 2 == 1, "shared in odd ticks");
        let [next_one, next_two] = association(tick + 1);
        let newest = next_one.max(next_two);
        // Exactly one moves, to the newest satellite, and it is the one that was on the older or longer on the same.
        assert_eq!(u8::from(one != next_one) + u8::from(two != next_two), 1, "{tick}");
        assert!((one == next_one || next_one == newest) && (two == next_two || next_two == newest), "{tick}");
        if one != two {
            assert!((one < two) == (one != next_one), "the older moves at {tick}");
        }
    }
}

fn starts(link: &Profile) -> Vec<u64> {
    let hand_over = link.events.iter().filter(|event| event.kind == EventKind::HandOverStart);
    hand_over.map(|event| event.at / SECOND).collect()
}

#[test]
fn maco_hands_over_every_15_s_and_shares_every_30_s() {
    let scene = MacoSatellites { load: (1.0, 1.0), ..MacoSatellites::default() };
    let links = scene.profiles(100 * SECOND, 1).expect("possible");
    assert_eq!(starts(&links[0]), [15, 45, 75]);
    assert_eq!(starts(&links[1]), [30, 60, 90]);
    let rate =
        |link: &Profile, second: u64| sample_at(&link.down, second * SECOND).expect("known").rate as f64;
    for second in [5, 20, 35, 50, 65, 80] {
        let shared = (second / 15) % 2 == 1;
        let wanted = if shared { 99.0e6 } else { 198.0e6 };
        for link in &links {
            assert!((rate(link, second) / wanted - 1.0).abs() < 0.02, "{second}: {}", rate(link, second));
        }
    }
    // A satellite is at most one and a half ticks away from overhead.
    let far = links[0].positions.iter().map(|position| position.metres[1].abs()).fold(0.0, f64::max);
    assert!((far - 157_500.0).abs() < 1500.0, "{far}");
    let own_spacing = MacoSatellites { handover_period: None, ..scene };
    assert_eq!(starts(&own_spacing.profiles(60 * SECOND, 1).expect("possible")[0]), [21]);
}

#[test]
fn maco_loses_in_fades_and_before_handovers_without_forecasting_it() {
    let scene = MacoSatellites {
        loss: 0.0,
        fade_loss: 0.05,
        handover_loss: 0.005,
        load: (1.0, 1.0),
        ..MacoSatellites::default()
    };
    let links = scene.profiles(3_000 * SECOND, 3).expect("possible");
    for link in &links {
        let mean = |samples: &[Sample]| time_mean(samples, 0, 3_000 * SECOND, |sample| sample.loss);
        // 20 ms of 2.02 s, and a second of 30.
        let expected = 0.05 * 0.02 / 2.02 + 0.005 / 30.0;
        assert!((mean(&link.up) / expected - 1.0).abs() < 0.1, "{} of {expected}", mean(&link.up));
        assert_eq!(mean(&link.forecast.up), 0.0);
        let first = starts(link)[0];
        let second =
            |from: u64| time_mean(&link.up, from * SECOND, (from + 1) * SECOND, |sample| sample.loss);
        assert!(second(first - 1) >= 0.004, "{}", second(first - 1));
    }
    assert_ne!(links[0].up, links[1].up);
}

#[test]
fn maco_hides_the_load_unless_told_otherwise() {
    let hidden = MacoSatellites { scale_to: Some(40e6), ..MacoSatellites::default() };
    let known = MacoSatellites { load_known: true, ..hidden.clone() };
    let links = |scene: &MacoSatellites| scene.profiles(300 * SECOND, 5).expect("possible");
    let rates = |samples: &[Sample]| time_mean(samples, 0, 300 * SECOND, |sample| sample.rate as f64);
    let (of_hidden, of_known) = (links(&hidden), links(&known));
    assert_eq!(of_hidden[0].down, of_known[0].down, "the link itself is the same");
    assert_eq!(
        of_known[0].forecast.down.len(),
        of_known[0].forecast.down.iter().filter(|s| s.rate > 0).count()
    );
    // Half of the time shared: 3/4 of 40 Mbit/s without load, 0.6 of that with it.
    assert!((rates(&of_hidden[0].forecast.down) / 30e6 - 1.0).abs() < 0.02);
    let mean = 0.5 * (rates(&of_hidden[0].down) + rates(&of_hidden[1].down));
    assert!((mean / 18e6 - 1.0).abs() < 0.25, "{mean}");
    assert!((rates(&of_known[0].forecast.down) / rates(&of_known[0].down) - 1.0).abs() < 1e-6);
    // Two subflows on one satellite see one load.
    let at = 20 * SECOND;
    let rate = |link: &Profile| sample_at(&link.down, at).expect("known").rate;
    assert_eq!(rate(&of_hidden[0]), rate(&of_hidden[1]));
}

/// MAMS (ToN 2024), Table III: both directions at 14.5 dB and 24 Mbit/s times the efficiency.
#[test]
fn itsn_has_the_signal_of_table_iii() {
    let scene = Itsn { efficiency: 1.0, ..Itsn::default() };
    let (up, down) = scene.snr(500e3);
    assert!(
        (to_db(up) - 14.5).abs() < 0.05 && (to_db(down) - 14.5).abs() < 0.05,
        "{} {}",
        to_db(up),
        to_db(down)
    );
    let bare = Itsn { terminal_gain_db: 0.0, ..scene.clone() };
    assert!((to_db(bare.snr(500e3).1) + 15.5).abs() < 0.05);
    let links = scene.profiles(300 * SECOND, 1).expect("possible");
    for link in &links {
        let best = link.up.iter().map(|sample| sample.rate).max().expect("some");
        assert!((best as f64 / 24.3e6 - 1.0).abs() < 0.01, "{best}");
        assert!(link.up.iter().all(|sample| sample.loss < 0.01), "K = 10 dB and 14.5 dB: hardly any loss");
        // 150 km at 7 km/s.
        let times = starts(link);
        assert!(times.windows(2).all(|pair| (21..=22).contains(&(pair[1] - pair[0]))), "{times:?}");
    }
    let half = (starts(&links[0])[0] as i64 - starts(&links[1])[0] as i64).rem_euclid(21);
    assert!((9..=12).contains(&half), "the chains hand over by turns: {half}");
    assert!(links[0].up[0].delay < 27_000_000 && links[1].up[0].delay > 74_000_000);
}

#[test]
fn a_constellation_gives_bent_pipes_of_milliseconds_and_changes_in_slots() {
    let scene = Constellation { terminals: 2, ..Constellation::default() };
    let links = scene.profiles(120 * SECOND, 3).expect("covered");
    assert_eq!(links.len(), 2);
    for link in &links {
        let reconfigurations: Vec<u64> = link
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Reconfiguration)
            .map(|event| event.at / SECOND)
            .collect();
        assert_eq!(reconfigurations, [12, 27, 42, 57, 72, 87, 102, 117], "the start is a full minute");
        for sample in link.down.iter().filter(|sample| sample.up) {
            // 18 ms of fixed parts; up and down over 550 to 1200 km each.
            assert!((21_500_000..28_000_000).contains(&sample.delay), "{sample:?}");
        }
        let before = time_mean(&link.down, 26 * SECOND, 27 * SECOND, |sample| sample.loss);
        let rest = time_mean(&link.down, 28 * SECOND, 41 * SECOND, |sample| sample.loss);
        assert!((before - 0.041).abs() < 1e-6 && (rest - 0.004).abs() < 1e-6, "{before} {rest}");
    }
    let serving = |link: &Profile| {
        link.events.iter().find(|event| event.kind == EventKind::Attach).expect("attached").cell
    };
    assert_ne!(serving(&links[0]), serving(&links[1]), "two terminals, two satellites");
}

#[test]
fn laser_links_reach_a_far_station() {
    // From the Seychelles to Frankfurt: 7000 km, at least 23 ms of light.
    let scene = Constellation {
        route: RouteKind::InterSatellite,
        user: crate::orbit::Place::new(-4.68, 55.45),
        gateways: vec![crate::orbit::Place::new(50.1, 8.7)],
        ..Constellation::default()
    };
    let link = scene.profile(60 * SECOND, 3).expect("covered");
    let fixed = 18_000_000;
    for sample in link.down.iter().filter(|sample| sample.up) {
        assert!((23_000_000..60_000_000).contains(&(sample.delay - fixed)), "{sample:?}");
    }
    let bent = Constellation { route: RouteKind::BentPipe, ..scene };
    assert!(bent.profile(60 * SECOND, 3).is_err(), "no station in view of one satellite");
}

/// With the stored elements (426 satellites of OneWeb, September 2022) a place at 48 degrees north is mostly covered.
#[test]
fn real_elements_give_a_link() {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("HAWSER_TRACES").map_or(beside, std::path::PathBuf::from);
    let Ok(text) = std::fs::read_to_string(folder.join("tle/oneweb.tle")) else {
        eprintln!("skipped: no folder of traces (set HAWSER_TRACES)");
        return;
    };
    let start = crate::orbit::TleSet::parse(&text).expect("well formed").latest_epoch();
    let scene =
        Constellation { orbits: OrbitSource::Tle(text), start, mask: 20.0, ..Constellation::default() };
    let link = scene.profile(600 * SECOND, 1).expect("covered");
    let covered = time_mean(&link.down, 0, 600 * SECOND, |sample| f64::from(u8::from(sample.up)));
    assert!(covered > 0.7, "{covered}");
    // 18 ms of fixed parts, and 1200 to 2500 km up and down.
    for sample in link.down.iter().filter(|sample| sample.up) {
        assert!((26_000_000..36_000_000).contains(&sample.delay), "{sample:?}");
    }
}
