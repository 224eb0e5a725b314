//! Traces.

use crate::away::away;
use crate::refusal::{TailcutError, raised};
use crate::requests;
use crate::table::Columns;
use pyo3::prelude::*;
use std::path::PathBuf;
use tailcut::run::trace_failure;
use tailcut_workload::trace::{Options, Records, characterise};

/// The output of `tailcut trace info --json`.
#[pyfunction]
pub(crate) fn trace_info(
    py: Python<'_>,
    path: PathBuf,
    skip_bad_lines: bool,
    tell: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = Options { format: None, skip_bad_lines };
    let info = away(py, tell.as_ref(), |watch| {
        characterise(&path, &options, &mut |done, all| {
            watch.note(done, Some(all));
            !watch.interrupt.asked()
        })
    })?;
    let info = info.map_err(|error| raised(trace_failure(&error)))?;
    Ok(serde_json::to_string(&info).expect("plain data"))
}

/// The records of a trace, at most `most` of them.
#[pyfunction]
pub(crate) fn trace_requests(
    py: Python<'_>,
    path: PathBuf,
    skip_bad_lines: bool,
    most: Option<usize>,
    tell: Option<Bound<'_, PyAny>>,
) -> PyResult<Columns> {
    let options = Options { format: None, skip_bad_lines };
    let records = away(py, tell.as_ref(), |watch| {
        Records::read(&path, &options, most.unwrap_or(usize::MAX), &mut |done| {
            watch.note(done, None);
            !watch.interrupt.asked()
        })
    })?;
    let records = records.map_err(|error| raised(trace_failure(&error)))?;
    requests::trace_table(records).map_err(|error| TailcutError::new_err(error.to_string()))
}
