//! `tailcut compare`: every combination of techniques, alone and together.
//!
//! [`compare`] is the whole of it for a program; [`command`] is the command around it.

pub mod arguments;
pub mod assembly;
pub mod cells;
pub mod command;
pub mod csv;
pub mod design;
pub mod effects;
pub mod factor;
pub mod grid;
pub mod html;
pub mod page;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod request;
pub mod results;

pub use request::{Request, Share};
pub use results::{Factor, Level, Results};

use crate::failure::Failure;
use crate::pool::ThreadPool;
use crate::sweep::{Point, Progress, Records, run_all};
use cells::Cells;
use design::Design;
use std::collections::HashSet;
use tailcut_base::random::Stream;

/// A comparison that is ready to run: every scenario is read and can be run, as far as that can be told.
#[derive(Debug)]
pub struct Plan {
    design: Design,
    cells: Cells,
}

impl Plan {
    /// Reads the scenarios of all points.
    ///
    /// # Errors
    /// Factors that set the same key, a grid that is too large, a scenario that is wrong, combinations that
    /// cannot be.
    pub fn new(request: &Request) -> Result<Plan, Failure> {
        if request.factors.is_empty() {
            let example = "--vary workload.rate=20000,40000";
            return Err(Failure::Input(format!("nothing is varied; add {example}, say")));
        }
        let wrong =
            request.factors.iter().find_map(Factor::wrong).or_else(|| factor::conflict(&request.factors));
        let wrong = wrong.or_else(|| request.factors.iter().find_map(factor::invalid_setting));
        if let Some(message) = wrong {
            return Err(Failure::Input(message));
        }
        let levels = request.levels();
        let random = Stream::new(SEED, "fraction");
        let design = match request.share {
            Share::All => Design::full(&levels),
            Share::OneIn(parts) => {
                Design::fraction(&levels, design::size(&levels).div_ceil(parts.max(1)), random)
            }
            Share::Points(points) => Design::fraction(&levels, points, random),
        };
        let design = design?;
        let cells = Cells::new(request, &design)?;
        Ok(Plan { design, cells })
    }

    /// The level of each factor in each point.
    pub fn points(&self) -> impl Iterator<Item = &[usize]> {
        self.cells.cells.iter().map(|cell| cell.levels.as_slice())
    }

    /// Runs what is not known yet, and puts everything together. `is_over` is asked now and then whether to
    /// stop: the results are then of what is finished. `tell` hears how far it is, a few times a second.
    ///
    /// # Errors
    /// Finished runs that cannot be kept.
    pub fn run(
        &self,
        request: &Request,
        is_over: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Results, Failure> {
        let mut records = self.records(request)?;
        run_all(&self.runs(), &ThreadPool::new(request.jobs, is_over), &mut records, tell)?;
        Ok(self.results(request, &records))
    }

    /// The runs of all points, one for each seed. Those that are to be run elsewhere leave as
    /// [`Job`](crate::sweep::Job)s.
    pub fn runs(&self) -> Vec<&Point> {
        self.cells.cells.iter().flat_map(|cell| &cell.runs).collect()
    }

    /// The runs that are finished already, in the folder of `request`; finished ones are kept there.
    ///
    /// # Errors
    /// A folder or file that cannot be read or written.
    pub fn records(&self, request: &Request) -> Result<Records, Failure> {
        let Some(folder) = &request.out else { return Ok(Records::default()) };
        let runs = self.runs();
        let wanted: HashSet<&str> = runs.iter().map(|run| run.digest.as_str()).collect();
        Ok(Records::open(folder, |digest| wanted.contains(digest))?)
    }

    /// The results of the finished runs.
    pub fn results(&self, request: &Request, records: &Records) -> Results {
        assembly::assemble(request, &self.design, &self.cells, records)
    }
}

/// Runs a comparison from beginning to end: [`Plan::new`] and [`Plan::run`].
///
/// # Errors
/// As these.
pub fn compare(
    request: &Request,
    is_over: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(Progress),
) -> Result<Results, Failure> {
    Plan::new(request)?.run(request, is_over, tell)
}

/// The seed of samples of a grid: one grid, one sample, so that a comparison finds its runs again.
const SEED: u64 = 1;
