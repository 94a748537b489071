//! Which access point to take.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An access point weaker than this is not preferred for its band.
const STRONG_ENOUGH_DBM: f64 = -75.0;
/// Side of a cell of the history, metres: about a coverage.
const CELL_M: f64 = 50.0;
/// Most places that the history remembers.
pub(crate) const MAX_PLACES: usize = 8192;
/// How much the newest goodput counts.
const NEWEST: f64 = 0.3;

/// Address of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bssid(pub [u8; 6]);

impl fmt::Display for Bssid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Bssid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected an address such as 02:00:5e:10:00:01");
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let is_byte =
                |part: &&str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            let part = parts.next().filter(is_byte).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Bssid(bytes)) }
    }
}

/// The band of a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Low,
    /// 5 GHz and above.
    High,
}

/// An access point as a scan heard it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// Its address.
    pub bssid: Bssid,
    /// Name of its network.
    pub ssid: String,
    /// Frequency, MHz.
    pub mhz: u16,
    /// Received power, dBm.
    pub dbm: f64,
}

impl Sighting {
    /// Its band.
    pub fn band(&self) -> Band {
        if self.mhz < 3000 { Band::Low } else { Band::High }
    }
}

/// The rule by which one of several access points is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The one that is heard best (the thesis' client).
    #[default]
    Strongest,
    /// One at 5 GHz above -75 dBm before all others, then the one that is heard best.
    #[serde(rename = "prefer_5ghz")]
    Prefer5Ghz,
    /// The one with the best goodput so far, here if it is known here, else anywhere. One that is not known counts as the average
    /// one; of equals, the one that is heard best.
    History,
}

impl Choice {
    /// The best of these.
    pub fn best<'a>(
        self,
        sightings: impl IntoIterator<Item = &'a Sighting>,
        history: &History,
        position: Option<[f64; 2]>,
    ) -> Option<&'a Sighting> {
        let key = |sighting: &Sighting| match self {
            Choice::Strongest => 0.0,
            Choice::Prefer5Ghz => {
                f64::from(u8::from(sighting.band() == Band::High && sighting.dbm > STRONG_ENOUGH_DBM))
            }
            Choice::History => history.expected(sighting.bssid, position),
        };
        sightings.into_iter().max_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.dbm.total_cmp(&b.dbm)))
    }
}

/// A square of the ground.
type Cell = (i32, i32);

/// Past goodput by access point and place.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Goodput in bit/s, and when it was last renewed (a counter). Without a cell: anywhere.
    places: BTreeMap<(Bssid, Option<Cell>), (f64, u64)>,
    renewals: u64,
}

impl History {
    /// Adds the goodput of an association, bit/s. Position: metres east and north of a fixed origin. The place that was not renewed
    /// for longest is forgotten when there are too many.
    pub fn add(&mut self, bssid: Bssid, position: Option<[f64; 2]>, goodput: f64) {
        if !goodput.is_finite() || goodput < 0.0 {
            return;
        }
        self.renewals += 1;
        let renewals = self.renewals;
        let here = position.map(|position| Some(cell(position)));
        for place in [Some(None), here].into_iter().flatten() {
            let entry = self.places.entry((bssid, place)).or_insert((goodput, renewals));
            *entry = ((1.0 - NEWEST) * entry.0 + NEWEST * goodput, renewals);
        }
        while self.places.len() > MAX_PLACES {
            let oldest = self.places.iter().min_by_key(|(_, known)| known.1).map(|(place, _)| *place);
            let Some(oldest) = oldest else { return };
            self.places.remove(&oldest);
        }
    }

    /// What is expected of an access point at a place, bit/s.
    fn expected(&self, bssid: Bssid, position: Option<[f64; 2]>) -> f64 {
        let here = position.and_then(|position| self.places.get(&(bssid, Some(cell(position)))));
        let known = here.or_else(|| self.places.get(&(bssid, None)));
        known.map_or_else(|| self.average(), |known| known.0)
    }

    fn average(&self) -> f64 {
        let anywhere = self.places.iter().filter(|(place, _)| place.1.is_none());
        let (sum, count) = anywhere.fold((0.0, 0.0), |(sum, count), (_, known)| (sum + known.0, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

fn cell(position: [f64; 2]) -> Cell {
    // Beyond the range of the type the last cell stands for the rest.
    let [east, north] = position.map(|metres| (metres / CELL_M).floor() as i32);
    (east, north)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(last: u8, mhz: u16, dbm: f64) -> Sighting {
        Sighting { bssid: Bssid([2, 0, 0, 0, 0, last]), ssid: "net".into(), mhz, dbm }
    }

    fn chosen(choice: Choice, history: &History, position: Option<[f64; 2]>) -> u8 {
        let seen = [sighting(1, 2412, -48.0), sighting(2, 5180, -74.0), sighting(3, 5200, -76.0)];
        choice.best(&seen, history, position).unwrap().bssid.0[5]
    }

    #[test]
    fn five_gigahertz_is_preferred_unless_it_is_weak() {
        let history = History::default();
        assert_eq!(chosen(Choice::Strongest, &history, None), 1);
        assert_eq!(chosen(Choice::Prefer5Ghz, &history, None), 2);
        let weak = [sighting(1, 2412, -80.0), sighting(3, 5200, -76.0)];
        assert_eq!(Choice::Prefer5Ghz.best(&weak, &history, None), Some(&weak[1]));
        let both_weak = [sighting(1, 2412, -75.5), sighting(3, 5200, -76.0)];
        assert_eq!(Choice::Prefer5Ghz.best(&both_weak, &history, None), Some(&both_weak[0]));
    }

    #[test]
    fn history_takes_what_was_good_here_and_avoids_what_was_bad() {
        let (mut history, bssid) = (History::default(), |last| Bssid([2, 0, 0, 0, 0, last]));
        let (here, there) = ([10.0, 10.0], [1000.0, 10.0]);
        assert_eq!(chosen(Choice::History, &history, Some(here)), 1, "nothing is known: the strongest");
        history.add(bssid(1), Some(here), 1e5);
        history.add(bssid(3), Some(here), 9e6);
        history.add(bssid(2), Some(there), 4e7);
        history.add(bssid(3), Some(there), 1e4);
        assert_eq!(chosen(Choice::History, &history, Some(there)), 2);
        history.add(bssid(2), Some(here), 2e6);
        assert_eq!(chosen(Choice::History, &history, Some(here)), 3, "poor elsewhere, good here");
    }

    #[test]
    fn the_history_has_a_most() {
        let mut history = History::default();
        for number in 0..MAX_PLACES as u32 + 10 {
            let [a, b, c, d] = number.to_be_bytes();
            history.add(Bssid([2, 0, a, b, c, d]), None, 1e6);
        }
        assert_eq!(history.places.len(), MAX_PLACES);
        assert!(!history.places.contains_key(&(Bssid([2, 0, 0, 0, 0, 0]), None)), "the oldest went");
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let bssid = Bssid([0x02, 0, 0x5e, 0x10, 0xff, 1]);
        assert_eq!(bssid.to_string().parse(), Ok(bssid));
        for wrong in [
            "",
            "02:00:5e:10:00",
            "02:00:5e:10:00:01:02",
            "2:0:5e:10:00:01",
            "zz:00:5e:10:00:01",
            "+2:00:5e:10:00:01",
        ] {
            assert!(wrong.parse::<Bssid>().is_err(), "{wrong}");
        }
    }
}
