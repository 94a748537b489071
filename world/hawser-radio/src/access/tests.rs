use super::*;
use crate::math::{PI, sqrt};
use crate::profile::{EventKind, sample_at, time_mean};
use crate::propagation::{bit_error_rate, packet_error_rate};
use crate::{CityDrive, Sample, Scene};

const SECOND: u64 = 1_000_000_000;

fn hand_overs(profile: &Profile) -> Vec<u64> {
    let starts = profile.events.iter().filter(|event| event.kind == EventKind::HandOverStart);
    starts.map(|event| event.at).collect()
}

/// The highway of MAMS: these edge SNRs give cell means of 0.118 (WiFi) and 0.063 (LTE).
#[test]
fn mean_loss_of_a_highway_cell_is_that_of_the_sheet() {
    let mean = |access: Access| access.mean_cell_loss(2000.0);
    assert!((mean(Access::wifi(10e6)) - 0.118).abs() < 5e-4, "{}", mean(Access::wifi(10e6)));
    assert!((mean(Access::lte(5e6)) - 0.063).abs() < 5e-4, "{}", mean(Access::lte(5e6)));
}

#[test]
fn on_a_road_hand_overs_come_every_spacing_over_speed_in_the_middle_between_sites() {
    for speed in [20.0, 40.0] {
        let highway = Highway { speed, start: Some(500.0), ..Highway::default() };
        let links = highway.profiles(1000 * SECOND, 1).expect("possible");
        let interval = (4000.0 / speed * 1e9) as u64;
        // WiFi between its sites at 2 and 6 km, LTE between 0 and 4 km.
        for (link, first) in links.iter().zip([interval / 8 * 7, interval / 8 * 3]) {
            let starts = hand_overs(link);
            let step = 200_000_000;
            assert!(starts[0].abs_diff(first) <= step, "{}: first at {}", link.name, starts[0]);
            for pair in starts.windows(2) {
                assert!((pair[1] - pair[0]).abs_diff(interval) <= step, "{}: {pair:?}", link.name);
            }
        }
    }
}

/// A way through lines of length L per area crosses v L p of them per second, p being the mean projection of the lines
/// across the way (2 / pi when all angles are alike).
#[test]
fn in_a_city_hand_overs_come_as_often_as_cell_borders_are_crossed() {
    let distance = 200.0;
    let always = HandOver { threshold_dbm: f64::INFINITY, outage: 0.0, ..HandOver::default() };
    let access = Access { hand_over: always, fading: Fading::None, ..Access::lte(50e6) };
    let drive = CityDrive { mean_speed: 15.0, straight: 0.2, ..CityDrive::default() };
    let urban = Urban { drive, distance, links: vec![access] };
    let duration = 20_000;
    let crossings: usize = (1..=3)
        .map(|seed| {
            let links = urban.profiles(duration * SECOND, seed).expect("possible");
            links[0].count(EventKind::HandOverStart)
        })
        .sum();
    // A hexagon with neighbours at D: area sqrt(3)/2 D^2, perimeter 2 sqrt(3) D, each edge shared by two.
    let edges_per_area = 0.5 * 2.0 * sqrt(3.0) * distance / (0.5 * sqrt(3.0) * distance * distance);
    // The edges stand at 90, 30 and 150 degrees, the streets at 0 and 90.
    let projections = [90.0_f64, 30.0, 150.0].map(|degrees| {
        let angle = degrees * PI / 180.0;
        0.5 * (angle.sin().abs() + angle.cos().abs())
    });
    let mean_projection = projections.iter().sum::<f64>() / 3.0;
    let expected = 15.0 * edges_per_area * mean_projection * 3.0 * duration as f64;
    let ratio = crossings as f64 / expected;
    assert!((ratio - 1.0).abs() < 0.05, "{crossings} crossings, {expected} expected");
    assert!((mean_projection / (2.0 / PI) - 1.0).abs() < 0.03, "nearly isotropic: {mean_projection}");
}

#[test]
fn a_hand_over_interrupts_for_its_outage_and_hysteresis_delays_it() {
    let outage = HandOver { outage: 0.2, ..HandOver::default() };
    let link = |hand_over: HandOver| {
        let access = Access { hand_over, ..Access::lte(5e6) };
        let highway = Highway { start: Some(0.0), links: vec![access], ..Highway::default() };
        highway.profile(150 * SECOND, 1).expect("possible")
    };
    let plain = link(outage);
    let start = hand_overs(&plain)[0];
    for samples in [&plain.up, &plain.down, &plain.forecast.up] {
        let up = |at| sample_at(samples, at).map(|sample| sample.up);
        assert_eq!(
            [up(start - 1), up(start), up(start + SECOND / 5 - 1), up(start + SECOND / 5)],
            [Some(true), Some(false), Some(false), Some(true)]
        );
    }
    // 3 dB at exponent 2: the new site has to be nearer by 10^(3/20).
    let late = link(HandOver { hysteresis_db: 3.0, ..outage });
    let ratio = crate::math::pow(10.0, 3.0 / 20.0);
    let place = 4000.0 * ratio / (1.0 + ratio);
    let wanted = (place / 20.0 * 1e9) as u64;
    assert!(hand_overs(&late)[0].abs_diff(wanted) <= SECOND / 5, "{} and {wanted}", hand_overs(&late)[0]);
}

/// What the channel draws agrees on average with what a forecaster may know, block by block independently.
#[test]
fn drawn_loss_averages_to_the_outlook_but_is_not_in_it() {
    let highway = Highway { start: Some(0.0), ..Highway::default() };
    let links = highway.profiles(400 * SECOND, 11).expect("possible");
    for link in &links {
        let loss = |samples: &[Sample]| time_mean(samples, 0, 400 * SECOND, |sample| sample.loss);
        let (drawn, known) = (loss(&link.down), loss(&link.forecast.down));
        assert!((drawn / known - 1.0).abs() < 0.05, "{}: drawn {drawn}, known {known}", link.name);
        assert!(
            link.down.iter().all(|sample| sample.loss == 0.0 || sample.loss == 1.0),
            "a block is lost or not"
        );
        assert!(link.forecast.down.len() < 5_000, "the forecast moves with the geometry only");
        assert_ne!(link.up, link.down, "each direction fades on its own");
    }
    // 20 m/s and 0.12 m: blocks of 1.5 ms. A lost block is followed by another one with the probability of the loss.
    let down = &links[0].down;
    let bad: Vec<u64> =
        down.windows(2).filter(|pair| pair[0].loss == 1.0).map(|pair| pair[1].at - pair[0].at).collect();
    let mean = bad.iter().sum::<u64>() as f64 / bad.len() as f64;
    assert!((1.5e6..1.95e6).contains(&mean), "mean length of a run of lost blocks: {mean} ns");
}

#[test]
fn rate_averages_to_the_nominal_over_a_cell() {
    let highway = Highway { start: Some(0.0), ..Highway::default() };
    let links = highway.profiles(400 * SECOND, 1).expect("possible");
    for (link, nominal) in links.iter().zip([10e6, 5e6]) {
        let mean = time_mean(&link.down, 0, 400 * SECOND, |sample| sample.rate as f64);
        assert!((mean / nominal - 1.0).abs() < 0.01, "{}: {mean}", link.name);
    }
}

/// QC-MAB (W. Yang 2024, section 4.5.2): 100 mW, 1 MHz, efficiency 0.5.
#[test]
fn the_lattice_meets_the_golden_values() {
    let lattice = ApLattice::default();
    let budget = |distance: f64| {
        let rss = crate::watts_to_dbm(0.1) - lattice.path_loss.db(distance);
        let snr_db = rss - (lattice.noise_density + 60.0);
        (rss, snr_db, crate::propagation::shannon(1e6, lattice.efficiency, from_db(snr_db)) / 1e6)
    };
    let near = |got: (f64, f64, f64), wanted: (f64, f64, f64)| {
        let close = |a: f64, b: f64| (a - b).abs() < 0.05;
        assert!(close(got.0, wanted.0) && close(got.1, wanted.1) && close(got.2, wanted.2), "{got:?}");
    };
    near(budget(10.0), (-66.7, 53.3, 8.9));
    near(budget(38.3), (-90.0, 30.0, 5.0));
}

#[test]
fn a_lattice_leaves_access_points_below_the_threshold_only() {
    let lattice = ApLattice { shadowing: Shadowing::NONE, ..ApLattice::default() };
    let links = lattice.profiles(200 * SECOND, 4).expect("possible");
    assert_eq!([&links[0].name[..], &links[1].name[..]], ["wifi", "5g"]);
    for link in &links {
        let starts = hand_overs(link);
        assert!(starts.len() > 5, "{} handovers", starts.len());
        // 38.3 m at 0.1 W, 45.5 m at 0.2 W: the rate just before is that of the edge.
        for at in starts {
            let before = sample_at(&link.down, at - 1).expect("from 0 on");
            assert!(before.rate < 11_000_000 && before.rate > 4_000_000, "{before:?}");
        }
    }
}

/// Attached where it is anyway a host goes its way as before; attached elsewhere it is silent for a while, gets what that site
/// gives, and leaves it by the same rule.
#[test]
fn a_host_that_is_attached_elsewhere_drives_on_by_the_rule() {
    let wifi = ApLattice::default().profiles(120 * SECOND, 4).expect("possible").remove(0);
    let sites = wifi.sites.as_ref().expect("a lattice knows its sites");
    let at = 30 * SECOND + 20_000_000;
    let serving = |profile: &Profile, at| {
        profile.events.iter().rfind(|event| event.at <= at).and_then(|event| event.cell).expect("attached")
    };
    let current = serving(&wifi, at);
    let same = sites.attached(&wifi, at, current, 0).expect("within reach");
    for tick in 302..1_199 {
        let at = tick * SECOND / 10;
        let [before, after] = [&wifi, &same].map(|profile| *sample_at(&profile.down, at).expect("from 0 on"));
        assert_eq!((before.rate, before.up), (after.rate, after.up), "at {at}");
    }

    let strongest = sites.within_reach(at).iter().filter(|reach| reach.site != current);
    let other = *strongest.max_by(|a, b| a.rss_dbm.total_cmp(&b.rss_dbm)).expect("one more");
    let moved = sites.attached(&wifi, at, other.site, SECOND / 20).expect("within reach");
    assert!(!sample_at(&moved.down, at + 1).expect("from 0 on").up);
    let then = sample_at(&moved.down, at + SECOND / 20).expect("from 0 on");
    assert_eq!((then.rate, then.up), (other.rate, true));
    for start in hand_overs(&moved).into_iter().filter(|start| *start > at) {
        let left = sites.reach(start, serving(&moved, start - 1)).map(|reach| reach.rss_dbm);
        assert!(left.is_none_or(|rss| rss < -90.0), "left at {left:?}");
    }
    assert!(sites.attached(&wifi, at, 1 << 40, 0).is_none(), "out of reach");
}

#[test]
fn a_host_at_rest_keeps_its_cell_and_its_mean() {
    let roaming = Roaming {
        motion: Motion::Still { at: [30.0, 0.0] },
        links: vec![Access { shadowing: Shadowing::NONE, ..Access::wifi(50e6) }],
        ..Roaming::default()
    };
    let link = roaming.profile(60 * SECOND, 2).expect("possible");
    assert_eq!(link.count(EventKind::HandOverStart), 0);
    assert_eq!(link.forecast.down.len(), 1);
    assert!(link.down.len() > 1, "the surroundings move");
}

#[test]
fn out_of_reach_is_down() {
    let sites = Layout::Sites(vec![[0.0, 0.0]]);
    let access = Access {
        edge_distance: Some(100.0),
        exponent: 4.0,
        hand_over: HandOver { detach_dbm: -100.0, ..HandOver::default() },
        ..Access::lte(5e6)
    };
    let motion = Motion::Straight { speed: 10.0, start: -500.0 };
    let roaming = Roaming { motion, layout: sites.clone(), links: vec![access.clone()] };
    let link = roaming.profile(100 * SECOND, 2).expect("possible");
    // -90 dBm at 100 m, exponent 4: -100 dBm at 177.8 m.
    let kinds: Vec<EventKind> = link.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Attach, EventKind::Detach]);
    assert!(link.events[0].at.abs_diff(32_220_000_000) < SECOND / 5, "{:?}", link.events);
    assert!(link.events[1].at.abs_diff(67_780_000_000) < SECOND / 5, "{:?}", link.events);
    assert_eq!(sample_at(&link.down, 0).map(|sample| sample.up), Some(false));

    let edgeless = Roaming { links: vec![Access { edge_distance: None, ..access }], ..roaming };
    let error = edgeless.profile(SECOND, 1).expect_err("a list has no edge");
    assert!(error.to_string().contains("edge_distance = none"), "{error}");
}

#[test]
fn errors_of_a_modulation_follow_the_fading() {
    let access = Access {
        loss: LossModel::Modulation { m: 4, bits: 11_680, repairable: 0 },
        edge_snr_db: 20.0,
        ..Access::lte(5e6)
    };
    let highway = Highway { start: Some(0.0), links: vec![access], ..Highway::default() };
    let link = highway.profile(100 * SECOND, 1).expect("possible");
    let some = link.down.iter().filter(|sample| sample.loss > 0.001 && sample.loss < 0.999).count();
    assert!(some > 100, "the cliff is met in its middle, too");
    let at_edge = packet_error_rate(bit_error_rate(4, 100.0), 11_680, 0);
    assert!(at_edge < 1e-9, "without fading there is no loss: {at_edge}");
}
