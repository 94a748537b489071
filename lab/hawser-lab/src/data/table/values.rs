//! Columns in memory.

use super::{Cell, Kind, Schema, TableError};

/// A table in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    schema: Schema,
    /// As many as the schema has, all of the same length.
    columns: Vec<ColumnValues>,
    rows: usize,
    metadata: Vec<(String, String)>,
}

/// The values of one column, and which rows have none.
#[derive(Debug, Clone, PartialEq)]
struct ColumnValues {
    values: Values,
    /// Per row whether it has a value; none: all have.
    present: Option<Vec<bool>>,
}

/// The values of one column; where a row has none, the value is zero, false or the empty text.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of a [`Kind::U64`] column.
    U64(Vec<u64>),
    /// Of a [`Kind::I64`] column.
    I64(Vec<i64>),
    /// Of a [`Kind::F64`] column.
    F64(Vec<f64>),
    /// Of a [`Kind::Bool`] column.
    Bool(Vec<bool>),
    /// Of a [`Kind::Text`] column.
    Text(TextColumn),
}

/// Text values, each different one kept once.
#[derive(Debug, Clone, Default)]
pub struct TextColumn {
    /// The different values, in the order of their first row.
    pub dictionary: Vec<String>,
    /// Per row the position of its value in the dictionary.
    pub indices: Vec<u32>,
    positions: rustc_hash::FxHashMap<String, u32>,
}

impl PartialEq for TextColumn {
    fn eq(&self, other: &Self) -> bool {
        self.dictionary == other.dictionary && self.indices == other.indices
    }
}

impl TextColumn {
    /// Adds a row.
    pub fn push(&mut self, text: &str) {
        let position = match self.positions.get(text) {
            Some(position) => *position,
            None => {
                let position = self.dictionary.len() as u32;
                self.dictionary.push(text.to_owned());
                self.positions.insert(text.to_owned(), position);
                position
            }
        };
        self.indices.push(position);
    }

    /// The value of a row; `None` behind the last one.
    pub fn text(&self, row: usize) -> Option<&str> {
        self.dictionary.get(*self.indices.get(row)? as usize).map(String::as_str)
    }
}

impl Table {
    /// A table without rows.
    pub fn new(schema: Schema) -> Self {
        let empty = |column: &super::Column| ColumnValues {
            values: Values::new(column.kind),
            present: column.optional.then(Vec::new),
        };
        let columns = schema.columns().iter().map(empty).collect();
        Self { columns, schema, rows: 0, metadata: Vec::new() }
    }

    pub(crate) fn set_metadata(&mut self, metadata: Vec<(String, String)>) {
        self.metadata = metadata;
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Facts about the whole table.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Adds a row: one cell per column.
    ///
    /// # Errors
    /// Fails when the cells do not fit the schema.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.schema.check(cells)?;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if let Some(present) = &mut column.present {
                present.push(*cell != Cell::Null);
            }
            column.values.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds all rows of another table with the same columns.
    ///
    /// # Errors
    /// Fails when the columns differ.
    pub fn append(&mut self, other: &Table) -> Result<(), TableError> {
        if self.schema != other.schema {
            let (first, second) = (self.schema.to_string(), other.schema.to_string());
            return Err(TableError::DifferentSchemas { first, second });
        }
        for (column, added) in self.columns.iter_mut().zip(&other.columns) {
            column.values.append(&added.values);
            if let (Some(present), Some(added)) = (&mut column.present, &added.present) {
                present.extend_from_slice(added);
            }
        }
        self.rows += other.rows;
        Ok(())
    }

    /// The values of a column by its position in the schema.
    pub fn values(&self, column: usize) -> Option<&Values> {
        self.columns.get(column).map(|column| &column.values)
    }

    /// A cell; `Null` also outside the table.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let Some(column) = self.columns.get(column) else { return Cell::Null };
        let is_present = match &column.present {
            Some(present) => present.get(row).copied().unwrap_or(false),
            None => row < self.rows,
        };
        if is_present { column.values.cell(row) } else { Cell::Null }
    }

    /// The cells of a row.
    pub fn row(&self, row: usize) -> Vec<Cell<'_>> {
        (0..self.columns.len()).map(|column| self.cell(row, column)).collect()
    }

    /// A numeric column as `f64`, row by row; `None` where a row has no value.
    ///
    /// # Errors
    /// Fails when there is no such column, or when it holds text or truth values.
    pub fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, TableError> {
        let column = self.find(name, "numeric", |kind| matches!(kind, Kind::U64 | Kind::I64 | Kind::F64))?;
        let number = |row| match self.cell(row, column) {
            Cell::U64(value) => Some(value as f64),
            Cell::I64(value) => Some(value as f64),
            Cell::F64(value) => Some(value),
            _ => None,
        };
        Ok((0..self.rows).map(number).collect())
    }

    /// A text column, row by row; `None` where a row has no value.
    ///
    /// # Errors
    /// Fails when there is no such column, or when it holds no text.
    pub fn texts(&self, name: &str) -> Result<Vec<Option<&str>>, TableError> {
        let column = self.find(name, "string", |kind| kind == Kind::Text)?;
        let text = |row| match self.cell(row, column) {
            Cell::Text(text) => Some(text),
            _ => None,
        };
        Ok((0..self.rows).map(text).collect())
    }

    fn find(
        &self,
        name: &str,
        expected: &'static str,
        fits: impl Fn(Kind) -> bool,
    ) -> Result<usize, TableError> {
        let position = self.schema.position(name);
        position.filter(|&position| fits(self.schema.columns()[position].kind)).ok_or_else(|| {
            TableError::NoColumn { name: name.to_owned(), expected, present: self.schema.to_string() }
        })
    }
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::U64 => Self::U64(Vec::new()),
            Kind::I64 => Self::I64(Vec::new()),
            Kind::F64 => Self::F64(Vec::new()),
            Kind::Bool => Self::Bool(Vec::new()),
            Kind::Text => Self::Text(TextColumn::default()),
        }
    }

    /// Adds a cell that fits, or the stand-in for a missing value.
    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Self::U64(values), Cell::U64(value)) => values.push(*value),
            (Self::U64(values), _) => values.push(0),
            (Self::I64(values), Cell::I64(value)) => values.push(*value),
            (Self::I64(values), _) => values.push(0),
            (Self::F64(values), Cell::F64(value)) => values.push(*value),
            (Self::F64(values), _) => values.push(0.0),
            (Self::Bool(values), Cell::Bool(value)) => values.push(*value),
            (Self::Bool(values), _) => values.push(false),
            (Self::Text(texts), Cell::Text(text)) => texts.push(text),
            (Self::Text(texts), _) => texts.push(""),
        }
    }

    fn append(&mut self, other: &Values) {
        match (self, other) {
            (Self::U64(values), Self::U64(added)) => values.extend_from_slice(added),
            (Self::I64(values), Self::I64(added)) => values.extend_from_slice(added),
            (Self::F64(values), Self::F64(added)) => values.extend_from_slice(added),
            (Self::Bool(values), Self::Bool(added)) => values.extend_from_slice(added),
            (Self::Text(texts), Self::Text(added)) => {
                (0..added.indices.len()).filter_map(|row| added.text(row)).for_each(|text| texts.push(text));
            }
            _ => {}
        }
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::U64(values) => values.get(row).map(|&value| Cell::U64(value)),
            Self::I64(values) => values.get(row).map(|&value| Cell::I64(value)),
            Self::F64(values) => values.get(row).map(|&value| Cell::F64(value)),
            Self::Bool(values) => values.get(row).map(|&value| Cell::Bool(value)),
            Self::Text(texts) => texts.text(row).map(Cell::Text),
        }
        .unwrap_or(Cell::Null)
    }
}
