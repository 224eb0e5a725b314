//! Studies.

use crate::away::away;
use crate::page;
use crate::refusal::{TailcutError, raised};
use pyo3::prelude::*;
use std::path::PathBuf;
use tailcut::pts::Watcher;
use tailcut::study::arguments::StudyForm;
use tailcut::study::html;
use tailcut::study::real_drives::{self, RealDriveOptions};
use tailcut::study::runner::Runner;
use tailcut::study::{Entry, chosen, options};
use tailcut_study::Table;

/// A finished study.
#[pyclass(frozen, module = "tailcut._tailcut")]
pub struct Study {
    table: Table,
}

/// Every study as JSON, as `tailcut study list --json` lists them.
#[pyfunction]
pub(crate) fn studies() -> String {
    Entry::all().into_iter().map(Entry::to_json).collect::<serde_json::Value>().to_string()
}

/// Runs a study on `jobs` threads; by default one for each core.
#[pyfunction]
pub(crate) fn study(
    py: Python<'_>,
    id: String,
    quick: bool,
    seed: u64,
    traces: Option<PathBuf>,
    jobs: Option<usize>,
    tell: Option<Bound<'_, PyAny>>,
) -> PyResult<Study> {
    let entry = chosen(&[id]).map_err(raised)?[0];
    let options = options(&StudyForm { quick, seed, traces }).map_err(raised)?;
    let table = away(py, tell.as_ref(), |watch| match entry {
        Entry::Paper(study) => {
            let mut note = |done, all| watch.note(done, Some(all));
            let runner = Runner::new(jobs, true, &watch.interrupt);
            let done = runner.measure_telling(study, &options, &mut |_| false, &mut note)?;
            Ok(tailcut_study::table(study, &options, &done))
        }
        Entry::Drive(test) => {
            let watcher = Watcher::new(watch.interrupt.clone(), true);
            // The number of loads follows from the measurements.
            let carried = test.measure(&options, &watcher, &mut |test| {
                watch.note(test.records().len() as u64, None);
            })?;
            carried.ended.map(|()| carried.table.expect("a test that has ended has figures"))
        }
        Entry::RealDrives => {
            let mut note = |done, all| watch.note(done, Some(all));
            let is_over = || watch.interrupt.asked();
            real_drives::measure(&RealDriveOptions::default(), &options, jobs, &is_over, &mut note)
        }
    })?;
    Ok(Study { table: table.map_err(raised)? })
}

#[pymethods]
impl Study {
    /// The study whose JSON this is: it was run elsewhere.
    #[staticmethod]
    fn of(json: &str) -> PyResult<Study> {
        let table = serde_json::from_str(json)
            .map_err(|error| TailcutError::new_err(format!("not a study of this version: {error}")))?;
        Ok(Study { table })
    }

    /// The rows as JSON, as `tailcut study run --json` writes them.
    fn json(&self) -> String {
        serde_json::to_string(&self.table).expect("plain data")
    }

    /// Writes the results as an HTML page, and their data as JSON beside it.
    fn to_html(&self, path: PathBuf) -> PyResult<()> {
        page::write(&path, &html::page(std::slice::from_ref(&self.table)))
    }
}
