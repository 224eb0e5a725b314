//! Tables in Arrow's memory layout, which data frames take without copying.

use crate::cells::{self, Kind};
use crate::refusal::TailcutError;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::ffi::CStr;
use std::sync::Arc;

/// Columns of equal length, immutable. Consumers of the capsules share their memory, which is freed after the
/// last use.
#[pyclass(frozen, module = "tailcut._tailcut")]
pub struct Columns {
    batch: RecordBatch,
}

impl Columns {
    /// A table of columns of equal length.
    ///
    /// # Errors
    /// Columns of different lengths.
    pub fn new(columns: Vec<(String, ArrayRef)>) -> Result<Columns, ArrowError> {
        // Tables of one kind have one schema, whether or not this one has unknown values.
        let field = |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<Field>>());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Ok(Columns { batch: RecordBatch::try_new(Arc::new(schema), arrays)? })
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let names = self.names().join(", ");
            PyKeyError::new_err(format!("there is no column '{name}'; the columns are {names}"))
        })
    }
}

#[pymethods]
impl Columns {
    /// A table from Python values: a list of name, type (`str`, `int`, `float` or `bool`) and values, some of
    /// which may be None.
    #[staticmethod]
    fn of(columns: Vec<(String, Kind, Bound<'_, PyList>)>) -> PyResult<Columns> {
        let made: PyResult<Vec<(String, ArrayRef)>> =
            columns.into_iter().map(|(name, kind, values)| Ok((name, kind.array(&values)?))).collect();
        Columns::new(made?).map_err(refused)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns, in order.
    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Values of a column as a list, at most `count` of them, from row `start` on.
    #[pyo3(signature = (name, start = 0, count = usize::MAX))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        start: usize,
        count: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let column = self.column(name)?;
        if start > column.len() {
            return Err(PyIndexError::new_err(format!("row {start} of {}", column.len())));
        }
        let rows = start..column.len().min(start.saturating_add(count));
        let values: PyResult<Vec<_>> = rows.map(|row| cells::value(py, column, row)).collect();
        PyList::new(py, values?)
    }

    /// The address of the first value of a column of numbers.
    fn address(&self, name: &str) -> PyResult<usize> {
        let data = self.column(name)?.to_data();
        let buffer = data.buffers().first();
        let width = data.data_type().primitive_width();
        let (Some(buffer), Some(width)) = (buffer, width) else {
            return Err(PyKeyError::new_err(format!("'{name}' is no column of numbers")));
        };
        Ok(buffer.as_ptr() as usize + data.offset() * width)
    }

    /// The schema for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The table for the Arrow PyCapsule interface, as a stream of one batch. A requested schema is ignored:
    /// the interface leaves casts to the consumer.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

fn refused(error: ArrowError) -> PyErr {
    TailcutError::new_err(error.to_string())
}

const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";
