//! Comparisons: plans whose runs are executed here or elsewhere, and their results.

use crate::asked::RunRequest;
use crate::away::away;
use crate::page;
use crate::refusal::{TailcutError, raised};
use crate::table::Columns;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut::compare::csv::{Runs, Value};
use tailcut::compare::{self, Factor, Level, Request, Share, command, grid};
use tailcut::failure::Failure;
use tailcut::pool::ThreadPool;
use tailcut::scenario::Source;
use tailcut::sweep::{Job, Quantity, Records, run_all, runner};

/// A level: its name and its settings.
type Named = (String, Vec<String>);

/// The definition of a comparison: a dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ComparisonRequest {
    /// Name and levels of each factor.
    factors: Vec<(String, Vec<Named>)>,
    /// A grid in a file.
    grid_path: Option<PathBuf>,
    /// A grid as text, with its name for messages.
    grid_text: Option<(String, String)>,
    by: String,
    show: Vec<String>,
    pareto: Option<String>,
    seeds: u64,
    points: Option<u64>,
    fraction: Option<u64>,
    tolerance: Option<f64>,
    skip_impossible: bool,
    out: Option<PathBuf>,
    jobs: Option<usize>,
}

impl ComparisonRequest {
    fn request(self, asked: RunRequest) -> Result<Request, Failure> {
        let mut factors: Vec<Factor> = self.factors.into_iter().map(factor).collect();
        if let Some(path) = &self.grid_path {
            factors.extend(grid::load(path)?);
        }
        if let Some((name, text)) = self.grid_text {
            factors.extend(grid::read(Source::file(name, text))?);
        }
        let standard = Request::new(asked.base(), factors);
        let columns: Result<Vec<Quantity>, Failure> = self.show.iter().map(|text| quantity(text)).collect();
        Ok(Request {
            share: match (self.fraction, self.points) {
                (Some(parts), _) => Share::OneIn(parts),
                (None, Some(points)) => Share::Points(points),
                (None, None) => Share::All,
            },
            seeds: self.seeds.max(1),
            by: quantity(&self.by)?,
            columns: if self.show.is_empty() { standard.columns.clone() } else { columns? },
            pareto: self.pareto.as_deref().map(quantity).transpose()?,
            tolerance: self.tolerance,
            skip_impossible: self.skip_impossible,
            out: self.out,
            jobs: self.jobs,
            ..standard
        })
    }
}

fn factor((name, levels): (String, Vec<Named>)) -> Factor {
    let levels = levels.into_iter().map(|(name, settings)| Level { name, settings });
    Factor { name, levels: levels.collect() }
}

fn quantity(text: &str) -> Result<Quantity, Failure> {
    Quantity::parse(text).map_err(|misread| Failure::Input(misread.message))
}

/// A comparison with all scenarios read, and its finished runs.
#[pyclass(frozen, module = "tailcut._tailcut")]
pub struct Plan {
    request: Request,
    plan: compare::Plan,
    records: Mutex<Records>,
}

#[pymethods]
impl Plan {
    /// Reads the scenarios of all points, and the finished runs.
    #[new]
    fn new(py: Python<'_>, asked: RunRequest, wanted: ComparisonRequest) -> PyResult<Plan> {
        let request = wanted.request(asked).map_err(raised)?;
        let plan = py.detach(|| compare::Plan::new(&request)).map_err(raised)?;
        let records = Mutex::new(plan.records(&request).map_err(raised)?);
        Ok(Plan { request, plan, records })
    }

    /// Number of runs, one for each point and seed.
    fn runs(&self) -> usize {
        self.plan.runs().len()
    }

    /// The open runs: digest and resolved scenario of each, without duplicates.
    fn open(&self) -> Vec<(String, String)> {
        let open = runner::open(&self.plan.runs(), &self.records());
        open.into_iter().map(Job::of).map(|job| (job.digest, job.scenario)).collect()
    }

    /// Adds a run that was executed elsewhere.
    fn keep(&self, line: &str) -> PyResult<()> {
        self.records().keep_line(line).map_err(raised)
    }

    /// Executes the open runs, on all cores of this machine.
    fn run(&self, py: Python<'_>, tell: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        away(py, tell.as_ref(), |watch| {
            let is_over = || watch.interrupt.asked();
            let mut tell = |progress: tailcut::sweep::Progress| watch.note(progress.done, Some(progress.all));
            let pool = ThreadPool::new(self.request.jobs, &is_over);
            run_all(&self.plan.runs(), &pool, &mut self.records(), &mut tell)
        })?
        .map_err(raised)
    }

    /// The results of the finished runs.
    fn results(&self) -> Results {
        Results { results: self.plan.results(&self.request, &self.records()) }
    }
}

impl Plan {
    fn records(&self) -> MutexGuard<'_, Records> {
        // A line is kept as a whole or not at all, so a panic elsewhere leaves no partial state.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Executes an open run of a plan, perhaps on another machine, and returns the line for [`Plan::keep`]. Fails
/// if the scenario would be a different one.
#[pyfunction]
pub(crate) fn run_job(py: Python<'_>, digest: String, scenario: String) -> PyResult<String> {
    let job = Job { digest, scenario };
    let line = away(py, None, |watch| job.run(&|| watch.interrupt.asked()))?.map_err(raised)?;
    line.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// The results of a comparison.
#[pyclass(frozen, module = "tailcut._tailcut")]
pub struct Results {
    results: compare::Results,
}

#[pymethods]
impl Results {
    /// The content of `compare.json`.
    fn json(&self) -> String {
        command::to_json(&self.results)
    }

    /// A row for each run, with the columns of `compare.csv`.
    fn runs(&self) -> PyResult<Columns> {
        let table = Runs::of(&self.results);
        let rows: Vec<Vec<Value>> = table.rows().collect();
        let column = |(place, name): (usize, String)| {
            let kind = self.kind(place);
            (name, column(rows.iter().map(|row| &row[place]), kind))
        };
        let columns = table.head().into_iter().enumerate().map(column).collect();
        Columns::new(columns).map_err(|error| TailcutError::new_err(error.to_string()))
    }

    /// Writes the results as an HTML page, and their data as JSON beside it.
    fn to_html(&self, path: PathBuf) -> PyResult<()> {
        page::write(&path, &compare::html::page(&self.results))
    }

    /// Writes `compare.json` and `compare.csv` into a folder.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        command::save(&self.results, &folder).map_err(raised)
    }
}

/// The type of a column of the table of runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Count,
    Number,
}

impl Results {
    /// Factors, then seed, rank and whether the point is not dominated, two digests, quantities, and the
    /// error.
    fn kind(&self, place: usize) -> Kind {
        let own = place.checked_sub(self.results.factors.len());
        match own {
            Some(0..=2) => Kind::Count,
            Some(own) if (5..5 + self.results.quantities.len()).contains(&own) => Kind::Number,
            _ => Kind::Text,
        }
    }
}

fn column<'v>(values: impl Iterator<Item = &'v Value>, kind: Kind) -> ArrayRef {
    match kind {
        Kind::Text => Arc::new(StringArray::from_iter(values.map(text))),
        Kind::Count => Arc::new(Int64Array::from_iter(values.map(count))),
        Kind::Number => Arc::new(Float64Array::from_iter(values.map(number))),
    }
}

fn text(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value { Some(text) } else { None }
}

fn count(value: &Value) -> Option<i64> {
    // A seed has 64 bits; seeds that no signed number can hold are shown as the negative number of the same
    // bits.
    if let Value::Count(count) = value { Some(*count as i64) } else { None }
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Number(number) = value { Some(*number) } else { None }
}
