//! What was seen of a link at a time, read from messages, written as a line of link states.

use serde_json::{Map, Value, json};

use super::message::Attributes;
use crate::Bssid;

/// Attributes of nl80211 (`enum nl80211_attrs`).
pub(super) const ATTR_IFINDEX: u16 = 3;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_WIPHY_FREQ: u16 = 38;
/// Of a station (`enum nl80211_sta_info`).
const STA_SIGNAL: u16 = 7;
const STA_TX_BITRATE: u16 = 8;
const STA_RX_BITRATE: u16 = 14;
/// Of a bit rate (`enum nl80211_rate_info`), both in units of 100 kbit/s; the wider one is not cut at 6.5 Gbit/s.
const RATE_BITRATE: u16 = 1;
const RATE_BITRATE32: u16 = 5;

/// What is known of the access point of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// The access point; none: not associated.
    pub bssid: Option<Bssid>,
    /// Frequency, MHz.
    pub mhz: Option<u32>,
    /// Strength of the newest frame from it, dBm.
    pub dbm: Option<i8>,
    /// Bit rate of the radio towards it, bit/s: of the newest frame, before everything that the medium access costs.
    pub up_bps: Option<u64>,
    /// And from it.
    pub down_bps: Option<u64>,
}

impl Observation {
    /// Takes in an answer about the interface.
    pub(super) fn add_interface(&mut self, attributes: Attributes<'_>) {
        self.mhz = attributes.u32(ATTR_WIPHY_FREQ);
    }

    /// Takes in an answer about a station: of a client there is one, the access point.
    pub(super) fn add_station(&mut self, attributes: Attributes<'_>) {
        let address = attributes.find(ATTR_MAC).and_then(|mac| <[u8; 6]>::try_from(mac).ok());
        let Some(address) = address else { return };
        self.bssid = Some(Bssid(address));
        let Some(info) = attributes.nested(ATTR_STA_INFO) else { return };
        self.dbm = info.u8(STA_SIGNAL).map(|byte| byte as i8);
        let rate = |kind: u16| {
            let rate = info.nested(kind)?;
            let tenths = rate.u32(RATE_BITRATE32).or(rate.u16(RATE_BITRATE).map(u32::from))?;
            Some(u64::from(tenths) * 100_000)
        };
        (self.up_bps, self.down_bps) = (rate(STA_TX_BITRATE), rate(STA_RX_BITRATE));
    }

    /// A line of link states (`docs/links.md`) about this link. `airtime`: the share of the bit rates that is left for IP packets, for
    /// sources that want rates; none: rates are not told, as nobody knows how busy the air is.
    pub fn line(&self, link: &str, airtime: Option<f64>) -> String {
        let mut line = Map::new();
        line.insert("link".to_owned(), json!(link));
        line.insert("up".to_owned(), json!(self.bssid.is_some()));
        let mut add = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                line.insert(field.to_owned(), value);
            }
        };
        add("attached_to", self.bssid.map(|bssid| json!({ "access_point": bssid.to_string() })));
        add(
            "channel",
            self.mhz.and_then(channel).filter(|_| self.bssid.is_some()).map(|number| json!(number)),
        );
        add("signal", self.dbm.map(|dbm| json!({ "dbm": dbm })));
        let rate = |bps: Option<u64>| Some(json!({ "bps": (bps? as f64 * airtime?).round() }));
        add("uplink", rate(self.up_bps));
        add("downlink", rate(self.down_bps));
        // Ten lines a second are to come: one that is a second old holds no longer.
        add("valid_ms", Some(json!(1000)));
        Value::Object(line).to_string()
    }
}

/// The channel of a frequency in MHz (IEEE 802.11-2020, annex E); none of other services' frequencies.
pub fn channel(mhz: u32) -> Option<u32> {
    match mhz {
        2412..=2472 => Some((mhz - 2407) / 5),
        2484 => Some(14),
        4910..=4980 => Some((mhz - 4000) / 5),
        5000..=5895 => Some((mhz - 5000) / 5),
        5955..=7115 => Some((mhz - 5950) / 5),
        _ => None,
    }
}
