//! Requests as columns of a table, in the memory of the lists that the simulation filled.

use crate::table::Columns;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use std::sync::Arc;
use tailcut::run::column;
use tailcut_base::config::Choice;
use tailcut_base::{Cause, Op};
use tailcut_sim::request_log::{self, STATUSES};
use tailcut_workload::trace::Records;

/// The table of requests, with the columns of `slowest.csv`. Numbers are signed, so that their differences
/// are correct.
pub(crate) fn table(mut kept: request_log::RequestLog) -> Result<Columns, ArrowError> {
    // Causes that took no time share one column of zeros.
    let nothing = signed::<_, Int64Type>(vec![0u64; kept.len()]);
    let waits = Cause::ALL.map(|cause| {
        let waits = kept.take_waits(cause).map(signed::<_, Int64Type>);
        (column(cause), waits.unwrap_or_else(|| Arc::clone(&nothing)))
    });
    let status = STATUSES.map(|status| status.to_string());
    let mut all = named(vec![
        ("number", signed::<_, Int64Type>(kept.number)),
        ("source", signed::<_, Int32Type>(kept.source)),
        ("op", words(kept.op, Op::NAMES)?),
        ("class", signed::<_, Int8Type>(kept.class)),
        ("status", words(kept.status, &status.each_ref().map(String::as_str))?),
        ("sector", signed::<_, Int64Type>(kept.sector)),
        ("sectors", signed::<_, Int32Type>(kept.sectors)),
        ("due_ns", signed::<_, Int64Type>(kept.due)),
        ("submitted_ns", signed::<_, Int64Type>(kept.submitted)),
        ("completed_ns", signed::<_, Int64Type>(kept.completed)),
        ("latency_ns", signed::<_, Int64Type>(kept.latency)),
    ]);
    all.extend(waits);
    if !kept.held_up.is_empty() {
        let names = request_log::held_up_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        all.extend(named(vec![
            ("held_up_by", words(kept.held_up_by, &names)?),
            ("held_up_ns", signed::<_, Int64Type>(kept.held_up)),
        ]));
    }
    Columns::new(all)
}

/// The table of the records of a trace.
pub(crate) fn trace_table(kept: Records) -> Result<Columns, ArrowError> {
    let responses = kept.responses.iter().any(|response| *response != Records::NO_RESPONSE);
    let known = kept.responses.iter().map(|response| *response != Records::NO_RESPONSE);
    let known = responses.then(|| NullBuffer::from_iter(known));
    let mut all = named(vec![
        ("due_ns", signed::<_, Int64Type>(kept.at)),
        ("disk", signed::<_, Int32Type>(kept.disk)),
        ("op", words(kept.op, Op::NAMES)?),
        ("fua", signed::<_, Int8Type>(kept.fua)),
        ("offset", signed::<_, Int64Type>(kept.offset)),
        ("bytes", signed::<_, Int64Type>(kept.bytes)),
    ]);
    if let Some(known) = known {
        let responses = scalars::<_, Int64Type>(kept.responses);
        let column = PrimitiveArray::<Int64Type>::new(responses, Some(known));
        all.push(("response_ns".into(), Arc::new(column)));
    }
    Columns::new(all)
}

fn named(columns: Vec<(&str, ArrayRef)>) -> Vec<(String, ArrayRef)> {
    columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect()
}

/// A list of unsigned numbers as a column of signed ones of the same width, in the same memory. None of them
/// is large enough to become negative.
fn signed<U: ArrowNativeType, T: ArrowPrimitiveType>(list: Vec<U>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(scalars::<U, T>(list), None))
}

fn scalars<U: ArrowNativeType, T: ArrowPrimitiveType>(list: Vec<U>) -> ScalarBuffer<T::Native> {
    assert_eq!(size_of::<U>(), size_of::<T::Native>(), "numbers of one width");
    let (rows, place) = (list.len(), list.as_ptr().cast::<u8>());
    let buffer = Buffer::from_vec(list);
    assert!(rows == 0 || buffer.as_ptr() == place, "the memory is taken as it is");
    ScalarBuffer::new(buffer, 0, rows)
}

/// A list of indices of `words` as a column of these words.
fn words(places: Vec<u8>, words: &[&str]) -> Result<ArrayRef, ArrowError> {
    let places = PrimitiveArray::<Int8Type>::new(scalars::<_, Int8Type>(places), None);
    let words = StringArray::from(words.to_vec());
    Ok(Arc::new(DictionaryArray::try_new(places, Arc::new(words))?))
}
