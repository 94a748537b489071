//! Tables as Parquet files.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use rustc_hash::FxHashMap;

use super::partial::PartialFile;
use super::{Cell, Column, Finished, Kind, Options, Schema, TableError, TableWriter};

/// What a different text costs besides its bytes.
const TEXT_OVERHEAD: usize = 96;

/// Writes a Parquet file, a row group at a time.
pub struct ParquetWriter {
    schema: Schema,
    options: Options,
    writer: SerializedFileWriter<PartialFile>,
    path: std::path::PathBuf,
    columns: Vec<Buffer>,
    buffered_rows: usize,
    buffered_bytes: usize,
    rows: u64,
}

impl ParquetWriter {
    /// Starts a table.
    ///
    /// # Errors
    /// Fails when the file cannot be created.
    pub fn create(path: &Path, schema: Schema, options: Options) -> Result<Self, TableError> {
        let file = PartialFile::create(path)?;
        let fields = schema.columns().iter().map(|column| field(column).map(Arc::new));
        let writer = fields
            .collect::<Result<Vec<_>, _>>()
            .and_then(|fields| Type::group_type_builder("table").with_fields(fields).build())
            .and_then(|root| SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties(&options))))
            .map_err(|error| TableError::encode(path, error))?;
        let columns = schema.columns().iter().map(Buffer::new).collect();
        Ok(Self {
            schema,
            options,
            writer,
            path: path.to_owned(),
            columns,
            buffered_rows: 0,
            buffered_bytes: 0,
            rows: 0,
        })
    }

    /// Rows held in memory.
    pub fn buffered_rows(&self) -> usize {
        self.buffered_rows
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        if self.buffered_rows == 0 {
            return Ok(());
        }
        write_group(&mut self.writer, &mut self.columns)
            .map_err(|error| TableError::encode(&self.path, error))?;
        self.buffered_rows = 0;
        self.buffered_bytes = 0;
        Ok(())
    }
}

impl TableWriter for ParquetWriter {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        self.schema.check(cells)?;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.buffered_bytes += column.push(cell);
        }
        self.buffered_rows += 1;
        self.rows += 1;
        if self.buffered_rows >= self.options.rows_per_group
            || self.buffered_bytes >= self.options.bytes_per_group
        {
            self.write_group()?;
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(mut self: Box<Self>) -> Result<Finished, TableError> {
        self.write_group()?;
        let file = self.writer.into_inner().map_err(|error| TableError::encode(&self.path, error))?;
        Ok(Finished { rows: self.rows, bytes: file.complete()? })
    }
}

/// The values of one column of the row group at hand.
struct Buffer {
    values: BufferedValues,
    /// Definition levels, 1 where a row has a value; none for a column that always has.
    levels: Option<Vec<i16>>,
}

enum BufferedValues {
    /// Parquet has one 64-bit integer; the column's logical type says whether it is signed.
    Integer(Vec<i64>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Text {
        values: Vec<ByteArray>,
        /// Equal texts share their bytes.
        known: FxHashMap<Box<str>, ByteArray>,
    },
}

impl Buffer {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::U64 | Kind::I64 => BufferedValues::Integer(Vec::new()),
            Kind::F64 => BufferedValues::Double(Vec::new()),
            Kind::Bool => BufferedValues::Bool(Vec::new()),
            Kind::Text => BufferedValues::Text { values: Vec::new(), known: FxHashMap::default() },
        };
        Self { values, levels: column.optional.then(Vec::new) }
    }

    /// Takes a cell that fits the column; returns the bytes it occupies.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*cell != Cell::Null));
        }
        match (&mut self.values, cell) {
            // Of an unsigned integer the bits are stored.
            (BufferedValues::Integer(values), Cell::U64(value)) => values.push(*value as i64),
            (BufferedValues::Integer(values), Cell::I64(value)) => values.push(*value),
            (BufferedValues::Double(values), Cell::F64(value)) => values.push(*value),
            (BufferedValues::Bool(values), Cell::Bool(value)) => values.push(*value),
            (BufferedValues::Text { values, known }, Cell::Text(text)) => {
                return push_text(values, known, text) + size_of::<ByteArray>() + 2;
            }
            _ => return 2,
        }
        size_of::<i64>() + 2
    }

    /// Writes the values as a column chunk and forgets them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            BufferedValues::Integer(values) => write_batch::<Int64Type>(writer, values, levels)?,
            BufferedValues::Double(values) => write_batch::<DoubleType>(writer, values, levels)?,
            BufferedValues::Bool(values) => write_batch::<BoolType>(writer, values, levels)?,
            BufferedValues::Text { values, known } => {
                write_batch::<ByteArrayType>(writer, values, levels)?;
                known.clear();
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

/// Returns the bytes that a text not seen before occupies.
fn push_text(values: &mut Vec<ByteArray>, known: &mut FxHashMap<Box<str>, ByteArray>, text: &str) -> usize {
    if let Some(value) = known.get(text) {
        values.push(value.clone());
        return 0;
    }
    let value = ByteArray::from(text.as_bytes().to_vec());
    known.insert(text.into(), value.clone());
    values.push(value);
    2 * text.len() + TEXT_OVERHEAD
}

fn write_batch<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(values, levels, None)?;
    values.clear();
    Ok(())
}

fn write_group(
    writer: &mut SerializedFileWriter<PartialFile>,
    columns: &mut [Buffer],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut chunk) = group.next_column()? else { break };
        column.write(&mut chunk)?;
        chunk.close()?;
    }
    group.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::U64 => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        Kind::I64 => (PhysicalType::INT64, None),
        Kind::F64 => (PhysicalType::DOUBLE, None),
        Kind::Bool => (PhysicalType::BOOLEAN, None),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

fn properties(options: &Options) -> WriterProperties {
    let metadata = options.metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let metadata: Vec<KeyValue> = metadata.collect();
    WriterProperties::builder()
        .set_created_by("hawser".to_owned())
        .set_compression(Compression::SNAPPY)
        // An index of pages would be held in memory until the end of the file.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
        .build()
}
