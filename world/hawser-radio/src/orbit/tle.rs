use super::Orbits;
use super::frames::{range, to_earth_fixed};
use crate::RadioError;

/// Satellites given by two-line elements or OMM, moved by SGP4.
pub struct TleSet {
    satellites: Vec<Satellite>,
}

struct Satellite {
    name: String,
    epoch: f64,
    constants: sgp4::Constants,
}

/// Laser links reach this far, metres: two satellites at 550 km still see each other 80 km above the ground.
const LINK_RANGE: f64 = 5_000e3;

impl Satellite {
    /// The satellite with these elements; `name`, or the one that they have, or its catalogue number.
    fn new(elements: &sgp4::Elements, name: Option<&str>) -> Result<Self, String> {
        let constants = sgp4::Constants::from_elements(elements).map_err(|error| error.to_string())?;
        let moment = elements.datetime.and_utc();
        let epoch = moment.timestamp() as f64 + f64::from(moment.timestamp_subsec_nanos()) / 1e9;
        let name = name.or(elements.object_name.as_deref());
        let name = name.map_or_else(|| elements.norad_id.to_string(), str::to_owned);
        Ok(Satellite { name, epoch, constants })
    }
}

impl TleSet {
    /// Reads sets of two lines, each with or without a line of name before it, or OMM in JSON: catalogue numbers above 339999
    /// do not fit two lines.
    ///
    /// # Errors
    /// [`RadioError::Text`] says where the text is neither.
    pub fn parse(text: &str) -> Result<Self, RadioError> {
        match text.trim_start().starts_with(['[', '{']) {
            true => TleSet::parse_omm(text),
            false => TleSet::parse_lines(text),
        }
    }

    /// Orbit mean-elements messages (CCSDS 502.0) as CelesTrak gives them in JSON: a list of objects, or one.
    fn parse_omm(text: &str) -> Result<Self, RadioError> {
        let fail = |line: usize, reason: String| RadioError::Text { what: "OMM", line, reason };
        let wrong = |error: serde_json::Error| fail(error.line(), error.to_string());
        let list: Vec<sgp4::Elements> = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(text).map_err(wrong)?,
            false => vec![serde_json::from_str(text).map_err(wrong)?],
        };
        if list.is_empty() {
            return Err(fail(1, "there is no satellite in it".to_owned()));
        }
        let satellites = list.iter().map(|elements| {
            let of = |reason| fail(1, format!("satellite {}: {reason}", elements.norad_id));
            Satellite::new(elements, None).map_err(of)
        });
        Ok(TleSet { satellites: satellites.collect::<Result<_, _>>()? })
    }

    fn parse_lines(text: &str) -> Result<Self, RadioError> {
        let mut satellites = Vec::new();
        let mut name: Option<&str> = None;
        let mut first: Option<&str> = None;
        for (index, line) in text.lines().enumerate() {
            let fail =
                |reason: String| RadioError::Text { what: "two-line elements", line: index + 1, reason };
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            match first {
                None if line.starts_with("1 ") && line.len() > 60 => first = Some(line),
                None => name = Some(line.trim()),
                Some(upper) => {
                    if !line.starts_with("2 ") {
                        return Err(fail(format!("\"{line}\": expected the second line of a set")));
                    }
                    let elements = sgp4::Elements::from_tle(None, upper.as_bytes(), line.as_bytes())
                        .map_err(|error| fail(error.to_string()))?;
                    satellites.push(Satellite::new(&elements, name.take()).map_err(fail)?);
                    first = None;
                }
            }
        }
        if satellites.is_empty() || first.is_some() {
            let line = text.lines().count().max(1);
            let reason = "the text ends without a whole set of two lines".to_owned();
            return Err(RadioError::Text { what: "two-line elements", line, reason });
        }
        Ok(TleSet { satellites })
    }

    /// The name of a satellite, or its catalogue number.
    pub fn name(&self, satellite: usize) -> Option<&str> {
        self.satellites.get(satellite).map(|known| known.name.as_str())
    }

    /// The latest epoch of all sets, Unix seconds: a sensible start.
    pub fn latest_epoch(&self) -> f64 {
        self.satellites.iter().map(|known| known.epoch).fold(0.0, f64::max)
    }
}

impl Orbits for TleSet {
    fn count(&self) -> usize {
        self.satellites.len()
    }

    fn position(&self, satellite: usize, unix: f64) -> Option<[f64; 3]> {
        let known = self.satellites.get(satellite)?;
        let minutes = sgp4::MinutesSinceEpoch((unix - known.epoch) / 60.0);
        let prediction = known.constants.propagate(minutes).ok()?;
        Some(to_earth_fixed(prediction.position.map(|km| km * 1000.0), unix))
    }

    /// The four nearest within reach: elements do not say which satellites are linked.
    fn neighbours(&self, satellite: usize, positions: &[Option<[f64; 3]>]) -> Vec<usize> {
        let Some(Some(here)) = positions.get(satellite).copied() else { return Vec::new() };
        let mut near: Vec<(f64, usize)> = positions
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != satellite)
            .filter_map(|(index, position)| Some((range(here, (*position)?), index)))
            .filter(|(distance, _)| *distance <= LINK_RANGE)
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.truncate(4);
        near.into_iter().map(|(_, index)| index).collect()
    }
}
