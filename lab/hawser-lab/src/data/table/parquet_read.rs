//! Parquet files as tables.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::{Cell, Column, Kind, Schema, Table, TableError};

/// Reads a whole Parquet file.
///
/// # Errors
/// Fails when the file cannot be read, is not a complete Parquet file, or has columns of other types than
/// tables have.
pub fn read_table(path: &Path) -> Result<Table, TableError> {
    let reader = TableReader::open(path)?;
    let mut table = Table::new(reader.schema.clone());
    for group in 0..reader.groups() {
        reader.read_into(group, &mut table)?;
    }
    table.set_metadata(reader.metadata());
    Ok(table)
}

/// Reads a Parquet file one row group at a time, so that merging large tables needs little memory.
pub struct TableReader {
    path: PathBuf,
    schema: Schema,
    file: SerializedFileReader<File>,
}

impl TableReader {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// As [`read_table`].
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(|source| TableError::Read { path: path.to_owned(), source })?;
        let file = SerializedFileReader::new(file).map_err(|error| TableError::decode(path, error))?;
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let columns = columns.iter().map(|column| table_column(path, column));
        let schema = Schema::new(columns.collect::<Result<Vec<_>, _>>()?)?;
        Ok(Self { path: path.to_owned(), schema, file })
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().try_into().unwrap_or(0)
    }

    /// Facts about the whole table.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let pairs = self.file.metadata().file_metadata().key_value_metadata();
        let pair = |pair: &parquet::file::metadata::KeyValue| {
            (pair.key.clone(), pair.value.clone().unwrap_or_default())
        };
        pairs.map(|pairs| pairs.iter().map(pair).collect()).unwrap_or_default()
    }

    /// Reads one row group.
    ///
    /// # Errors
    /// Fails when the file cannot be read or is damaged.
    pub fn read_group(&self, group: usize) -> Result<Table, TableError> {
        let mut table = Table::new(self.schema.clone());
        self.read_into(group, &mut table)?;
        Ok(table)
    }

    fn read_into(&self, group: usize, table: &mut Table) -> Result<(), TableError> {
        let failed = |error| TableError::decode(&self.path, error);
        let group = self.file.get_row_group(group).map_err(failed)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut columns = Vec::with_capacity(self.schema.columns().len());
        for (index, column) in self.schema.columns().iter().enumerate() {
            columns.push(Decoded::read(group.as_ref(), index, column, rows).map_err(failed)?);
        }
        let mut cells = vec![Cell::Null; columns.len()];
        for row in 0..rows {
            for (cell, column) in cells.iter_mut().zip(&columns) {
                *cell = column.cell(row).map_err(failed)?;
            }
            table.push(&cells)?;
        }
        Ok(())
    }
}

/// A column chunk: one entry per row.
enum Decoded {
    U64(Vec<Option<i64>>),
    I64(Vec<Option<i64>>),
    F64(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<ByteArray>>),
}

impl Decoded {
    fn read(
        group: &dyn RowGroupReader,
        index: usize,
        column: &Column,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let optional = column.optional;
        Ok(match (group.get_column_reader(index)?, column.kind) {
            (ColumnReader::Int64ColumnReader(reader), Kind::U64) => {
                Self::U64(entries(reader, optional, rows)?)
            }
            (ColumnReader::Int64ColumnReader(reader), _) => Self::I64(entries(reader, optional, rows)?),
            (ColumnReader::DoubleColumnReader(reader), _) => Self::F64(entries(reader, optional, rows)?),
            (ColumnReader::BoolColumnReader(reader), _) => Self::Bool(entries(reader, optional, rows)?),
            (ColumnReader::ByteArrayColumnReader(reader), _) => Self::Text(entries(reader, optional, rows)?),
            _ => return Err(ParquetError::General(format!("column `{}` changed its type", column.name))),
        })
    }

    fn cell(&self, row: usize) -> Result<Cell<'_>, ParquetError> {
        Ok(match self {
            Self::U64(values) => values[row].map(|value| value as u64).into(),
            Self::I64(values) => values[row].into(),
            Self::F64(values) => values[row].into(),
            Self::Bool(values) => values[row].into(),
            Self::Text(values) => match &values[row] {
                Some(bytes) => Cell::Text(bytes.as_utf8()?),
                None => Cell::Null,
            },
        })
    }
}

/// Reads exactly `rows` entries.
fn entries<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    optional: bool,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let levels = optional.then_some(&mut levels);
        let (records, ..) = reader.read_records(rows - read, levels, None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("{read} rows of a column instead of {rows}")));
        }
        read += records;
    }
    if !optional {
        return complete(values.into_iter().map(Some).collect(), rows);
    }
    let mut values = values.into_iter();
    complete(levels.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect(), rows)
}

fn complete<T>(entries: Vec<Option<T>>, rows: usize) -> Result<Vec<Option<T>>, ParquetError> {
    if entries.len() == rows {
        return Ok(entries);
    }
    Err(ParquetError::General(format!("{} values in a column of {rows} rows", entries.len())))
}

fn table_column(path: &Path, column: &ColumnDescriptor) -> Result<Column, TableError> {
    let foreign = || TableError::ForeignColumn {
        path: path.to_owned(),
        column: column.path().string(),
        found: format!("{:?}", column.physical_type()),
    };
    // A flat table: no lists, no records within records.
    if column.max_rep_level() > 0 || column.max_def_level() > 1 || column.path().parts().len() != 1 {
        return Err(foreign());
    }
    let unsigned = column.logical_type_ref() == Some(&LogicalType::integer(64, false));
    let kind = match column.physical_type() {
        PhysicalType::INT64 if unsigned => Kind::U64,
        PhysicalType::INT64 => Kind::I64,
        PhysicalType::DOUBLE => Kind::F64,
        PhysicalType::BOOLEAN => Kind::Bool,
        PhysicalType::BYTE_ARRAY => Kind::Text,
        _ => return Err(foreign()),
    };
    Ok(Column { name: column.name().to_owned(), kind, optional: column.max_def_level() == 1 })
}
