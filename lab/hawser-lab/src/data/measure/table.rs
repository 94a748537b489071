//! Sessions as a table, a row each.

use std::path::Path;

use hawser_link::Direction;

use super::compute::Figures;
use super::{Ending, Records};
use crate::data::table::{self, Cell, Finished, Kind, Schema, TableError, column};

/// Writes all sessions as a table: Parquet, CSV or JSON lines, as the name asks for.
///
/// # Errors
/// When the table cannot be written.
pub fn sessions_table(records: &Records, path: &Path) -> Result<Finished, TableError> {
    let optional = |name: &str, kind| column(name, kind).optional();
    let schema = Schema::new([
        column("id", Kind::Text),
        column("run", Kind::Text),
        column("interface", Kind::Text),
        column("address", Kind::Text),
        column("association", Kind::U64),
        column("attempt", Kind::U64),
        column("unix", Kind::F64),
        column("run_ms", Kind::F64),
        column("direction", Kind::Text),
        column("controller", Kind::Text),
        column("flows", Kind::U64),
        column("ok", Kind::Bool),
        column("end", Kind::Text),
        column("stopped_ms", Kind::F64),
        optional("address_down_ms", Kind::F64),
        optional("first_packet_ms", Kind::F64),
        optional("last_packet_ms", Kind::F64),
        optional("connected_ms", Kind::F64),
        optional("application_bytes", Kind::U64),
        optional("acked_bytes", Kind::U64),
        optional("goodput_bps", Kind::F64),
        column("packets_sent", Kind::U64),
        column("packets_lost", Kind::U64),
        optional("point", Kind::Text),
        optional("channel", Kind::U64),
        optional("first_dbm", Kind::F64),
        optional("mean_dbm", Kind::F64),
        optional("latitude", Kind::F64),
        optional("longitude", Kind::F64),
        optional("distance_m", Kind::F64),
        optional("speed_mps", Kind::F64),
    ])?;
    let mut writer = table::create(path, schema)?;
    for session in &records.sessions {
        let figures = Figures::of(session, records);
        let radio = session.radio.clone().unwrap_or_default();
        let position = session.position;
        let (id, run) = (session.id.to_string(), session.run.to_string());
        writer.row(&[
            Cell::Text(&id),
            Cell::Text(&run),
            Cell::Text(&session.interface),
            Cell::Text(&session.address),
            Cell::U64(session.association),
            Cell::U64(session.attempt.into()),
            Cell::F64(session.unix),
            Cell::F64(session.run_ms),
            Cell::Text(if session.configuration.direction == Direction::Up { "up" } else { "down" }),
            Cell::Text(&session.configuration.controller),
            Cell::U64(session.configuration.flows.into()),
            Cell::Bool(session.ok),
            Cell::Text(name(session.end)),
            Cell::F64(session.stopped_ms),
            float(session.address_down_ms),
            float(session.first_packet_ms),
            float(session.last_packet_ms),
            float(figures.connected_ms),
            whole(figures.application_bytes),
            whole(figures.acked_bytes),
            float(figures.goodput),
            Cell::U64(figures.packets_sent),
            Cell::U64(figures.packets_lost),
            radio.point.as_deref().map_or(Cell::Null, Cell::Text),
            whole(radio.channel.map(u64::from)),
            float(radio.first_dbm),
            float(radio.mean_dbm),
            float(position.map(|position| position.latitude)),
            float(position.map(|position| position.longitude)),
            float(position.map(|position| position.distance_m)),
            float(position.and_then(|position| position.speed_mps)),
        ])?;
    }
    writer.finish()
}

fn float(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Null, Cell::F64)
}

fn whole(value: Option<u64>) -> Cell<'static> {
    value.map_or(Cell::Null, Cell::U64)
}

fn name(end: Ending) -> &'static str {
    match end {
        Ending::AddressGone => "address_gone",
        Ending::TimeOver => "time_over",
        Ending::ServerLost => "server_lost",
        Ending::Refused => "refused",
        Ending::Stopped => "stopped",
        Ending::Interrupted => "interrupted",
    }
}
