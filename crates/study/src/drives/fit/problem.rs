//! What is fitted to what.

use super::cost::RowFit;
use super::{Evaluate, Parameter, Stopped};
use crate::drives::rows::DataSheet;
use crate::drives::{Load, MeasuredRow, Measurement, TestError, TestRun};
use tailcut_base::Nanos;
use tailcut_sim::keys::{self, KeyError, KeyValue};
use tailcut_ssd::config::{PacingConfig, PacingMode, SsdConfig};

/// A drive, what may change of it, and the rows that it shall come close to.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The drive to start from; keys that are no parameters stay as they are.
    pub base: SsdConfig,
    /// The numbers that the fit may change, at least one.
    pub parameters: Vec<Parameter>,
    /// The measured rows that the drive shall come close to, at least one.
    pub rows: Vec<MeasuredRow>,
    /// How long trials run, and their seed: equal for all candidates, so that only their parameters make a
    /// difference. A row of few requests a second is measured up to four times as long, as it costs no more,
    /// and one of many for six tenths of it; where the limit of writes follows their rate, trials are as long
    /// as its windows need.
    pub test: TestRun,
}

/// Where the first values of parameters come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstValues {
    /// Rows and data sheet, as far as they have them; else the drive.
    Rows,
    /// The drive.
    Drive,
}

/// Values of all parameters, each as a share of the way between its bounds, 0 to 1.
pub type Candidate = Vec<f64>;

/// Why there is nothing to fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// A parameter that the drive does not have.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// There are no rows to fit to.
    #[error("there is no row to fit to")]
    NoRows,
    /// No row has a latency or an amplification.
    #[error(
        "no row has a percentile of latency or a write amplification; add what was measured: rates alone \
         decide next to nothing"
    )]
    NoFigures,
    /// There are no parameters to change.
    #[error("there is no parameter to fit")]
    NoParameters,
}

/// A test of one candidate under the load of one row.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The drive that the candidate's parameters describe.
    pub device: SsdConfig,
    /// The load of the row that the candidate is tested under.
    pub load: Load,
    /// Length of the test, its seed, and the cost of the client.
    pub test: TestRun,
}

impl Trial {
    /// Runs it. `is_over` is polled a few times per million requests; true stops the run.
    ///
    /// # Errors
    /// As of [`TestRun::run`].
    pub fn run(&self, is_over: &dyn Fn() -> bool) -> Result<Measurement, TestError> {
        self.load.run(&self.device, &self.test, is_over)
    }
}

impl Problem {
    /// Checks that there is something to fit, and that every parameter is a key of the drive.
    ///
    /// # Errors
    /// See [`ProblemError`].
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.rows.is_empty() {
            return Err(ProblemError::NoRows);
        }
        let has_figure = |row: &MeasuredRow| {
            row.write_amplification.is_some() || row.reads.iter().chain(&row.writes).any(Option::is_some)
        };
        if !self.rows.iter().any(has_figure) {
            return Err(ProblemError::NoFigures);
        }
        if self.parameters.is_empty() {
            return Err(ProblemError::NoParameters);
        }
        for parameter in &self.parameters {
            keys::get(&mut self.base.clone(), local(parameter.key))?;
        }
        Ok(())
    }

    /// This problem with bounds that reach around the first values of its parameters, and these. Parameters
    /// that the drive does not have are left out.
    pub fn around(self, from: FirstValues, sheet: Option<&DataSheet>) -> (Problem, Candidate) {
        let mut problem = self;
        let own = |key: &str| keys::get(&mut problem.base.clone(), local(key));
        problem.parameters.retain(|parameter| own(parameter.key).is_ok());
        let first: Vec<f64> =
            problem.parameters.iter().map(|parameter| problem.first(parameter, from, sheet)).collect();
        for (parameter, &value) in problem.parameters.iter_mut().zip(&first) {
            *parameter = parameter.around(value);
        }
        let start =
            problem.parameters.iter().zip(first).map(|(parameter, value)| parameter.share(value)).collect();
        (problem, start)
    }

    fn first(&self, parameter: &Parameter, from: FirstValues, sheet: Option<&DataSheet>) -> f64 {
        let own = || keys::get(&mut self.base.clone(), local(parameter.key)).unwrap_or(parameter.low);
        match from {
            FirstValues::Rows => parameter.read_off(&self.rows, sheet, &self.base).unwrap_or_else(own),
            FirstValues::Drive => own(),
        }
    }

    /// What a candidate costs to try under all rows, in requests: those that its trials take, and as many as
    /// take the time in which the steady state of a drive is constructed.
    pub fn requests_per_candidate(&self) -> f64 {
        let pages = f64::from(self.base.geometry.plane_count()) * f64::from(self.base.geometry.blocks);
        let construction = pages * f64::from(self.base.geometry.pages) * REQUESTS_PER_PAGE;
        let of_row = |row: &MeasuredRow| {
            let test = self.test_of(row);
            rate(row) * (test.warm_up + test.measured).as_secs_f64() + construction
        };
        self.rows.iter().map(of_row).sum()
    }

    /// The test of a row.
    fn test_of(&self, row: &MeasuredRow) -> TestRun {
        let longer = (COMMON_RATE / rate(row).max(1.0)).clamp(SHORTEST, LONGEST);
        let measured = Nanos((self.test.measured.0 as f64 * longer) as u64);
        let pacing = &self.base.pacing;
        let follows = pacing.mode != PacingMode::None && pacing.growth < PacingConfig::NONE.growth;
        let window = if follows { pacing.window } else { Nanos::ZERO };
        TestRun {
            warm_up: self.test.warm_up.max(window * WINDOWS_TO_SETTLE),
            measured: measured.max(window * WINDOWS_MEASURED),
            fill_ppm: row.filled_ppm.unwrap_or(self.test.fill_ppm),
            ..self.test
        }
    }

    /// The values of a candidate's parameters, in their base units.
    pub fn values(&self, candidate: &[f64]) -> Vec<f64> {
        self.parameters.iter().zip(candidate).map(|(parameter, &share)| parameter.value(share)).collect()
    }

    /// The drive of a candidate.
    ///
    /// # Errors
    /// Values that do not fit together.
    pub fn device(&self, candidate: &[f64]) -> Result<SsdConfig, KeyError> {
        let mut device = self.base.clone();
        let values = self.values(candidate);
        let settings: Vec<(&str, KeyValue<'_>)> = self
            .parameters
            .iter()
            .zip(&values)
            .map(|(parameter, &value)| (local(parameter.key), KeyValue::Number(value)))
            .collect();
        keys::set(&mut device, &settings)?;
        Ok(device)
    }

    /// The fit of every candidate to every row, by candidate.
    ///
    /// # Errors
    /// [`Stopped`] if `evaluate` was stopped by its caller.
    ///
    /// # Panics
    /// If `evaluate` returns fewer results than it is given trials.
    pub fn evaluate(
        &self,
        candidates: &[Candidate],
        evaluate: &mut Evaluate<'_>,
    ) -> Result<Vec<Vec<RowFit>>, Stopped> {
        let devices: Vec<Option<SsdConfig>> =
            candidates.iter().map(|candidate| self.device(candidate).ok()).collect();
        let trial = |device: &SsdConfig, row: &MeasuredRow| Trial {
            device: device.clone(),
            load: row.load,
            test: self.test_of(row),
        };
        let trials: Vec<Trial> = devices
            .iter()
            .flatten()
            .flat_map(|device| self.rows.iter().map(move |row| trial(device, row)))
            .collect();
        let mut found = evaluate(&trials)?.into_iter();
        let fits = devices.iter().map(|device| {
            let fit = |row: &MeasuredRow| match device {
                None => RowFit::of(row, None),
                Some(_) => RowFit::of(row, found.next().expect("a result for each trial").as_ref()),
            };
            self.rows.iter().map(fit).collect()
        });
        Ok(fits.collect())
    }
}

/// Requests of all threads per second.
fn rate(row: &MeasuredRow) -> f64 {
    row.reads_per_s.unwrap_or(0.0) + row.writes_per_s.unwrap_or(0.0)
}

/// A request takes about a microsecond, and a page of the steady state 35 ns.
const REQUESTS_PER_PAGE: f64 = 0.035;
/// Requests per second at which a trial is as long as [`Problem::test`] has it.
const COMMON_RATE: f64 = 60_000.0;
/// Bounds of the length of other trials, as multiples of that.
const SHORTEST: f64 = 0.6;
const LONGEST: f64 = 4.0;
/// Where the limit of writes follows the recent rate, a backlog builds up over many of its windows.
const WINDOWS_TO_SETTLE: u64 = 15;
const WINDOWS_MEASURED: u64 = 25;

/// The mean [cost](RowFit::cost) of rows; at least one.
pub fn mean_cost(fits: &[RowFit]) -> f64 {
    fits.iter().map(|fit| fit.cost).sum::<f64>() / fits.len() as f64
}

/// A key of a scenario as a key of its drive.
fn local(key: &str) -> &str {
    key.strip_prefix("device.").unwrap_or(key)
}
