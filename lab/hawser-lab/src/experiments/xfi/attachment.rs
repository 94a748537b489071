//! Clients that attach, in the fake air: the time budgets of X-Fi and of a stock client (item 5), and what each phase takes.

use hawser_radio::City;
use hawser_wifi::air::{Drive, Encounter};
use hawser_wifi::{Phase, Profile};

use crate::data::wifi::{ClientReport, WifiReport};
use crate::experiments::verify::{Measured, Request};

/// Hours of a drive in Bologna, where X-Fi was compared with a stock client: some 400 attachments.
const HOURS: f64 = 4.0;
/// Cities whose association and DHCP times the thesis describes.
const CITIES: [(&str, City, f64); 4] = [
    ("paris", City::Paris, 3.0),
    ("bologna", City::Bologna, HOURS),
    ("los-angeles", City::LosAngeles, 6.0),
    ("macao", City::Macao, 16.0),
];

fn drive(city: City, hours: f64, seed: u64) -> Result<Drive, String> {
    Drive::in_city(city, hours, seed).map_err(|error| error.to_string())
}

/// The same drive with four clients.
pub(super) fn clients(request: &Request<'_>) -> Result<Measured, String> {
    let bologna = drive(City::Bologna, HOURS, request.seed)?;
    let encounters: Vec<Encounter> = Profile::ALL.iter().flat_map(|profile| bologna.run(profile)).collect();
    let report = WifiReport::of(&encounters);
    let client = |name: &str| report.client(name).ok_or_else(|| format!("{name} has made no attempt"));
    let mut measured = Measured::new("");
    for profile in Profile::ALL {
        measured = with_client(measured, profile.name, client(profile.name)?);
    }
    let median = |name: &str| {
        let times = client(name)?.to_address_s.as_ref();
        times.map(|times| times.median).ok_or_else(|| format!("{name} has never attached"))
    };
    let gap = median(Profile::STOCK.name)? - median(Profile::FAST.name)?;
    let by_probes = median(Profile::STOCK.name)? - median(Profile::STOCK_WITHOUT_PROBES.name)?;
    let usable = |name: &str| client(name).map(|client| client.usable_s);
    Ok(measured
        .with("median_gap_s", gap)
        .with("gap_by_probes", by_probes / gap)
        .with("usable_over_stock", usable(Profile::FAST.name)? / usable(Profile::STOCK.name)?))
}

fn with_client(mut measured: Measured, name: &str, client: &ClientReport) -> Measured {
    if let Some(times) = &client.to_address_s {
        measured = measured
            .with(format!("{name}.to_address_median_s"), times.median)
            .with(format!("{name}.to_address_p90_s"), times.p90);
    }
    for phase in Phase::ALL {
        let times = client.phase(phase).and_then(|known| known.times.as_ref());
        if let Some(times) = times {
            measured = measured.with(format!("{name}.{}_median_s", phase.name()), times.median);
        }
    }
    measured.with(format!("{name}.attached_share"), client.attached as f64 / client.attempts.max(1) as f64)
}

/// X-Fi in all cities: how long association and DHCP take.
pub(super) fn phases(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    for (name, city, hours) in CITIES {
        let encounters = drive(city, hours, request.seed)?.run(&Profile::FAST);
        let report = WifiReport::of(&encounters);
        let client = report.client(Profile::FAST.name).ok_or("no attempts")?;
        let dhcp = client.phase(Phase::Dhcp).and_then(|known| known.times.as_ref());
        for (what, times) in [("association", client.association_s.as_ref()), ("dhcp", dhcp)] {
            let times = times.ok_or_else(|| format!("{name} has no {what} times"))?;
            measured = measured
                .with(format!("{name}.{what}_median_s"), times.median)
                .with(format!("{name}.{what}_p90_s"), times.p90)
                .with(format!("{name}.{what}_mean_over_median"), times.mean / times.median);
        }
    }
    Ok(measured)
}
