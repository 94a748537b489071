//! Values over time: written in the scenario, or in a file of their own.

use hawser_link::{MILLISECOND, Nanos, Series, seconds};

use super::fields::Value;
use super::{Context, Result};

/// Steps that replace a straight line.
const INTERPOLATION_STEP: Nanos = 20 * MILLISECOND;
/// More points than that in one straight line mean a mistake in the file, and would fill the memory.
const MOST_STEPS: u64 = 10_000_000;

/// A constant, a schedule in the file, or a series in a file of its own, whose values count in `unit`.
pub(super) fn schedule_or(
    value: &Value<'_>,
    read: fn(&Value<'_>) -> Result<u64>,
    unit: f64,
    context: &mut Context<'_, '_>,
) -> Result<Series<u64>> {
    if !value.is_table() {
        return read(value).map(Series::constant);
    }
    let fields = value.fields()?;
    let period = fields.read("repeat", |value| value.positive_duration())?;
    let linear =
        fields.read_or("interpolate", false, |value| value.choice(&[("step", false), ("linear", true)]))?;
    let interval = fields.read("interval", |value| value.positive_duration())?;
    let (place, points) = match (fields.optional("steps"), fields.optional("series")) {
        (Some(steps), None) if interval.is_none() => {
            let points = steps.list(|pair| step(pair, read))?;
            (steps, points)
        }
        (None, Some(file)) => {
            let points = points_of_file(&file, interval, unit, context)?;
            let points = points.into_iter().map(|(time, value)| (time, value.round() as u64)).collect();
            (file, points)
        }
        _ => return Err(value.error("expected either `steps = [[time, value], ...]` or `series = \"file\"`")),
    };
    fields.finish()?;
    let series = Series::new(points, period).map_err(|error| place.error(error.to_string()))?;
    if !linear {
        return Ok(series);
    }
    let length = series.points().last().map_or(0, |point| point.0);
    if length / INTERPOLATION_STEP > MOST_STEPS {
        return Err(place.error("the schedule is too long for straight lines; use steps"));
    }
    Ok(series.interpolated(INTERPOLATION_STEP))
}

/// The points of a series in a file, in `unit`.
pub(super) fn points_of_file(
    file: &Value<'_>,
    interval: Option<Nanos>,
    unit: f64,
    context: &mut Context<'_, '_>,
) -> Result<Vec<(Nanos, f64)>> {
    let text = context.files.read(&file.file()?).map_err(|message| file.error(message))?;
    parse_series(&text, interval, unit).map_err(|message| file.error(message))
}

/// `["20 s", "40 Mbit/s"]`.
pub(super) fn step<T>(pair: &Value<'_>, read: impl FnOnce(&Value<'_>) -> Result<T>) -> Result<(Nanos, T)> {
    match &pair.array()?[..] {
        [time, value] => Ok((time.duration()?, read(value)?)),
        other => Err(pair.error(format!("expected a pair [time, value], found {} items", other.len()))),
    }
}

/// Lines of `seconds value`, or of `value` one `interval` apart; blanks or a comma between, `#` comments.
fn parse_series(
    text: &str,
    interval: Option<Nanos>,
    unit: f64,
) -> std::result::Result<Vec<(Nanos, f64)>, String> {
    let mut points: Vec<(Nanos, f64)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split('#').next().unwrap_or_default();
        let columns: Vec<_> =
            line.split([' ', '\t', ',', '\r']).filter(|column| !column.is_empty()).collect();
        let number = |text: &str| {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| {
                format!("line {line_number} of the series: expected a number of 0 or more, found {text:?}")
            })
        };
        match (&columns[..], interval) {
            ([], _) => {}
            ([value], Some(interval)) => {
                let time = (points.len() as u64).saturating_mul(interval);
                points.push((time, number(value)? * unit));
            }
            ([time, value], None) => {
                let time = seconds(number(time)?);
                if points.last().is_some_and(|last| time <= last.0) {
                    return Err(format!(
                        "line {line_number} of the series: its time is not later than that of the line before"
                    ));
                }
                points.push((time, number(value)? * unit));
            }
            ([_], None) => {
                return Err(format!("line {line_number} of the series has one column; give its `interval`"));
            }
            (found, _) => {
                let wanted =
                    if interval.is_some() { "1 column, because `interval` is given" } else { "2 columns" };
                return Err(format!(
                    "line {line_number} of the series: expected {wanted}, found {}",
                    found.len()
                ));
            }
        }
    }
    if points.is_empty() {
        return Err("the series is empty; expected lines of numbers".to_owned());
    }
    Ok(points)
}
