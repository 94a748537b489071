//! One event, whichever dialect it is written in.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::data::{Acked, Metrics, Moved, Packet, Tuple};
use super::head::Head;
use super::number::Number;

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Event {
    /// In microseconds since the trace began.
    pub(crate) at_us: u64,
    pub(crate) path: Option<u64>,
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum What {
    Sent(Packet),
    Received(Packet),
    Lost(Packet),
    Acked(Acked),
    Metrics(Metrics),
    /// A path's state.
    PathMoved(Moved),
    /// The state of a congestion controller.
    Congestion(Moved),
    Tuple(Tuple),
    Closed,
    /// Of no use here.
    Other,
}

/// Times beyond this, in microseconds, are taken for it: thirty years.
const MAX_TIME: f64 = 1e15;

/// The times of the events before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    first: Option<f64>,
    last: f64,
}

#[derive(Deserialize)]
struct Named<'a> {
    time: Number,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "event")]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tuple: Option<Cow<'a, str>>,
    #[serde(default, alias = "path")]
    path_id: Option<Number>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Reads a record.
pub(super) fn parse(bytes: &[u8], head: &Head, clock: &mut Clock) -> Result<Event, String> {
    let (time, path, name, data) = match &head.columns {
        Some(columns) => row(bytes, columns)?,
        None => {
            let named: Named<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            let path = named.path_id.map(Number::whole).or_else(|| path_of(named.tuple.as_deref()?));
            let name = named.name.or(named.r#type).ok_or("an event without a name")?;
            (named.time.0, path, name.into_owned(), named.data)
        }
    };
    let time = if head.is_delta { clock.last + time } else { time };
    // Times since 1970 count from the first event.
    let begin = *clock.first.get_or_insert(if time * head.unit_us > 1e14 { time } else { 0.0 });
    clock.last = time;
    let name = name.rsplit(':').next().unwrap_or_default().to_lowercase();
    Ok(Event {
        at_us: ((time - begin) * head.unit_us).clamp(0.0, MAX_TIME) as u64,
        path: path.or(head.common_path),
        what: what(&name, data.map_or("{}", RawValue::get), head.unit_us)?,
    })
}

/// A tuple is named after its path: path 0 the unnamed one.
fn path_of(tuple: &str) -> Option<u64> {
    if tuple.is_empty() { Some(0) } else { tuple.parse().ok() }
}

type Row<'a> = (f64, Option<u64>, String, Option<&'a RawValue>);

fn row<'a>(bytes: &'a [u8], columns: &[String]) -> Result<Row<'a>, String> {
    let cells: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let cell = |names: &[&str]| {
        let at = columns.iter().position(|column| names.contains(&column.as_str()))?;
        cells.get(at).copied()
    };
    let number =
        |names: &[&str]| cell(names).and_then(|cell| serde_json::from_str::<Number>(cell.get()).ok());
    let time = number(&["relative_time", "time", "delta_time"]).ok_or("an event without a time")?;
    let name = cell(&["event", "event_type", "type", "name"])
        .and_then(|cell| serde_json::from_str::<String>(cell.get()).ok())
        .ok_or("an event without a name")?;
    Ok((time.0, number(&["path_id", "path"]).map(Number::whole), name, cell(&["data"])))
}

fn what(name: &str, data: &str, unit_us: f64) -> Result<What, String> {
    let is = |error: serde_json::Error| format!("{name}: {error}");
    Ok(match name {
        "packet_sent" => What::Sent(serde_json::from_str(data).map_err(is)?),
        "packet_received" => What::Received(serde_json::from_str(data).map_err(is)?),
        "packet_lost" => What::Lost(serde_json::from_str(data).map_err(is)?),
        "packets_acked" => What::Acked(serde_json::from_str(data).map_err(is)?),
        "metrics_updated" | "recovery_metrics_updated" | "metric_update" => {
            let metrics: Metrics = serde_json::from_str(data).map_err(is)?;
            What::Metrics(metrics.in_unit(unit_us))
        }
        "path_state_updated" => What::PathMoved(serde_json::from_str(data).map_err(is)?),
        "congestion_state_updated" => What::Congestion(serde_json::from_str(data).map_err(is)?),
        "tuple_assigned" | "path_assigned" => What::Tuple(serde_json::from_str(data).map_err(is)?),
        "connection_closed" => What::Closed,
        _ => What::Other,
    })
}
