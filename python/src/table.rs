//! Tables that other libraries read where they are, by the Arrow PyCapsule interface.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{DataType, Field};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::wrong;

/// Rows of a run. Its memory is shared with whatever reads it.
#[pyclass(module = "hawser._native", frozen)]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// From columns of one length.
    ///
    /// # Errors
    /// The columns differ in length.
    pub(crate) fn new(columns: Vec<(Field, ArrayRef)>) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let schema = Arc::new(arrow_schema::Schema::new(fields));
        RecordBatch::try_new(schema, arrays).map(Table).map_err(wrong)
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column as a list, `None` where there are none.
    ///
    /// # Errors
    /// `KeyError` for a column that is not there.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(array) = self.0.column_by_name(name) else {
            let known = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("no column {name:?}: there are {known}")));
        };
        values(py, array)
    }

    /// A pandas data frame, by pyarrow. Each column is its own block, so that numbers without gaps stay where they are: they are read-only.
    /// `pandas.DataFrame.from_arrow` gathers columns of one type in a block, and copies them for that.
    ///
    /// # Errors
    /// `ImportError` without pandas or pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("split_blocks", true)?;
        let table = slf.py().import("pyarrow")?.call_method1("table", (slf,))?;
        table.call_method("to_pandas", (), Some(&options))
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        let fields = self.0.schema();
        let columns = fields.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type()));
        format!("<hawser.Table, {} rows: {}>", self.0.num_rows(), columns.collect::<Vec<_>>().join(", "))
    }

    /// The schema as an Arrow C capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as an Arrow C stream capsule: one batch, not copied. A wish for another schema is not granted, as the interface
    /// allows; the reader converts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

fn values<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::UInt64 => PyList::new(py, array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>()),
        DataType::Float64 => PyList::new(py, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>()),
        DataType::Boolean => PyList::new(py, array.as_boolean().iter().collect::<Vec<_>>()),
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter().collect::<Vec<_>>()),
        _ => match array
            .as_dictionary_opt::<Int32Type>()
            .and_then(|texts| texts.downcast_dict::<StringArray>())
        {
            Some(texts) => PyList::new(py, texts.into_iter().collect::<Vec<_>>()),
            None => Err(wrong(format!("a column of {} has no list", array.data_type()))),
        },
    }
}
