//! Requests from a data frame, in place of a trace.

use crate::refusal::{ScenarioError, raised};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use tailcut::run::trace_failure;
use tailcut_base::config::Choice;
use tailcut_base::{BadValue, Op, SECTOR_BYTES};
use tailcut_workload::trace::Records;

/// Writes the requests of an Arrow stream exporter to a file as a trace, in the order of `due_ns`.
#[pyfunction]
pub(crate) fn write_trace(py: Python<'_>, frame: Bound<'_, PyAny>, path: PathBuf) -> PyResult<()> {
    let capsule = frame.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of that name holds a stream of Arrow's C interface: aligned, initialised, alive while
    // we hold the capsule, and accessed by nothing else while we hold the interpreter. Its consumer may move
    // it out: what is left is marked as released, so it is released once.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) }.map_err(unreadable)?;
    let mut records = Records::default();
    for batch in reader {
        append(&mut records, &batch.map_err(unreadable)?)
            .map_err(|bad| ScenarioError::new_err(bad.message))?;
    }
    if records.is_empty() {
        return Err(ScenarioError::new_err("the table has no requests"));
    }
    py.detach(|| in_order(records).write(&path)).map_err(|error| raised(trace_failure(&error)))
}

fn unreadable(error: ArrowError) -> PyErr {
    ScenarioError::new_err(format!("the table cannot be read: {error}"))
}

/// Adds the requests of a batch; an error names the invalid column or row.
fn append(records: &mut Records, batch: &RecordBatch) -> Result<(), BadValue> {
    let first = records.len();
    records.at.extend(numbers(batch, "due_ns", first)?);
    for (row, op) in ops(column(batch, "op")?).into_iter().enumerate() {
        let wrong = || format!("row {} of the column 'op' is none of {}", first + row, Op::NAMES.join(", "));
        records.op.push(op.ok_or_else(wrong)?);
    }
    let has = |name: &str| batch.column_by_name(name).is_some();
    if has("sector") && has("sectors") {
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        records.offset.extend(numbers(batch, "sector", first)?.into_iter().map(bytes));
        records.bytes.extend(numbers(batch, "sectors", first)?.into_iter().map(bytes));
    } else if has("offset") && has("bytes") {
        records.offset.extend(numbers(batch, "offset", first)?);
        records.bytes.extend(numbers(batch, "bytes", first)?);
    } else {
        return Err(missing(batch, "'sector' and 'sectors', or 'offset' and 'bytes'"));
    }
    check(records, first)?;
    let optional =
        |name: &str| if has(name) { numbers(batch, name, first) } else { Ok(vec![0; batch.num_rows()]) };
    records.disk.extend(optional("disk")?.into_iter().map(|disk| disk as u32));
    records.fua.extend(optional("fua")?.into_iter().map(|fua| u8::from(fua != 0)));
    records.responses.resize(records.len(), Records::NO_RESPONSE);
    Ok(())
}

/// Refuses invalid requests here, since an error in a line of a file that the user has never seen is no help.
fn check(records: &Records, first: usize) -> Result<(), BadValue> {
    for row in first..records.len() {
        let (offset, bytes) = (records.offset[row], records.bytes[row]);
        let is_flush = records.op[row] == Op::Flush.index() as u8;
        if (bytes == 0 && !is_flush) || bytes > MOST_BYTES || offset > MOST_OFFSET {
            return Err(BadValue::new(format!(
                "row {row} asks for {bytes} bytes at {offset}: a request has from 1 byte to less than 4 GiB, \
                    below 2^63 bytes"
            )));
        }
    }
    Ok(())
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, BadValue> {
    batch.column_by_name(name).ok_or_else(|| missing(batch, &format!("'{name}'")))
}

fn missing(batch: &RecordBatch, what: &str) -> BadValue {
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    BadValue::new(format!(
        "the table has no column {what}; its columns are {}. Requests have due_ns, op (read, write, trim, \
         flush), and sector and sectors or offset and bytes; disk and fua where they matter",
        names.join(", ")
    ))
}

/// Non-negative integers of any width.
fn numbers(batch: &RecordBatch, name: &str, first: usize) -> Result<Vec<u64>, BadValue> {
    let column = column(batch, name)?;
    let number = |row: usize| -> Option<u64> {
        if column.is_null(row) {
            return None;
        }
        match column.data_type() {
            DataType::Int8 => column.as_primitive::<Int8Type>().value(row).try_into().ok(),
            DataType::Int16 => column.as_primitive::<Int16Type>().value(row).try_into().ok(),
            DataType::Int32 => column.as_primitive::<Int32Type>().value(row).try_into().ok(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).try_into().ok(),
            DataType::UInt8 => Some(column.as_primitive::<UInt8Type>().value(row).into()),
            DataType::UInt16 => Some(column.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt32 => Some(column.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().value(row)),
            DataType::Boolean => Some(u64::from(column.as_boolean().value(row))),
            _ => None,
        }
    };
    let one = |row: usize| {
        number(row).ok_or_else(|| {
            let kind = column.data_type();
            let row = first + row;
            BadValue::new(format!("row {row} of the column '{name}' ({kind}) is no whole number from 0 on"))
        })
    };
    (0..column.len()).map(one).collect()
}

/// The numbers of kinds of requests by name; `None` for a row with an unknown name.
fn ops(column: &ArrayRef) -> Vec<Option<u8>> {
    let named = |name: Option<&str>| Op::by_name(name?).map(|op| op.index() as u8);
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().map(named).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(named).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(named).collect(),
        DataType::Dictionary(..) if column.as_any_dictionary().values().is_empty() => {
            vec![None; column.len()]
        }
        DataType::Dictionary(..) => {
            let words = column.as_any_dictionary();
            let known = ops(words.values());
            let word = |(row, key): (usize, usize)| if column.is_null(row) { None } else { known[key] };
            words.normalized_keys().into_iter().enumerate().map(word).collect()
        }
        _ => vec![None; column.len()],
    }
}

/// The records in order of time; simultaneous records keep their order.
fn in_order(records: Records) -> Records {
    let mut rows: Vec<usize> = (0..records.len()).collect();
    rows.sort_by_key(|&row| records.at[row]);
    let start = rows.first().map_or(0, |&row| records.at[row]);
    Records {
        at: rows.iter().map(|&row| records.at[row] - start).collect(),
        disk: rows.iter().map(|&row| records.disk[row]).collect(),
        op: rows.iter().map(|&row| records.op[row]).collect(),
        fua: rows.iter().map(|&row| records.fua[row]).collect(),
        offset: rows.iter().map(|&row| records.offset[row]).collect(),
        bytes: rows.iter().map(|&row| records.bytes[row]).collect(),
        responses: records.responses,
    }
}

const MOST_BYTES: u64 = (1 << 32) - 1;
const MOST_OFFSET: u64 = (1 << 63) - 1;
