//! Runs the scenarios of a study on all cores.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::pool::ThreadPool;
use crate::run::failed;
use crate::terminal::Progress;
use tailcut_sim::measured::{Measured, NotMeasured, Run, measure};
use tailcut_study::{Options, Study};

/// Runs studies on all cores. Results do not depend on the number of threads.
pub struct Runner<'i> {
    jobs: Option<usize>,
    quiet: bool,
    interrupt: &'i Interrupt,
}

impl Runner<'_> {
    /// A runner on `jobs` threads; on one for each core if that is `None`.
    pub fn new(jobs: Option<usize>, quiet: bool, interrupt: &Interrupt) -> Runner<'_> {
        Runner { jobs, quiet, interrupt }
    }

    /// Everything that a study needs, in the order in which it asked.
    ///
    /// # Errors
    /// The first run that fails, in the order of the runs, or [`Failure::Interrupted`].
    pub fn measure(&self, study: &dyn Study, options: &Options) -> Result<Vec<Measured>, Failure> {
        self.measure_until(study, options, &mut |_| false)
    }

    /// As [`Runner::measure`], up to the runs at which `enough` returns true; these are not measured.
    ///
    /// # Errors
    /// The first run that fails, in the order of the runs, or [`Failure::Interrupted`].
    pub fn measure_until(
        &self,
        study: &dyn Study,
        options: &Options,
        enough: &mut dyn FnMut(&[Run]) -> bool,
    ) -> Result<Vec<Measured>, Failure> {
        let mut progress = Progress::counting("runs", study.id(), None, self.quiet);
        self.measure_telling(study, options, enough, &mut |done, all| {
            progress.expect(Some(all));
            progress.count(done);
        })
    }

    /// As [`Runner::measure_until`]; `tell` is called a few times a second with the number of runs done
    /// and the number known so far.
    ///
    /// # Errors
    /// The first run that fails, in the order of the runs, or [`Failure::Interrupted`].
    pub fn measure_telling(
        &self,
        study: &dyn Study,
        options: &Options,
        enough: &mut dyn FnMut(&[Run]) -> bool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<Measured>, Failure> {
        let mut done: Vec<Measured> = Vec::new();
        loop {
            let runs = study.next(options, &done);
            if runs.is_empty() || enough(&runs) {
                return Ok(done);
            }
            let (before, all) = (done.len() as u64, (done.len() + runs.len()) as u64);
            let batch = self.batch(&runs, &mut |count| tell(before + count as u64, all))?;
            done.extend(batch);
        }
    }

    /// The results of `runs` in their order; the first failure in that order where there is one.
    fn batch(&self, runs: &[Run], tell: &mut dyn FnMut(usize)) -> Result<Vec<Measured>, Failure> {
        let is_over = || self.interrupt.asked();
        let pool = ThreadPool::new(self.jobs, &is_over);
        let results = pool.run_until(runs, |run, is_over| measure(run, is_over), &Result::is_err, tell);
        if self.interrupt.asked() {
            return Err(Failure::Interrupted);
        }
        conclude(results)
    }
}

/// All results, or the first failure that is not just the end of a run that another one ended.
fn conclude(slots: Vec<Option<Result<Measured, NotMeasured>>>) -> Result<Vec<Measured>, Failure> {
    let mut done = Vec::with_capacity(slots.len());
    let mut cut_short = false;
    for slot in slots {
        match slot {
            Some(Ok(measured)) => done.push(measured),
            Some(Err(NotMeasured::Interrupted)) | None => cut_short = true,
            Some(Err(error)) => return Err(explain(error)),
        }
    }
    assert!(!cut_short, "a run was given up though nothing failed");
    Ok(done)
}

fn explain(error: NotMeasured) -> Failure {
    let message = error.to_string();
    match error {
        NotMeasured::Failed { error, .. } => match failed(error) {
            Failure::Operation(_) => Failure::Operation(message),
            _ => Failure::Input(message),
        },
        NotMeasured::Input { .. } | NotMeasured::Broken { .. } => Failure::Input(message),
        NotMeasured::Interrupted => Failure::Interrupted,
    }
}
