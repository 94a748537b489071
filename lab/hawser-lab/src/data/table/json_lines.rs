//! Tables as JSON lines.

use std::io::Write;
use std::path::Path;

use super::partial::PartialFile;
use super::{Cell, Finished, Schema, TableError, TableWriter};

/// Writes one JSON object per row, its keys in the order of the columns.
///
/// An empty cell is `null`, and so is a number that JSON cannot express (infinite, not a number).
#[derive(Debug)]
pub struct JsonLinesWriter {
    schema: Schema,
    /// Per column what comes before its value: `{"name":` or `,"name":`.
    keys: Vec<Vec<u8>>,
    file: PartialFile,
    line: Vec<u8>,
    rows: u64,
}

impl JsonLinesWriter {
    /// Starts a table.
    ///
    /// # Errors
    /// Fails when the file cannot be created.
    pub fn create(path: &Path, schema: Schema) -> Result<Self, TableError> {
        let key = |(index, column): (usize, &super::Column)| {
            let mut key = vec![if index == 0 { b'{' } else { b',' }];
            json_string(&mut key, &column.name);
            key.push(b':');
            key
        };
        let keys = schema.columns().iter().enumerate().map(key).collect();
        Ok(Self { keys, file: PartialFile::create(path)?, line: Vec::new(), rows: 0, schema })
    }
}

impl TableWriter for JsonLinesWriter {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.schema.check(cells)?;
        self.line.clear();
        for (key, cell) in self.keys.iter().zip(cells) {
            self.line.extend_from_slice(key);
            json_value(&mut self.line, cell);
        }
        self.line.extend_from_slice(b"}\n");
        self.file.write_all(&self.line).map_err(|error| TableError::write(self.file.path(), error))?;
        self.rows += 1;
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(self: Box<Self>) -> Result<Finished, TableError> {
        Ok(Finished { rows: self.rows, bytes: self.file.complete()? })
    }
}

fn json_value(line: &mut Vec<u8>, cell: &Cell<'_>) {
    // Writing to memory does not fail.
    let _ = match cell {
        Cell::U64(value) => write!(line, "{value}"),
        Cell::I64(value) => write!(line, "{value}"),
        Cell::F64(value) if value.is_finite() => serde_json::to_writer(line, value).map_err(Into::into),
        Cell::Bool(value) => write!(line, "{value}"),
        Cell::Text(text) => {
            json_string(line, text);
            Ok(())
        }
        Cell::Null | Cell::F64(_) => line.write_all(b"null"),
    };
}

fn json_string(line: &mut Vec<u8>, text: &str) {
    // A string can always be expressed, and writing to memory does not fail.
    let _ = serde_json::to_writer(line, text);
}
