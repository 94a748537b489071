//! Values over time: written in the scenario, or in a file of their own.

use hawser_link::{MILLISECOND, Nanos, Series};
use hawser_trace::points;

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
    let period = fields.read("repeat", |value| value.interval())?;
    let linear =
        fields.read_or("interpolate", false, |value| value.choice(&[("step", false), ("linear", true)]))?;
    let interval = fields.read("interval", |value| value.interval())?;
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
        _ => {
            let words = "expected either `steps = [[time, value], ...]` or `series = \"file\"`";
            return Err(fields.missing(&["steps", "series"], words));
        }
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
    let name = file.file()?;
    let text = context.files.read(&name).map_err(|message| file.error(message))?;
    let points = points(&name, &text, interval).map_err(|error| file.error(error.to_string()))?;
    Ok(points.into_iter().map(|(time, value)| (time, value * unit)).collect())
}

/// `["20 s", "40 Mbit/s"]`.
pub(super) fn step<T>(pair: &Value<'_>, read: impl FnOnce(&Value<'_>) -> Result<T>) -> Result<(Nanos, T)> {
    match &pair.array()?[..] {
        [time, value] => Ok((time.duration()?, read(value)?)),
        other => Err(pair.error(format!("expected a pair [time, value], found {} items", other.len()))),
    }
}
