//! A trace as a table: Parquet, CSV or JSON lines.

use std::collections::BTreeSet;
use std::path::Path;

use hawser_link::{Direction, Nanos};

use super::super::{EventKind, LinkTrace, Piece, Trace};
use super::ExportError;
use crate::data::table::{self, Cell, Finished, Kind, Schema, column};

/// Writes a table; the ending of the name says of which kind.
///
/// A row says what a direction did from its `time_ns` on, until the next row of that direction. Rows with an
/// `event` are about the link as a whole and have neither direction nor values. Delivery chances are counted
/// per 100 ms.
///
/// # Errors
/// Fails for an unknown ending, and when the file cannot be written.
pub fn to_table(trace: &Trace, path: &Path) -> Result<Finished, ExportError> {
    let schema = Schema::new([
        column("link", Kind::Text),
        column("direction", Kind::Text).optional(),
        column("time_ns", Kind::U64),
        column("rate_bps", Kind::U64).optional(),
        column("delay_ns", Kind::U64).optional(),
        column("loss", Kind::F64).optional(),
        column("is_down", Kind::Bool).optional(),
        column("event", Kind::Text).optional(),
        column("event_ns", Kind::U64).optional(),
    ])?;
    let mut writer = table::create(path, schema)?;
    for link in &trace.links {
        for direction in Direction::BOTH {
            write_direction(writer.as_mut(), link, direction, trace.duration)?;
        }
        for event in &link.events {
            let (what, length) = match &event.kind {
                EventKind::HandOver => ("hand-over", Some(event.to - event.from)),
                EventKind::Technology(name) => (name.as_str(), None),
            };
            let nothing = Cell::Null;
            let name = link.name.as_str().into();
            let row = [
                name,
                nothing,
                event.from.into(),
                nothing,
                nothing,
                nothing,
                nothing,
                what.into(),
                length.into(),
            ];
            writer.row(&row)?;
        }
    }
    Ok(writer.finish()?)
}

fn write_direction(
    writer: &mut dyn table::TableWriter,
    link: &LinkTrace,
    direction: Direction,
    duration: Nanos,
) -> Result<(), ExportError> {
    let values = link.direction(direction);
    if !values.is_measured() {
        return Ok(());
    }
    let columns = [values.service(duration), values.delays(duration), values.losses(duration)];
    let changes: BTreeSet<Nanos> = columns.iter().flatten().flatten().map(|piece| piece.from).collect();
    let mut positions = [0; 3];
    for time in changes {
        let mut at = |column: usize| value_at(&columns[column], &mut positions[column], time);
        let (rate, delay, loss) = (at(0), at(1), at(2));
        let is_down = values.outages.iter().any(|outage| (outage.0..outage.1).contains(&time));
        let whole = |value: Option<f64>| value.map(|value| value.round() as u64).into();
        let row = [
            link.name.as_str().into(),
            direction.name().into(),
            time.into(),
            whole(rate),
            whole(delay),
            loss.into(),
            is_down.into(),
            Cell::Null,
            Cell::Null,
        ];
        writer.row(&row)?;
    }
    Ok(())
}

/// The value at a time, the times asked for not going back.
fn value_at(pieces: &Option<Vec<Piece>>, position: &mut usize, time: Nanos) -> Option<f64> {
    let pieces = pieces.as_ref()?;
    while pieces.get(*position).is_some_and(|piece| piece.to <= time) {
        *position += 1;
    }
    pieces.get(*position).map(|piece| piece.value)
}
