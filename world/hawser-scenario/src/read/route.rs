//! `via`: the segments that a link leads over.

use hawser_link::Series;

use super::fields::{Fields, Value};
use super::link::plain_name;
use super::{Context, Result};
use crate::document::segment_name;
use crate::{Via, read::series};

/// Notes the size of each grid; their segments are in the document already.
pub(super) fn grids(fields: &Fields<'_>, context: &mut Context<'_, '_>) -> Result<()> {
    let Some(value) = fields.optional("grid") else { return Ok(()) };
    for item in value.array()? {
        // Their other fields are checked with the segments.
        let fields = item.fields()?;
        let name_field = fields.required("name", "\"core\"")?;
        let name = plain_name(&name_field, "a grid")?;
        let size = fields.required("size", "8")?.integer(2..=64)?;
        if context.grids.insert(name.to_owned(), size).is_some() {
            return Err(name_field.error(format!("two grids are named {name:?}; names must differ")));
        }
    }
    Ok(())
}

/// Straight to the other host, over a list of segments, or over different ones as time goes by.
pub(super) fn via(value: Option<Value<'_>>, context: &Context<'_, '_>) -> Result<Via> {
    let Some(value) = value else { return Ok(Via::nothing()) };
    if value.is_table() {
        let fields = value.fields()?;
        if let Some(routes) = fields.optional("routes") {
            fields.finish()?;
            let alternatives = routes.list(|value| route(value, context))?;
            if alternatives.is_empty() {
                return Err(routes.error("expected at least one route, such as [[\"row0\"], [\"row1\"]]"));
            }
            return Ok(Via { alternatives, schedule: Series::constant(0) });
        }
        if let Some(steps) = fields.optional("steps") {
            let period = fields.read("repeat", |value| value.interval())?;
            fields.finish()?;
            let mut alternatives: Vec<Vec<usize>> = Vec::new();
            let points = steps.list(|pair| {
                let (time, route) = series::step(pair, |value| route(value, context))?;
                let known = alternatives.iter().position(|other| *other == route);
                Ok((
                    time,
                    known.unwrap_or_else(|| {
                        alternatives.push(route);
                        alternatives.len() - 1
                    }),
                ))
            })?;
            let schedule = Series::new(points, period).map_err(|error| steps.error(error.to_string()))?;
            return Ok(Via { alternatives, schedule });
        }
    }
    Ok(Via { alternatives: vec![route(&value, context)?], schedule: Series::constant(0) })
}

/// `["bottleneck", "core"]`, or a way through a grid.
fn route(value: &Value<'_>, context: &Context<'_, '_>) -> Result<Vec<usize>> {
    if value.is_table() {
        return through_grid(value, context);
    }
    if !value.is_array() {
        return Err(value.expected(
            "a list of segments such as [\"bottleneck\"], or a table with `steps`, or with `grid` and `row`",
        ));
    }
    let mut route = Vec::new();
    for item in value.array()? {
        let segment = segment(&item, context)?;
        if route.contains(&segment) {
            return Err(item.error("the route crosses this segment twice"));
        }
        route.push(segment);
    }
    Ok(route)
}

/// The index of the segment of this name.
pub(super) fn segment(value: &Value<'_>, context: &Context<'_, '_>) -> Result<usize> {
    let name = value.string()?;
    context.segments.get(name).copied().ok_or_else(|| {
        const MOST_NAMES: usize = 12;
        let names: Vec<_> = context.segments.keys().take(MOST_NAMES).map(String::as_str).collect();
        let more = context.segments.len().saturating_sub(MOST_NAMES);
        value.error(match (names.is_empty(), more) {
            (true, _) => format!("there is no segment {name:?}; add [[segment]] with this name"),
            (false, 0) => format!("there is no segment {name:?}; there are: {}", names.join(", ")),
            _ => format!("there is no segment {name:?}; there are: {} and {more} more", names.join(", ")),
        })
    })
}

/// Along a row, or right and then down.
fn through_grid(value: &Value<'_>, context: &Context<'_, '_>) -> Result<Vec<usize>> {
    let fields = value.fields()?;
    let grid_field = fields.required("grid", "\"core\"")?;
    let grid = grid_field.string()?;
    let Some(&size) = context.grids.get(grid) else {
        let names: Vec<_> = context.grids.keys().map(String::as_str).collect();
        return Err(grid_field.error(format!("there is no grid {grid:?}; there are: {}", names.join(", "))));
    };
    let last = size - 1;
    let corner = |value: &Value<'_>| match &value.array()?[..] {
        [row, column] => Ok((row.integer(0..=last)?, column.integer(0..=last)?)),
        other => Err(value.error(format!("expected [row, column], found {} items", other.len()))),
    };
    let row = fields.read("row", |value| value.integer(0..=last))?;
    let from = fields.read("from", corner)?;
    let to = fields.read("to", corner)?;
    fields.finish()?;
    let ((row, left), (bottom, right)) = match (row, from, to) {
        (Some(row), None, None) => ((row, 0), (row, last)),
        (None, Some(from), Some(to)) => (from, to),
        _ => {
            return Err(
                value.error("expected either `row`, or `from = [row, column]` and `to = [row, column]`")
            );
        }
    };
    if left > right || row > bottom || (row, left) == (bottom, right) {
        // A segment's `up` is the way to the right and down; a route the other way would use its queue the wrong way.
        return Err(value.error(
            "routes through a grid lead to the right and down: `to` must lie there, seen from `from`",
        ));
    }
    let steps = (left..right)
        .map(|column| segment_name(grid, row, column, true))
        .chain((row..bottom).map(|row| segment_name(grid, row, right, false)));
    steps
        .map(|name| {
            let index = context.segments.get(&name).copied();
            index.ok_or_else(|| value.error(format!("there is no segment {name:?}")))
        })
        .collect()
}
