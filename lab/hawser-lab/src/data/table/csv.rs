//! Tables as CSV files (RFC 4180).

use std::io::Write;
use std::path::Path;

use super::partial::PartialFile;
use super::{Cell, Finished, Schema, TableError, TableWriter};

/// Writes a line with the names of the columns, then one line per row. An empty cell is empty, and an empty text
/// is `""`.
#[derive(Debug)]
pub struct CsvWriter {
    schema: Schema,
    file: PartialFile,
    line: Vec<u8>,
    rows: u64,
}

impl CsvWriter {
    /// Starts a table.
    ///
    /// # Errors
    /// Fails when the file cannot be created or written.
    pub fn create(path: &Path, schema: Schema) -> Result<Self, TableError> {
        let mut writer = Self { file: PartialFile::create(path)?, schema, line: Vec::new(), rows: 0 };
        let names: Vec<String> = writer.schema.columns().iter().map(|column| column.name.clone()).collect();
        let names: Vec<Cell<'_>> = names.iter().map(|name| Cell::Text(name)).collect();
        writer.write(&names)?;
        Ok(writer)
    }

    fn write(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.line.clear();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.line.push(b',');
            }
            // Writing to memory does not fail.
            let _ = match cell {
                Cell::Null => Ok(()),
                Cell::U64(value) => write!(self.line, "{value}"),
                Cell::I64(value) => write!(self.line, "{value}"),
                Cell::F64(value) => write!(self.line, "{value}"),
                Cell::Bool(value) => write!(self.line, "{value}"),
                Cell::Text(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                    write!(self.line, "\"{}\"", text.replace('"', "\"\""))
                }
                Cell::Text(text) => write!(self.line, "{text}"),
            };
        }
        self.line.push(b'\n');
        self.file.write_all(&self.line).map_err(|error| TableError::write(self.file.path(), error))
    }
}

impl TableWriter for CsvWriter {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.schema.check(cells)?;
        self.write(cells)?;
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
