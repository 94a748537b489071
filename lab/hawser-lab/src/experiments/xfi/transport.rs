//! Sessions of the tool in the cities, on the real transport (items 6 to 8, 10, 11): volumes, goodput, how even flows are, and
//! what controllers and more flows change.

use hawser_link::{Direction, Nanos};
use hawser_radio::{Association, Band, City, Outcome, Profile, Scene, WifiEncounters};
use hawser_scenario::Scenario;

use super::session::{self, Session};
use crate::data::measure::{Configuration, Pool};
use crate::data::statistics::{mean, mean_of};
use crate::experiments::verify::{Measured, Request};

/// Runs, city, and hours of a drive with some 400 sessions: volumes of sessions vary by twice their mean.
const CITIES: [(&str, City, f64); 4] = [
    ("sessions-paris", City::Paris, 7.2),
    ("sessions-bologna", City::Bologna, 4.8),
    ("sessions-los-angeles", City::LosAngeles, 9.6),
    ("sessions-macao-rate17", City::MacaoRate17, 27.0),
];
/// More than a standard deviation of half the mean, and more lost than this, is what figure 3.22 counts.
const VARIES: f64 = 0.5;
const LOSES: f64 = 0.05;
/// Hours of Macao from which sessions are taken by band, and how many of each band and direction.
const MACAO_HOURS: f64 = 80.0;
const OF_HIGH_BAND: usize = 120;
const OF_LOW_BAND: usize = 200;
/// Associations over which controllers are compared, each way.
const COMPARED: usize = 20;

/// A drive: associations that carry, the link on which they do, and the scenario of a session over it.
struct Drive {
    works: Vec<Association>,
    link: Profile,
    base: Scenario,
}

impl Drive {
    fn new(request: &Request<'_>, scene: &WifiEncounters, hours: f64) -> Result<Self, String> {
        let (base, seed) = (session::base(request, scene.city.quality.queue)?, request.seed);
        let seconds = hours * 3600.0;
        let duration = (seconds * 1e9) as Nanos;
        let failed = |error: hawser_radio::RadioError| error.to_string();
        let mut works = scene.associations(seconds, seed).map_err(failed)?;
        works.retain(|known| known.outcome == Outcome::Works && known.end < seconds);
        let link = scene.profile(duration, seed).map_err(failed)?;
        Ok(Drive { works, link, base })
    }
}

/// The pool of the thesis.
fn pool() -> Pool {
    Pool {
        controllers: vec!["bbr".into(), "cubic".into()],
        directions: vec![Direction::Up, Direction::Down],
        flows: vec![1, 2, 4, 8, 16],
    }
}

/// A whole drive through a city, a session in each association that carries: volumes, and how even flows are.
pub(super) fn city(request: &Request<'_>) -> Result<Measured, String> {
    let found = CITIES.iter().find(|(runs, ..)| *runs == request.runs);
    let &(_, city, hours) = found.ok_or_else(|| format!("there is no city {}", request.runs))?;
    sessions(request, &WifiEncounters::in_city(city), hours)
}

/// The same in any city.
pub(super) fn sessions(
    request: &Request<'_>,
    scene: &WifiEncounters,
    hours: f64,
) -> Result<Measured, String> {
    let (drive, pool) = (Drive::new(request, scene, hours)?, pool());
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for (number, association) in drive.works.iter().enumerate() {
        let drawn = pool.draw(request.seed, number as u64);
        let session = session::run(request, &drive.base, &drive.link, association, &drawn, true)?;
        let kept = if drawn.direction == Direction::Up { &mut up } else { &mut down };
        kept.push(session);
    }
    let megabytes = |sessions: &[Session]| {
        mean_of(sessions.iter().map(|session| session.bytes as f64 / 1e6)).unwrap_or(f64::NAN)
    };
    let goodputs = |sessions: &[Session]| {
        mean_of(sessions.iter().map(|session| session.goodput() / 1e6)).unwrap_or(f64::NAN)
    };
    let bytes: u64 = up.iter().chain(&down).map(|session| session.bytes).sum();
    let measured = Measured::new("")
        .with("sessions", (up.len() + down.len()) as f64)
        .with("gb_per_hour", bytes as f64 / 1e9 / hours)
        .with("up_mean_mb", megabytes(&up))
        .with("down_mean_mb", megabytes(&down))
        .with("up_mean_mbps", goodputs(&up))
        .with("down_mean_mbps", goodputs(&down));
    Ok(with_quality(measured, up.iter().chain(&down)))
}

fn with_quality<'a>(measured: Measured, sessions: impl Iterator<Item = &'a Session> + Clone) -> Measured {
    let flows = || sessions.clone().flat_map(|session| &session.flows);
    let share = |values: Vec<f64>, bound: f64| {
        values.iter().filter(|value| **value > bound).count() as f64 / values.len() as f64
    };
    measured
        .with("flows", flows().count() as f64)
        .with("rtt_varies_share", share(flows().filter_map(|flow| flow.rtt).collect(), VARIES))
        .with("loses_share", share(flows().filter_map(|flow| flow.loss).collect(), LOSES))
        .with("throughput_varies_share", share(flows().filter_map(|flow| flow.throughput).collect(), VARIES))
}

/// Macao by band and direction: as many sessions of each as the means need.
pub(super) fn bands(request: &Request<'_>) -> Result<Measured, String> {
    bands_in(request, &WifiEncounters::in_city(City::Macao))
}

/// The same in any city.
pub(super) fn bands_in(request: &Request<'_>, scene: &WifiEncounters) -> Result<Measured, String> {
    let (drive, pool) = (Drive::new(request, scene, MACAO_HOURS)?, pool());
    let mut measured = Measured::new("");
    for (name, band, count) in [("high", Band::High, OF_HIGH_BAND), ("low", Band::Low, OF_LOW_BAND)] {
        let of_band = || drive.works.iter().filter(move |known| known.band == band);
        for (way, direction, skip) in [("up", Direction::Up, 0), ("down", Direction::Down, count)] {
            let mut rates = Vec::new();
            for (number, association) in of_band().enumerate().skip(skip).take(count) {
                let drawn = Configuration { direction, ..pool.draw(request.seed, number as u64) };
                let session = session::run(request, &drive.base, &drive.link, association, &drawn, false)?;
                rates.push(session.goodput() / 1e6);
            }
            measured = measured.with(format!("{way}_{name}_mbps"), mean(&rates));
        }
    }
    let value = |name: &str| {
        let found = measured.metrics.iter().find(|(known, _)| known == name);
        found.map_or(f64::NAN, |(_, value)| *value)
    };
    let ratio = |way: &str| value(&format!("{way}_high_mbps")) / value(&format!("{way}_low_mbps"));
    let (up, down) = (ratio("up"), ratio("down"));
    Ok(measured.with("up_high_over_low", up).with("down_high_over_low", down))
}

/// The same associations of Macao with other controllers, and with eight flows.
pub(super) fn controllers(request: &Request<'_>) -> Result<Measured, String> {
    controllers_in(request, &WifiEncounters::in_city(City::Macao))
}

/// The same in any city.
pub(super) fn controllers_in(request: &Request<'_>, scene: &WifiEncounters) -> Result<Measured, String> {
    let drive = Drive::new(request, scene, MACAO_HOURS)?;
    let goodput = |controller: &str, flows: u32| all(request, &drive, controller, flows);
    let (bbr, cubic, plus) = (goodput("bbr", 1)?, goodput("cubic", 1)?, goodput("bbr2plus", 1)?);
    let (bbr_of_eight, cubic_of_eight) = (goodput("bbr", 8)?, goodput("cubic", 8)?);
    Ok(Measured::new("")
        .with("bbr_mbps", bbr)
        .with("cubic_mbps", cubic)
        .with("bbr2plus_mbps", plus)
        .with("bbr_of_eight_mbps", bbr_of_eight)
        .with("cubic_of_eight_mbps", cubic_of_eight)
        .with("bbr_over_cubic", bbr / cubic)
        .with("eight_over_one", (bbr_of_eight + cubic_of_eight) / (bbr + cubic))
        .with("bbr2plus_over_bbr", plus / bbr))
}

/// Mean goodput over the first associations of a drive, each way, Mbit/s.
fn all(request: &Request<'_>, drive: &Drive, controller: &str, flows: u32) -> Result<f64, String> {
    let mut rates = Vec::new();
    for direction in Direction::BOTH {
        let configuration = Configuration { controller: controller.to_owned(), direction, flows };
        for association in drive.works.iter().take(COMPARED) {
            let session =
                session::run(request, &drive.base, &drive.link, association, &configuration, false)?;
            rates.push(session.goodput() / 1e6);
        }
    }
    Ok(mean(&rates))
}
