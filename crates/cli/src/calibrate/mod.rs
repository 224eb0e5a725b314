//! `tailcut calibrate`: fits a simulated drive to what was measured on a real one.

pub mod arguments;
mod drive;
mod fio;
mod page;
mod results;
mod state;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::is_stdout;
use crate::output::write_json;
use crate::pool::{IsOver, ThreadPool};
use crate::scenario::{self, Source};
use crate::study::real_drives::{first_errors, in_file, measured_rows, read};
use crate::terminal::{ColorMode, Progress};
use arguments::CalibrateArguments;
use results::Results;
use state::State;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_ssd::config::SsdConfig;
use tailcut_study::drives::fit::{
    Candidate, FirstValues, PARAMETERS, Problem, RowFit, Search, Stopped, Structure, Trial, cross_validation,
    mean_cost, sensitivity, structure,
};
use tailcut_study::drives::rows::{DataSheet, contradictions, data_sheets};
use tailcut_study::drives::{MeasuredRow, Measurement, TestRun};

/// Fits a drive, writes it to its file and prints to `out` what was found.
///
/// # Errors
/// Invalid measurements or parameters, a damaged state of an earlier search, results that cannot be written,
/// or [`Failure::Interrupted`].
pub fn calibrate(arguments: &CalibrateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    output::check(None, &[&arguments.output])?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let results = fit(arguments, &interrupt, &mut |_, _| {})?;
    print(&results, arguments, out)
}

/// As [`calibrate`], for programs: writes the drive to its file and returns the results as JSON, as `--json`
/// writes them. `tell` hears how many trials are done, and of how many.
///
/// # Errors
/// As [`calibrate`].
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn fit_to_json(
    arguments: &CalibrateArguments,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<String, Failure> {
    let results = fit(arguments, interrupt, tell)?;
    Ok(serde_json::to_string(&results).expect("plain data"))
}

/// Fits a drive and writes it to its file.
fn fit(
    arguments: &CalibrateArguments,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Results, Failure> {
    let (name, rows) = rows(arguments)?;
    for contradiction in contradictions(&rows) {
        crate::tell!("{contradiction}");
    }
    let sheet = sheet(arguments, &name)?;
    let setup = Setup::new(arguments, sheet, &rows)?;
    let (problem, start) = setup.problem(rows);
    problem.check().map_err(|error| Failure::Input(format!("calibrate: {error}")))?;
    let state = State::new(&arguments.output, &problem, arguments.seed);
    let search = match state.load()? {
        Some(record) => Search::resume(start, Search::SPREAD, arguments.seed, &record)
            .ok_or_else(|| Failure::Input(format!("{} is damaged; remove it", state.path().display())))?,
        None => Search::new(start, Search::SPREAD, arguments.seed),
    };
    let mut calibration = Calibration::new(&problem, &setup, arguments, interrupt, tell);
    let found = calibration.run(search, &state);
    drop(calibration);
    let Some(Fitted { results, best }) = found? else {
        match state.path().exists() {
            true => crate::tell!(
                "the search is kept in {}; the same command continues it",
                state.path().display()
            ),
            false => crate::tell!("the search had no result yet, and nothing is kept"),
        }
        return Err(Failure::Interrupted);
    };
    let device = problem.device(&best).expect("the best candidate was run");
    let results = Results { drive: name, seed: arguments.seed, ..results };
    output::write_file(&arguments.output, drive::to_toml(&device, &results).as_bytes())?;
    state.remove();
    Ok(results)
}

fn print(results: &Results, arguments: &CalibrateArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        out.write_all(page::page(results, ColorMode::of_stdout()).as_bytes())?;
        writeln!(out, "\nthe drive: {}", arguments.output.display())?;
        out.flush()?;
    }
    let Some(file) = &arguments.json else { return Ok(()) };
    write_json(&serde_json::to_value(results).expect("plain data"), file, out)
}

/// The name of the drive to fit, and its rows in all files.
fn rows(arguments: &CalibrateArguments) -> Result<(String, Vec<MeasuredRow>), Failure> {
    let mut all = Vec::new();
    for file in &arguments.data {
        all.extend(rows_of(file)?);
    }
    // Files of mixes may leave the drive open.
    let names: BTreeSet<String> =
        all.iter().map(|row| row.drive.clone()).filter(|name| !name.is_empty()).collect();
    let listed = || names.iter().cloned().collect::<Vec<_>>().join(", ");
    let name = match &arguments.drive {
        Some(name) if names.contains(name) || names.is_empty() => name.clone(),
        Some(name) => {
            return Err(Failure::Input(format!(
                "there is no row of the drive '{name}'; there are rows of {}",
                listed()
            )));
        }
        None if names.len() > 1 => {
            return Err(Failure::Input(format!(
                "there are rows of several drives; choose one with --drive: {}",
                listed()
            )));
        }
        None => names.first().cloned().unwrap_or_default(),
    };
    all.retain(|row| row.drive.is_empty() || row.drive == name);
    Ok((name, all))
}

/// The rows of one file: fio's JSON by the end of its name, else CSV.
fn rows_of(file: &Path) -> Result<Vec<MeasuredRow>, Failure> {
    if file.extension().is_none_or(|extension| extension != "json") {
        return measured_rows(file);
    }
    fio::rows(&read(file)?).map_err(|errors| first_errors(file, &errors))
}

/// The data sheet of the drive.
fn sheet(arguments: &CalibrateArguments, name: &str) -> Result<Option<DataSheet>, Failure> {
    let Some(file) = &arguments.data_sheet else { return Ok(None) };
    let mut sheets = data_sheets(&read(file)?).map_err(|errors| in_file(file, &errors))?;
    // Rows of fio name no drive.
    if sheets.len() > 1 || !name.is_empty() {
        sheets.retain(|sheet| sheet.drive == name);
    }
    sheets.pop().map(Some).ok_or_else(|| {
        Failure::Input(format!(
            "{} has no row of the drive '{name}'; add one, or leave --data-sheet out",
            file.display()
        ))
    })
}

/// What makes a problem of rows.
struct Setup {
    sheet: Option<DataSheet>,
    /// The drive to start from, if the user has described one.
    base: Option<SsdConfig>,
    first: FirstValues,
    test: TestRun,
}

impl Setup {
    fn new(
        arguments: &CalibrateArguments,
        sheet: Option<DataSheet>,
        rows: &[MeasuredRow],
    ) -> Result<Setup, Failure> {
        let (warm_up, measured) = match arguments.quick {
            true => (Nanos::millis(500), Nanos::secs(1)),
            false => (Nanos::secs(1), Nanos::secs(5)),
        };
        let (seed, client_cost) = (arguments.seed, arguments.client);
        let test = TestRun { warm_up, measured, seed, client_cost, ..TestRun::default() };
        let Structure { device, findings } = structure(rows, sheet.as_ref());
        if arguments.scenario.is_none() {
            findings.iter().for_each(|finding| crate::tell!("{finding}"));
        }
        let mut base = None;
        if arguments.scenario.is_some() || !arguments.sets.is_empty() {
            let mut scenario = Scenario { device, ..Scenario::default() };
            let file = arguments.scenario.as_deref().map(Source::open).transpose()?;
            scenario::read(&mut scenario, file, &arguments.sets)?;
            base = Some(scenario.device);
        }
        let first = if arguments.scenario.is_some() { FirstValues::Drive } else { FirstValues::Rows };
        Ok(Setup { sheet, base, first, test })
    }

    /// The problem of some rows and its first candidate; structure, first values and bounds come from these
    /// alone.
    fn problem(&self, rows: Vec<MeasuredRow>) -> (Problem, Candidate) {
        let sheet = self.sheet.as_ref();
        let base = self.base.clone().unwrap_or_else(|| structure(&rows, sheet).device);
        Problem { base, parameters: PARAMETERS.to_vec(), rows, test: self.test }.around(self.first, sheet)
    }
}

/// The best candidate with all that is reported of it.
struct Fitted {
    results: Results,
    best: Candidate,
}

/// A calibration at work: the trials of all of its parts, on all cores, with one progress.
struct Calibration<'c> {
    problem: &'c Problem,
    setup: &'c Setup,
    interrupt: &'c Interrupt,
    pool: ThreadPool<'c>,
    progress: Progress,
    /// Hears what the progress shows.
    tell: &'c mut dyn FnMut(u64, u64),
    /// Trials done, those of an interrupted search with the same record included, and expected in all.
    done: u64,
    all: u64,
    /// Trials that this process has run.
    ran: u64,
    /// Candidates of the search; none where time ends it.
    evaluations: Option<usize>,
    minutes: Option<Duration>,
    started: Instant,
    /// Candidates of each search that leaves out a row.
    of_validation: usize,
    seed: u64,
}

impl<'c> Calibration<'c> {
    fn new(
        problem: &'c Problem,
        setup: &'c Setup,
        arguments: &CalibrateArguments,
        interrupt: &'c Interrupt,
        tell: &'c mut dyn FnMut(u64, u64),
    ) -> Calibration<'c> {
        let (most, most_of_validation) = if arguments.quick { (48, 24) } else { (400, 128) };
        let affordable = |share: f64, searches: usize| {
            (share * REQUESTS / problem.requests_per_candidate() / searches.max(1) as f64) as usize
        };
        let of_search = affordable(SEARCH_SHARE, 1).clamp(LEAST, most);
        let evaluations = arguments.evaluations.map_or(of_search, |evaluations| evaluations as usize);
        let searches = problem.rows.len().saturating_sub(1);
        let of_validation = affordable(VALIDATION_SHARE, searches).clamp(LEAST, most_of_validation);
        let minutes = arguments.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
        Calibration {
            problem,
            setup,
            interrupt,
            pool: ThreadPool::new(arguments.jobs.map(usize::from), &NEVER),
            progress: Progress::counting("trials", "calibrate", None, arguments.quiet),
            tell,
            done: 0,
            all: 0,
            ran: 0,
            evaluations: minutes.is_none().then_some(evaluations),
            minutes,
            started: Instant::now(),
            of_validation,
            seed: arguments.seed,
        }
    }

    /// All parts; `None` after an interruption, when the search is in its file.
    fn run(&mut self, mut search: Search, state: &State) -> Result<Option<Fitted>, Failure> {
        let problem = self.problem;
        self.done = (search.record().evaluations() * problem.rows.len()) as u64;
        while !self.is_enough(&search) {
            self.expect(&search);
            if search.step(problem, &mut |trials| self.evaluate(trials)).is_err() {
                return Ok(None);
            }
            state.save(search.record())?;
        }
        Ok(self.conclude(&search).ok())
    }

    /// What is reported of the best candidate.
    fn conclude(&mut self, search: &Search) -> Result<Fitted, Stopped> {
        let problem = self.problem;
        self.expect(search);
        let mut best = search.best().expect("a generation was evaluated").candidate.clone();
        let mut fits: Vec<RowFit> =
            search.fits(problem, &mut |trials| self.evaluate(trials))?.expect("there is a best candidate");
        let mut found = sensitivity(problem, &best, &mut |trials| self.evaluate(trials))?;
        if let Some(settled) = search.settled(&found) {
            let one = std::slice::from_ref(&settled);
            let of_settled = problem.evaluate(one, &mut |trials| self.evaluate(trials))?.remove(0);
            // Together they may move what none of them moves alone.
            if mean_cost(&of_settled) <= mean_cost(&fits) + SETTLED_MAY_COST {
                for (parameter, value) in found.iter_mut().zip(problem.values(&settled)) {
                    parameter.value = value;
                }
                (best, fits) = (settled, of_settled);
            }
        }
        if let Some(minutes) = self.minutes {
            self.of_validation = self.validation_until(minutes);
        }
        let (seed, evaluations) = (self.seed, self.of_validation);
        let setup = self.setup;
        let of = |others| setup.problem(others);
        let left_out =
            cross_validation(&problem.rows, &of, evaluations, seed, &mut |trials| self.evaluate(trials))?;
        let results = Results {
            version: env!("CARGO_PKG_VERSION"),
            drive: String::new(),
            seed,
            evaluations: search.record().evaluations(),
            cost: mean_cost(&fits),
            parameters: results::parameters(problem, &found),
            rows: results::rows(problem, &fits, &left_out),
        };
        Ok(Fitted { results, best })
    }

    /// Candidates of each search that leaves out a row, so that all of them end when `minutes` are over: as
    /// many as the trials so far took the time for, and one generation at least.
    fn validation_until(&self, minutes: Duration) -> usize {
        let rows = self.problem.rows.len() as u64;
        let of_search = rows.saturating_sub(1).max(1);
        let left = minutes.saturating_sub(self.started.elapsed()).as_secs_f64();
        let trials = left * self.ran as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        ((trials / (rows * of_search) as f64) as usize).max(1)
    }

    fn is_enough(&self, search: &Search) -> bool {
        let evaluations = search.record().evaluations();
        let is_late = self
            .minutes
            .is_some_and(|most| evaluations > 0 && self.started.elapsed() >= most.mul_f64(SEARCH_SHARE));
        is_late || self.evaluations.is_some_and(|wanted| evaluations >= wanted)
    }

    /// Tells the progress how many trials there will be: of the search, of sensitivity, and of
    /// cross-validation.
    fn expect(&mut self, search: &Search) {
        let evaluations = search.record().evaluations();
        let share = self
            .minutes
            .map(|most| self.started.elapsed().as_secs_f64() / most.mul_f64(SEARCH_SHARE).as_secs_f64());
        let by_time = share.filter(|share| *share > 0.0).map(|share| (evaluations as f64 / share) as usize);
        let of_search = self.evaluations.or(by_time).unwrap_or(evaluations).max(evaluations) as u64;
        let rows = self.problem.rows.len() as u64;
        let afterwards = 3 + 2 * self.problem.parameters.len() as u64;
        let of_validation = if rows > 1 { self.of_validation as u64 * (rows - 1) + 1 } else { 0 };
        self.all = rows * (of_search + afterwards + of_validation);
        self.progress.expect(Some(self.all));
    }

    /// Runs a batch of trials on all cores.
    fn evaluate(&mut self, trials: &[Trial]) -> Result<Vec<Option<Measurement>>, Stopped> {
        let (interrupt, before) = (self.interrupt, self.done);
        let work = |trial: &Trial, _: &IsOver<'_>| trial.run(&|| interrupt.asked()).ok();
        let (progress, tell, all) = (&mut self.progress, &mut *self.tell, self.all);
        let found = self.pool.run(trials, work, &mut |done| {
            progress.count(before + done as u64);
            tell(before + done as u64, all);
        });
        if interrupt.asked() {
            return Err(Stopped);
        }
        self.done += trials.len() as u64;
        self.ran += trials.len() as u64;
        Ok(found.into_iter().map(Option::flatten).collect())
    }
}

/// Each trial asks by itself whether to stop, and ends at once.
const NEVER: fn() -> bool = || false;

/// What a calibration may simulate without a count or a time: half an hour of two cores that serve 0.9
/// million requests a second each.
const REQUESTS: f64 = 3.2e9;
/// The share of this, or of the minutes that are given, that the search may take, and the share of
/// cross-validation; what is left is for the sensitivity of the parameters.
const SEARCH_SHARE: f64 = 0.5;
const VALIDATION_SHARE: f64 = 0.4;
/// By how much the cost of a fit may grow when its unpinned parameters get their first values: as if every
/// latency were wrong by one per cent more.
const SETTLED_MAY_COST: f64 = 0.01;
/// Candidates of a search at the least: two generations.
const LEAST: usize = 24;
