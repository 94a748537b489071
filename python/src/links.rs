//! Links over time: recordings of every format that the command reads, generators, satellites.

mod rows;

use hawser_link::{Direction, nanos};
use hawser_radio::orbit::{Orbits, Place, TleSet, Walker, elevation, flight_time, range};
use hawser_radio::{Model, Scene};
use hawser_trace::{Format, Input, ReadOptions, TraceError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use toml::Value;

use crate::table::Table;
use crate::wrong;
use rows::Rows;

/// A trace longer than this is a mistake, and so is a scene.
const LONGEST_SECONDS: f64 = 1e7;

/// Name, links, seconds, remarks, and a row per change of a direction and event of a link.
type Told = (String, Vec<String>, f64, Vec<String>, Table);

/// Reads recordings: `FILE` or `LINK=FILE` each.
///
/// # Errors
/// `FileNotFoundError` and its like; `ValueError` with file and line, or with the formats that there are.
#[pyfunction]
pub(crate) fn read_links(
    py: Python<'_>,
    files: Vec<String>,
    format: Option<String>,
    direction: Option<String>,
    interval: f64,
) -> PyResult<Told> {
    let known = |name: &String| Format::ALL.into_iter().find(|format| format.name() == name);
    let format = match &format {
        None => None,
        Some(name) => Some(known(name).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            wrong(format!("format: expected one of {names}, found {name:?}"))
        })?),
    };
    let direction = match direction.as_deref() {
        None => None,
        Some("up") => Some(Direction::Up),
        Some("down") => Some(Direction::Down),
        Some(other) => return Err(wrong(format!("direction: expected up, down or None, found {other:?}"))),
    };
    if !(1e-6..=3_600.0).contains(&interval) {
        return Err(wrong(format!("interval: expected 0.000001 to 3600 seconds, found {interval}")));
    }
    let options =
        ReadOptions { format, direction, interval: nanos(std::time::Duration::from_secs_f64(interval)) };
    let inputs: Vec<Input> = files.iter().map(|file| Input::new(file)).collect();
    if let Some(input) = inputs.iter().find(|input| input.path.as_os_str() == "-") {
        return Err(wrong(format!("{}: expected a file, not standard input", input.path.display())));
    }
    let trace = py.detach(|| hawser_trace::read(&inputs, &options)).map_err(trouble)?;
    let names = trace.links.iter().map(|link| link.name.clone()).collect();
    let table = Rows::of_trace(&trace).finish()?;
    Ok((trace.name, names, trace.duration as f64 / 1e9, trace.notes, table))
}

/// With the system's number Python chooses the class.
fn trouble(error: TraceError) -> PyErr {
    if let TraceError::Read { file, source } = &error
        && let Some(number) = source.raw_os_error()
    {
        return PyOSError::new_err((number, source.to_string(), file.clone()));
    }
    wrong(error)
}

/// The models of links by name, each with its parameters and their defaults as TOML.
///
/// # Errors
/// None that a caller could cause.
#[pyfunction]
pub(crate) fn link_models() -> PyResult<Vec<(&'static str, String)>> {
    let parameters = |name: &'static str| {
        let mut fields = defaults(name)?;
        fields.remove("model");
        Ok((name, toml::to_string(&fields).map_err(wrong)?))
    };
    Model::NAMES.into_iter().map(parameters).collect()
}

fn defaults(name: &str) -> PyResult<toml::Table> {
    let model = Model::named(name)
        .ok_or_else(|| wrong(format!("no model {name:?}: there are {}", Model::NAMES.join(", "))))?;
    toml::Table::try_from(&model).map_err(wrong)
}

/// Has a model draw its links, with some of its parameters (JSON) in place of the defaults.
///
/// # Errors
/// `ValueError` with the parameter and what is allowed.
#[pyfunction]
pub(crate) fn generate_links(
    py: Python<'_>,
    model: &str,
    parameters: &str,
    seconds: f64,
    seed: u64,
) -> PyResult<Told> {
    if !(0.001..=LONGEST_SECONDS).contains(&seconds) {
        return Err(wrong(format!("duration: expected 0.001 to {LONGEST_SECONDS} seconds, found {seconds}")));
    }
    let wanted: toml::Table = serde_json::from_str(parameters).map_err(wrong)?;
    let fields = overlay(Value::Table(defaults(model)?), Value::Table(wanted));
    let scene: Model = fields
        .try_into()
        .map_err(|error: toml::de::Error| wrong(format!("{model}: {}", error.message().trim())))?;
    let duration = nanos(std::time::Duration::from_secs_f64(seconds));
    let profiles = py.detach(|| scene.profiles(duration, seed)).map_err(wrong)?;
    let names = profiles.iter().map(|profile| profile.name.clone()).collect();
    Ok((model.to_owned(), names, seconds, Vec::new(), Rows::of_profiles(&profiles).finish()?))
}

/// Lays values over those of a model: tables field by field, lists of named tables name by name, as scenes of scenarios do.
fn overlay(base: Value, over: Value) -> Value {
    match (base, over) {
        // A choice is a table of one key: another choice takes its place.
        (Value::Table(base), Value::Table(over))
            if base.len() == 1 && over.len() == 1 && base.keys().ne(over.keys()) =>
        {
            Value::Table(over)
        }
        (Value::Table(mut base), Value::Table(over)) => {
            for (key, value) in over {
                let value = match base.remove(&key) {
                    Some(below) => overlay(below, value),
                    None => value,
                };
                base.insert(key, value);
            }
            Value::Table(base)
        }
        (Value::Array(base), Value::Table(over)) if base.iter().all(|item| item.get("name").is_some()) => {
            let changed = |item: Value| {
                let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
                match name.and_then(|name| over.get(&name)) {
                    Some(change) => overlay(item, change.clone()),
                    None => item,
                }
            };
            Value::Array(base.into_iter().map(changed).collect())
        }
        (_, over) => over,
    }
}

/// Rows of a satellite each: number, name, elevation (degrees), distance (m), flight time (s), position (m, ECEF).
type Seen = (usize, Option<String>, f64, f64, f64, [f64; 3]);

/// The satellites above a mask as seen from a place at a Unix time, highest first: of a Walker constellation (JSON), or of elements.
///
/// # Errors
/// `ValueError` for a place, constellation or text that makes no sense.
#[pyfunction]
pub(crate) fn satellites(
    place: (f64, f64, f64),
    unix: f64,
    mask: f64,
    walker: &str,
    elements: Option<&str>,
) -> PyResult<Vec<Seen>> {
    let (latitude, longitude, altitude) = place;
    if !(-90.0..=90.0).contains(&latitude) || !(-180.0..=180.0).contains(&longitude) {
        return Err(wrong(format!(
            "place: expected a latitude of -90 to 90 and a longitude of -180 to 180 degrees, found {latitude}, {longitude}"
        )));
    }
    if !(0.0..=90.0).contains(&mask) || !altitude.is_finite() || !(0.0..1e11).contains(&unix) {
        return Err(wrong(
            "expected a mask of 0 to 90 degrees, an altitude, and a time since 1970 in seconds",
        ));
    }
    let ground = Place { latitude, longitude, altitude }.earth_fixed();
    let set = elements.map(TleSet::parse).transpose().map_err(wrong)?;
    let shell = match set {
        Some(_) => Walker::default(),
        None => shell(walker)?,
    };
    let orbits: &dyn Orbits = set.as_ref().map_or(&shell as &dyn Orbits, |set| set);
    let mut seen: Vec<Seen> = (0..orbits.count())
        .filter_map(|number| {
            let at = orbits.position(number, unix)?;
            let height = elevation(ground, at);
            let distance = range(ground, at);
            let name = set.as_ref().and_then(|set| set.name(number)).map(str::to_owned);
            (height >= mask).then(|| (number, name, height, distance, flight_time(distance), at))
        })
        .collect();
    seen.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
    Ok(seen)
}

/// A constellation, checked as scenes check it.
fn shell(parameters: &str) -> PyResult<Walker> {
    let walker: Walker =
        serde_json::from_str(parameters).map_err(|error| wrong(format!("walker: {error}")))?;
    let counts = (1..=1000).contains(&walker.planes) && (1..=1000).contains(&walker.per_plane);
    if !counts || !(1e5..=1e8).contains(&walker.altitude) {
        return Err(wrong(
            "walker: expected 1 to 1000 planes, 1 to 1000 satellites per plane, and an altitude of 100 km to 100,000 km in metres",
        ));
    }
    Ok(walker)
}
