mod bulk;

use super::spatial::correlation;
use super::*;
use crate::Scene;
use crate::profile::{EventKind, sample_at};

const SECOND: u64 = 1_000_000_000;

/// What F. Yang 2022, chapter 3, reports of a city.
struct Reported {
    city: City,
    /// Mean seconds of associations, addresses and sessions.
    durations: [f64; 3],
    /// Mean seconds of the gaps between them.
    holes: [f64; 3],
    per_hour: (f64, f64),
    first_ack: f64,
}

const REPORTED: [Reported; 4] = [
    Reported {
        city: City::Paris,
        durations: [16.58, 15.84, 17.24],
        holes: [5.70, 34.42, 42.45],
        per_hour: (150.0, 170.0),
        first_ack: 1.11,
    },
    Reported {
        city: City::Bologna,
        durations: [16.74, 17.47, 18.08],
        holes: [12.23, 15.69, 18.13],
        per_hour: (110.0, 130.0),
        first_ack: 1.09,
    },
    Reported {
        city: City::LosAngeles,
        durations: [29.28, 31.91, 33.57],
        holes: [33.08, 40.70, 43.45],
        per_hour: (54.0, 61.0),
        first_ack: 2.76,
    },
    Reported {
        city: City::Macao,
        durations: [21.27, 21.97, 23.24],
        holes: [112.27, 120.72, 124.39],
        per_hour: (25.0, 29.0),
        first_ack: 1.48,
    },
];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|x| (x - middle) * (x - middle)).collect::<Vec<_>>()).sqrt()
}

fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(p * sorted.len() as f64) as usize]
}

/// At least 20,000 associations of 5 seeds, as the acceptance checks of the specification ask for.
fn many(city: City) -> Vec<Vec<Association>> {
    let scene = WifiEncounters::in_city(city);
    let hours = match city {
        City::Paris => 30.0,
        City::Bologna => 40.0,
        City::LosAngeles => 80.0,
        City::Macao => 170.0,
        City::MacaoRate17 => 260.0,
    };
    (1..=5).map(|seed| scene.associations(hours * 3600.0, seed).expect("possible")).collect()
}

/// Durations from a beginning to the end of the association, and the gaps between them.
fn lives(runs: &[Vec<Association>], from: fn(&Association) -> Option<f64>) -> (Vec<f64>, Vec<f64>) {
    let (mut durations, mut holes) = (Vec::new(), Vec::new());
    for run in runs {
        let mut last_end = None;
        for association in run {
            let Some(start) = from(association) else { continue };
            durations.push(association.end - start);
            holes.extend(last_end.map(|end| start - end));
            last_end = Some(association.end);
        }
    }
    (durations, holes)
}

fn near(got: f64, wanted: f64, tolerance: f64, what: &str) {
    assert!((got / wanted - 1.0).abs() <= tolerance, "{what}: {got}, reported {wanted}");
}

/// Acceptance checks 1 to 3.
#[test]
fn durations_holes_and_rates_are_those_of_the_cities() {
    for reported in &REPORTED {
        let city = reported.city;
        let runs = many(city);
        let count: usize = runs.iter().map(Vec::len).sum();
        assert!(count >= 20_000, "{city:?}: {count} associations");
        let stages: [fn(&Association) -> Option<f64>; 3] =
            [|known| Some(known.start), Association::address_from, Association::transport_from];
        let mut means = Vec::new();
        for (stage, from) in stages.into_iter().enumerate() {
            let (durations, holes) = lives(&runs, from);
            let tolerance = if stage == 0 { 0.05 } else { 0.07 };
            near(mean(&durations), reported.durations[stage], 0.05, &format!("{city:?} duration {stage}"));
            near(mean(&holes), reported.holes[stage], tolerance, &format!("{city:?} hole {stage}"));
            means.push(mean(&holes));
            if stage == 0 {
                let ratio = mean(&holes) / quantile(&holes, 0.5);
                if city == City::Paris {
                    assert!(ratio < 1.5, "{city:?}: {ratio}");
                } else if city != City::Macao {
                    near(ratio, 4.0, 0.15, &format!("{city:?} mean over median hole"));
                }
            }
        }
        assert!(means[0] < means[1] && means[1] < means[2], "{city:?}: {means:?}");
        let hours: f64 = runs.iter().filter_map(|run| run.last()).map(|last| last.end / 3600.0).sum();
        let rate = count as f64 / hours;
        assert!(rate > reported.per_hour.0 && rate < reported.per_hour.1, "{city:?}: {rate} per hour");
    }
    let runs = many(City::MacaoRate17);
    let hours: f64 = runs.iter().filter_map(|run| run.last()).map(|last| last.end / 3600.0).sum();
    let rate = runs.iter().map(Vec::len).sum::<usize>() as f64 / hours;
    assert!((16.0..19.0).contains(&rate), "{rate} per hour");
}

/// Acceptance check 1, per band (table 3.2).
#[test]
fn durations_per_band_have_the_reported_mean_and_deviation() {
    let table = [
        (City::Bologna, [(14.54, 19.56), (26.22, 39.62)]),
        (City::LosAngeles, [(26.94, 30.67), (30.09, 33.38)]),
        (City::Macao, [(24.52, 41.57), (20.22, 40.33)]),
    ];
    for (city, bands) in table {
        let runs = many(city);
        for (band, wanted) in [Band::Low, Band::High].into_iter().zip(bands) {
            let durations: Vec<f64> =
                runs.iter().flatten().filter(|known| known.band == band).map(Association::duration).collect();
            near(mean(&durations), wanted.0, 0.05, &format!("{city:?} {band:?} mean"));
            near(deviation(&durations), wanted.1, 0.15, &format!("{city:?} {band:?} deviation"));
        }
    }
}

/// Acceptance check 4.
#[test]
fn the_first_acknowledgement_comes_when_it_came() {
    let mut means = Vec::new();
    for reported in &REPORTED {
        let runs = many(reported.city);
        let all: Vec<&Association> = runs.iter().flatten().collect();
        let times: Vec<f64> =
            all.iter().filter_map(|known| Some(known.transport_from()? - known.start)).collect();
        near(mean(&times), reported.first_ack, 0.10, &format!("{:?} first acknowledgement", reported.city));
        assert!(mean(&times) / quantile(&times, 0.5) < 1.5, "{:?}: heavy tail", reported.city);
        means.push(mean(&times));
        let slow = reported.city == City::LosAngeles;
        for pick in [(|known: &Association| known.association_time) as fn(&Association) -> f64, |known| {
            known.address_time
        }] {
            let p90 = quantile(&all.iter().map(|known| pick(known)).collect::<Vec<_>>(), 0.90);
            assert_eq!(p90 >= 1.0, slow, "{:?}: {p90}", reported.city);
        }
    }
    assert!(means.iter().all(|other| means[2] >= *other), "LA is the slowest: {means:?}");
}

/// Acceptance check 9.
#[test]
fn signal_says_nothing_and_speed_shortens() {
    for city in [City::Bologna, City::Macao] {
        let runs = many(city);
        let pairs = |pick: fn(&Association) -> f64| -> Vec<(f64, f64)> {
            runs.iter().flatten().map(|known| (known.signal_dbm, pick(known))).collect()
        };
        assert!(correlation(&pairs(Association::duration)).abs() < 0.03);
        assert!(correlation(&pairs(|known| known.goodput_down)).abs() < 0.03);
        let spatial = SpatialEncounters::in_city(city).associations(200.0 * 3600.0, 1).expect("possible");
        let works = || spatial.iter().filter(|known| known.outcome == Outcome::Works);
        let lives: Vec<(f64, f64)> = works().map(|known| (known.speed, known.duration())).collect();
        assert!(correlation(&lives) < -0.1, "{city:?}: {}", correlation(&lives));
        let goodput: Vec<(f64, f64)> = works().map(|known| (known.speed, known.goodput_down)).collect();
        assert!((-0.2..=0.0).contains(&correlation(&goodput)), "{city:?}: {}", correlation(&goodput));
    }
}

#[test]
fn space_gives_the_lives_of_the_statistics() {
    for (city, wanted) in
        [(City::Paris, 16.58), (City::Bologna, 16.74), (City::LosAngeles, 29.28), (City::Macao, 21.27)]
    {
        let scene = SpatialEncounters::in_city(city);
        let list = scene.associations(400.0 * 3600.0, 2).expect("possible");
        let covered: Vec<f64> =
            list.iter().filter(|known| known.outcome == Outcome::Works).map(Association::duration).collect();
        near(mean(&covered), wanted, 0.35, &format!("{city:?} life in space"));
    }
}

/// Acceptance check 7, on the levels before the link and its transport: table 3.4.
#[test]
fn goodput_levels_of_macao_are_those_of_the_table() {
    let runs = many(City::Macao);
    let level = |band: Band, pick: fn(&Association) -> f64| {
        let works =
            runs.iter().flatten().filter(|known| known.band == band && known.outcome == Outcome::Works);
        mean(&works.map(pick).collect::<Vec<_>>()) / 1e6
    };
    let up = (level(Band::High, |known| known.goodput_up), level(Band::Low, |known| known.goodput_up));
    let down = (level(Band::High, |known| known.goodput_down), level(Band::Low, |known| known.goodput_down));
    near(up.0, 16.25, 0.15, "up, 5 GHz");
    near(up.1, 4.33, 0.15, "up, 2.4 GHz");
    near(down.0, 10.26, 0.15, "down, 5 GHz");
    near(down.1, 3.71, 0.15, "down, 2.4 GHz");
    assert!(up.0 / up.1 >= 3.0 && down.0 / down.1 >= 2.5);
}

/// Acceptance check 12 (table 3.3): seconds from an address to another one, on drives within one provider.
#[test]
fn addresses_are_kept_as_long_as_the_providers_kept_them() {
    for (city, provider, kept) in [
        (City::Paris, "Free", 216.0),
        (City::Bologna, "EmiliaWifi", 184.0),
        (City::Bologna, "ALMAWIFI", 687.0),
        (City::LosAngeles, "Spectrum", 1644.0),
        (City::LosAngeles, "CableWifi", 3105.0),
        (City::LosAngeles, "Eduroam", 106.0),
        (City::Bologna, "Fastweb", f64::INFINITY),
        (City::Macao, "CTM", f64::INFINITY),
    ] {
        let mut scene = WifiEncounters::in_city(city);
        scene.city.providers.retain(|known| known.name == provider);
        scene.city.providers[0].share = 1.0;
        let drive = scene.associations(1000.0 * 3600.0, 1).expect("possible");
        let given = drive.iter().filter_map(|known| Some((known.address_from()?, known.address)));
        let given: Vec<(f64, u64)> = given.collect();
        let changes: Vec<f64> =
            given.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0).collect();
        match changes[..] {
            [first, .., last] => {
                let mean = (last - first) / (changes.len() - 1) as f64;
                near(mean, kept, 0.25, provider);
            }
            _ => assert_eq!((kept, changes.len()), (f64::INFINITY, 0), "{provider}"),
        }
    }
}

#[test]
fn the_link_is_up_while_there_is_an_address_and_black_when_nothing_comes_through() {
    let scene = WifiEncounters::in_city(City::Bologna);
    let duration = 3600;
    let link = scene.profile(duration * SECOND, 4).expect("possible");
    let list = scene.associations(duration as f64, 4).expect("possible");
    let mut black = 0;
    for association in list.iter().filter(|known| known.end < duration as f64) {
        let middle = |from: f64| crate::math::nanos(0.5 * (from + association.end));
        match association.address_from() {
            Some(from) if from + 0.2 < association.end => {
                let down = sample_at(&link.down, middle(from)).expect("known");
                assert!(down.up, "{association:?}");
                black += u32::from(down.loss == 1.0);
                assert_eq!(
                    down.loss == 1.0,
                    association.outcome == Outcome::NoTransport,
                    "{association:?} {down:?}"
                );
            }
            Some(_) => {}
            None => {
                let down = sample_at(&link.down, middle(association.start)).expect("known");
                assert!(!down.up, "{association:?}");
            }
        }
    }
    assert!(black > 0, "some addresses carry nothing");
    assert_eq!(link.count(EventKind::Attach), link.count(EventKind::Detach));
    assert!(link.count(EventKind::AddressChange) > 0);
}

#[test]
fn cities_that_cannot_be_are_refused() {
    let mut scene = WifiEncounters::default();
    scene.city.providers[0].share = 0.9;
    let error = scene.profile(SECOND, 1).expect_err("shares").to_string();
    assert!(error.starts_with("wifi-encounters: providers = 1.4"), "{error}");
}
