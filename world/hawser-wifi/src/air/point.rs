//! An access point along the drive.

use std::net::Ipv4Addr;
use std::time::Duration;

use hawser_policy::Time;
use rand::Rng;

use crate::choose::{Bssid, Sighting};

/// Part of a coverage, at either end, over which exchanges are lost more and more (the generator's links have the same).
const FRINGE: f64 = 0.12;
/// Loss of exchanges amid a coverage.
const INNER_LOSS: f64 = 0.01;

/// An access point that can be heard from `from` to `until`.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPoint {
    /// Its address.
    pub bssid: Bssid,
    /// Its network.
    pub ssid: String,
    /// Frequency, MHz.
    pub mhz: u16,
    /// Received power, dBm.
    pub dbm: f64,
    /// When the coverage begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// Whether it answers at all: many are heard that do not hear.
    pub answers: bool,
    /// Whether its DHCP server does.
    pub gives_addresses: bool,
    /// The address that it gives.
    pub address: Ipv4Addr,
    /// Loss of an exchange at the edge of the coverage, 0 to 1.
    pub edge_loss: f64,
    /// How much longer than usual the core network takes.
    pub core_scale: f64,
    /// Pairs of an EAP authentication; 0: the network has none.
    pub eap_pairs: u8,
    /// Pairs of a resumed one.
    pub resumed_pairs: u8,
    /// What the network carries, bit/s: told to a client that chooses by history.
    pub goodput: f64,
}

impl AccessPoint {
    /// As a scan hears it.
    pub(super) fn sighting(&self) -> Sighting {
        Sighting { bssid: self.bssid, ssid: self.ssid.clone(), mhz: self.mhz, dbm: self.dbm }
    }

    pub(super) fn covers(&self, now: Time) -> bool {
        (self.from..self.until).contains(&now)
    }

    /// Probability that an exchange is lost now.
    pub(super) fn loss(&self, now: Time) -> f64 {
        if !self.covers(now) {
            return 1.0;
        }
        let length = (self.until - self.from).as_secs_f64();
        let place = (now - self.from).as_secs_f64() / length;
        let inside = (place / FRINGE).min((1.0 - place) / FRINGE).clamp(0.0, 1.0);
        INNER_LOSS + (self.edge_loss - INNER_LOSS).max(0.0) * (1.0 - inside)
    }

    /// Time of an exchange with the access point itself: 2 to 5 ms.
    pub(super) fn local(random: &mut impl Rng) -> Duration {
        Duration::from_secs_f64(random.random_range(0.002..0.005))
    }

    /// Time of an exchange with a server in the core network behind it: 30 to 80 ms more, in slow networks a multiple.
    pub(super) fn core(&self, random: &mut impl Rng) -> Duration {
        let core = self.core_scale * random.random_range(0.030..0.080);
        AccessPoint::local(random) + Duration::from_secs_f64(core)
    }
}
