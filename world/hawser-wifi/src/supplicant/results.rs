//! Answers to commands: tables of text.

use std::collections::BTreeMap;

use super::{MAX_NETWORKS, unescape};
use crate::attach::MAX_SIGHTINGS;
use crate::choose::Sighting;

/// The answer to `SCAN_RESULTS`: a heading, then BSSID, frequency, signal, flags and name, with tabs between. Lines in another form
/// are left out; at most [`MAX_SIGHTINGS`] are taken. With each, whether it wants access authentication (EAP).
pub fn scan_results(text: &str) -> Vec<(Sighting, bool)> {
    let line = |line: &str| {
        let mut fields = line.splitn(5, '\t');
        let bssid = fields.next()?.parse().ok()?;
        let mhz = fields.next()?.parse().ok()?;
        let dbm: f64 = fields.next()?.parse::<i16>().ok()?.into();
        let has_eap = fields.next()?.contains("EAP");
        Some((Sighting { bssid, mhz, dbm, ssid: unescape(fields.next()?) }, has_eap))
    };
    text.lines().filter_map(line).take(MAX_SIGHTINGS).collect()
}

/// The answer to `LIST_NETWORKS`: number and name of each network of the configuration that is not switched off; at most
/// [`MAX_NETWORKS`].
pub fn networks(text: &str) -> Vec<(u32, String)> {
    let line = |line: &str| {
        let mut fields = line.splitn(4, '\t');
        let number = fields.next()?.parse().ok()?;
        let ssid = unescape(fields.next()?);
        let _bssid = fields.next()?;
        Some((number, ssid))
    };
    text.lines().filter_map(line).take(MAX_NETWORKS).collect()
}

/// The answer to `STATUS`: `name=value` lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status(BTreeMap<String, String>);

impl Status {
    /// From the answer.
    pub fn parse(text: &str) -> Status {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Status(pairs.take(MAX_NETWORKS).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Whether the link carries data: `wpa_state=COMPLETED`.
    pub fn is_completed(&self) -> bool {
        self.0.get("wpa_state").is_some_and(|state| state == "COMPLETED")
    }

    /// The access point.
    pub fn bssid(&self) -> Option<crate::Bssid> {
        self.0.get("bssid")?.parse().ok()
    }

    /// Hardware address of the interface.
    pub fn address(&self) -> Option<crate::Bssid> {
        self.0.get("address")?.parse().ok()
    }

    /// The network.
    pub fn ssid(&self) -> Option<String> {
        self.0.get("ssid").map(|text| unescape(text))
    }
}
