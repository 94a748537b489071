//! The access points of a drive through a city.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use hawser_policy::Time;
use hawser_radio::{Band, City, Outcome, RadioError, WifiEncounters};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::point::AccessPoint;
use crate::choose::{Bssid, Choice};

/// 2.4 GHz: channels 1 to 13.
const LOW: [u16; 13] = [2412, 2417, 2422, 2427, 2432, 2437, 2442, 2447, 2452, 2457, 2462, 2467, 2472];
/// 5 GHz: 36 to 64 and 100 to 140.
const HIGH: [u16; 19] = [
    5180, 5200, 5220, 5240, 5260, 5280, 5300, 5320, 5500, 5520, 5540, 5560, 5580, 5600, 5620, 5640, 5660,
    5680, 5700,
];
/// Channels that access points are found on at 2.4 GHz.
const USUAL_LOW: [u16; 3] = [2412, 2437, 2462];
/// How long before an association of the data its access point could be heard: the data begin when a scan had found it.
const LEAD_S: f64 = 1.5;
/// How long an access point is heard that does not answer, seconds.
const DEAF_S: f64 = 4.0;
/// Most of those before an association.
const MAX_DEAF: u32 = 4;
/// Loss of exchanges at the edge of a coverage.
const EDGE_LOSS: std::ops::Range<f64> = 0.05..0.20;

/// A drive: which access points come into reach when.
#[derive(Clone, Debug)]
pub struct Drive {
    pub(super) points: Vec<AccessPoint>,
    indices: BTreeMap<Bssid, usize>,
    pub(super) networks: Vec<String>,
    pub(super) channels: Vec<u16>,
    pub(super) until: Time,
    pub(super) seed: u64,
    pub(super) choice: Choice,
}

impl Drive {
    /// A drive of so many hours through a city of the measurement.
    ///
    /// # Errors
    /// The generator refuses the duration.
    pub fn in_city(city: City, hours: f64, seed: u64) -> Result<Drive, RadioError> {
        let statistics = city.statistics();
        let associations = WifiEncounters::in_city(city).associations(hours * 3600.0, seed)?;
        let mut maker = Maker { city, random: ChaCha8Rng::seed_from_u64(seed ^ 0x0a1b), points: Vec::new() };
        let mut last_end = 0.0;
        for known in associations {
            let ssid = &statistics.providers[known.provider].name;
            for _ in 1..known.attempts.min(MAX_DEAF + 1) {
                // Before the association, in the hole; in short holes also during the association before.
                let start =
                    known.start - maker.random.random_range(0.0..(known.start - last_end).max(DEAF_S));
                maker.add(start.max(0.0), start.max(0.0) + DEAF_S, ssid, known.band);
                let deaf = maker.last();
                deaf.answers = false;
                deaf.dbm = known.signal_dbm - 10.0;
            }
            maker.add((known.start - LEAD_S).max(0.0), known.end, ssid, known.band);
            let point = maker.last();
            point.dbm = known.signal_dbm;
            point.gives_addresses = known.outcome != Outcome::NoAddress;
            // A provider gives the address that it gave before, unless the data have it otherwise.
            point.address = address(known.provider, known.address);
            point.goodput = known.goodput_down;
            last_end = known.end;
        }
        maker.points.sort_by_key(|point| point.from);
        let mut channels = LOW.to_vec();
        if statistics.high_band_share > 0.0 {
            channels.extend(HIGH);
        }
        Ok(Drive {
            indices: maker.points.iter().map(|point| point.bssid).zip(0..).collect(),
            points: maker.points,
            networks: statistics.providers.iter().map(|it| it.name.clone()).collect(),
            channels,
            until: Time::ZERO + std::time::Duration::from_secs_f64(hours * 3600.0),
            seed,
            choice: Choice::Strongest,
        })
    }

    /// The same drive with a client that takes access points by another rule.
    #[must_use]
    pub fn with_choice(mut self, choice: Choice) -> Drive {
        self.choice = choice;
        self
    }

    pub(super) fn index_of(&self, bssid: Bssid) -> Option<usize> {
        self.indices.get(&bssid).copied()
    }

    /// The access points, in the order in which they come into reach.
    pub fn points(&self) -> &[AccessPoint] {
        &self.points
    }
}

fn address(provider: usize, number: u64) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    // Never the host 0 or 255 of a network of 24 bits: some hosts refuse those.
    Ipv4Addr::new(10, 64 + provider as u8, high, low.clamp(1, 254))
}

struct Maker {
    city: City,
    random: ChaCha8Rng,
    points: Vec<AccessPoint>,
}

impl Maker {
    fn add(&mut self, from: f64, until: f64, ssid: &str, band: Band) {
        let random = &mut self.random;
        let mhz = match band {
            Band::Low => USUAL_LOW[random.random_range(0..USUAL_LOW.len())],
            Band::High => HIGH[random.random_range(0..HIGH.len())],
        };
        let [.., a, b, c] = (self.points.len() as u32).to_be_bytes();
        let time = |seconds: f64| Time::ZERO + std::time::Duration::from_secs_f64(seconds);
        // Paris authenticates by EAP-SIM, the others by PEAP with MSCHAPv2; Los Angeles is slower in both EAP and DHCP.
        let (eap_pairs, resumed_pairs) = if self.city == City::Paris { (4, 2) } else { (10, 5) };
        self.points.push(AccessPoint {
            bssid: Bssid([0x02, 0x00, 0x5e, a, b, c]),
            ssid: ssid.to_owned(),
            mhz,
            dbm: -70.0,
            from: time(from),
            until: time(until),
            answers: true,
            gives_addresses: true,
            address: Ipv4Addr::UNSPECIFIED,
            edge_loss: random.random_range(EDGE_LOSS),
            core_scale: if self.city == City::LosAngeles { 2.0 } else { 1.0 },
            eap_pairs,
            resumed_pairs,
            goodput: 0.0,
        });
    }

    /// The one that was added last.
    fn last(&mut self) -> &mut AccessPoint {
        let last = self.points.len() - 1;
        &mut self.points[last]
    }
}
