//! Runs.

use crate::asked::RunRequest;
use crate::away::away;
use crate::refusal::{ScenarioError, TailcutError, raised};
use crate::table::Columns;
use crate::{page, requests};
use pyo3::prelude::*;
use std::path::PathBuf;
use tailcut::failure::Failure;
use tailcut::run as command;
use tailcut::run::{Keep, Saved, Scenario, refuse, simulate_and_keep, write};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_sim::report::class_kind;
use tailcut_sim::request_log;
use tailcut_sim::world::Stats;

/// A run with results.
#[pyclass(frozen, module = "tailcut._tailcut")]
pub struct Run {
    saved: Saved,
    json: String,
    scenario: Scenario,
    stats: Stats,
    requests: Option<Py<Columns>>,
    left_out: u64,
    failure: Option<String>,
}

/// Runs a scenario. `requests` is the maximum number of requests to keep; without it, none are kept.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    asked: RunRequest,
    requests: Option<usize>,
    timeline: bool,
    tell: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let arguments = asked.arguments();
    let mut scenario = Scenario::default();
    command::read(&mut scenario, &arguments).map_err(raised)?;
    let keep = Keep { timeline, requests };
    let simulated = away(py, tell.as_ref(), |watch| {
        let mut tell = |done, all, _| watch.note(done, all);
        simulate_and_keep(&scenario, &arguments.options, keep, &watch.interrupt, &mut tell)
    })?;
    let simulated = simulated.map_err(|error| raised(refuse(error, &arguments)))?;
    let saved = Saved::new(&mut scenario, &simulated, arguments.options.skip_bad_lines);
    let left_out = simulated.columns.as_ref().map_or(0, |kept| kept.left_out);
    let kept = simulated.columns.map(|kept| table(py, kept)).transpose()?;
    let failure = simulated.ending.failure().map(|failure| raised(failure).value(py).to_string());
    Ok(Run {
        json: saved.to_json(),
        saved,
        scenario,
        stats: simulated.stats,
        requests: kept,
        left_out,
        failure,
    })
}

/// The complete scenario as TOML, as `tailcut run --resolved` prints it; nothing is run.
#[pyfunction]
pub(crate) fn resolved(asked: RunRequest) -> PyResult<String> {
    let mut scenario = Scenario::default();
    command::read(&mut scenario, &asked.arguments()).map_err(raised)?;
    Ok(command::to_be_read_again(&mut scenario))
}

fn table(py: Python<'_>, kept: request_log::RequestLog) -> PyResult<Py<Columns>> {
    let table = requests::table(kept).map_err(|error| TailcutError::new_err(error.to_string()))?;
    Py::new(py, table)
}

#[pymethods]
impl Run {
    /// The content of `report.json`.
    fn report_json(&self) -> &str {
        &self.json
    }

    /// The complete scenario as TOML, sufficient to repeat the run.
    fn scenario(&self) -> &str {
        &self.saved.scenario
    }

    /// Why the run is not complete, if it is not.
    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The requests that were kept, if any were to be.
    fn requests(&self, py: Python<'_>) -> Option<Py<Columns>> {
        self.requests.as_ref().map(|table| table.clone_ref(py))
    }

    /// Number of requests that were not kept because they exceeded the maximum.
    fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The slowest requests, in descending order of latency.
    fn slowest(&self, py: Python<'_>) -> PyResult<Py<Columns>> {
        let slowest = self.stats.slowest();
        let mut kept = request_log::RequestLog::new(slowest.len());
        slowest.iter().for_each(|request| kept.add(&request.seen()));
        table(py, kept)
    }

    /// The latency in ns that `percentile` per cent of the requests of a kind did not exceed.
    fn percentile(&self, percentile: f64, kind: &str) -> PyResult<u64> {
        if !(0.0..=100.0).contains(&percentile) {
            let wrong = format!("{percentile} is no percentile; write a number from 0 to 100, such as 99.99");
            return Err(ScenarioError::new_err(wrong));
        }
        self.latencies(kind).map(|latency| latency.percentile(percentile).0).ok_or_else(|| {
            let kinds: Vec<&str> = self.saved.report.kinds.iter().map(|kind| kind.kind.as_str()).collect();
            ScenarioError::new_err(format!(
                "no request is of the kind '{kind}'; there are {}",
                kinds.join(", ")
            ))
        })
    }

    /// Writes the report as an HTML page, and its data as JSON beside it.
    fn to_html(&self, path: PathBuf) -> PyResult<()> {
        page::write(&path, &command::html::page(&self.saved, &self.scenario))
    }

    /// Writes the files of `tailcut run` to a folder.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        write(&folder, &self.saved, &self.json, &self.stats).map_err(|cause| raised(Failure::Output(cause)))
    }
}

impl Run {
    fn latencies(&self, kind: &str) -> Option<LatencyHistogram> {
        let found = match Op::by_name(kind) {
            _ if kind == "all" => self.stats.all().latency,
            Some(op) => self.stats.op(op).latency.clone(),
            None => {
                let classes = self.stats.read_classes().into_iter();
                classes
                    .filter(|(class, _)| class_kind(*class) == kind)
                    .map(|(_, reads)| reads.latency.clone())
                    .next()?
            }
        };
        Some(found).filter(|latency| latency.count() > 0)
    }
}
