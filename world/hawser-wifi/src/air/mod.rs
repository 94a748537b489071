//! A fake air in virtual time: access points that come and go along a drive, lose and delay what is exchanged with them, and
//! give addresses.
//!
//! The drive is one of `hawser-radio`'s: lives, bands, signals, providers and silent DHCP servers of a city. What the data do
//! not give is set here and named: where exchanges are lost (the edges of a coverage), how long they take (the specification's ranges: 2 to 5 ms to the
//! access point, 30 to 80 ms to the core network), how many EAP takes (PEAP ten pairs, EAP-SIM four; resumed, half of them). Exchanges with
//! access points are values with the time that frames take; DHCP messages are real bytes, read and answered by a server.

mod point;
mod run;
mod scene;
mod server;

pub use hawser_radio::City;
pub use point::AccessPoint;
pub use run::{Encounter, Run};
pub use scene::Drive;

/// Share of a drive's time with a usable address, as its encounters have it; of a drive that lasts until the last one's end.
pub fn usable(encounters: &[Encounter]) -> f64 {
    let until = encounters.iter().map(|it| it.at_s + it.total_s() + it.up_s).fold(0.0, f64::max);
    let up: f64 = encounters.iter().map(|it| it.up_s).sum();
    if until > 0.0 { up / until } else { 0.0 }
}

#[cfg(test)]
mod tests;
