//! What follows from a matrix, for people: a page, the tables of a document, a table of all cells, lines for a terminal.

use std::path::Path;

use super::text::Summary;
use crate::data::table::{Cell, Kind, Schema, column, create};
use crate::experiments::ExperimentError;

/// What follows from a matrix, for people.
pub struct Report {
    /// What the matrix is called.
    pub(super) name: &'static str,
    /// One line per policy.
    pub(super) summary: Summary,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
    /// The tables of a document.
    pub(super) tables: String,
    /// The page.
    pub page: String,
    /// Columns of the table of all cells: with text, and with numbers, which may be empty.
    pub(super) columns: (&'static [&'static str], &'static [&'static str]),
    /// Its rows.
    pub(super) cells: Vec<(Vec<String>, Vec<Option<f64>>)>,
}

impl Report {
    /// A document with the tables between the two marks, which it has to have.
    ///
    /// # Errors
    /// [`ExperimentError::NotRead`].
    pub fn into_document(&self, document: &str) -> Result<String, ExperimentError> {
        let (begin, end) = (format!("<!-- begin: hawser lab matrix {} -->", self.name), "<!-- end -->");
        let parts = document.split_once(&begin);
        let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let (before, after) = parts.ok_or_else(|| {
            let words =
                format!("the document has no lines `{begin}` and `{end}`, between which the tables belong");
            ExperimentError::NotRead(words)
        })?;
        Ok(format!("{before}{begin}\n\n{}{end}{after}", self.tables))
    }

    /// Writes every cell as a row of a table; the name of the file says which kind: `.csv`, `.jsonl`, `.parquet`.
    ///
    /// # Errors
    /// [`ExperimentError::Table`]: another ending, or a file that cannot be written.
    pub fn write_cells(&self, path: &Path) -> Result<(), ExperimentError> {
        let texts = self.columns.0.iter().map(|name| column(*name, Kind::Text));
        let numbers = self.columns.1.iter().map(|name| column(*name, Kind::F64).optional());
        let mut table = create(path, Schema::new(texts.chain(numbers))?)?;
        // Four decimals: more is noise of single runs, and makes files longer.
        let number = |value: &Option<f64>| Cell::from(value.map(|value| (value * 1e4).round() / 1e4));
        for (texts, numbers) in &self.cells {
            let texts = texts.iter().map(|text| Cell::Text(text));
            table.row(&texts.chain(numbers.iter().map(number)).collect::<Vec<_>>())?;
        }
        table.finish()?;
        Ok(())
    }

    /// One line per policy.
    pub fn table(&self) -> String {
        let failed = self.failed.iter().map(|failed| format!("failed: {failed}\n"));
        self.summary.for_a_terminal() + &failed.collect::<String>()
    }
}
