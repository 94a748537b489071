//! Outcomes as a table: a row per flow of each, as the table `flows` of a sweep has them.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use pyo3::prelude::*;
use serde_json::Value;

use crate::table::Table;
use crate::wrong;

/// Columns in front of those of the flows: the same value for all flows of an outcome.
#[derive(FromPyObject)]
pub(crate) enum Lead {
    Numbers(Vec<u64>),
    Texts(Vec<String>),
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Whole,
    Number,
    Flag,
}

/// Of the outcome.
const OF_OUTCOME: [(&str, Kind); 7] = [
    ("scenario", Kind::Text),
    ("seed", Kind::Whole),
    ("end", Kind::Text),
    ("trace_hash", Kind::Text),
    ("simulated_seconds", Kind::Number),
    ("packets", Kind::Whole),
    ("events", Kind::Whole),
];
/// Of a flow.
const OF_FLOW: [(&str, Kind); 14] = [
    ("flow", Kind::Text),
    ("kind", Kind::Text),
    ("direction", Kind::Text),
    ("scheduler", Kind::Text),
    ("controller", Kind::Text),
    ("goodput_bps", Kind::Number),
    ("completion_seconds", Kind::Number),
    ("connect_seconds", Kind::Number),
    ("longest_gap_ms", Kind::Number),
    ("bytes", Kind::Whole),
    ("completed", Kind::Whole),
    ("sent", Kind::Whole),
    ("intact", Kind::Flag),
    ("error", Kind::Text),
];
/// Of its delays.
const OF_DELAY: [(&str, Kind); 7] = [
    ("count", Kind::Whole),
    ("mean_ms", Kind::Number),
    ("min_ms", Kind::Number),
    ("p50_ms", Kind::Number),
    ("p95_ms", Kind::Number),
    ("p99_ms", Kind::Number),
    ("max_ms", Kind::Number),
];

/// A row per flow of each outcome, and a row for each `{"failed": "why"}`, of which only the leading columns and `failed` are known.
///
/// # Errors
/// `ValueError` for what is no outcome, and leading columns of another length.
#[pyfunction]
pub(crate) fn summary(outcomes: Vec<String>, lead: Vec<(String, Lead)>) -> PyResult<Table> {
    let mut rows: Vec<(usize, Value, Value)> = Vec::new();
    for (number, text) in outcomes.iter().enumerate() {
        let mut outcome: Value = serde_json::from_str(text).map_err(wrong)?;
        let flows = outcome.as_object_mut().and_then(|outcome| outcome.remove("flows"));
        match flows {
            Some(Value::Array(flows)) => {
                rows.extend(flows.into_iter().map(|flow| (number, outcome.clone(), flow)))
            }
            _ => rows.push((number, outcome, Value::Null)),
        }
    }
    let mut columns = Vec::new();
    for (name, values) in lead {
        columns.push(
            leading(&name, &values, &rows)
                .ok_or_else(|| wrong(format!("column {name:?}: expected {} values", outcomes.len())))?,
        );
    }
    for (name, kind) in OF_OUTCOME {
        columns.push(column(name, kind, rows.iter().map(|(_, outcome, _)| &outcome[name])));
    }
    columns.push(column("failed", Kind::Text, rows.iter().map(|(_, outcome, _)| &outcome["failed"])));
    for (name, kind) in OF_FLOW {
        columns.push(column(name, kind, rows.iter().map(|(_, _, flow)| &flow[name])));
    }
    for (name, kind) in OF_DELAY {
        let values = rows.iter().map(|(_, _, flow)| &flow["delay"][name]);
        columns.push(column(&format!("delay_{name}"), kind, values));
    }
    Table::new(columns)
}

fn leading(name: &str, values: &Lead, rows: &[(usize, Value, Value)]) -> Option<(Field, ArrayRef)> {
    let array: ArrayRef = match values {
        Lead::Numbers(values) => {
            let mut builder = UInt64Builder::new();
            for (number, ..) in rows {
                builder.append_value(*values.get(*number)?);
            }
            Arc::new(builder.finish())
        }
        Lead::Texts(values) => {
            let mut builder = StringBuilder::new();
            for (number, ..) in rows {
                builder.append_value(values.get(*number)?);
            }
            Arc::new(builder.finish())
        }
    };
    Some((Field::new(name, array.data_type().clone(), true), array))
}

fn column<'a>(name: &str, kind: Kind, values: impl Iterator<Item = &'a Value>) -> (Field, ArrayRef) {
    let array: ArrayRef = match kind {
        Kind::Text => {
            let mut builder = StringBuilder::new();
            values.for_each(|value| builder.append_option(value.as_str()));
            Arc::new(builder.finish())
        }
        Kind::Whole => {
            let mut builder = UInt64Builder::new();
            values.for_each(|value| builder.append_option(value.as_u64()));
            Arc::new(builder.finish())
        }
        Kind::Number => {
            let mut builder = Float64Builder::new();
            values.for_each(|value| builder.append_option(value.as_f64()));
            Arc::new(builder.finish())
        }
        Kind::Flag => {
            let mut builder = BooleanBuilder::new();
            values.for_each(|value| builder.append_option(value.as_bool()));
            Arc::new(builder.finish())
        }
    };
    (Field::new(name, array.data_type().clone(), true), array)
}
