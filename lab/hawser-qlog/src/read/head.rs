//! What a trace says of itself before its events.

use serde_json::Value;

/// The head of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Names of the columns, where events are rows (drafts 00 to 01).
    pub(super) columns: Option<Vec<String>>,
    /// Microseconds of its unit of time.
    pub(super) unit_us: f64,
    /// Whether times count from the event before.
    pub(super) is_delta: bool,
    /// What all events have.
    pub(super) common_path: Option<u64>,
    /// Who wrote it.
    pub(crate) implementation: String,
    /// `client`, `server`, or something else.
    pub(crate) side: String,
    /// Names the connection at both ends.
    pub(crate) group: Option<String>,
    /// The version of qlog, as written.
    pub(crate) version: String,
}

impl Default for Head {
    fn default() -> Self {
        Head {
            columns: None,
            unit_us: 1_000.0,
            is_delta: false,
            common_path: None,
            implementation: String::new(),
            side: String::new(),
            group: None,
            version: String::new(),
        }
    }
}

impl Head {
    /// Of a document, or of the first record of a sequence.
    pub(super) fn of(file: &Value) -> Self {
        let null = Value::Null;
        let last = file.get("traces").and_then(Value::as_array).and_then(|traces| traces.last());
        let trace = file.get("trace").or(last).unwrap_or(&null);
        let common = trace.get("common_fields").unwrap_or(&null);
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.is_empty())
        };
        let vantage = trace.get("vantage_point").unwrap_or(&null);
        let columns = trace.get("event_fields").and_then(Value::as_array).map(|columns| {
            columns.iter().map(|name| name.as_str().unwrap_or_default().to_lowercase()).collect()
        });
        let columns: Option<Vec<String>> = columns;
        let units = trace.get("configuration").and_then(|configuration| text(configuration, "time_units"));
        let format = text(common, "time_format").unwrap_or_default();
        let is_delta = format == "delta"
            || format == "relative_to_previous_event"
            || columns.as_ref().is_some_and(|columns| columns.iter().any(|name| name == "delta_time"));
        let named = text(file, "title").or_else(|| text(trace, "title")).or_else(|| text(vantage, "name"));
        Head {
            columns,
            unit_us: if units.as_deref() == Some("us") { 1.0 } else { 1_000.0 },
            is_delta,
            common_path: common.get("path_id").and_then(Value::as_u64),
            implementation: named.unwrap_or_else(|| "unknown".to_owned()),
            side: text(vantage, "type").or_else(|| text(vantage, "flow")).unwrap_or_default().to_lowercase(),
            group: ["group_id", "ODCID", "odcid"].iter().find_map(|key| text(common, key)),
            version: text(file, "qlog_version").or_else(|| text(file, "file_schema")).unwrap_or_default(),
        }
    }
}
