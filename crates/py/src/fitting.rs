//! Calibrations.

use crate::away::away;
use crate::refusal::raised;
use pyo3::prelude::*;
use std::path::PathBuf;
use tailcut::calibrate::arguments::CalibrateArguments;
use tailcut::calibrate::fit_to_json;
use tailcut_base::Nanos;

/// What is to be fitted: a dictionary with these keys, as the options of `tailcut calibrate`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FitRequest {
    data: Vec<PathBuf>,
    data_sheet: Option<PathBuf>,
    drive: Option<String>,
    scenario: Option<PathBuf>,
    sets: Vec<String>,
    seed: u64,
    evaluations: Option<u32>,
    client_ns: u64,
    quick: bool,
    jobs: Option<u16>,
}

/// Fits a drive and writes it to `output`; the results as JSON, as `tailcut calibrate --json` writes them.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    wanted: FitRequest,
    output: PathBuf,
    tell: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let arguments = CalibrateArguments {
        data: wanted.data,
        data_sheet: wanted.data_sheet,
        drive: wanted.drive,
        scenario: wanted.scenario,
        sets: wanted.sets,
        output,
        seed: wanted.seed,
        evaluations: wanted.evaluations,
        minutes: None,
        client: Nanos(wanted.client_ns),
        quick: wanted.quick,
        json: None,
        jobs: wanted.jobs,
        quiet: true,
    };
    let fitted = away(py, tell.as_ref(), |watch| {
        fit_to_json(&arguments, &watch.interrupt, &mut |done, all| watch.note(done, Some(all)))
    })?;
    fitted.map_err(raised)
}
