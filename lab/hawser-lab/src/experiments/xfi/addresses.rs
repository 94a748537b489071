//! How long an address stays unchanged on a drive within one provider (item 12, table 3.3).

use hawser_radio::{Association, City, Provider, WifiEncounters};

use crate::experiments::verify::{Measured, Request};

/// Hours of a drive: CableWifi changes an address in 52 minutes on average.
const HOURS: f64 = 200.0;

/// A drive in the networks of each provider alone.
pub(super) fn keeping(request: &Request<'_>) -> Result<Measured, String> {
    let mut measured = Measured::new("");
    for city in [City::Paris, City::Bologna, City::LosAngeles, City::Macao] {
        for provider in city.statistics().providers {
            let name = provider.name.to_lowercase();
            let mut scene = WifiEncounters::in_city(city);
            scene.city.providers = vec![Provider { share: 1.0, ..provider }];
            let drive = scene.associations(HOURS * 3600.0, request.seed);
            let lives = lives(&drive.map_err(|error| error.to_string())?);
            measured = measured.with(format!("{name}.changes"), lives.len() as f64);
            if !lives.is_empty() {
                let mean = lives.iter().sum::<f64>() / lives.len() as f64;
                measured = measured.with(format!("{name}.kept_s"), mean);
            }
        }
    }
    Ok(measured)
}

/// From each address to the next one that is another.
fn lives(drive: &[Association]) -> Vec<f64> {
    let mut lives = Vec::new();
    let mut since: Option<(u64, f64)> = None;
    for association in drive {
        let Some(from) = association.address_from() else { continue };
        match since {
            Some((address, began)) if address != association.address => {
                lives.push(from - began);
                since = Some((association.address, from));
            }
            Some(_) => {}
            None => since = Some((association.address, from)),
        }
    }
    lives
}
