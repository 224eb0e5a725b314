//! Single values of tables, from Python and to Python.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// The type of a column made in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Float,
    Bool,
}

impl<'py> FromPyObject<'_, 'py> for Kind {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Kind> {
        match object.extract::<String>()?.as_str() {
            "str" => Ok(Kind::Text),
            "int" => Ok(Kind::Int),
            "float" => Ok(Kind::Float),
            "bool" => Ok(Kind::Bool),
            other => Err(PyValueError::new_err(format!("'{other}' is no kind of column"))),
        }
    }
}

impl Kind {
    /// A column of these values, with nulls for None.
    pub(crate) fn array(self, values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
        Ok(match self {
            Kind::Text => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
            Kind::Int => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
            Kind::Float => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
            Kind::Bool => Arc::new(BooleanArray::from(values.extract::<Vec<Option<bool>>>()?)),
        })
    }
}

/// The value in a row of a column, as a Python object.
pub(crate) fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into_bound_py_any(py),
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::Dictionary(..) => {
            let words = column.as_dictionary::<Int8Type>();
            value(py, words.values(), words.keys().value(row) as usize)
        }
        other => Err(PyTypeError::new_err(format!("no table has columns of {other}"))),
    }
}
