//! Data Units and what followed them, as a Parquet table.

use std::path::Path;

use hawser_cc::sscc::{DataUnit, FEATURES};

use crate::data::table::{self, Cell, Kind, Schema, TableError, column};

/// A choice and its reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Experience {
    /// What was seen when it was made.
    pub(super) unit: DataUnit,
    /// The unit that followed, under the controller that was chosen.
    pub(super) outcome: DataUnit,
    /// The reward of that unit.
    pub(super) reward: f64,
}

/// Writes a table: of a unit its environment, path, end (`at_s`), features and the controller that ran; of the unit after it the
/// throughput, loss, delay and length, of which training makes a reward on any scale, and its end. `reward` is on the scale of
/// the connection. The same units give the same bytes.
pub(super) fn write(path: &Path, environment: u64, units: &[Experience]) -> Result<(), TableError> {
    let mut writer = table::create(path, schema()?)?;
    for Experience { unit, outcome, reward } in units {
        let mut row: Vec<Cell<'_>> =
            vec![environment.into(), u64::from(unit.path.0).into(), unit.at.as_secs_f64().into()];
        row.push(outcome.running.name().into());
        // In single precision, as the models see them.
        row.extend(unit.features().map(|feature| Cell::F64(f64::from(feature))));
        row.push(Cell::F64(*reward));
        let next =
            [outcome.tput as f32, outcome.loss as f32, outcome.delay as f32, outcome.duration.as_secs_f32()];
        row.extend(next.map(|value| Cell::F64(f64::from(value))));
        row.push(outcome.at.as_secs_f64().into());
        writer.row(&row)?;
    }
    writer.finish().map(|_| ())
}

fn schema() -> Result<Schema, TableError> {
    let mut columns = vec![
        column("environment", Kind::U64),
        column("path", Kind::U64),
        column("at_s", Kind::F64),
        column("controller", Kind::Text),
    ];
    columns.extend(FEATURES.map(|feature| column(feature, Kind::F64)));
    let after =
        ["reward", "next_tput_mbps", "next_loss_mbps", "next_delay_ms", "next_duration_s", "next_at_s"];
    columns.extend(after.map(|name| column(name, Kind::F64)));
    Schema::new(columns)
}
