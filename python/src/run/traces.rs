//! What connections write of themselves (qlog), in memory, and as a table of events.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Float64Builder, StringBuilder};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use hawser_core::QlogConnection;
use pyo3::PyResult;

use crate::table::Table;
use crate::wrong;

/// Most bytes of one trace: what is beyond is left out, as `hawser sim run --qlog-limit 1G` does.
const MOST: usize = 1_000_000_000;

/// Name and bytes of each.
type Written = Vec<(String, Vec<u8>)>;

/// The traces of a run: names and bytes.
#[derive(Clone, Default)]
pub(super) struct Traces(Arc<Mutex<Written>>);

/// One of them, by its place.
struct Trace {
    all: Traces,
    place: usize,
}

impl Traces {
    /// A trace for this end of a connection.
    pub(super) fn open(&self, connection: &QlogConnection) -> Box<dyn Write + Send> {
        let side = if connection.side.is_client() { "client" } else { "server" };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((format!("{}_{side}.sqlog", connection.original_destination), Vec::new()));
        Box::new(Trace { all: self.clone(), place: all.len() - 1 })
    }

    /// All that was written.
    pub(super) fn take(&self) -> Vec<(String, String)> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.into_iter().map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned())).collect()
    }
}

impl Write for Trace {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, bytes)) =
            all.get_mut(self.place).filter(|(_, bytes)| bytes.len() + record.len() <= MOST)
        else {
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        bytes.extend_from_slice(record);
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The records of traces as rows: `trace`, `time_ms`, `name`, `data` (JSON).
pub(super) fn events(traces: &[(String, String)]) -> PyResult<Table> {
    let mut trace = StringBuilder::new();
    let (mut time, mut name, mut data) = (Float64Builder::new(), StringBuilder::new(), StringBuilder::new());
    for (file, text) in traces {
        for record in text.split('\u{1e}').filter(|record| !record.trim().is_empty()) {
            let Ok(record) = serde_json::from_str::<serde_json::Value>(record) else { continue };
            // The first record of a file describes it.
            let (Some(at), Some(what)) = (record["time"].as_f64(), record["name"].as_str()) else { continue };
            trace.append_value(file);
            time.append_value(at);
            name.append_value(what);
            data.append_value(serde_json::to_string(&record["data"]).map_err(wrong)?);
        }
    }
    let text = |name: &str, mut values: StringBuilder| -> (Field, ArrayRef) {
        (Field::new(name, DataType::Utf8, false), Arc::new(values.finish()))
    };
    let times: ArrayRef = Arc::new(time.finish());
    Table::new(vec![
        text("trace", trace),
        (Field::new("time_ms", times.data_type().clone(), false), times),
        text("name", name),
        text("data", data),
    ])
}
