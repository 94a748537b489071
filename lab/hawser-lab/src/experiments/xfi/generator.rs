//! Associations of whole drives from the generator of encounters, against what the chapter reports (items 1 to 4, 9, 12, 15).

use hawser_radio::{Association, Band, City, Outcome, Scene, SpatialEncounters, WifiEncounters};
use sha2::{Digest, Sha256};

use crate::data::statistics::{deviation, mean, quantile_of};
use crate::experiments::verify::{Measured, Request};

/// Name in metrics, city, and hours of a drive: five seeds have more than 20,000 associations.
const CITIES: [(&str, City, f64); 5] = [
    ("paris", City::Paris, 30.0),
    ("bologna", City::Bologna, 40.0),
    ("los-angeles", City::LosAngeles, 80.0),
    ("macao", City::Macao, 170.0),
    ("macao-rate17", City::MacaoRate17, 260.0),
];

/// When something begins in an association, if it does.
type Begin = fn(&Association) -> Option<f64>;

fn drive(city: City, hours: f64, seed: u64) -> Result<Vec<Association>, String> {
    WifiEncounters::in_city(city).associations(hours * 3600.0, seed).map_err(|error| error.to_string())
}

/// Lives from a beginning to the end of the association, and the gaps between them.
fn lives(drive: &[Association], begin: Begin) -> (Vec<f64>, Vec<f64>) {
    let (mut durations, mut holes) = (Vec::new(), Vec::new());
    let mut last_end = None;
    for association in drive {
        let Some(start) = begin(association) else { continue };
        durations.push(association.end - start);
        holes.extend(last_end.map(|end| start - end));
        last_end = Some(association.end);
    }
    (durations, holes)
}

/// Items 1 to 4: lives, holes, rates and first acknowledgements.
pub(super) fn drives(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    let stages: [(&str, Begin); 3] = [
        ("l2", |known| Some(known.start)),
        ("ip", Association::address_from),
        ("transport", Association::transport_from),
    ];
    for (name, city, hours) in CITIES {
        let drive = drive(city, hours, request.seed)?;
        for (stage, begin) in stages {
            let (durations, holes) = lives(&drive, begin);
            let median = quantile_of(&holes, 0.5);
            measured = measured
                .with(format!("{name}.{stage}.duration_s"), mean(&durations))
                .with(format!("{name}.{stage}.hole_s"), mean(&holes))
                .with(format!("{name}.{stage}.hole_mean_over_median"), mean(&holes) / median);
        }
        for (band, of) in [("low", Band::Low), ("high", Band::High)] {
            let of_band = drive.iter().filter(|known| known.band == of);
            let lives: Vec<f64> = of_band.map(Association::duration).collect();
            if !lives.is_empty() {
                measured = measured
                    .with(format!("{name}.{band}.duration_s"), mean(&lives))
                    .with(format!("{name}.{band}.deviation_s"), deviation(&lives));
            }
        }
        let end = drive.last().map_or(0.0, |last| last.end);
        let acks: Vec<f64> =
            drive.iter().filter_map(|known| Some(known.transport_from()? - known.start)).collect();
        let works =
            drive.iter().filter_map(|known| Some((known.transport_from()? - known.start, known.duration())));
        let works: Vec<(f64, f64)> = works.collect();
        let shares: Vec<f64> = works.iter().map(|(setup, life)| setup / life).collect();
        let lives: Vec<f64> = works.iter().map(|(_, life)| *life).collect();
        let p90 = |of: fn(&Association) -> f64| quantile_of(&drive.iter().map(of).collect::<Vec<_>>(), 0.9);
        measured = measured
            .with(format!("{name}.associations"), drive.len() as f64)
            .with(format!("{name}.per_hour"), drive.len() as f64 / (end / 3600.0))
            .with(format!("{name}.first_ack_s"), mean(&acks))
            .with(format!("{name}.first_ack_mean_over_median"), mean(&acks) / quantile_of(&acks, 0.5))
            .with(format!("{name}.setup_share"), mean(&shares))
            .with(format!("{name}.setup_ratio"), mean(&acks) / mean(&lives))
            .with(format!("{name}.association_p90_s"), p90(|known| known.association_time))
            .with(format!("{name}.address_p90_s"), p90(|known| known.address_time));
    }
    Ok(measured)
}

/// Pearson's coefficient of correlation.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let together: Vec<f64> = pairs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).collect();
    mean(&together) / (deviation(&x) * deviation(&y))
}

/// Item 9: what signal and speed say.
pub(super) fn correlations(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    for (name, city, hours) in [CITIES[1], CITIES[3]] {
        let drive = drive(city, hours, request.seed)?;
        let signal = |of: fn(&Association) -> f64| {
            correlation(&drive.iter().map(|known| (known.signal_dbm, of(known))).collect::<Vec<_>>()).abs()
        };
        let road = SpatialEncounters::in_city(city).associations(200.0 * 3600.0, request.seed);
        let road = road.map_err(|error| error.to_string())?;
        let speed = |of: fn(&Association) -> f64| {
            let works = road.iter().filter(|known| known.outcome == Outcome::Works);
            correlation(&works.map(|known| (known.speed, of(known))).collect::<Vec<_>>())
        };
        measured = measured
            .with(format!("{name}.signal_duration_r"), signal(Association::duration))
            .with(format!("{name}.signal_goodput_r"), signal(|known| known.goodput_down))
            .with(format!("{name}.speed_duration_r"), speed(Association::duration))
            .with(format!("{name}.speed_goodput_r"), speed(|known| known.goodput_down));
    }
    Ok(measured)
}

/// Item 15: the same seed twice, and another one, down to the bits of every profile.
pub(super) fn same_seed(request: &Request<'_>) -> Result<Measured, String> {
    let (mut differ, mut alike) = (0_u32, 0_u32);
    for (_, city, _) in CITIES {
        let scene = WifiEncounters::in_city(city);
        let digest = |seed: u64| {
            let profiles = scene.profiles(3600 * 1_000_000_000, seed).map_err(|error| error.to_string())?;
            Ok::<_, String>(Sha256::digest(format!("{profiles:?}").as_bytes()))
        };
        let (first, again, other) = (digest(request.seed)?, digest(request.seed)?, digest(request.seed + 1)?);
        differ += u32::from(first != again);
        alike += u32::from(first == other);
    }
    Ok(Measured::new("")
        .with("profiles_differ", f64::from(differ))
        .with("other_seed_same_profile", f64::from(alike)))
}
