//! Columns and cells.

use std::collections::BTreeSet;
use std::fmt;

use super::TableError;

/// The columns of a table, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, unique in the table; by convention with the unit at the end (`sent_ns`, `goodput_bps`).
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a row may lack a value.
    pub optional: bool,
}

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned whole numbers.
    U64,
    /// Whole numbers.
    I64,
    /// Numbers. Infinities and "not a number" survive in Parquet and become `null` in JSON.
    F64,
    /// Truth values.
    Bool,
    /// Text; few different values in many rows cost little (they are stored as a dictionary).
    Text,
}

/// A value in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// No value; only for an optional column.
    Null,
    /// For a [`Kind::U64`] column.
    U64(u64),
    /// For a [`Kind::I64`] column.
    I64(i64),
    /// For a [`Kind::F64`] column.
    F64(f64),
    /// For a [`Kind::Bool`] column.
    Bool(bool),
    /// For a [`Kind::Text`] column.
    Text(&'a str),
}

/// A column that has a value in every row.
pub fn column(name: impl Into<String>, kind: Kind) -> Column {
    Column { name: name.into(), kind, optional: false }
}

impl Column {
    /// The same column, but a row may lack a value.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Checks that a cell fits.
    pub(crate) fn check(&self, cell: &Cell<'_>) -> Result<(), TableError> {
        let fits = match cell {
            Cell::Null => self.optional,
            Cell::U64(_) => self.kind == Kind::U64,
            Cell::I64(_) => self.kind == Kind::I64,
            Cell::F64(_) => self.kind == Kind::F64,
            Cell::Bool(_) => self.kind == Kind::Bool,
            Cell::Text(_) => self.kind == Kind::Text,
        };
        if fits {
            return Ok(());
        }
        Err(TableError::WrongCell {
            column: self.name.clone(),
            expected: self.kind,
            found: cell.kind().map_or("nothing", Kind::name),
        })
    }
}

impl Schema {
    /// A schema of these columns.
    ///
    /// # Errors
    /// Fails when there is no column, or when a name is empty or used twice.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Result<Self, TableError> {
        let columns: Vec<Column> = columns.into_iter().collect();
        let mut names = BTreeSet::new();
        for column in &columns {
            if column.name.is_empty() || !names.insert(column.name.as_str()) {
                return Err(TableError::BadColumnName { name: column.name.clone() });
            }
        }
        if columns.is_empty() {
            return Err(TableError::BadColumnName { name: String::new() });
        }
        Ok(Self { columns })
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Position of the column of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Checks that a row fits.
    pub(crate) fn check(&self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        if cells.len() != self.columns.len() {
            return Err(TableError::WrongWidth { expected: self.columns.len(), found: cells.len() });
        }
        self.columns.iter().zip(cells).try_for_each(|(column, cell)| column.check(cell))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Column { name, kind, optional }) in self.columns.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let mark = if *optional { "?" } else { "" };
            write!(f, "{comma}{name}: {kind}{mark}")?;
        }
        Ok(())
    }
}

impl Kind {
    /// As it is written in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Text => "string",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Cell<'_> {
    /// The type of the value, if there is one.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Null => return None,
            Self::U64(_) => Kind::U64,
            Self::I64(_) => Kind::I64,
            Self::F64(_) => Kind::F64,
            Self::Bool(_) => Kind::Bool,
            Self::Text(_) => Kind::Text,
        })
    }
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self::I64(value)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
